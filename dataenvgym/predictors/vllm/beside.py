"""Another adapter on a vLLM server, in addition to its student's."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.llm import ask_all
from dataenvgym.predictors.vllm.server import VllmServer
from dataenvgym.records import Conversation


class BesideAdapter:
    """Answers with an adapter of its own, or as the untouched student; close it when done.

    Args:
        folder: with the adapter; None for the untouched student.

    Raises:
        AdapterError, ServerError: see `VllmServer.load`.
    """

    def __init__(self, server: VllmServer, folder: Path | None) -> None:
        self._server = server
        self._name = None if folder is None else new_name(folder)
        if self._name is not None and folder is not None:
            server.load(self._name, folder)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """See `VllmPredictor.predict`."""
        return ask_all(self.submit, conversations, sampling)

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """See `VllmPredictor.submit`."""
        return self._server.submit(conversation, sampling, adapter=self._name)

    def close(self) -> None:
        """Remove the adapter from the server."""
        if self._name is not None:
            self._server.forget(self._name)


def new_name(folder: Path) -> str:
    """A new name for an adapter: a hash of its weights, and a random part."""
    files = sorted(folder.glob("*.safetensors"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return f"{digest[:12]}-{uuid.uuid4().hex[:8]}"
