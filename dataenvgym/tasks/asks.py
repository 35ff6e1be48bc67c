"""How a task environment asks other models: a user, a partner, a judge.

    def respond(self, instance, conversation):
        reply = yield Ask("user", what_the_user_saw)
        return Outcome(messages=(Message(role="user", content=reply.text),), done=False)

The generator waits at each `Ask` until it is sent the reply. `rollout` sends the replies for many
environments at once; `answered` does so for a single environment.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import replace
from types import GeneratorType
from typing import Any

from dataenvgym.errors import ConfigurationError, EvaluationError, did_you_mean
from dataenvgym.interfaces import Ask, Failure, PredictorInterface, Reply, SamplingParameters
from dataenvgym.records import Message
from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.rollouts.instance_rollout import STUDENT, Asking, T
from dataenvgym.tasks.rollouts.speakers import Speaker

SEEDS = 2**31
"""Number of different seeds for asks: some servers accept no larger ones."""


def asks_of(
    turn: GeneratorType[Any, Any, T], where: str, *, seeds: Callable[[int], int], most: int
) -> Generator[Ask, Reply, T]:
    """Pass on the asks of `begin` or `respond`, with seeds; of the replies, what they say.

    Returns its result.

    Args:
        turn: the result of a domain's `begin` or `respond`.
        where: such as "MyEnvironment.respond()", for messages.
        seeds: the seed of each ask, by its number in this turn.
        most: largest number of asks.

    Raises:
        EvaluationError: if it asks more often, or yields something that is not an `Ask` of another
            speaker than the student.
    """
    with closing(turn):
        reply: Reply | Failure | None = None
        number = 0
        while True:
            try:
                ask = turn.send(reply)
            except StopIteration as end:
                returned: T = end.value
                return returned
            is_ask = isinstance(ask, Ask) and isinstance(ask.sampling, SamplingParameters)
            is_ask = is_ask and all(isinstance(each, Message) for each in ask.conversation)
            if not is_ask or ask.who == STUDENT:
                raise EvaluationError(
                    f"{where} yielded {ask!r}, expected an Ask with the name of another speaker"
                )
            if number == most:
                raise EvaluationError(
                    f"{where} asked more than {most} times in one turn: end it earlier, or set "
                    "max_asks of the class to a larger number"
                )
            ask = replace(ask, conversation=tuple(ask.conversation))
            if ask.sampling.temperature > 0.0:
                seeded = ask.sampling.model_copy(update={"seed": seeds(number)})
                ask = replace(ask, sampling=seeded)
            reply = yield ask
            if isinstance(reply, Reply):
                reply = reply.model_copy(update={"text": said_in(reply.text)})
            number += 1


def answered(
    asks: Generator[Ask, Reply, T], others: Mapping[str, PredictorInterface], environment: object
) -> T:
    """Run the generator to its end, each ask answered by `others[ask.who]`.

    Raises:
        ConfigurationError: if there is no such speaker.
        SpeakerError: if it does not answer.
    """
    with closing(asks):
        asking = Asking(type(environment).__name__, asks)
        asking.begin()
        while asking.live:
            if (who := asking.ask.who) not in others:
                there = ", ".join(others) or "none"
                raise ConfigurationError(
                    f"{asking.name} asks {who!r}, and has no such speaker (it has: {there})."
                    f"{did_you_mean(who, others)} Make it with others={{{who!r}: PREDICTOR}}; in a "
                    "configuration, that is task.others"
                )
            (reply,) = Speaker(who, others[who]).predict([asking])
            asking.answer(reply)
        return asking.result
