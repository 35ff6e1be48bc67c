"""The two forms of a plan in a reply, `task.form`: json and code."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from dataenvgym.domains.tool_use.plans import code_form, json_form
from dataenvgym.domains.tool_use.plans.plan import Plan, Reading
from dataenvgym.errors import ConfigurationError, did_you_mean


@dataclass(frozen=True)
class Form:
    """How plans are written, and parsed from replies.

    Attributes:
        how_to_write: the instructions for the student.
        read: parses the plan in a reply; raises nothing.
        write: the plan as the gold answer of a record; raises `PlanError` if the form cannot
            express it.
    """

    name: str
    how_to_write: str
    read: Callable[[str], Reading]
    write: Callable[[Plan], str]


def form_of(name: str, tools: Collection[str]) -> Form:
    """The form of that name.

    Raises:
        ConfigurationError: if it does not exist.
    """
    forms = {
        json_form.NAME: Form(
            json_form.NAME, json_form.HOW_TO_WRITE, json_form.read, json_form.write
        ),
        code_form.NAME: Form(
            code_form.NAME,
            code_form.HOW_TO_WRITE,
            partial(code_form.read, tools=frozenset(tools)),
            code_form.write,
        ),
    }
    if name not in forms:
        raise ConfigurationError(
            f"form is {name!r}, expected {' or '.join(forms)}.{did_you_mean(str(name), forms)}"
        )
    return forms[name]
