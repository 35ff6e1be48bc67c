"""Grades answers: first on the fast path; a worker process decides the remaining ones.

`grade_pairs` is the full interface: it distinguishes a wrong answer from a check that failed.
`answers_equal` is the short one, for a single pair and a plain yes or no.

`settle` is the fast path: it returns True, False or None. True and False are proofs under the rules
below, given the knowledge of `ask` about the formulas in the two answers. None means that a
computer algebra system must decide.

- Numbers are compared exactly: 18.90 is 18.9, 1/3 is not 0.33. Only a decimal of six places or
  more may also be the rounding of another number: 0.333333 is 1/3.
- A unit, a currency sign or degrees may be missing on one side; two different units are not equal.
  A single letter is a unit only if the other side is only the number (`4m` and `4`).
- A percentage equals its hundredth, and the bare number if that is at least one (50% is 0.5 and
  50, but 0.5% is not 0.5).
- Round and square brackets around two items are different intervals, and both keep their order;
  braces are a set; a bare list (`1,2` or `1 and 2`) has no order unless the other side has one;
  numbers with spaces between them (`4 3 1`) are a sequence, and so are letters (`c a b`) if
  both sides are written like that.
- `101_2` is a numeral and equals only the same numeral in the same base.
- A list whose items are all equal (`0.5, or 50%`) equals the item.
- A named value (`x = 5`) equals the value alone; words are compared without case.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dataenvgym.errors import shorten
from dataenvgym.tasks.scoring.answers import read, read_list
from dataenvgym.tasks.scoring.normalize import clean, tokens, unwrap_text
from dataenvgym.tasks.scoring.pool import shared_pool
from dataenvgym.tasks.scoring.process import WorkerReply, WorkerRequest
from dataenvgym.tasks.scoring.quantities import (
    MAX_POWER_BITS,
    Ask,
    compare_formulas,
    compare_numbers,
    split_unit,
)
from dataenvgym.tasks.scoring.values import (
    LIST,
    SEQUENCE,
    UNION,
    Equation,
    Formula,
    Group,
    HugePower,
    Opaque,
    Quantity,
    Reading,
    Word,
)

TIME_LIMIT = 5.0
"""Seconds that the check of one pair may take."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer equals its gold.

    Attributes:
        equal: the verdict; False if the check failed.
        error: why the check failed (it ran out of time or memory, its worker could not start),
            or None. A verdict with an error says nothing about the answer.
        exhausted: whether this pair caused the error, so that the answer counts as wrong: it took
            too much time or memory, or sympy cannot handle it. If False, the grader failed.
    """

    equal: bool
    error: str | None = None
    exhausted: bool = False


def grade_pairs(
    pairs: Sequence[tuple[str, str]], *, time_limit: float = TIME_LIMIT
) -> list[Verdict]:
    """Compare pairs of (gold, answer), both without delimiters such as `\\boxed{}`.

    Numbers and text are compared here, exactly. Formulas, also as items of a list or sides of an
    equation, are compared in worker processes, several at once. A worker that takes more than
    `time_limit` seconds is killed. It may be called from any thread and from several at once; it
    sets no alarm. An empty answer equals nothing.

    Returns:
        One verdict per pair, in order.
    """
    replies: dict[WorkerRequest, WorkerReply] = {}
    verdicts: dict[int, Verdict] = {}
    while len(verdicts) < len(pairs):
        questions: dict[WorkerRequest, None] = {}
        for index in range(len(pairs)):
            if index not in verdicts:
                verdict = _verdict(*pairs[index], replies)
                if isinstance(verdict, Verdict):
                    verdicts[index] = verdict
                else:
                    questions.update(dict.fromkeys(verdict))
        if questions:
            answers = shared_pool().run(list(questions), time_limit)
            replies.update(zip(questions, answers, strict=True))
    return [verdicts[index] for index in range(len(pairs))]


def answers_equal(gold: str, answer: str, *, time_limit: float = TIME_LIMIT) -> bool:
    """Whether `answer` is a correct way to write `gold` (see the module).

    A check that fails, for example by running out of time, counts as not equal and is logged as a
    warning; use `grade_pairs` where the difference matters.
    """
    (verdict,) = grade_pairs([(gold, answer)], time_limit=time_limit)
    if verdict.error is not None:
        _logger.warning(
            "%r against %r: %s", shorten(answer, 200), shorten(gold, 200), verdict.error
        )
    return verdict.equal


def gold_problems(golds: Sequence[str], *, time_limit: float = TIME_LIMIT) -> list[str | None]:
    """For each gold, why it cannot be compared, or None; plain ones take microseconds."""
    problems: list[str | None] = [_plain_problem(gold) for gold in golds]
    doubtful = [index for index, gold in enumerate(golds) if problems[index] is None]
    doubtful = [index for index in doubtful if not _is_plain(read(clean(golds[index])))]
    if doubtful:
        requests = [WorkerRequest(_for_worker(golds[index]), None) for index in doubtful]
        for index, reply in zip(doubtful, shared_pool().run(requests, time_limit), strict=True):
            problems[index] = _reported_problem(golds[index], reply)
    return problems


def _verdict(
    gold: str, answer: str, replies: Mapping[WorkerRequest, WorkerReply]
) -> Verdict | list[WorkerRequest]:
    """The verdict of a pair, or the questions for the workers that it needs first."""
    asked: list[WorkerRequest] = []

    def ask(one: str, other: str) -> bool | None:
        asked.append(request := WorkerRequest(one, other))
        reply = replies.get(request)
        return reply.value if reply and reply.error is None else None

    if (equal := settle(gold, answer, ask)) is not None:
        return Verdict(equal)
    if unanswered := [request for request in asked if request not in replies]:
        return unanswered
    whole = WorkerRequest(_for_worker(gold), _for_worker(answer))
    failed = [request for request in asked if replies[request].error is not None]
    decisive = failed[0] if failed else whole
    if decisive not in replies:
        return [whole]
    reply = replies[decisive]
    return Verdict(reply.value, reply.error, reply.exhausted)


def _for_worker(text: str) -> str:
    number, _ = split_unit(clean(text))
    return unwrap_text(number)


def _plain_problem(gold: str) -> str | None:
    if not clean(gold):
        return f"the gold answer is {shorten(gold)!r}: expected an answer, found nothing in it"
    if len(gold) > MAX_LENGTH:
        return f"the gold answer has {len(gold)} characters: at most {MAX_LENGTH} can be compared"
    return None


def _is_plain(reading: Reading) -> bool:
    if isinstance(reading, Group):
        return all(map(_is_plain, reading.items))
    if isinstance(reading, Equation):
        return (bool(reading.name) or _is_plain(reading.left)) and _is_plain(reading.right)
    return not isinstance(reading, Opaque) and (
        not isinstance(reading, Formula) or reading.is_letter
    )


def _reported_problem(gold: str, reply: WorkerReply) -> str | None:
    if reply.error is not None:
        return f"the gold answer {gold!r} could not be checked: {reply.error}"
    if not reply.value:
        return f"the gold answer {gold!r} is not an expression that can be compared"
    return None


MAX_LENGTH = 2_000
"""Longer answers are compared as text only."""

_LETTERS = re.compile(r"[A-Za-z]{1,3}(?: [A-Za-z]{1,3})+")
_MAX_COMPARISONS = 2_500
_MAX_QUESTIONS = 100
_BRACKETS = ("(", "[")


def settle(gold: str, answer: str, ask: Ask = lambda one, other: None) -> bool | None:
    """Whether `answer` equals `gold`; None if undecided. Symmetric if `ask` is."""
    if not gold or not answer or len(gold) > MAX_LENGTH or len(answer) > MAX_LENGTH:
        return bool(gold.strip()) and gold.strip() == answer.strip()
    one, other = clean(gold), clean(answer)
    if not one or not other:
        return False
    if one == other:
        return True
    return _settle_texts(one, other, ask)


def _settle_texts(one: str, other: str, ask: Ask) -> bool | None:
    flat, flat_other = unwrap_text(one), unwrap_text(other)
    if flat == flat_other:
        return True
    if ("..." in one) != ("..." in other):
        return False
    same_letters = flat.casefold() == flat_other.casefold()
    if same_letters and len(flat) > 1 and flat.replace(" ", "").isalpha():
        return True
    if _LETTERS.fullmatch(flat) and _LETTERS.fullmatch(flat_other):
        return False
    left, right = read(one), read(other)
    if isinstance(right, Group) and (listed := read_list(one)):
        left = listed
    elif isinstance(left, Group) and (listed := read_list(other)):
        right = listed
    verdict = _Comparison(ask).compare(left, right)
    return None if same_letters and not verdict else verdict


class _Comparison:
    """Compares two readings; each method returns None if it cannot decide."""

    def __init__(self, ask: Ask):
        self._ask = ask

    def compare(self, one: Reading, other: Reading) -> bool | None:
        if isinstance(one, Equation) or isinstance(other, Equation):
            return self._equations(one, other)
        if isinstance(one, Opaque) and isinstance(other, Opaque):
            return tokens(one.text) == tokens(other.text) or None
        if isinstance(one, Opaque) or isinstance(other, Opaque):
            return None
        if isinstance(one, Formula) or isinstance(other, Formula):
            return self._formulas(one, other)
        if isinstance(one, Quantity) and isinstance(other, Quantity):
            return compare_numbers(one, other)
        if isinstance(one, Group) and isinstance(other, Group):
            return self._groups(one, other)
        if isinstance(one, Group) or isinstance(other, Group):
            return self._with_group(one, other)
        if isinstance(one, HugePower) or isinstance(other, HugePower):
            return _compare_with_huge(one, other)
        return one == other

    def _formulas(self, one: Reading, other: Reading) -> bool | None:
        """An expression and anything else; letters that are not a word equal no word."""
        if isinstance(one, Quantity | Formula) and isinstance(other, Quantity | Formula):
            return compare_formulas(one, other, self._ask)
        formula, word = (one, other) if isinstance(one, Formula) else (other, one)
        if isinstance(word, Word) and isinstance(formula, Formula):
            return False if formula.text.replace(" ", "").isalpha() else None
        return None

    def _equations(self, one: Reading, other: Reading) -> bool | None:
        if isinstance(one, Equation) and isinstance(other, Equation):
            return self._two_equations(one, other)
        equation, plain = (one, other) if isinstance(one, Equation) else (other, one)
        if isinstance(equation, Equation) and equation.name:
            return self.compare(equation.right, plain)
        return None

    def _two_equations(self, one: Equation, other: Equation) -> bool | None:
        if not one.name or not other.name:
            return None
        constants = isinstance(one.right, Quantity) and isinstance(other.right, Quantity)
        if one.name != other.name:
            return False if constants else None
        return self.compare(one.right, other.right) or (False if constants else None)

    def _with_group(self, one: Reading, other: Reading) -> bool | None:
        """A group and a reading that is not one; only a group of one can equal its single item."""
        group, single = (one, other) if isinstance(one, Group) else (other, one)
        if not isinstance(group, Group) or group.left in (SEQUENCE, UNION):
            return None if isinstance(group, Group) and group.left == UNION else False
        verdicts = {self.compare(item, single) for item in group.items}
        if verdicts == {True}:
            rest = [self.compare(group.items[0], item) for item in group.items[1:]]
            return True if not rest or (group.left == LIST and all(rest)) else None
        return None if None in verdicts and False not in verdicts else False

    def _groups(self, one: Group, other: Group) -> bool | None:
        if one.variable and other.variable and one.variable != other.variable:
            return None
        if UNION in (one.left, other.left):
            return self._unordered(one.items, other.items) or None
        if "\\{" in (one.left, other.left):
            sets = {one.left, other.left} <= {"\\{", LIST}
            return self._unordered(one.items, other.items) if sets else False
        if one.left == other.left == LIST:
            verdict = self._unordered(one.items, other.items)
            return None if verdict and len(one.items) != len(other.items) else verdict
        if not _brackets_agree(one, other):
            return False
        return self._ordered(one.items, other.items)

    def _ordered(self, ones: Sequence[Reading], others: Sequence[Reading]) -> bool | None:
        if len(ones) != len(others):
            return False
        verdicts = [self.compare(one, other) for one, other in zip(ones, others, strict=True)]
        if False in verdicts:
            return False
        return None if None in verdicts else True

    def _unordered(self, ones: Sequence[Reading], others: Sequence[Reading]) -> bool | None:
        """Whether each item on either side has an equal one on the other."""
        if len(ones) == len(others) and self._ordered(ones, others):
            return True
        numbers = all(isinstance(item, Quantity) for item in (*ones, *others))
        if len(ones) * len(others) > (_MAX_COMPARISONS if numbers else _MAX_QUESTIONS):
            return None
        table = [[self.compare(one, other) for other in others] for one in ones]
        lines = table + [list(column) for column in zip(*table, strict=True)]
        if all(True in line for line in lines):
            return True
        return False if any(set(line) == {False} for line in lines) else None


def _compare_with_huge(one: Reading, other: Reading) -> bool | None:
    """A tower of powers is larger than any number that can be written out."""
    if isinstance(one, HugePower) and isinstance(other, HugePower):
        return None
    plain = other if isinstance(one, HugePower) else one
    if isinstance(plain, Quantity) and plain.value.numerator.bit_length() > MAX_POWER_BITS:
        return None
    return False


def _brackets_agree(one: Group, other: Group) -> bool:
    """Whether two ordered groups are of one kind; intervals differ by their brackets."""
    half_open = [group for group in (one, other) if group.left + group.right in ("(]", "[)")]
    if half_open or (one.left in _BRACKETS and other.left in _BRACKETS and len(one.items) == 2):
        return (one.left, one.right) == (other.left, other.right)
    return True
