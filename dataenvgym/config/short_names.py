"""Short names of models, for `model=...`, `partner=...`, `judge=...` and similar options.

    vllm/<base>[:<adapter>]   a vLLM server that is started for the model
    hf/<base>[:<adapter>]     transformers, in this process
    openai/<name>             a model behind an OpenAI-compatible API (it cannot be trained)

<base> is "pocket" (the pocket student that the task names), a folder, or a name on the Hugging Face
hub; <adapter> is a folder. `model=...` names the student. These name other speakers of its task:

    partner=...              plays the other characters: task.others.partner; a name without a slash
                             is a scripted partner: task.partner
    judge=...                task.others.judge; judge=[openai/ONE,openai/TWO] gives two judges,
                             task.others.judge_1 and task.others.judge_2
    strategist=...           advises the student's character: task.others.strategist
    partner_strategist=...   advises the other characters: task.others.partner_strategist

`judge=my_module.make_judge` is your own class or function: task.others.judge._target_.
`partner=student` is the student itself; `student/former`, `student/untouched` and `student/FOLDER`
are the student with another adapter (see `rollouts.StudentSpeaker`).
More options of a speaker are at `task.others.NAME`, such as task.others.judge.base_url=URL.
`trial=...` means task.trial.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from dataenvgym.errors import ConfigurationError, did_you_mean

SPEAKERS = ("partner", "judge", "strategist", "partner_strategist")
"""Speakers of a task with short names."""
_SIDES = {"strategist": "own", "partner_strategist": "partner"}

_STUDENT = "student"
_POCKET = "${oc.select:task.student,pocket}"  # as in student/pocket.yaml
_OWN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")  # my_module.make_judge
_PREDICTORS = {"vllm": "vllm", "hf": "in_process", "openai": "openai"}


def model_overrides(text: str) -> list[str]:
    """Expand a short name of the student into overrides.

    Raises:
        ConfigurationError: if it is not a short name.
    """
    kind, base, adapter = _parts("model", text)
    if kind == "openai":
        return ["predictor=openai", f"predictor.model={_quoted(base)}"]
    return [
        f"predictor={_PREDICTORS[kind]}",
        f"student={'pocket' if base == 'pocket' else 'hf'}",
        f"student.path={_POCKET if base == 'pocket' else _quoted(base)}",
        f"student.adapter={_quoted(adapter) if adapter else 'null'}",
    ]


def speaker_overrides(who: str, text: str) -> list[str]:
    """Expand `who=text` into overrides.

    Raises:
        ConfigurationError: if it is not the short name of a model.
    """
    text = _unquoted(text)
    scripted = "/" not in text and text != _STUDENT and not _OWN.fullmatch(text)
    if who == "partner" and text and scripted:
        return [f"task.partner={_quoted(text)}"]
    if who == "judge" and text.startswith("["):
        models = [_unquoted(part) for part in text.strip("[]").split(",") if part.strip()]
        names = [f"judge_{number}" for number in range(1, len(models) + 1)]
        each = [o for name, model in zip(names, models, strict=True) for o in _asked(name, model)]
        return [*each, f"task.judges=[{','.join(names)}]"]
    overrides = _asked(who, text)
    if who == "partner":
        overrides.append("task.partner=model")
    return overrides


def strategists_override(named: Collection[str]) -> list[str]:
    """The override that turns on the named strategists; empty if none is named."""
    sides = [side for who, side in _SIDES.items() if who in named]
    return [f"task.strategists=[{','.join(sides)}]"] if sides else []


def _asked(who: str, text: str) -> list[str]:
    """The overrides of a speaker; one behind an API is a teacher, with cache and budget."""
    at = f"task.others.{who}"
    if text.partition("/")[0] == _STUDENT:
        adapter = text.partition("/")[2] or "current"
        return [f"+speaker@{at}=student", f"{at}.adapter={_quoted(adapter)}"]
    if _OWN.fullmatch(text):
        return [f"+{at}._target_={text}"]
    kind, base, adapter = _parts(who.rstrip("_0123456789"), text)
    if kind == "openai":
        return [f"+teacher@{at}=openai", f"{at}.model={_quoted(base)}"]
    return [
        f"+predictor@{at}={_PREDICTORS[kind]}",
        f"{at}.student={_POCKET if base == 'pocket' else _quoted(base)}",
        f"{at}.adapter={_quoted(adapter) if adapter else 'null'}",
    ]


def _parts(option: str, text: str) -> tuple[str, str, str]:
    """The kind, the base (or the name behind an API), and the adapter or ""."""
    kind, _, rest = text.partition("/")
    base, colon, adapter = rest.partition(":")
    if kind not in _PREDICTORS or not base or (colon and not adapter):
        meant = "" if kind in _PREDICTORS else did_you_mean(kind, _PREDICTORS)
        own = "" if option == "model" else ", student, or your own class (my_module.MyClass)"
        scripted = ", or the name of a scripted partner" if option == "partner" else ""
        raise ConfigurationError(
            f"{option} is {text!r}, expected vllm/BASE, vllm/BASE:ADAPTER, hf/BASE, "
            f"hf/BASE:ADAPTER or openai/NAME{own}{scripted}.{meant}"
        )
    return (kind, rest, "") if kind == "openai" else (kind, base, adapter)


def _unquoted(text: str) -> str:
    return text.strip().strip("'\"")


def _quoted(value: str) -> str:
    """Quote a value for Hydra's grammar, where a backslash is special only before a quote."""
    escaped = re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + m[2].replace('"', '\\"'), value)
    return f'"{escaped}"'
