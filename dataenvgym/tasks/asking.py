"""How a task environment asks other models: a user, a partner, a judge.

    def respond(self, instance, conversation):
        said = yield Ask("user", what_the_user_saw)
        return Outcome(messages=(Message(role="user", content=said),), done=False)

The generator waits at each `Ask` until somebody sends the reply: `rollout`, which answers the asks
of many environments at once, or `answered`, for an environment that is stepped by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from dataenvgym.errors import (
    ConfigurationError,
    DataEnvGymError,
    EvaluationError,
    SpeakerError,
    did_you_mean,
)
from dataenvgym.interfaces import Ask, Failure, PredictorInterface, Reply
from dataenvgym.seeding import derive_seed

T = TypeVar("T")
_SEEDS = 2**31  # some servers take no larger ones


def asks_of(
    result: Any, where: str, *, seed: Callable[[], int], turn: int, most: int
) -> Generator[Ask, str, Any]:
    """Pass on what a generator asks, with seeds; return what it returns, or any other result.

    Args:
        result: what `begin` or `respond` returned.
        where: such as "MyEnvironment.respond()", for messages.
        seed: the seed of the episode; called if it is needed.
        turn: 0 in `begin`, and then the number of the student's message.
        most: how often it may ask.

    Raises:
        EvaluationError: if it asks more often, or yields something that is not an `Ask`.
    """
    if not isinstance(result, Generator):
        return result
    with closing(result):
        reply: str | None = None
        for number in count():
            try:
                ask = result.send(reply)
            except StopIteration as end:
                return end.value
            if not isinstance(ask, Ask):
                raise EvaluationError(
                    f"{where} yielded {ask!r}, expected an Ask: yield Ask('user', conversation)"
                )
            if number == most:
                raise EvaluationError(
                    f"{where} asked more than {most} times in one turn: end it earlier, or set "
                    "max_asks of the class to a larger number"
                )
            if ask.sampling.temperature > 0.0:
                drawn = derive_seed(seed(), "ask", turn, number) % _SEEDS
                ask = replace(ask, sampling=ask.sampling.model_copy(update={"seed": drawn}))
            reply = yield ask
    return None  # never reached: the loop has no end


def answered(
    asks: Generator[Ask, str, T], others: Mapping[str, PredictorInterface], environment: object
) -> T:
    """Run the generator to its end, each ask answered by `others[ask.who]`.

    Raises:
        ConfigurationError: if there is no such speaker.
        SpeakerError: if it does not answer.
    """
    with closing(asks):
        try:
            ask = next(asks)
            while True:
                ask = asks.send(_reply(ask, others, environment).text)
        except StopIteration as end:
            returned: T = end.value
            return returned


def _reply(ask: Ask, others: Mapping[str, PredictorInterface], environment: object) -> Reply:
    if ask.who not in others:
        there = ", ".join(others) or "none"
        raise ConfigurationError(
            f"{type(environment).__name__} asks {ask.who!r}, and has no such speaker (it has: "
            f"{there}).{did_you_mean(ask.who, others)} Make it with others={{{ask.who!r}: "
            "PREDICTOR}; in a configuration, that is task.others"
        )
    try:
        (reply,) = others[ask.who].predict([ask.conversation], ask.sampling)
    except DataEnvGymError:
        raise
    except Exception as error:
        raise SpeakerError(f"{ask.who}: {type(error).__name__}: {error}") from error
    if isinstance(reply, Failure):
        raise SpeakerError(f"{ask.who}: {reply.reason}")
    return reply
