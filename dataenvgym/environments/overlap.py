"""Whether a record repeats an earlier one, or gives away a problem of an evaluation.

Two texts are near duplicates if their sets of word 3-grams have a Jaccard similarity of at least
`similarity` and they have the same numbers in the same order: a problem with other numbers is
another problem. Locality-sensitive hashing proposes candidates: texts that share a band of their
MinHash (by `datasketch`). Its threshold is lower, so that it misses few. The exact similarity
decides.

A record gives away a problem that the student is evaluated on if

- a line of it has the problem's `overlap_key`, which the task may define, or
- a part of it contains the problem's words, or in a domain whose problems share long runs of words
  (`Domain.word_runs_identify`) the last two fifths of a long problem, or
- a part of it shares 13 consecutive words with the problem or with its answer, in any other
  domain. Words that many problems share are boilerplate and do not count.

Texts are compared in their plain form (see `tasks.words`), and also without escapes of JSON and
HTML. Other encodings and translations are not seen.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape
from itertools import chain
from typing import TYPE_CHECKING, Literal

from dataenvgym.events import warn_run
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.tasks.adapted_task import known_instances
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.words import plain

if TYPE_CHECKING:
    from datasketch import MinHash

_PERMUTATIONS = 128
_SLACK = 0.15
_STOPS = ".?!:;"
_SIGNS = "+*/^<>=%~|$\\#-"
_ASCII = re.compile(rf"[a-z0-9]+|[{re.escape(_SIGNS + _STOPS)}]")


def record_text(record: TrainingDatum) -> str:
    """Everything that distinguishes a record, as one text."""
    return "\n".join([record.kind, *record.marks(), *record.parts()])


def normalized(text: str) -> str:
    """Keep casefolded words, numbers and mathematical signs, one space apart; no punctuation."""
    return " ".join(word for word in words_and_stops(text) if word not in _STOPS)


def words_and_stops(text: str) -> list[str]:
    """Split into casefolded words, numbers, mathematical signs and ends of sentences."""
    text = plain(text).casefold()
    if text.isascii():
        return _ASCII.findall(text)
    spaced = []
    for character in text:
        category = unicodedata.category(character)[0]
        if category in "LMN":  # combining marks are vowels in many scripts: part of words
            spaced.append(character)
        else:
            is_kept = category == "S" or character in _SIGNS or character in _STOPS
            spaced.append(f" {character} " if is_kept else " ")
    return "".join(spaced).split()


@dataclass(frozen=True)
class Fingerprint:
    """A normalized text (words one space apart) and its bands; a text may be too short for bands.

    A band is an unsigned 64-bit number. Two texts that share a band may be near duplicates.
    """

    text: str
    bands: tuple[int, ...] = ()


class SeenTexts:
    """The texts seen so far, numbered from 0.

    Owners and bands are tuples of numbers. Python's garbage collector does not visit these, so the
    cost of a step does not grow with the number of texts.

    Args:
        similarity: Jaccard threshold in (0, 1); texts too short to reach it with one word
            changed have no near duplicates.
    """

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        # One changed word at the end of a text changes one of its n shingles: (n-1)/(n+1).
        self._shortest = math.ceil((1 + similarity) / max(1 - similarity, 1e-9))
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._bands: list[tuple[int, ...]] = []
        self._owners: dict[int, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def fingerprint(self, text: str) -> Fingerprint:
        """Compute the fingerprint of a text for `repeats` and `add`."""
        shingles = _shingles(text)
        if len(shingles) < self._shortest:
            return Fingerprint(text)
        minhash = _empty().copy()
        minhash.update_batch(shingles)
        # the numbers change the bands, so texts with other numbers are not candidates
        own = _numbers(text).encode()
        n_bands, size = _layout(self._similarity)
        values = minhash.hashvalues[: n_bands * size].astype(">u4").reshape(n_bands, size)
        keys = (own + bytes([i]) + band.tobytes() for i, band in enumerate(values))
        hashes = (hashlib.blake2b(key, digest_size=8).digest() for key in keys)
        return Fingerprint(text, tuple(int.from_bytes(one, "big") for one in hashes))

    def repeats(self, one: Fingerprint) -> Literal["duplicate", "near_duplicate"] | None:
        """Why the text is not new, or None if it is."""
        if one.text in self._numbers:
            return "duplicate"
        candidates = {number for band in one.bands for number in self._owners.get(band, ())}
        near = any(self._are_near(one.text, self._texts[number]) for number in candidates)
        return "near_duplicate" if near else None

    def add(self, one: Fingerprint) -> None:
        """Remember the text."""
        number = len(self._texts)
        is_new = self._numbers.setdefault(one.text, number) == number
        self._texts.append(one.text)
        self._bands.append(one.bands if is_new else ())
        for band in self._bands[-1]:
            self._owners[band] = (*self._owners.get(band, ()), number)

    def forget_from(self, first: int) -> None:
        """Forget the texts from number `first` on."""
        for text, bands in zip(self._texts[first:], self._bands[first:], strict=True):
            for band in bands:
                owners = tuple(number for number in self._owners.pop(band, ()) if number < first)
                if owners:
                    self._owners[band] = owners
            if self._numbers.get(text, -1) >= first:
                del self._numbers[text]
        del self._texts[first:], self._bands[first:]

    def _are_near(self, text: str, other: str) -> bool:
        one, two = _shingles(text), _shingles(other)
        is_similar = len(one & two) / len(one | two) >= self._similarity
        return is_similar and _numbers(text) == _numbers(other)


def _shingles(text: str) -> frozenset[bytes]:
    """The text's word 3-grams."""
    words = text.encode().split(b" ")
    return frozenset(map(b" ".join, zip(words, words[1:], words[2:], strict=False)))


def _numbers(text: str) -> str:
    return " ".join(re.findall(r"\d+", text))


@cache
def _empty() -> MinHash:
    from datasketch import MinHash

    return MinHash(num_perm=_PERMUTATIONS, seed=1)


@cache
def _layout(similarity: float) -> tuple[int, int]:
    """The number of bands, and of hashes per band; takes a second to compute."""
    from datasketch import MinHashLSH

    layout = MinHashLSH(threshold=max(similarity - _SLACK, 0.1), num_perm=_PERMUTATIONS)
    return layout.b, layout.r


RUN = 13
_COMMON = 10
_ESCAPE = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\[nrt"/\\]')


def runs_of(words: Sequence[str]) -> Iterator[int]:
    """The hashes of all sequences of 13 consecutive words."""
    return map(hash, zip(*(words[i:] for i in range(RUN)), strict=False))


def distinctive_runs(texts: Iterable[Sequence[str]]) -> set[int]:
    """The runs of words in the texts, without boilerplate: what is in many of them."""
    runs = [set(runs_of(words)) for words in texts if len(words) >= RUN]
    counts = Counter(chain.from_iterable(runs))
    return {run for run, n in counts.items() if n <= _COMMON and (n <= 2 or n <= len(runs) / 2)}


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
        self._runs = distinctive_runs(runs if word_runs_identify else ())

    def __contains__(self, record: TrainingDatum) -> bool:
        parts = _readings(record.questions())
        lines = dict.fromkeys(line for part in parts for line in (part, *part.splitlines()))
        if any(self._key(plain(line)) in self._keys for line in lines):
            return True
        for part in _readings(record.parts()):
            words = words_and_stops(part)
            if not self._runs.isdisjoint(runs_of(_without_signs(words))):
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

    def __init__(self, task: Task, others: Sequence[Task] = ()) -> None:
        self._task = adapted = task
        self._domains = [part.domain for part in task.parts.values()]
        has_test = adapted.offers("on") and "test" in adapted.splits
        self._instances = list(known_instances(adapted.on("validation")))
        self.learns = not self._instances
        """True if the validation problems are known only from evaluations."""
        for test in (*([adapted.on("test")] if has_test else []), *others):
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
        identify = set.intersection(*(set(domain.word_runs_identify) for domain in self._domains))
        return EvaluationOverlap(
            (instance.instruction for instance in instances),
            answers=[i.answer for i in instances if i.answer] if "answer" in identify else (),
            overlap_key=self._overlap_key if self._task.offers("domain") else None,
            word_runs_identify="problem" in identify,
        )

    def _overlap_key(self, text: str) -> str:
        """The keys of all domains: texts that differ for one of them are different problems."""
        return "\n".join(dict.fromkeys(domain.overlap_key(text) for domain in self._domains))

    def learn(self, completed: Iterable[CompletedTaskInstance]) -> bool:
        """Add the problems of an evaluation; return True if some are new. Warn if none has text."""
        instances = (c.instance for c in completed)
        new = [i for i in instances if (i.id, i.instruction) not in self._known]
        self._known |= {(i.id, i.instruction) for i in new}
        self._instances += new
        if not any(i.instruction.strip() for i in self._instances):
            warn_run(
                f"NOT CHECKED for overlap: no evaluated instance of task {self._task.name!r} has "
                "an `instruction`, so training records may give away what the student is "
                "evaluated on. Put the problem's text there"
            )
        return bool(new)
