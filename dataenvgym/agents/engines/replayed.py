"""A student that repeats its earlier messages up to a turn, and then continues with new ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dataenvgym.interfaces import Failure, PredictorInterface, Reply, SamplingParameters
from dataenvgym.records import CompletedTaskInstance, Conversation
from dataenvgym.tool_formats import as_reply


class ReplayedPredictor:
    """The student, but it begins each conversation as in an earlier try.

    If the other speakers repeat themselves too, the conversation is the same up to that turn. So
    play it with the seed of the earlier try, from which the environment and the other speakers
    derive theirs. The student's later turns are drawn with `seed`.

    Args:
        student: continues the conversations.
        tries: earlier tries, each with the place in its transcript where the student continues.
    """

    def __init__(
        self,
        student: PredictorInterface,
        tries: Iterable[tuple[CompletedTaskInstance, int]],
        *,
        seed: int,
    ) -> None:
        self._student = student
        self._seed = seed
        self._said = {
            _key(done.transcript[:i]): as_reply(done.transcript[i])
            for done, place in tries
            for i in range(place)
            if done.transcript[i].role == "assistant"
        }

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        """Return the earlier message of each conversation, or a new reply."""
        replies: dict[int, Reply | Failure] = {}
        for i, conversation in enumerate(conversations):
            if (text := self._said.get(_key(conversation))) is not None:
                replies[i] = Reply(text=text)
        new = [i for i in range(len(conversations)) if i not in replies]
        if new:
            anew = sampling.model_copy(update={"seed": self._seed})
            found = self._student.predict([conversations[i] for i in new], anew)
            replies |= zip(new, found, strict=True)
        return [replies[i] for i in range(len(conversations))]


def _key(conversation: Conversation) -> tuple[str, ...]:
    return tuple(message.model_dump_json() for message in conversation)
