"""The grid of a study: Hydra's sweep syntax, parsed into strategies, tasks and seeds.

    agent=random,open_ended "seed=range(10)" task=pocket_math episode.iterations=3

`seed` gives the seeds; keys of the section `task` give the tasks. The strategies are all
combinations of the other keys with several values, and of `agent`. A key with one value applies to
all. Further strategies are given as "NAME: KEY=VALUE ...". `suite=NAME` means the overrides in the
file `suite/NAME.yaml`, except for keys that are given, too; its options of agents are for those
that have them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError, shorten
from dataenvgym.runs.config.composition import compose, keys_of
from dataenvgym.runs.config.groups import Source, content_of_option, options_by_group
from dataenvgym.runs.config.identity import short_name, task_name
from dataenvgym.runs.config.overrides import Override, parse_overrides


@dataclass(frozen=True)
class Choice:
    """A strategy or a task: its name in tables, and its overrides."""

    name: str
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grid:
    """Strategies x tasks x seeds.

    Attributes:
        fixed: overrides of all episodes.
        suite: the suite that the tasks are from, if they are from one.
    """

    fixed: tuple[str, ...]
    strategies: tuple[Choice, ...]
    tasks: tuple[Choice, ...]
    seeds: tuple[int, ...]
    suite: str | None = None

    def overrides(self, strategy: Choice, task: Choice) -> list[str]:
        """All overrides of an episode except its seed; a strategy's own values win."""
        own = {override.key for override in parse_overrides(strategy.overrides)}
        fixed = [text for text in self.fixed if parsed(text).key not in own]
        return [*fixed, *task.overrides, *strategy.overrides]


def parsed(text: str) -> Override:
    """The first override of a text; short names stand for several."""
    return parse_overrides([text])[0]


def parse_grid(
    texts: Sequence[str], *, strategies: Sequence[str] = (), config_dir: str | Path | None = None
) -> Grid:
    """Parse Hydra overrides (`a,b`, `choice(a,b)`, `range(10)`, `glob(*)`) and named strategies.

    Raises:
        ConfigurationError: for everything that is not a grid.
    """
    groups = options_by_group(config_dir)
    texts, of_agents, suite = _with_suite(texts, groups["suite"])
    fixed: list[str] = []
    axes: dict[str, dict[str, list[Choice]]] = {"strategy": {}, "task": {}}
    seeds = [0]
    for text in texts:
        key = parsed(text).key
        if key in ("name", "runs_dir"):
            raise ConfigurationError(
                f"{text!r} is about a single run; a study has --name and --studies-dir"
            )
        values = _values(text, groups)
        if key == "seed":
            seeds = [_seed(value.partition("=")[2]) for value in values or [text]]
        elif values is None and key not in ("agent", "task"):
            fixed.append(text)
        else:
            axis = axes["task" if parsed(text).section == "task" else "strategy"]
            if key in axis:
                raise ConfigurationError(f"{key} is given twice: {text!r}; give it once")
            short = "" if key in ("agent", "task") else key.replace("/", ".").rpartition(".")[2]
            axis[key] = [
                Choice(
                    f"{short}{'=' if short else ''}{one.partition('=')[2].strip(_QUOTES)}", (one,)
                )
                for one in values or [text]
            ]
    swept = _combinations(axes["strategy"], "agent") if axes["strategy"] else []
    grid = Grid(
        fixed=tuple(fixed),
        strategies=(*swept, *map(_named, strategies)) or (Choice(""),),
        tasks=tuple(_combinations(axes["task"], "task") if axes["task"] else [Choice("")]),
        seeds=tuple(dict.fromkeys(seeds)),
        suite=suite,
    )
    names = [strategy.name for strategy in grid.strategies]
    if twins := [name for name in names if names.count(name) > 1]:
        raise ConfigurationError(
            f"there are {names.count(twins[0])} strategies {twins[0]!r}; give each its own name: "
            '--strategy "NAME: KEY=VALUE ..."'
        )
    if not (grid.strategies[0].name and grid.tasks[0].name):
        # not typed: the composed configuration, perhaps of an experiment, has their names
        config = compose(grid.overrides(grid.strategies[0], grid.tasks[0]), config_dir=config_dir)
        name, task = short_name(config.agent), task_name(config)
        grid = replace(
            grid,
            strategies=tuple(replace(one, name=one.name or name) for one in grid.strategies),
            tasks=tuple(replace(one, name=one.name or task) for one in grid.tasks),
        )
    if of_agents:
        fitting = (_with_options(one, of_agents, grid, config_dir) for one in grid.strategies)
        grid = replace(grid, strategies=tuple(fitting))
    return grid


_QUOTES = "'\""


def _with_suite(
    texts: Sequence[str], suites: Mapping[str, Source]
) -> tuple[Sequence[str], Sequence[str], str | None]:
    """The texts with those of a suite; its options of agents; its name if the tasks are its."""
    typed = {override.key: override for override in parse_overrides(texts)}
    if (chosen := typed.pop("suite", None)) is None:
        return texts, (), None
    name = chosen.value or ""
    own, content = {}, content_of_option("suite", name, suites)
    if not content:
        raise ConfigurationError(f"{suites[name]} is empty, expected overrides of a study by key")
    if of_eval := next((key for key in ("suite", "samples", "metrics") if key in content), None):
        raise ConfigurationError(
            f"suite {name!r} sets {of_eval}, which a study does not have: it is a suite of "
            f"evaluations (dataenvgym eval suite={name})"
        )
    for key, value in content.items():
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(one, str | int | float) for one in values):
            raise ConfigurationError(
                f"{suites[name]}: {key} is {shorten(repr(value))}, expected overrides of a study "
                "by key, such as agent: [random, edge]"
            )
        if key not in typed:
            own[key] = f"{key}={','.join(map(str, values))}"
    of_agents = [own.pop(key) for key in [*own] if key.startswith("agent.")]
    rest = [text for text in texts if text != chosen.text]
    return [*own.values(), *rest], of_agents, name if "task" in own else None


def _with_options(
    strategy: Choice, options: Sequence[str], grid: Grid, config_dir: str | Path | None
) -> Choice:
    """The strategy with those of the options that its agent has, and that it does not set."""
    overrides = grid.overrides(strategy, grid.tasks[0])
    known = set(keys_of(compose(overrides, config_dir=config_dir, allow_missing=True)))
    known -= {override.key for override in parse_overrides(strategy.overrides)}
    fitting = [o.text for o in parse_overrides(options) if o.key in known]
    return replace(strategy, overrides=(*strategy.overrides, *fitting))


def _values(text: str, groups: Mapping[str, Mapping[str, Source]]) -> list[str] | None:
    """One override for each value, if there are several; None for a single value."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import Glob
    from hydra.errors import HydraException

    try:
        override: Any = OverridesParser.create().parse_override(text)
    except HydraException:
        return None  # composing explains the error
    if not override.is_sweep_override():
        return None
    if not override.is_discrete_sweep():
        raise ConfigurationError(
            f"{text!r} has no countable values; expected a,b or choice(a,b) or range(10)"
        )
    if isinstance(override.value(), Glob):
        options = sorted(groups.get(override.key_or_group, ()))
        if not (names := list(override.value().filter(options))):
            raise ConfigurationError(
                f"{text!r} fits no option. The options of {override.key_or_group} are: "
                f"{', '.join(options) or 'none'}."
            )
    else:
        names = list(override.sweep_string_iterator())
    return [f"{override.get_key_element()}={name}" for name in names]


def _combinations(axis: Mapping[str, Sequence[Choice]], main: str) -> list[Choice]:
    """All combinations, named by the keys that vary; by `main` if none does."""
    varied = {key for key, choices in axis.items() if len(choices) > 1} or {main}
    combined = []
    for choices in product(*axis.values()):
        names = [c.name for key, c in zip(axis, choices, strict=True) if key in varied]
        combined.append(Choice(", ".join(names), tuple(t for c in choices for t in c.overrides)))
    return combined


def _named(text: str) -> Choice:
    name, colon, rest = text.partition(":")
    if not colon or not name.strip() or "=" in name:
        raise ConfigurationError(
            f'--strategy is {text!r}, expected "NAME: KEY=VALUE ...", such as '
            '"sharp: agent=skill_list agent.policy.sharpness=3"'
        )
    try:
        overrides = tuple(shlex.split(rest))
    except ValueError as error:
        raise ConfigurationError(f"--strategy {text!r} cannot be read: {error}") from error
    for one in parse_overrides(overrides):
        if one.key in ("seed", "name", "runs_dir") or one.section == "task":
            raise ConfigurationError(
                f"--strategy {name.strip()!r} sets {one.key}, which is not part of a strategy"
            )
    return Choice(name.strip(), overrides)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise ConfigurationError(f"seed is {text!r}, expected a whole number like 0")
    return int(text)
