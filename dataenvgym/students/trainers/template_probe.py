"""Renders a chat template in a process with limits; `trainers.student` runs this as a script.

A template is a program: a received one may loop for ever, or make a text that fills the
memory. It gets the environment of transformers, and some usual conversations. The exit code is 0
for a template that renders them, or refuses to.
"""

from __future__ import annotations

import json
import resource
import sys
from itertools import product
from typing import Any

from jinja2 import TemplateError, ext, nodes
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

_MEMORY, _SECONDS, _LONGEST = 2**30, 2, 2**24  # bytes, of CPU time, characters
_ROLES = ("user", "system user", "user assistant", "system user assistant user assistant user")
_CALL: dict[str, Any] = {"function": {"name": "now", "description": "", "parameters": {}}}
_CALLS = [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "now"}}]}]
_CHATS = [[{"role": role, "content": "Hi"} for role in roles.split()] for roles in _ROLES]


class _Generation(ext.Extension):
    """The block around a reply that transformers has, which changes no text."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _probe(text: str) -> None:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, ext.loopcontrols]
    )
    environment.filters["tojson"] = lambda value, **_: json.dumps(value)
    environment.globals |= {"raise_exception": _refuse, "strftime_now": str}
    template = environment.from_string(text)
    for chat, tools in product([*_CHATS, _CHATS[0] + _CALLS], (None, [_CALL])):
        given = {"messages": chat, "tools": tools, "bos_token": "<s>", "eos_token": "</s>"}
        try:
            made = template.render(given, add_generation_prompt=chat[-1]["role"] == "user")
        except (RecursionError, MemoryError):
            raise
        except Exception:  # noqa: BLE001  a template's own refusal: of a role, or without a tool
            continue
        if len(made) > _LONGEST:
            raise MemoryError


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    try:
        _probe(sys.stdin.buffer.read().decode())
    except (RecursionError, MemoryError):
        sys.exit(1)
    except Exception:  # noqa: BLE001  it has no right syntax: transformers says so
        sys.exit(0)
