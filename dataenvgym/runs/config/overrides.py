"""Parses a user's overrides: `key=value` in Hydra's grammar.

A class in place of an option, such as `agent=my_module.MyAgent`, is the option `custom` with this
class. Short names of models, of the student (`model=...`) and of speakers (`task.others.NAME=...`),
are several overrides:

    vllm/<base>[:<adapter>]   a vLLM server that is started for the model
    hf/<base>[:<adapter>]     transformers, in this process
    openai/<name>             a model behind an OpenAI-compatible API (it cannot be trained)

<base> is "pocket" (the pocket student that the task names), a folder, or a name on the Hugging Face
hub; <adapter> is a folder. A speaker can also be

    my_module.make_judge      your own class or function
    student                   the student itself; `student/former`, `student/untouched` and
                              `student/FOLDER` have another adapter (see `rollouts.StudentSpeaker`)
    [openai/ONE,openai/TWO]   two speakers, NAME_1 and NAME_2

Further options of a speaker are at its key, such as task.others.judge.base_url=URL. What follows
for the task's other options, its class says (`Task.options_for`).

Unknown names and impossible values are refused where an override is applied (see `composition`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.runs.config.groups import ENTRY_POINTS

_PARTS = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[^=@]+)(?:@[^=]*)?(?:=(?P<value>.*))?", re.DOTALL)
_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*[.:][^\W\d]\w*")

_OTHERS = "task.others."
_SPEAKER = re.compile(rf"{re.escape(_OTHERS)}[\w-]+")
_NAMED = re.compile(
    rf"[^=]*(?:@{re.escape(_OTHERS)}([\w-]+)|\+{re.escape(_OTHERS)}([\w-]+)\._target_)="
)
_STUDENT = "student"
_POCKET = "${oc.select:task.student,pocket}"  # as in student/pocket.yaml
_OWN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")  # my_module.make_judge
_PREDICTORS = {"vllm": "vllm", "hf": "in_process", "openai": "openai"}


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


def model_overrides(text: str) -> list[str]:
    """Expand a short name of the student into overrides.

    Raises:
        ConfigurationError: if it is not a short name.
    """
    kind, base, adapter = _parts("model", text)
    if kind == "openai":
        return ["predictor=openai", f"predictor.model={quoted(base)}"]
    return [
        f"predictor={_PREDICTORS[kind]}",
        f"student={'pocket' if base == 'pocket' else 'hf'}",
        f"student.path={_POCKET if base == 'pocket' else quoted(base)}",
        f"student.adapter={quoted(adapter) if adapter else 'null'}",
    ]


def speaker_overrides(at: str, text: str) -> list[str]:
    """Expand the short name of the speaker at that key (task.others.NAME) into overrides.

    One behind an API is a teacher, with cache and budget.

    Raises:
        ConfigurationError: if it is not the short name of a model.
    """
    text = _unquoted(text)
    if text.startswith("["):
        models = [part for part in text[1:-1].split(",") if part.strip()]
        if not models or not text.endswith("]"):
            raise ConfigurationError(
                f"{at} is {text!r}, expected models such as [openai/A,openai/B]"
            )
        each = (speaker_overrides(f"{at}_{n}", model) for n, model in enumerate(models, start=1))
        return [override for overrides in each for override in overrides]
    if text.partition("/")[0] == _STUDENT:
        adapter = text.partition("/")[2] or "current"
        return [f"+speaker@{at}=student", f"{at}.adapter={quoted(adapter)}"]
    if _OWN.fullmatch(text):
        return [f"+{at}._target_={text}"]
    kind, base, adapter = _parts(at, text)
    if kind == "openai":
        return [f"+teacher@{at}=openai", f"{at}.model={quoted(base)}"]
    return [
        f"+predictor@{at}={_PREDICTORS[kind]}",
        f"{at}.student={_POCKET if base == 'pocket' else quoted(base)}",
        f"{at}.adapter={quoted(adapter) if adapter else 'null'}",
    ]


def task_overrides(text: str) -> list[str]:
    """Expand the tasks of `task.tasks=[pocket_math,teach/traps]` into overrides, each by its name.

    Raises:
        ConfigurationError: for fewer than two, or the same one twice.
    """
    names = [_unquoted(name) for name in text.strip("[]").split(",") if name.strip()]
    if len(names) < 2 or len({*names}) < len(names):
        raise ConfigurationError(
            f"task.tasks is {text!r}, expected two or more different tasks, such as "
            "task.tasks=[pocket_math,pocket_knowledge]"
        )
    keys = (re.sub(r"\W", "_", name) for name in names)
    each = (f"+task@task.tasks.{key}={name}" for key, name in zip(keys, names, strict=True))
    return ["task=several", *each]


def _parts(option: str, text: str) -> tuple[str, str, str]:
    """The kind, the base (or the name behind an API), and the adapter or ""."""
    kind, _, rest = text.partition("/")
    base, colon, adapter = rest.partition(":")
    if kind not in _PREDICTORS or not base or (colon and not adapter):
        meant = "" if kind in _PREDICTORS else did_you_mean(kind, _PREDICTORS)
        own = "" if option == "model" else ", student, or your own class (my_module.MyClass)"
        raise ConfigurationError(
            f"{option} is {text!r}, expected vllm/BASE, vllm/BASE:ADAPTER, hf/BASE, "
            f"hf/BASE:ADAPTER or openai/NAME{own}.{meant}"
        )
    return (kind, rest, "") if kind == "openai" else (kind, base, adapter)


def _unquoted(text: str) -> str:
    return text.strip().strip("'\"")


def quoted(value: str) -> str:
    """Quote a value for Hydra's grammar, where a backslash is special only before a quote."""
    escaped = re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + m[2].replace('"', '\\"'), value)
    return f'"{escaped}"'
