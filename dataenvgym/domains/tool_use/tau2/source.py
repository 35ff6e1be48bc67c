"""The tasks of a domain, by tau2's own splits.

The split `test` is tau2's. The tasks of its split `train` are divided between our `train` and our
`validation`, by their ids. If a domain lacks these two, its tasks are divided among all three.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dataenvgym.domains.tool_use.tau2.package import Tau2Package
from dataenvgym.domains.tool_use.tau2.problem import to_instance
from dataenvgym.domains.tool_use.tau2.task_file import read_tasks
from dataenvgym.domains.tool_use.tau2.world import Tau2World
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, did_you_mean
from dataenvgym.events import warn_run
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.options import RowOptions
from dataenvgym.tasks.rows import HubDataset, read_rows
from dataenvgym.tasks.source import SPLITS, Source, Split


class Tau2Source(Source):
    """The tasks of one domain.

    Args:
        package: the domain.
        world: of the domain.
        options: how tasks are divided, and the largest number in each split.
        name: of our task.
        task_set: the split of tau2 to use, such as "base", "full" or "small".
        judges: whether there is a judge; None leaves out the tasks that need one.
        tasks: rows in the form of tau2's tasks, for its own; tasks of other domains are left out.
    """

    has_one_source = True

    def __init__(
        self,
        package: Tau2Package,
        world: Tau2World,
        options: RowOptions,
        *,
        name: str,
        task_set: str,
        judges: bool | None,
        tasks: Path | HubDataset | None = None,
    ) -> None:
        fractions, limit = options.fractions, options.limit
        if limit is not None and limit < 1:
            raise ConfigurationError(f"limit is {limit}, expected 1 or more, or None")
        if set(fractions) - set(SPLITS) or sum(fractions.values()) <= 0:
            raise ConfigurationError(
                f"fractions are {dict(fractions)!r}, expected shares of {', '.join(SPLITS)}"
            )
        if options.where or options.balance or options.per_cell is not None:
            raise ConfigurationError(
                "task.where, task.balance and task.per_cell choose rows of files by their fields, "
                "and tau2 has tasks of its package: leave them out, and choose task.task_set"
            )
        if tasks is not None and task_set != "base":
            raise ConfigurationError(
                f"task_set is {task_set!r}, a split of the package, and tasks names a file: "
                "leave one of them out (task.task_set, task.tasks)"
            )
        self._package, self._world, self._name = package, world, name
        self._task_set, self._judges, self._tasks = task_set, judges, tasks
        self._fractions, self._limit, self._seed = fractions, limit, options.seed
        self._is_whole = False
        self._totals: dict[Split, int] = {}
        self._read: list[TaskInstance] | None = None

    def whole(self) -> Source:
        whole = copy.copy(self)
        whole._is_whole, whole._totals = True, {}
        return whole

    def share(self, split: Split, chosen: int) -> str | None:
        total = self._totals.get(split, chosen)
        return None if chosen == total else f"{chosen} of {total} problems (limit)"

    @property
    def splits(self) -> tuple[Split, ...]:
        return ("validation",) if self._is_whole else SPLITS

    def load(self, split: Split) -> Sequence[TaskInstance]:
        if split not in self.splits:
            raise ConfigurationError(f"there is no split {split!r}, only {', '.join(self.splits)}")
        if self._read is None:
            self._read = self._instances()
        instances = self._read
        if not self._is_whole:
            own = self._ids(split, [instance.id for instance in instances])
            instances = [instance for instance in instances if instance.id in own]
        if not instances:
            raise InvalidInstanceError(
                f"task {self._name!r} has no instances for split {split!r}: give it a share "
                "(task.fractions)"
            )
        self._totals[split] = len(instances)
        kept = set(self._ranked([instance.id for instance in instances])[: self._limit])
        return [instance for instance in instances if instance.id in kept]

    def _instances(self) -> list[TaskInstance]:
        path: object = self._package.tasks_place if self._tasks is None else self._tasks
        ids = self._split_of(self._task_set) if self._tasks is None else None
        found, empty, unjudged = [], [], []
        missing = set(ids or ())
        guidelines = {tools: self._package.guidelines(tools=tools) for tools in (True, False)}
        for task in read_tasks(self._rows(), path):
            if ids is not None and task.id not in ids:
                continue
            missing.discard(task.id)
            instance = to_instance(
                task, self._world, name=self._name, where=str(path), guidelines=guidelines
            )
            if instance is None:
                empty.append(task.id)
            elif instance.data.get("judged") and not self._judges:
                unjudged.append(task.id)
            else:
                found.append(instance)
        self._mention(sorted(missing), f"are in its split {self._task_set!r} and not in {path}")
        self._mention(empty, "have nothing to evaluate, so that every conversation would score 1")
        if unjudged and self._judges is False:
            raise ConfigurationError(
                f"{path}: {len(unjudged)} tasks have NL_ASSERTION in their reward_basis, the first "
                f"one is {unjudged[0]!r}, and there is no judge: name one "
                "(+teacher@task.others.judge=openai), or leave these tasks out "
                "(task.nl_assertions=leave_out)"
            )
        self._mention(unjudged, "need a judge of assertions in natural language (NL_ASSERTION)")
        return found

    def _rows(self) -> Any:
        """The tasks as JSON."""
        if self._tasks is None:
            return self._package.tasks()
        rows = [row.values for row in read_rows(self._tasks)]
        own = [row for row in rows if _domain_of(row) in (None, self._package.domain)]
        others = sorted({str(_domain_of(row)) for row in rows} - {self._package.domain, "None"})
        if not own:
            raise InvalidInstanceError(
                f"{self._tasks} has no tasks of the domain {self._package.domain!r}, only of "
                f"{', '.join(others) or 'none'}: choose task.domain, or another file (task.tasks)"
            )
        if others:
            warn_run(
                f"{self._name}: {len(rows) - len(own)} tasks of {self._tasks} are left out; they "
                f"are of other domains: {', '.join(others)}"
            )
        return own

    def _mention(self, ids: Sequence[str], why: str) -> None:
        if ids:
            warn_run(
                f"{self._name}: {len(ids)} tasks of tau2 {why}, and are left out, the first one "
                f"is {ids[0]!r}"
            )

    # --- the splits ---

    def _ids(self, split: Split, ids: Sequence[str]) -> set[str]:
        """The tasks in that split."""
        if self._tasks is not None:
            return self._divided(ids, SPLITS)[split]
        test, train = self._split_of("test"), self._split_of("train")
        if self._task_set != "base" or test is None or train is None:
            return self._divided(ids, SPLITS)[split]
        if split == "test":
            return test
        return self._divided([i for i in ids if i in train], ("train", "validation"))[split]

    def _divided(self, ids: Sequence[str], among: Sequence[Split]) -> dict[Split, set[str]]:
        """The tasks by split, in proportion to the fractions."""
        ranked = self._ranked(ids)
        total = sum(self._fractions.get(split, 0.0) for split in among) or 1.0
        divided: dict[Split, set[str]] = {}
        before = 0.0
        for split in among:
            after = before + self._fractions.get(split, 0.0) / total
            divided[split] = set(ranked[round(before * len(ids)) : round(after * len(ids))])
            before = after
        return divided

    def _ranked(self, ids: Sequence[str]) -> list[str]:
        return sorted(ids, key=lambda name: (derive_seed(self._seed, "tau2", name), name))

    def _split_of(self, name: str) -> set[str] | None:
        """The ids in a split of tau2; None if the file of splits lacks train, test or base."""
        path = self._package.splits_file
        splits: Any = self._package.read(path) if path.is_file() else {}
        if not isinstance(splits, dict) or not all(isinstance(v, list) for v in splits.values()):
            raise InvalidInstanceError(f"{path}: expected lists of task ids by split")
        if name in splits:
            return set(splits[name])
        if name in ("base", "train", "test"):
            return None
        raise ConfigurationError(
            f"task_set is {name!r}, and {path} has {', '.join(splits) or 'no splits'}."
            f"{did_you_mean(name, splits)}"
        )


def _domain_of(row: Mapping[str, Any]) -> object:
    """The domain that the user's instructions in a task name, if any."""
    scenario = row.get("user_scenario")
    told = scenario.get("instructions") if isinstance(scenario, dict) else None
    return told.get("domain") if isinstance(told, dict) else None
