"""Suites: overrides of a study or of evaluations, in a file `suite/NAME.yaml`.

A study takes all of them at once (see `studies.grid`). Of evaluations, a suite names the tasks, or
other suites, and its other overrides apply to each of them:

    task: [gsm8k:4, humaneval]      each task is an evaluation; after the colon, its samples
    suite: [math, knowledge]        the evaluations of these suites, too
    metrics: [accuracy]             an override of all of them

A suite of one task is a benchmark: a task with its prompt, scorer, samples and metrics. The same
can be typed: `task=gsm8k:4,humaneval`. The override nearest to the user wins: what is typed, then
what the suite says that was typed, then those that it names. Samples after a colon win over
`samples` beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.groups import Source, content_of_option, options_by_group
from dataenvgym.runs.config.overrides import quoted

_WITH_SAMPLES = re.compile(r"(.+):(\d+)")
_GIVEN = re.compile(r"[+~]*(?P<key>[^=]+)=(?P<value>.*)", re.DOTALL)


def evaluations_of(
    overrides: Sequence[str], config_dir: str | Path | None = None
) -> list[list[str]]:
    """The overrides of each evaluation; those of a single one are returned as they are.

    Raises:
        ConfigurationError: for an unknown suite, a suite within itself or without a task, or if
            both tasks and a suite are typed.
    """
    level: dict[str, str] = {}
    tasks: list[str] = []
    suites: list[str] = []
    for text in overrides:
        match = _GIVEN.fullmatch(text)
        if text.startswith("task="):
            tasks += _names(text.removeprefix("task="))
        elif text.startswith("suite="):
            suites += _names(text.removeprefix("suite="))
        else:
            level[match["key"] if match else text] = text
    if tasks and suites:
        raise ConfigurationError(
            f"suite={','.join(suites)} and task={','.join(tasks)} both choose tasks: leave one of "
            "them out"
        )
    if not suites and len(tasks) < 2 and not any(map(_WITH_SAMPLES.fullmatch, tasks)):
        return [list(overrides)]
    groups = options_by_group(config_dir)
    parts = _expanded(level, tasks, suites, groups, ())
    return [list(part.values()) for part in parts]


def _expanded(
    level: Mapping[str, str],
    tasks: Sequence[str],
    suites: Sequence[str],
    groups: Mapping[str, Mapping[str, Source]],
    within: tuple[str, ...],
) -> list[dict[str, str]]:
    """The overrides by key of each evaluation that this level names."""
    parts = []
    for task in tasks:
        match = _WITH_SAMPLES.fullmatch(task)
        own = {"task": f"task={match[1] if match else task}"}
        if match:
            own["samples"] = f"samples={match[2]}"
        parts.append({**level, **own})
    for name in suites:
        if name in within:
            raise ConfigurationError(
                f"suite {name!r} names itself ({' -> '.join((*within, name))}): take it out of one"
            )
        content = content_of_option("suite", name, groups["suite"])
        inner_tasks, inner_suites = (_listed(content.pop(key, ())) for key in ("task", "suite"))
        if not inner_tasks and not inner_suites:
            raise ConfigurationError(
                f"suite {name!r} names no task: its file needs one, such as task: [gsm8k:4]"
            )
        texts = {key: f"{key}={_written(key, value, groups)}" for key, value in content.items()}
        inner = _expanded(texts, inner_tasks, inner_suites, groups, (*within, name))
        parts += [{**part, **level} for part in inner]
    return parts


def _names(text: str) -> list[str]:
    return [name for part in text.strip("[]").split(",") if (name := part.strip(" '\""))]


def _listed(value: Any) -> list[str]:
    names = value if isinstance(value, list | tuple) else [value]
    return [one for name in names for one in _names(str(name))]


def _written(key: str, value: Any, groups: Mapping[str, object]) -> str:
    """A value of a file in Hydra's grammar; the option of a group as it is."""
    if isinstance(value, str):
        if key in groups or key == "model" or key.startswith("task.others."):
            return value
        return quoted(value)
    if isinstance(value, list):
        return f"[{','.join(_written('', item, groups) for item in value)}]"
    if isinstance(value, dict):
        items = (f"{name}: {_written('', item, groups)}" for name, item in value.items())
        return f"{{{','.join(items)}}}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
