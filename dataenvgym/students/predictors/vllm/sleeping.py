"""One GPU for two: the server sleeps while the trainer works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dataenvgym.errors import DataEnvGymError, ServerError
from dataenvgym.interfaces import Failure, PredictorInterface, SamplingParameters
from dataenvgym.records import Conversation, Message
from dataenvgym.students.predictors.vllm.server import VllmServer

PROBE: Conversation = (
    Message(role="user", content="What is 17 plus 25? Then count from one to five."),
)
"""The question to a server before it sleeps and after it wakes: the answers must agree."""

_SAMPLING = SamplingParameters(temperature=0.0, max_tokens=24)


@contextmanager
def asleep(predictor: PredictorInterface, server: VllmServer) -> Iterator[None]:
    """The server's GPU memory is free within the block.

    Sleep with adapters has corrupted answers without an error (vLLM issues 39934, 53888). So a
    server that answers the probe differently after waking is restarted.

    Raises:
        ConfigurationError: if the server cannot sleep.
        ServerError: if its answer differs even then.
    """
    before = _probe(predictor)
    server.sleep()
    try:
        yield
    except BaseException as error:  # this error counts, even if waking raises another
        try:
            server.wake()
            _check_awake(predictor, server, before)
        except DataEnvGymError as another:
            error.add_note(f"the server did not wake up either: {another}")
        raise
    server.wake()
    _check_awake(predictor, server, before)


def _check_awake(predictor: PredictorInterface, server: VllmServer, before: str) -> None:
    if _probe(predictor) == before:
        return
    server.restart()
    if (after := _probe(predictor)) != before:
        raise ServerError(
            f"the server at {server.base_url} answers a fixed question with {after!r} after sleep "
            f"and a restart, and {before!r} before: set predictor.sleep=false"
        )


def _probe(predictor: PredictorInterface) -> str:
    reply = predictor.predict([PROBE], _SAMPLING)[0]
    if isinstance(reply, Failure):
        raise ServerError(f"the server does not answer the probe: {reply.reason}")
    return reply.text
