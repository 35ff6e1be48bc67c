"""A server that another program started."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dataenvgym.errors import ConfigurationError, ServerError, shorten
from dataenvgym.storage import write_json
from dataenvgym.students.predictors.vllm.options import VllmOptions
from dataenvgym.students.predictors.vllm.server import VllmServer
from dataenvgym.teachers import key_from

_HINTS = {
    "max_lora_rank": "start it with a larger --max-lora-rank, or lower trainer.lora_rank",
    "No adapter found": "it does not see the files of this machine, which it must to load adapters",
    "Not Found": "start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True",
}
"""What to do about the errors of a server that takes no adapters."""


class AttachedServer(VllmServer):
    """A server that another program started, and may restart: adapters are then loaded again.

    Args:
        options: with its URL and the student that it must serve.
        rank: of the adapters that will be loaded; None for none.

    Raises:
        ConfigurationError: if it serves another model, accepts no adapters, or only smaller ones.
        ServerError: if it does not answer.
    """

    def __init__(self, options: VllmOptions, rank: int | None) -> None:
        assert options.base_url is not None
        super().__init__(options.base_url, options, api_key=key_from(options.api_key_variable))
        self._start_timeout = options.start_timeout
        try:
            self._look_well()
            self._check_model(str(options.student))
            if rank is not None:
                self._check_rank(rank)
        except BaseException:
            self.close()
            raise

    def revive(self) -> None:
        with self._lock:
            if not self._wait(
                f"the server at {self.base_url} does not answer: waiting for its restart",
                self._start_timeout,
            ):
                raise ServerError(
                    f"the server at {self.base_url} has not answered for "
                    f"{self._start_timeout:.0f} s (predictor.start_timeout): start it again, then "
                    "run the same command again"
                )
            before = self.model, self.root
            self._look()
            if (self.model, self.root) != before:
                raise ServerError(
                    f"the server at {self.base_url} was restarted with another model: it serves "
                    f"{self.root!r} (as {self.model!r}), and before {before[1]!r} (as "
                    f"{before[0]!r}). Start it as before, then run the same command again"
                )
            self._reload_lost()

    def restart(self) -> None:
        raise ServerError(f"the server at {self.base_url} was not started here: restart it there")

    def _look_well(self) -> None:
        try:
            self._look()
        except (ServerError, TypeError, KeyError, AttributeError, StopIteration) as error:
            text = shorten(str(error).partition("\n")[0], 300)
            raise ServerError(
                f"no vLLM server answers at predictor.base_url {self.base_url} ({text}): start it, "
                "correct the address, or leave it out to have one started"
            ) from error

    def _check_model(self, student: str) -> None:
        if Path(self.root).is_dir():  # then it is one of this machine's
            is_it = os.path.realpath(self.root) == os.path.realpath(student)
        else:
            served = {self.model, self.root}
            is_it = not {student, Path(student).name}.isdisjoint(
                {*served, *(Path(name).name for name in served)}
            )
        if not is_it:
            raise ConfigurationError(
                f"the server at {self.base_url} serves {self.root!r} (as {self.model!r}), and the "
                f"student is {student!r}: start it with that model, or set student.path to what "
                "it serves"
            )

    def _check_rank(self, rank: int) -> None:
        """Check its ranks by the error with which it refuses an adapter without weights."""
        with tempfile.TemporaryDirectory(prefix="dataenvgym-") as folder:
            config = {"r": rank, "lora_alpha": rank, "target_modules": ["q_proj"]}
            write_json(Path(folder) / "adapter_config.json", {"peft_type": "LORA", **config})
            probe = f"probe-{Path(folder).name}"
            payload = {"lora_name": probe, "lora_path": folder}
            try:
                self._call("POST", "/v1/load_lora_adapter", payload)
                self._unload(probe)
            except ServerError as error:
                if error.status is None:
                    raise
                for text, hint in _HINTS.items():
                    if text in str(error):
                        raise ConfigurationError(
                            f"the server at {self.base_url} takes no adapter of rank {rank}: "
                            f"{hint} ({error})"
                        ) from error
                # any other error is about the missing weights
