"""The warm worker: imports LLaMA-Factory once, and runs each training in a child of its own.

It runs in LLaMA-Factory's environment, which lacks dataenvgym, so it uses only the standard library
and LLaMA-Factory:

    worker.py < one request a line > one message a line

    request   {"arguments": ["train", "training.yaml"], "log": "log.txt", "environment": {...}}
              (arguments of `llamafactory-cli`; or a script in this folder, and its own)
    messages  {"ready": {"pid": 7, "threads": ["MainThread"], ...}}, then {"code": 0} for each
              request; negative if a signal ended the child, as in `subprocess`

The parent only imports: no tensor operation and no CUDA call comes before the fork. So a child is a
copy of a new `llamafactory-cli`, and one training leaves nothing for the next. The worker ends with
its standard input; otherwise a guard (`dataenvgym.students.external.guard`) ends it and its child.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

# Modules that a training imports, early or late. It also asks three times for the classes of vision
# models, for which transformers imports all of them: most of the start-up time.
_MODULES = (
    "llamafactory.cli",
    "llamafactory.launcher",
    "llamafactory.train.tuner",
    "transformers.models.auto.modeling_auto",
    "transformers.models.llama.modeling_llama",
    "transformers.models.qwen2.modeling_qwen2",
    "transformers.models.qwen3.modeling_qwen3",
    "peft.tuners.lora",
    "datasets.packaged_modules.json.json",
    "torch._dynamo",
)
_SEEING = ("AutoModelForImageTextToText", "AutoModelForSeq2SeqLM", "AutoModelForTextToWaveform")


def main() -> None:
    """Import, then train as requested until the input ends."""
    messages = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the output of imports goes to the log
    for name in _MODULES:
        _import(name)
    transformers: Any = sys.modules["transformers"]
    for name in _SEEING:
        if hasattr(transformers, name):
            getattr(transformers, name)._model_mapping.keys()
    gc.collect()
    gc.freeze()  # children need not scan all this again
    print(json.dumps({"ready": _state()}), file=messages)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become_cli(json.loads(line))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps({"code": code}), file=messages)


def _import(name: str) -> None:
    """Import a module, or leave it to the training, because versions have different modules."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        if name.startswith("llamafactory"):
            raise
        sys.stderr.write(f"not imported beforehand: {name}: {error}\n")


def _state() -> dict[str, Any]:
    """Evidence that a child begins like a new process."""
    torch: Any = sys.modules["torch"]
    return {
        "pid": os.getpid(),
        "threads": [thread.name for thread in threading.enumerate()],
        "native_threads": sorted(
            path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")
        ),
        "cuda_initialized": torch.cuda.is_initialized(),
    }


def _become_cli(request: dict[str, Any]) -> None:
    """In the child: become `llamafactory-cli`, and never return."""
    code = 1
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: end with the worker
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for here, there in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(here, there)
        os.environ.update(request["environment"])
        program, sys.argv = "llamafactory.cli", ["llamafactory-cli", *request["arguments"]]
        if sys.argv[1].endswith(".py"):
            sys.argv.pop(0)
            program = Path(sys.argv[0]).stem  # in the folder of this file
        importlib.import_module(program).main()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:  # noqa: BLE001  the exit code of the job carries it
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # the disk may be full; the log then ends with that error
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
