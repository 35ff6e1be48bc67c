"""A server that we started."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from dataenvgym.errors import ConfigurationError, ServerError
from dataenvgym.events import tell
from dataenvgym.storage import write_json
from dataenvgym.students.external.processes import (
    end_of_log,
    end_process_tree,
    end_session,
    free_port,
    guarded,
    is_free,
)
from dataenvgym.students.predictors.vllm.options import VllmOptions
from dataenvgym.students.predictors.vllm.server import AWAY_SECONDS, POLL_SECONDS, VllmServer
from dataenvgym.students.predictors.vllm.starting import arguments, variables

GRACE = 10.0
"""Seconds that a server gets to end by itself."""
_SHORT_GRACE = 0.5
"""... if it does not answer yet; it loses no work."""
_UNTOUCHED = "untouched"
_LAYER = re.compile(r"(.*\.(?:q_proj|qkv_proj|query_key_value|o_proj|down_proj))\.weight")


class OwnServer(VllmServer):
    """A server that this process has started, and that ends with it, even if it is killed.

    If it dies it is restarted, once until the next adapter comes; after that it stays dead.

    Args:
        options: from `start_options`.

    Attributes:
        log: the server's output.

    Raises:
        ConfigurationError: if the port is taken.
        ServerError: if it does not start, with its last output.
    """

    def __init__(self, options: VllmOptions) -> None:
        if options.port is not None and not is_free(options.port):
            raise ConfigurationError(
                f"port {options.port} is taken: set predictor.port to another, or to null for any "
                "that is free"
            )
        self._port = options.port or free_port()
        super().__init__(f"http://127.0.0.1:{self._port}", options)
        self._options = options
        self._folder = Path(tempfile.mkdtemp(prefix="dataenvgym-vllm-"))
        self.log = self._folder / "log.txt"
        self._restarts_left = 1
        self._is_up = False
        self._process = self._start()
        try:
            self._come_up()
            folder = self._folder / _UNTOUCHED
            if options.variant == "cpu" and _write_zero_adapter(folder, str(options.student)):
                # On CPU, if questions with and without an adapter are computed together, vLLM also
                # adds the weights of the last adapter to those without (pull request 48421). So
                # the untouched student answers with an adapter that changes nothing.
                self.load(_UNTOUCHED, folder)
                self.untouched = _UNTOUCHED
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The process that guards the server (see `external.guard`)."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self._process.poll() is None

    def load(self, name: str, folder: Path) -> None:
        super().load(name, folder)
        self._restarts_left = 1

    def revive(self) -> None:
        with self._lock:
            if not self._answers_soon():
                if not self._restarts_left:
                    self._is_up = False
                    raise ServerError(
                        "the vLLM server died again after it had been restarted. "
                        f"{end_of_log(self.log)}"
                    )
                self._restarts_left -= 1
                tell("the vLLM server died: starting it again")
                self.restart()
            self._reload_lost()

    def restart(self) -> None:
        with self._lock:
            self._end(GRACE)
            self.log.replace(self.log.with_name("log-before.txt"))  # says why it died
            self._process = self._start()
            self._come_up()
            self._reload_lost()

    def close(self) -> None:
        """End it; its log is kept if it does not run."""
        super().close()
        self._end(GRACE if self._is_up else _SHORT_GRACE)
        if self._is_up:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self, grace: float) -> None:
        end_process_tree(self.pid, grace=grace)
        end_session(self.pid)  # if the guard was killed, the engines are left

    def _answers_soon(self) -> bool:
        """Whether a running server answers; one that is about to end does not."""
        deadline = time.monotonic() + AWAY_SECONDS
        while self.is_alive and time.monotonic() < deadline:
            if self.is_healthy():
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _start(self) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as log:
            return subprocess.Popen(
                guarded(arguments(self._options, self._port)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=variables(self._options, os.environ),
                start_new_session=True,  # Ctrl-C in the terminal does not reach it
            )

    def _come_up(self) -> None:
        """Wait until it answers.

        Raises:
            ServerError: if it ends instead, or takes too long; it is then ended.
        """
        self._is_up = False

        def check() -> None:
            if not self.is_alive:
                log = end_of_log(self.log, 25)
                raise ServerError(f"the vLLM server ended while it started. {log}")

        timeout = self._options.start_timeout
        if not self._wait("the vLLM server is starting", timeout, check):
            self._end(_SHORT_GRACE)
            raise ServerError(
                f"the vLLM server did not come up within {timeout:.0f} s "
                f"(predictor.start_timeout). {end_of_log(self.log)}"
            )
        self._is_up = True
        self._look()


def _write_zero_adapter(folder: Path, student: str) -> bool:
    """Write an adapter that changes nothing, one layer of zeros; False if no layer is suitable."""
    import numpy
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError
    from safetensors import safe_open
    from safetensors.numpy import save_file

    if not (found := Path(student)).is_dir():
        with suppress(LocalEntryNotFoundError):  # the server has already downloaded it
            found = Path(snapshot_download(student, local_files_only=True))
    for file in sorted(found.glob("*.safetensors")):
        with safe_open(file, framework="np") as tensors:
            for name in sorted(tensors.keys()):
                shape = tensors.get_slice(name).get_shape()
                if (match := _LAYER.fullmatch(name)) is not None and len(shape) == 2:
                    layer = f"base_model.model.{match[1]}"
                    zeros = {
                        f"{layer}.lora_A.weight": numpy.zeros((1, shape[1]), "float32"),
                        f"{layer}.lora_B.weight": numpy.zeros((shape[0], 1), "float32"),
                    }
                    folder.mkdir(exist_ok=True)
                    save_file(zeros, folder / "adapter_model.safetensors")
                    config = {"peft_type": "LORA", "r": 1, "lora_alpha": 1}
                    config |= {"target_modules": [match[1]]}
                    write_json(folder / "adapter_config.json", config)
                    return True
    return False
