"""One question, answered once, such as one about a passage that the student does not see.

This is `dataenvgym/Knowledge-v0`; bare `gymnasium.make` works on the validation problems of pocket
knowledge.

Exact match and F1 of an answer are those of the official evaluation of SQuAD 1.1: case, punctuation
(ASCII), articles and spacing do not count, and the best gold answer decides.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any, Literal, NamedTuple

from dataenvgym.domains.knowledge.choice import read_choice
from dataenvgym.domains.knowledge.instructions import followed
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.interfaces import Ask, Reply
from dataenvgym.records import Conversation, Model, TaskInstance, Text
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.judging import AnswerVerdict, Unscored, judge_ask, question

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """The text in lower case, without punctuation and articles, its words one space apart."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> bool:
    """Whether the normalized answer is one of the normalized gold answers."""
    return normalized(answer) in map(normalized, golds)


def f1(answer: str, golds: Sequence[str]) -> float:
    """The harmonic mean of precision and recall of the normalized words, for the best gold."""
    return max(_f1(normalized(answer).split(), normalized(gold).split()) for gold in golds)


def _f1(answer: list[str], gold: list[str]) -> float:
    shared = (Counter(answer) & Counter(gold)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(answer), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


Grader = Literal["choice", "exact_match", "f1", "instructions", "judge"]


class Passage(NamedTuple):
    """A passage and its title."""

    title: str
    text: str


def passage_of(instance: TaskInstance) -> Passage | None:
    """The passage that an instance asks about; None if it has none."""
    title, text = instance.data.get("title"), instance.data.get("passage")
    return Passage(title, text) if isinstance(title, str) and isinstance(text, str) else None


class Given(Model, extra="ignore"):
    """The data of a question: several gold answers, or the texts of its choices."""

    answers: tuple[Text, ...] = ()
    choices: tuple[Text, ...] = ()


def golds_of(instance: TaskInstance) -> Sequence[str]:
    """All gold answers."""
    return instance.data_as(Given).answers or ((instance.answer,) if instance.answer else ())


class KnowledgeEnvironment(TaskEnvironment):
    """The student answers once; the reward is 1.0 for a right answer, else 0.0.

    The score `f1` compares the words of the answer with those of the best gold answer. If a judge
    decides, `exact_match` is a score as well. An empty answer is wrong, and the judge is not
    asked. If the judge gives no verdict, the instance ends with its error, not with a score.

    Args:
        graded_by: "exact_match" with one of the gold answers, "f1": that score, "choice": the
            letter of one of `data["choices"]`, "instructions" (see `instructions`), or "judge": the
            speaker of that name.
        options: those of `TaskEnvironment`.
    """

    max_turns = 1

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        *,
        graded_by: Grader = "exact_match",
        **options: Any,
    ) -> None:
        super().__init__(instances, **options)
        self.graded_by = graded_by

    def begin(self, instance: TaskInstance) -> Conversation:
        if self.graded_by != "instructions" and not golds_of(instance):
            raise InvalidInstanceError(f"instance {instance.id!r} has no gold answer")
        return self.prompt_template.conversation(instance.instruction)

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Generator[Ask, Reply, Outcome]:
        answer = conversation[-1].content.strip()
        if self.graded_by == "instructions":
            return followed(instance, conversation[-1].content)
        if self.graded_by == "choice":
            is_right = read_choice(answer, instance.data_as(Given).choices) == instance.answer
            return Outcome(reward=float(is_right), was_correct=is_right)
        golds = golds_of(instance)
        # the words of an answer may all be articles, and so may those of a gold answer
        is_same = bool(normalized(answer)) and exact_match(answer, golds)
        scores = {"f1": f1(answer, golds)}
        is_right = is_same
        if self.graded_by == "judge":
            scores["exact_match"] = float(is_same)
            is_right = False
            if answer:
                gold = " / ".join(golds)
                data = {"question": instance.instruction, "gold": gold, "answer": answer}
                asked = question("knowledge_answer", AnswerVerdict, data=data)
                verdict = yield from judge_ask(asked, AnswerVerdict)
                if isinstance(verdict, Unscored):
                    raise verdict.error()
                is_right = verdict.is_right
        reward = scores["f1"] if self.graded_by == "f1" else float(is_right)
        return Outcome(reward=reward, was_correct=is_right, scores=scores)
