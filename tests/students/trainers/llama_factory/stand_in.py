"""Behaves at its edge as `llamafactory-cli train FILE` does, without LLaMA-Factory.

The variable STAND_IN names its behavior; it also writes `seen.json` next to its output folder:
its options, its environment, and the name of the program.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    """Do what STAND_IN says."""
    command, file = sys.argv[1:3]
    assert command == "train"
    options = read(Path(file))
    output = Path(options["output_dir"])
    seen = {"options": options, "environment": dict(os.environ), "pid": os.getpid()}
    seen["program"] = Path(sys.argv[0]).name
    (output.parent / "seen.json").write_text(json.dumps(seen))
    print("[INFO] training\r 0%|     | 0/2\r100%|#####| 2/2")
    sys.stdout.flush()
    globals()[os.environ.get("STAND_IN", "train")](output, options)


def read(path: Path) -> dict[str, str]:
    """The options that are on one line each."""
    pairs = [line.split(":", 1) for line in path.read_text().splitlines() if ":" in line]
    return {name.strip(): value.strip().strip('"') for name, value in pairs}


def train(output: Path, options: dict[str, str]) -> None:
    log = [
        {"current_steps": 1, "total_steps": 2, "loss": 1.25, "remaining_time": "0:00:01"},
        {"current_steps": 2, "total_steps": 2, "loss": 0.5, "remaining_time": "0:00:00"},
        {"current_steps": 2, "total_steps": 2, "remaining_time": "0:00:00"},
    ]
    with (output / "trainer_log.jsonl").open("w") as stream:
        stream.writelines(f"{json.dumps(line)}\n" for line in log)
    for name in ("README.md", "tokenizer.json", "all_results.json", "training_args.bin"):
        (output / name).write_text("{}")
    config = {"resumed": options.get("resume_from_checkpoint")}
    (output / "adapter_config.json").write_text(json.dumps(config))
    (output / "adapter_model.safetensors").write_bytes(b"weights")


def student(output: Path, _: dict[str, str]) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json", "training_args.bin"):
        (output / name).write_text("{}")


def out_of_memory(*_: object) -> None:
    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")


def disk_full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def bad_value(*_: object) -> None:
    raise ValueError("Target modules {'nothing'} not found")


def killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def nothing(*_: object) -> None:
    pass


def dies_after_checkpoints(output: Path, options: dict[str, str]) -> None:
    """Succeeds if it continues from one."""
    if "resume_from_checkpoint" in options:
        train(output, options)
        return
    for step in (5, 10, 15):
        (output / f"checkpoint-{step}").mkdir()
        if step < 15:  # that one is not whole
            (output / f"checkpoint-{step}" / "trainer_state.json").write_text("{}")
    sys.exit(1)


def hangs(output: Path, _: object) -> None:
    """... with a child in a session of its own."""
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    pids = output.parent / "pids.json"
    pids.with_suffix(".new").write_text(json.dumps([os.getpid(), child.pid]))
    pids.with_suffix(".new").replace(pids)
    time.sleep(600)


if __name__ == "__main__":
    main()
