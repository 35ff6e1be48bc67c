"""Parses a user's overrides: `key=value` in Hydra's grammar.

Short names of models, such as `model=hf/Qwen/Qwen3-8B`, are expanded into overrides (see
`short_names`), and a class in place of an option, such as `agent=my_module.MyAgent`, into the
option `custom` with this class. Unknown names and impossible values are refused where an override
is applied (see `composition`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.groups import ENTRY_POINTS
from dataenvgym.runs.config.short_names import (
    model_overrides,
    speaker_overrides,
    task_overrides,
)

_PARTS = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[^=@]+)(?:@[^=]*)?(?:=(?P<value>.*))?", re.DOTALL)
_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*[.:][^\W\d]\w*")

_OTHERS = "task.others."
_SPEAKER = re.compile(rf"{re.escape(_OTHERS)}[\w-]+")
_NAMED = re.compile(
    rf"[^=]*(?:@{re.escape(_OTHERS)}([\w-]+)|\+{re.escape(_OTHERS)}([\w-]+)\._target_)="
)


@dataclass(frozen=True)
class Override:
    """One override: `text` as typed; its `sign` ("", "+", "++", "~"), `key` and `value`."""

    text: str
    sign: str
    key: str
    value: str | None

    @property
    def section(self) -> str:
        """The top-level key that it changes: "agent" for agent.name and for agent/engine."""
        return re.split(r"[./]", self.key)[0]


def parse_overrides(texts: Sequence[str]) -> list[Override]:
    """Parse overrides; short names of models and classes are expanded.

    Raises:
        ConfigurationError: for a text that is not `key=value`.
    """
    parsed: list[Override] = []
    for text in texts:
        match = _PARTS.fullmatch(text)
        if match is None or (match["value"] is None and match["sign"] != "~"):
            raise ConfigurationError(
                f"{text!r} is not an override, expected KEY=VALUE, such as agent=random"
            )
        sign, key, value = match["sign"] or "", match["key"], match["value"] or ""
        target = value.strip("'\"").replace(":", ".")
        if key == "model":
            parsed += parse_overrides(model_overrides(value))
        elif key == "task.tasks" and value.startswith("["):
            parsed += parse_overrides(task_overrides(value))
        elif _SPEAKER.fullmatch(key) and not sign and value[:1] != "{":
            parsed += parse_overrides(speaker_overrides(key, value))
        elif key in ENTRY_POINTS and "@" not in text.partition("=")[0] and _CLASS.fullmatch(target):
            place = f"{key.replace('/', '.')}{'.checks.custom' * (key == 'quality')}._target_"
            parsed += [
                Override(f"{sign}{key}=custom", sign, key, "custom"),
                Override(f"{place}={target}", "", place, target),
            ]
        else:
            parsed.append(Override(text, sign, key, match["value"]))
    return parsed


def new_speakers(overrides: Sequence[Override]) -> list[str]:
    """The speakers that the overrides add to the task."""
    matches = (_NAMED.match(override.text) for override in overrides)
    return [match[1] or match[2] for match in matches if match]
