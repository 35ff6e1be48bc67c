"""Checks whether a record gives away a problem that the student is evaluated on.

It does if

- a line of it has the problem's `overlap_key`, which the task may define, or
- a part of it contains the problem's words, or in a domain whose problems share long runs of words
  (`Domain.word_runs_identify`) the last two fifths of a long problem, or
- a part of it shares 13 consecutive words with the problem or with its answer (see `WordRuns`), in
  any other domain.

Texts are compared in their plain form (see `tasks.words`), and also without escapes of JSON and
HTML. Other encodings and translations are not seen.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from html import unescape

import numpy as np
from numpy.typing import NDArray

from dataenvgym.environments.record_texts import normalized, words_and_stops
from dataenvgym.events import warn_run
from dataenvgym.interfaces import TaskInterface
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.tasks.adapted_task import known_instances, task_of
from dataenvgym.tasks.words import plain

RUN = 13
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_COMMON = 10
_ESCAPE = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\[nrt"/\\]')

Hashes = NDArray[np.uint64]


class WordRuns:
    """The runs of words in `texts`, each a sequence of words."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._numbers: dict[str, int] = {}
        numbers: list[int] = []
        lengths: list[int] = []
        for words in texts:
            if len(words) >= RUN:
                lengths.append(len(words))
                numbers += [self._numbers.setdefault(w, len(self._numbers) + 1) for w in words]
        rng, count = np.random.default_rng(0), len(self._numbers) + 1
        self._words_own = rng.integers(0, 2**64, size=count, dtype=np.uint64)
        self._hashes = _distinctive(self._hashed(numbers), np.array(lengths, dtype=np.int64))

    def has_run_of(self, words: Sequence[str]) -> bool:
        """True if 13 consecutive words also occur in one of the texts."""
        if len(words) < RUN or not len(self._hashes):
            return False
        hashes = self._hashed([self._numbers.get(word, 0) for word in words])
        places = np.searchsorted(self._hashes, hashes)
        places[places == len(self._hashes)] = 0
        return bool((self._hashes[places] == hashes).any())

    def _hashed(self, numbers: Sequence[int]) -> Hashes:
        """Hash the run that begins at each word, except at the last twelve."""
        own = self._words_own[np.array(numbers, dtype=np.int64)]
        count = max(0, len(own) - RUN + 1)
        hashes = np.zeros(count, dtype=np.uint64)
        for i in range(RUN):
            hashes = hashes * _FACTOR + own[i : i + count]
        return hashes


def _distinctive(hashes: Hashes, lengths: NDArray[np.int64]) -> Hashes:
    """The sorted hashes of runs that are within one text and are not boilerplate."""
    if not len(lengths):
        return np.empty(0, dtype=np.uint64)
    text_of = np.repeat(np.arange(len(lengths)), lengths)[: len(hashes)]
    ends = np.cumsum(lengths)
    within = np.arange(len(hashes)) + RUN <= ends[text_of]
    hashes, text_of = hashes[within], text_of[within]
    order = np.lexsort((text_of, hashes))
    hashes, text_of = hashes[order], text_of[order]
    # count each run once per text
    first = np.ones(len(hashes), dtype=bool)
    first[1:] = (hashes[1:] != hashes[:-1]) | (text_of[1:] != text_of[:-1])
    runs, counts = np.unique(hashes[first], return_counts=True)
    is_common = (counts > _COMMON) | ((counts > 2) & (counts > len(lengths) / 2))
    return np.asarray(runs[~is_common], dtype=np.uint64)


_FEWEST_WORDS = 4
"""Shorter problems are compared by key only: their words may occur in an unrelated text."""
_MANY_WORDS = 50
"""The end of a shorter problem may be that of another one."""


class EvaluationOverlap:
    """The problems of an evaluation; `record in overlap` checks whether a record overlaps.

    Args:
        problems: the problems, as texts.
        answers: their gold answers; only answers of 13 words or more matter.
        overlap_key: maps a text to the identity of the problem in it (default: `normalized`).
        word_runs_identify: see `Domain`.
    """

    def __init__(
        self,
        problems: Iterable[str] = (),
        *,
        answers: Iterable[str] = (),
        overlap_key: Callable[[str], str] | None = None,
        word_runs_identify: bool = True,
    ) -> None:
        self._key = overlap_key or normalized
        self._keys: set[str] = set()
        self._problems: set[tuple[str, ...]] = set()
        lengths: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
        runs: list[list[str]] = []
        for text in problems:
            self._keys.add(self._key(plain(text)))
            words = tuple(words_and_stops(text.rstrip(" \n.?!")))
            runs.append(_without_signs(words))
            is_halved = len(words) >= _MANY_WORDS and not word_runs_identify
            for part in (words, words[len(words) * 3 // 5 :] if is_halved else ()):
                if len(part) >= _FEWEST_WORDS:
                    self._problems.add(part)
                    lengths[part[:_FEWEST_WORDS]].add(len(part))
        self._lengths = {start: sorted(found) for start, found in lengths.items()}
        runs += [_without_signs(words_and_stops(text)) for text in answers]
        self._runs = WordRuns(runs if word_runs_identify else ())

    def __contains__(self, record: TrainingDatum) -> bool:
        parts = _readings(record.questions())
        lines = dict.fromkeys(line for part in parts for line in (part, *part.splitlines()))
        if any(self._key(plain(line)) in self._keys for line in lines):
            return True
        for part in _readings(record.parts()):
            words = words_and_stops(part)
            if self._runs.has_run_of(_without_signs(words)):
                return True
            n, ended = len(words), [*words, ""]
            for i in range(n - _FEWEST_WORDS + 1):
                for length in self._lengths.get(tuple(words[i : i + _FEWEST_WORDS]), ()):
                    end = i + length
                    if end > n or ended[end].isdigit():  # a part of a longer operand
                        continue
                    if tuple(words[i:end]) in self._problems:
                        return True
        return False


def _readings(texts: Iterable[str]) -> list[str]:
    """The texts, and those with escapes of JSON or HTML also without them, up to twice escaped."""
    found = dict.fromkeys(texts)
    for text in [*found]:
        for _ in range(2):
            text = unescape(_ESCAPE.sub(lambda escape: json.loads(f'"{escape[0]}"'), text))
            found[text] = None
    return [*found]


def _without_signs(words: Iterable[str]) -> list[str]:
    """Keep words and numbers; drop signs."""
    return [word for word in words if len(word) > 1 or word.isalnum()]


class EvaluatedProblems:
    """Makes the overlap check of a task, and keeps it up to date; warns of unknown test problems.

    A task with `instances` (and with `on`, for other splits) offers its problems. For any other
    task, problems become known through the completed instances of an evaluation.

    Args:
        task: the task that the student is evaluated on.
        others: further tasks that it is scored on, such as a separate test task.
    """

    def __init__(self, task: TaskInterface, others: Sequence[TaskInterface] = ()) -> None:
        adapted = task_of(task)
        self._overlap_key = adapted.domain.overlap_key if adapted.offers("domain") else None
        self._overlap_answer = adapted.domain.overlap_answer
        self._word_runs_identify = adapted.domain.word_runs_identify
        self._name = adapted.name
        has_test = adapted.offers("on") and "test" in adapted.splits
        self._instances = list(known_instances(adapted.on("validation")))
        self.learns = not self._instances
        """True if the validation problems are known only from evaluations."""
        for test in (*([adapted.on("test")] if has_test else []), *map(task_of, others)):
            self._instances += known_instances(test)
            if not test.offers("instances"):
                warn_run(
                    f"NOT CHECKED for overlap: the test problems of task {test.name!r} are "
                    "unknown, because it has no `instances`, so training records may give them "
                    "away. Give the task an attribute `instances`, or keep the two apart yourself"
                )
        self._known = {(i.id, i.instruction) for i in self._instances}

    def overlap(self) -> EvaluationOverlap:
        """Return the overlap check against all known problems."""
        instances = [i for i in self._instances if i.instruction.strip()]
        return EvaluationOverlap(
            (instance.instruction for instance in instances),
            answers=filter(None, map(self._overlap_answer, instances)),
            overlap_key=self._overlap_key,
            word_runs_identify=self._word_runs_identify,
        )

    def learn(self, completed: Iterable[CompletedTaskInstance]) -> bool:
        """Add the problems of an evaluation; return True if some of them are new."""
        new = [
            c.instance
            for c in completed
            if (c.instance.id, c.instance.instruction) not in self._known
        ]
        self._known |= {(i.id, i.instruction) for i in new}
        self._instances += new
        return bool(new)

    def warn_of_no_texts(self) -> None:
        """Warn if no validation problem has a text to compare records with."""
        if not any(i.instruction.strip() for i in self._instances):
            warn_run(
                f"NOT CHECKED for overlap: no evaluated instance of task {self._name!r} has an "
                "`instruction`, so training records may give away what the student is evaluated "
                "on. Put the problem's text there"
            )
