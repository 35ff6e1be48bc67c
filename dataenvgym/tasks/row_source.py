"""A source that reads problems from files or named data sets and divides them among the splits."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dataenvgym.errors import (
    ConfigurationError,
    InvalidInstanceError,
    UnparsableAnswerError,
    check_one_of,
)
from dataenvgym.events import warn_run
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.options import Places, RowOptions
from dataenvgym.tasks.rows import HubDataset, SourceRow, UnfitRowError, read_rows, source_name
from dataenvgym.tasks.source import SPLITS, Source, Split

Read = Callable[[SourceRow], TaskInstance]


@dataclass(frozen=True)
class Located:
    """An instance, the place of its row, its position in the source, a seeded hash of its words.

    `cell` has the values of the fields that balance the validation split.
    """

    instance: TaskInstance
    where: str
    position: int
    rank: str
    cell: tuple[str, ...] = ()


class RowSource(Source):
    """The problems of one place for all splits, or of one place for each split.

    Splits that name the same place divide it in proportion to their `fractions`. A hash of each
    problem's words decides (`overlap_key` of the instruction, or of `text_of` if that is given), so
    the same problem is never in two splits. A place that only one split names belongs to it whole.

    Args:
        places: one place, which all three splits then share, or one for each split. A place is a
            path (.jsonl, .jsonl.gz, .json with an array, or a folder of .json files with one
            problem each), a `HubDataset`, or a mapping with its fields (`dataset` and so on).
        read: makes a problem of a row. Rows for which it raises `UnfitRowError` are left out, with
            a warning that counts them and names the first.
        name: of the task, for messages.
        overlap_key: equal for two texts that pose the same problem (see `Domain`).
        gold_errors: for each instance, why the domain cannot judge by its gold answer, or None.
        options: the shares of the splits in a place that they share, and their limit.
        keeps_test_apart: whether problems of the test split's place are left out of splits with
            another place, if the id, or question and answer, are the same.
        rows: reads the rows of a place, for data sets whose files have another layout.
        text_of: the whole text of a problem, as in `Domain`; the default is the instruction. A
            warning counts problems that repeat the text and answer of another.
    """

    def __init__(
        self,
        places: Places,
        read: Read,
        options: RowOptions = RowOptions(),
        *,
        name: str,
        overlap_key: Callable[[str], str],
        gold_errors: Callable[[Sequence[TaskInstance]], Sequence[str | None]] | None = None,
        keeps_test_apart: bool = False,
        rows: Callable[[Path | HubDataset], Iterable[SourceRow]] = read_rows,
        text_of: Callable[[TaskInstance], str] | None = None,
    ) -> None:
        if bool(options.balance) != (options.per_cell is not None):
            raise ConfigurationError(
                f"balance is {options.balance} and per_cell is {options.per_cell}, expected "
                "both, such as task.balance=[type,level] task.per_cell=50, or neither"
            )
        self.places, self._options = _by_split(places), options
        for split in self.places:
            sharing = self._sharing(split)
            if len(sharing) > 1 and not options.balance and not self._fraction_of(sharing):
                raise ConfigurationError(
                    f"fractions are {dict(options.fractions)!r}, which leave nothing of "
                    f"{source_name(self.places[split])} to {' and '.join(sharing)}"
                )
        self._read = read
        self._rows = rows
        self._text_of = text_of
        self._name = name
        self._overlap_key = overlap_key
        self._gold_errors = gold_errors
        self._where = {
            name: {str(v) for v in (values if isinstance(values, list | tuple) else [values])}
            for name, values in (options.where or {}).items()
        }
        self._keeps_test_apart = keeps_test_apart
        self._warned_of: set[Path | HubDataset] = set()
        self._totals: dict[Split, int] = {}  # problems in the source of a split that was read

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits that have a source."""
        return tuple(self.places)

    @property
    def has_one_source(self) -> bool:  # type: ignore[override]
        """Whether all three splits share one source."""
        return len(self.places) == len(SPLITS) and len(set(self.places.values())) == 1

    def whole(self) -> Source:
        whole = copy.copy(self)
        whole.places = {"validation": next(iter(self.places.values()))}
        whole._totals, whole._options = {}, replace(self._options, balance=())
        return whole

    def share(self, split: Split, chosen: int) -> str | None:
        return None if chosen == self._totals.get(split, chosen) else self._of(split, chosen)

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split.

        Raises:
            ConfigurationError: if the split has no source.
            InvalidInstanceError, UnparsableAnswerError: naming the file and the line.
        """
        problems = self._located(split)
        if self._keeps_test_apart and "test" in self.places and split not in self._sharing("test"):
            others = [p.instance for p in self._located("test")]
            ids, contents = {i.id for i in others}, set(map(self._content, others))
            problems = [p for p in problems if p.instance.id not in ids]
            problems = [p for p in problems if self._content(p.instance) not in contents]
        self._totals[split] = len(problems)
        chosen = self._chosen(split, problems)
        if problems and not chosen:
            raise InvalidInstanceError(
                f"task {self._name!r} has no instances for split {split!r}: {self._of(split)}. "
                "Name a file for each split, such as "
                "task.sources={validation: a.jsonl, test: b.jsonl}, or other shares "
                "(task.fractions)"
            )
        instances = [p.instance for p in chosen]
        gold_errors = self._gold_errors(instances) if self._gold_errors else [None] * len(chosen)
        for problem, gold_error in zip(chosen, gold_errors, strict=True):
            if gold_error is not None:
                raise UnparsableAnswerError(
                    f"{problem.where} (instance {problem.instance.id!r}): {gold_error}"
                )
        return instances

    def _of(self, split: Split, chosen: int = 0) -> str:
        reasons = []
        sharing = self._sharing(split)
        if self._options.balance and "validation" in sharing:
            first = f"the first {self._options.per_cell} of each cell"
            reasons.append(first if split == "validation" else f"without {first}")
        elif len(sharing) > 1:
            percent = 100 * self._options.fractions.get(split, 0.0) / self._fraction_of(sharing)
            reasons.append(f"{split} is {percent:.3g}%")
        if chosen == self._options.limit:
            reasons.append(f"limit is {self._options.limit}")
        return f"{chosen} of {self._totals[split]} problems ({', '.join(reasons)})"

    def _located(self, split: Split) -> list[Located]:
        if split not in self.places:
            raise ConfigurationError(
                f"task {self._name!r} has no source for split {split!r}, "
                f"only for {', '.join(self.places)}"
            )
        source = self.places[split]
        name, names = source_name(source), [*map(source_name, {*self.places.values()})]
        is_shared = isinstance(source, Path) and names.count(name) > 1  # ids would be the same
        prefix = f"{Path(str(source)).absolute().parent.name}/" if is_shared else ""
        problems = []
        left_out = []
        places: dict[str, str] = {}
        n_rows = 0
        balance = self._options.balance if "validation" in self._sharing(split) else ()
        for position, row in enumerate(self._rows(source)):
            n_rows += 1
            for name in (*self._where, *balance):
                if name not in row.values:
                    raise row.fault(name, "the field that task.where or task.balance names")
            if any(str(row.values[name]) not in kept for name, kept in self._where.items()):
                continue
            try:
                instance = self._read(row)
            except UnfitRowError as error:
                left_out.append(str(error))
                continue
            instance = instance.model_copy(update={"id": prefix + instance.id})
            text = instance.instruction
            key = self._overlap_key(text if text.strip() else self._content(instance)[0])
            rank = hashlib.sha256(f"{self._options.seed} {key}".encode()).hexdigest()
            if (known := places.setdefault(instance.id, row.where)) != row.where:
                raise InvalidInstanceError(
                    f"{row.where}: the id {instance.id!r} is also that of {known}: each problem "
                    "needs an id of its own"
                )
            cell = tuple(str(row.values[name]) for name in balance)
            problems.append(Located(instance, row.where, position, rank, cell))
        if left_out:
            warn_run(
                f"{self._name}: {len(left_out)} of {len(left_out) + len(problems)} rows cannot be "
                f"judged and are left out, the first ones: {'; '.join(left_out[:3])}"
            )
        if self._where and n_rows and not problems and not left_out:
            raise InvalidInstanceError(
                f"{source}: task.where keeps none of {n_rows} rows, with "
                + " and ".join(f"{n} of {', '.join(sorted(v))}" for n, v in self._where.items())
            )
        if left_out and not problems:
            raise InvalidInstanceError(f"{source}: no row can be judged; the first: {left_out[0]}")
        self._mention_repeats(source, problems)
        return problems

    def _mention_repeats(self, source: Path | HubDataset, problems: Sequence[Located]) -> None:
        """Warn once of questions that occur more than once in the source."""
        if source in self._warned_of:
            return
        self._warned_of.add(source)
        first: dict[str, Located] = {}
        repeats, n_others = [], 0
        for found in problems:
            text, answer = self._content(found.instance)
            before = first.setdefault(text, found)
            if before is not found:
                repeats.append((found, before))
                n_others += before.instance.answer != answer
        if repeats:
            again, other = (f"{p.where} ({p.instance.answer!r:.80})" for p in repeats[0])
            warn_run(
                f"{self._name}: {len(repeats)} of {len(problems)} problems repeat the question of "
                f"another one, {n_others} with another answer, first {again}, which repeats "
                f"{other}: each counts in scores"
            )

    def _content(self, instance: TaskInstance) -> tuple[str, str | None]:
        text = self._text_of(instance) if self._text_of else instance.instruction
        return text, instance.answer

    def _chosen(self, split: Split, problems: list[Located]) -> list[Located]:
        """The split's share of the problems; with a limit, a sample of it."""
        sharing = self._sharing(split)
        if self._options.balance and "validation" in sharing:
            problems = self._balanced(split, problems, [s for s in sharing if s != "validation"])
        elif len(sharing) > 1:
            total = self._fraction_of(sharing)
            before = self._fraction_of(sharing[: sharing.index(split)])
            after = before + self._options.fractions.get(split, 0.0)
            ranks = sorted({p.rank for p in problems})
            low, high = round(len(ranks) * before / total), round(len(ranks) * after / total)
            own = set(ranks[low:high])
            problems = [p for p in problems if p.rank in own]
        sample = sorted(problems, key=lambda p: (p.rank, p.position))[: self._options.limit]
        return sorted(sample, key=lambda p: p.position)

    def _balanced(
        self, split: Split, problems: list[Located], others: Sequence[Split]
    ) -> list[Located]:
        """The first problems of each cell for the validation split, the rest for another one."""
        if len(others) > 1:
            raise ConfigurationError(
                f"task.balance with one source for all splits leaves the rest of it to both "
                f"{' and '.join(others)}: name a source of its own for one of them"
            )
        cells: dict[tuple[str, ...], list[Located]] = {}
        for problem in problems:
            cells.setdefault(problem.cell, []).append(problem)
        most = self._options.per_cell or 0
        small = {cell: len(found) for cell, found in cells.items() if len(found) < most}
        if small and split == "validation":
            (cell, n), *_ = small.items()
            warn_run(
                f"{self._name}: {len(small)} of {len(cells)} cells of task.balance have fewer than "
                f"{most} problems (task.per_cell), first {' / '.join(cell)} with {n}"
            )
        chosen = [p for found in cells.values() for p in found[:most]]
        if split == "validation":
            return chosen
        ranks = {p.rank for p in chosen}
        return [p for p in problems if p.rank not in ranks]

    def _sharing(self, split: Split) -> list[Split]:
        """The splits with the same source as that one, itself included."""
        return [s for s in SPLITS if self.places.get(s) == self.places[split]]

    def _fraction_of(self, splits: Sequence[Split]) -> float:
        return sum(self._options.fractions.get(s, 0.0) for s in splits)


def _by_split(sources: Places) -> dict[Split, Path | HubDataset]:
    if not isinstance(sources, Mapping) or "dataset" in sources:
        return dict.fromkeys(SPLITS, _parsed(sources))
    check_one_of(SPLITS, **{f"sources.{name}": name for name in sources})
    return {split: _parsed(sources[split]) for split in SPLITS if split in sources}


def _parsed(source: Any) -> Path | HubDataset:
    if isinstance(source, HubDataset | Mapping):
        return HubDataset.model_validate(source)
    return Path(source).expanduser()
