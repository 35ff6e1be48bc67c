"""The trainer that runs LLaMA-Factory itself: any stage and method, one or many GPUs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import MinLen
from pydantic import PositiveInt

from dataenvgym import exact_json
from dataenvgym.errors import (
    ConfigurationError,
    DatasetFormatError,
    TrainingError,
    UnsupportedStageError,
)
from dataenvgym.events import tell
from dataenvgym.options import Free
from dataenvgym.records import PreferenceDatum
from dataenvgym.students.external.environments import Variant, external_environment, has_cuda
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset
from dataenvgym.students.llama_factory.training_config import (
    ADAPTER_FILES,
    refuse_options_of_one_training,
)
from dataenvgym.students.trainers.llama_factory.launching import (
    CommandLine,
    WarmWorker,
    explain_failure,
    interpreter,
)
from dataenvgym.students.trainers.support import check_before

LOG = "llama_factory.log"
"""The file next to the adapter's folder with all output of LLaMA-Factory."""

_TORCHRUN = "FORCE_TORCHRUN"
_RESUME = "resume_from_checkpoint"

# Files of LLaMA-Factory's output to keep with an adapter; the others repeat the student's files.
_REPORTS = ("trainer_log.jsonl", "trainer_state.json", "all_results.json", "training_loss.png")
_LEFT_OVER = ("training_args.bin", "scored_log_probabilities.pt")  # beside a whole student, too


class LlamaFactoryTrainer:
    """Runs `llamafactory-cli train` on a training file.

    Next to the output folder it leaves `llama_factory.log`, `trainer_log.jsonl` and LLaMA-Factory's
    reports; the output folder appears when it is complete. With a `save_strategy` other than "no",
    an interrupted training continues from its last checkpoint. LLaMA-Factory itself writes to a
    hidden folder next to the output folder, following the file `.training.yaml` next to it.

    Args:
        command: your own `llamafactory-cli`, as a path, a command line, or a list of words; None
            uses the pinned environment (`dataenvgym external install llamafactory`).
        warm: keep a process that has imported LLaMA-Factory, and train in its children, which
            saves the start-up of every training but the first. It needs a Python interpreter next
            to `command`. A command of several words, and torchrun, start a new process each time.
        gpus: numbers of the GPUs to train on (CUDA_VISIBLE_DEVICES); torchrun drives several ones.
            None uses the visible ones.
        threads: CPU threads of each process (OMP_NUM_THREADS); None leaves it to torch. With a
            fixed number, the same files give the same adapter on CPU.
        variant: "cpu" or "cuda" of the pinned environment; None detects it.
        environment: more variables for LLaMA-Factory.
        options: LLaMA-Factory's, as in `TrainingConfig`, for every training.

    Attributes:
        config: the options of every training.

    Raises:
        ConfigurationError: for an unknown option, an invalid value, or a `command` that does not
            exist.
        ExternalError: if the pinned environment is not installed.
    """

    passes_options_to: ClassVar = TrainingConfig

    def __init__(
        self,
        *,
        command: Free[str | Sequence[str] | None] = None,
        warm: Free[bool] = True,
        gpus: Annotated[Sequence[int], MinLen(1)] | None = None,
        threads: PositiveInt | None = 1,
        variant: Free[Variant | None] = None,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        refuse_options_of_one_training(options)
        self._options = options
        self.config = TrainingConfig().with_options(**options)
        if self.config.curriculum is not None:
            raise UnsupportedStageError(
                "curriculum is set, and LLaMA-Factory has no sections and no gates: use "
                "trainer=in_process, or leave it out"
            )
        self.gpus = None if gpus is None else tuple(gpus)
        if self.config.effective_batch_size is not None:
            if self.gpus is None and has_cuda():
                raise ConfigurationError(
                    f"effective_batch_size is {self.config.effective_batch_size}, which needs the "
                    "number of GPUs: set gpus (trainer.gpus=[0,1])"
                )
            self.config = self.config.accumulating(len(self.gpus or (0,)))
        self.threads = threads
        self.variant = variant
        self._own_environment = dict(environment or {})
        self._given = _words(command or ()) or None
        self.command = self._given or _pinned(variant)
        self.environment = self._variables()
        self.warm = warm
        self._launcher: CommandLine | WarmWorker = CommandLine(self.command)
        if warm and len(self.command) == 1 and _TORCHRUN not in self.environment:
            self._launcher = WarmWorker(interpreter(self.command), environment=self.environment)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or a trainer sent to another process, starts its own worker there."""
        make: Any = type(self)
        return partial(
            make,
            command=self._given,
            warm=self.warm,
            gpus=self.gpus,
            threads=self.threads,
            variant=self.variant,
            environment=self._own_environment,
            **self._options,
        ), ()

    @property
    def worker(self) -> WarmWorker | None:
        """The warm worker, if trainings run in one."""
        return self._launcher if isinstance(self._launcher, WarmWorker) else None

    def train(self, config_path: Path) -> Path:
        """Train from the YAML file; return the output folder (option `output_dir`).

        It contains an adapter, or, with `finetuning_type` "full" or "freeze", a whole student.

        Raises:
            UnsupportedStageError: for an option that stage `scored`, or `pref_discount`, does not
                support.
            ConfigurationError: if stage `scored`, or pairs of several turns, find no Python
                interpreter next to `command`.
            TrainingError: if there is no adapter or student at the end, naming the log; the same
                training can be started again.
        """
        config = TrainingConfig.read(config_path)
        assert config.output_dir, config_path
        arguments = ["train"]
        if config.stage == "scored" or _has_long_pairs(config):
            _refuse_unscored(config)
            interpreter(self.command)
            arguments = [str(Path(__file__).with_name("scored_training.py")), "train"]
        output = Path(config.output_dir)
        log = output.parent / LOG
        staged = output.parent / f".{config_path.name}"
        staging = output.with_name(f".{output.name}.training")
        check_before(config)
        stage(config, staging, staged)
        log.unlink(missing_ok=True)
        progress = _Progress(staging / "trainer_log.jsonl")
        code = self._launcher.run(
            [*arguments, str(staged)], log=log, environment=self.environment, watch=progress.look
        )
        progress.look()
        if code != 0:
            raise TrainingError(explain_failure(code, log))
        publish(staging, output, log)
        staged.unlink()
        return output

    def close(self) -> None:
        """End the warm worker, if it runs; another training starts it again."""
        self._launcher.close()

    def _variables(self) -> dict[str, str]:
        folder = str(Path(self.command[0]).parent)
        variables = {
            # LLaMA-Factory looks for torchrun there
            "PATH": os.pathsep.join([folder, os.environ.get("PATH", "")]),
            "PYTHONHASHSEED": "0",  # the order of names in adapter_config.json
            "TOKENIZERS_PARALLELISM": "false",
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # asking for a GPU then does not initialize CUDA
        }
        if self.threads is not None:
            names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
            variables |= dict.fromkeys(names, str(self.threads))
        if self.gpus is not None:
            variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, self.gpus))
        if self.config.deepspeed is not None or (self.gpus is not None and len(self.gpus) > 1):
            variables[_TORCHRUN] = "1"
            if self.gpus is not None:
                variables["NPROC_PER_NODE"] = str(len(self.gpus))
        return {**variables, **self._own_environment}


# --- the folder that LLaMA-Factory writes to, and how it becomes the output ---------------------


def stage(config: TrainingConfig, staging: Path, staged: Path) -> None:
    """Write the training file for LLaMA-Factory, and make the folder for its output.

    The folder is emptied, unless the same training was interrupted and can continue.
    """
    new = staged.with_name(f"{staged.name}.new")
    config.with_options(output_dir=staging).write(new)
    if config.save_strategy == "no" or _asked(new) != _asked(staged):
        shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True, exist_ok=True)
    if checkpoint := _last_checkpoint(staging):
        extra = {**config.extra, _RESUME: str(checkpoint)}
        config.with_options(output_dir=staging, extra=extra).write(new)
    new.replace(staged)


def _asked(path: Path) -> TrainingConfig | None:
    """The options of a staged file, except the checkpoint to continue from."""
    if not path.is_file():
        return None
    config = TrainingConfig.read(path)
    extra = {name: value for name, value in config.extra.items() if name != _RESUME}
    return config.with_options(extra=extra)


def _last_checkpoint(folder: Path) -> Path | None:
    checkpoints = [
        (int(match[1]), path)
        for path in folder.glob("checkpoint-*")
        # written last: a checkpoint without it is incomplete
        if (match := re.fullmatch(r"checkpoint-(\d+)", path.name))
        and (path / "trainer_state.json").is_file()
    ]
    return max(checkpoints)[1] if checkpoints else None


def publish(staging: Path, output: Path, log: Path) -> None:
    """Move the trained files to `output`, and the reports next to it."""
    is_adapter = all((staging / name).is_file() for name in ADAPTER_FILES)
    is_student = (staging / "config.json").is_file() and any(staging.glob("*.safetensors"))
    if not is_adapter and not is_student:
        raise TrainingError(
            f"LLaMA-Factory ended well, but wrote no adapter ({' and '.join(ADAPTER_FILES)}) and "
            f"no student to {staging}, which has {sorted(p.name for p in staging.iterdir())}; its "
            f"log is {log}"
        )
    for name in _REPORTS:
        with suppress(FileNotFoundError):
            (staging / name).replace(output.with_name(name))
    for path in staging.iterdir():
        if path.is_dir():  # first out of sight: half a checkpoint cannot be continued
            shutil.rmtree(path.replace(path.with_name(f".{path.name}")))
        elif path.name in _LEFT_OVER or (is_adapter and path.name not in ADAPTER_FILES):
            path.unlink()
    shutil.rmtree(output, ignore_errors=True)
    staging.replace(output)


class _Progress:
    """Reports the lines that LLaMA-Factory adds to its `trainer_log.jsonl`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = 0
        self._loss = ""

    def look(self) -> None:
        """Report the progress of the training, if it has changed."""
        try:
            lines = self._path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return
        fresh, self._seen = lines[self._seen :], len(lines)
        with suppress(exact_json.JSONDecodeError):
            entries = [exact_json.loads(line) for line in fresh]
            for entry in entries:
                if "loss" in entry:
                    self._loss = f", loss {entry['loss']:.3f}"
            if entries:
                step, total = (entries[-1].get(f"{of}_steps") for of in ("current", "total"))
                tell(f"{step} of {total} training steps{self._loss}", done=step, total=total)


def _pinned(variant: Variant | None) -> tuple[str, ...]:
    environment = external_environment("llamafactory", variant).require()
    if not environment.is_installed:
        return (sys.executable,)  # in a dry run, where it is never started
    return (str(environment.python.with_name("llamafactory-cli")),)


def _words(command: str | Sequence[str]) -> tuple[str, ...]:
    words = (
        ([command] if Path(command).expanduser().is_file() else shlex.split(command))
        if isinstance(command, str)
        else list(command)
    )
    if words and (found := shutil.which(os.path.expanduser(words[0]))):
        words[0] = os.path.abspath(found)
    return tuple(words)


# Options of LLaMA-Factory's stage `sft` that would change the loss, or its records.
_UNSCORED = (
    *("train_on_prompt", "mask_history", "neat_packing", "streaming", "tokenized_path"),
    *("val_size", "eval_dataset", "predict_with_generate", "compute_accuracy"),
    *("use_dft_loss", "use_eaft_loss", "use_asft_loss", "label_smoothing_factor"),
    *("use_mca", "use_hyper_parallel", "use_kt", "ref_model", "ref_model_adapters"),
)


def _refuse_unscored(config: TrainingConfig) -> None:
    """Refuse options that our changes of LLaMA-Factory do not support."""
    options = {"packing": config.packing, **config.extra}
    names: tuple[str, ...] = ("packing", *_UNSCORED)
    if config.stage == "dpo":
        names = () if config.pref_discount is None else ("ld_alpha",)
    for name in names:
        if options.get(name):
            raise UnsupportedStageError(
                f"{name} is {options[name]!r}, expected it unset in stage {config.stage!r}: it "
                "weighs or selects tokens, as the weights of turns do"
            )


def _has_long_pairs(config: TrainingConfig) -> bool:
    """Whether pairs have several turns, or weights for them, which LLaMA-Factory alone ignores."""
    if config.stage != "dpo":
        return False
    if config.pref_discount is not None:
        return True
    if not (config.dataset_dir and config.dataset):
        return False
    with suppress(DatasetFormatError):  # LLaMA-Factory itself reports others
        return any(
            isinstance(record, PreferenceDatum) and max(map(len, record.segments)) > 1
            for record in read_dataset(Path(config.dataset_dir), config.dataset)
        )
    return False
