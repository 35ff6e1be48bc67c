"""Checkpoints of a student as folders, and training from records to a checkpoint.

A checkpoint folder is one of three: an adapter in PEFT's format, a whole student in Hugging Face's
(after training all weights), or a note that nothing has been learned.

    records -> dataset/ and training.yaml -> the trainer -> adapter/
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from dataenvgym.errors import (
    AdapterError,
    ConfigurationError,
    RunDirectoryError,
    TrainingError,
    need,
)
from dataenvgym.events import warn_run
from dataenvgym.interfaces import Connects, PredictorInterface, TaskInterface, TrainingRun
from dataenvgym.records import (
    Conversation,
    KTODatum,
    Message,
    PreferenceDatum,
    TextDatum,
    TrainingDatum,
)
from dataenvgym.records.checksums import OF_TRAINING, MarkedFolder
from dataenvgym.records.tool_formats import COMPLETION, DEFAULT, LLAMA_FACTORY, ToolFormat
from dataenvgym.storage import hash_files, publishing, remove_folder, write_json
from dataenvgym.students import trainers
from dataenvgym.students.llama_factory import (
    TrainingConfig,
    WrittenDataset,
    stage_of,
    without_weights,
    write_dataset,
)
from dataenvgym.students.trainers import InProcessTrainer, TrainerInterface
from dataenvgym.students.trainers.interface import ADAPTER_FILES, options_of
from dataenvgym.students.trainers.support import warn_of_idle_options
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.first_prompts import first_prompts

Kind = Literal["adapter", "student", "nothing"]

_NOTHING = "untouched.json"
_CONTINUES = "remove it, and the same command continues"


def kind_of(folder: Path) -> Kind | None:
    """The kind of checkpoint in the folder; None if it is not a checkpoint."""
    if all((folder / name).is_file() for name in ADAPTER_FILES):
        return "adapter"
    if (folder / _NOTHING).is_file():
        return "nothing"
    if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
        return "student"
    return None


def require_kind(folder: Path) -> Kind:
    """The kind of checkpoint in the folder.

    Raises:
        AdapterError: if it is not a checkpoint.
    """
    kind = kind_of(folder)
    if kind is None:
        raise AdapterError(
            f"{folder} holds no adapter, expected {' and '.join(ADAPTER_FILES)} there (or a whole "
            "student in Hugging Face format)"
        )
    return kind


def initial_folder(adapter: str | Path | None) -> Path | None:
    """The folder with a student's checkpoint from before an episode.

    Raises:
        ConfigurationError: if it is not a checkpoint.
    """
    if adapter is None:
        return None
    folder = Path(adapter).expanduser().absolute()
    if kind_of(folder) is None:
        raise ConfigurationError(
            f"adapter is {str(adapter)!r}, where there is neither an adapter "
            f"({' and '.join(ADAPTER_FILES)}) nor a whole student"
        )
    return None if kind_of(folder) == "nothing" else folder


def describe_learner(
    name: str,
    student: str,
    initial: Path | None,
    config: Any,
    tool_format: str | None,
    chat_template_kwargs: Mapping[str, Any],
) -> dict[str, Any]:
    """The student and its training settings, for the run directory; `config` is the trainer's.

    A `tool_format` of None is that of a student that completes bare texts.
    """
    from dataenvgym.students.trainers.student import fingerprint

    described = {
        "name": name,
        "student": Path(student).name if Path(student).is_dir() else student,
        "weights": fingerprint(student),
        "training": config.model_dump(mode="json", exclude_defaults=True),
    }
    if tool_format is None:
        described["format"] = "completion"
    elif tool_format != DEFAULT:
        described["tool_format"] = tool_format
    if chat_template_kwargs:
        described["chat_template_kwargs"] = dict(chat_template_kwargs)
    return described if initial is None else {**described, "adapter": hash_files(initial)}


def check_bare(config: TrainingConfig) -> None:
    """Refuse a chat template for a student that completes bare texts."""
    if config.template is not None:
        raise ConfigurationError(
            f"trainer.template is {config.template!r} and student.format 'completion', which has "
            "no template: leave trainer.template out, or set student.format=chat"
        )


def checked_kwargs(
    given: Mapping[str, Any] | None, student: str, trainer: TrainerInterface, *, is_bare: bool
) -> dict[str, Any]:
    """The values for the student's chat template, which evaluation and training both get.

    Raises:
        ConfigurationError: if the template does not read one of them, or the trainer cannot write
            its prompts with it.
    """
    if not given:
        return {}
    from dataenvgym.students.trainers.chat_format import check_variables
    from dataenvgym.students.trainers.student import load_tokenizer

    kwargs = dict(given)
    what = f"chat_template_kwargs is {kwargs}"
    if is_bare:
        raise ConfigurationError(
            f"{what} and student.format 'completion', which has no template: leave "
            "predictor.chat_template_kwargs out, or set student.format=chat"
        )
    config = options_of(trainer).with_options(chat_template_kwargs=kwargs)
    is_ours = isinstance(trainer, InProcessTrainer)
    if not is_ours and config.template is not None:
        raise ConfigurationError(
            f"{what} and trainer.template {config.template!r}, with which LLaMA-Factory does not "
            "read the student's own chat template: leave one of them out"
        )
    try:
        tokenizer = load_tokenizer(student)
    except ConfigurationError as error:
        need(error)
        return kwargs
    check_variables(tokenizer, kwargs)
    if not is_ours:
        refuse_other_prompts([(_ASKED, _SAID)], student, config)
    return kwargs


def refuse_other_prompts(
    conversations: Iterable[Conversation],
    student: str,
    config: TrainingConfig,
    *,
    is_last: bool = False,
) -> None:
    """Refuse a training by LLaMA-Factory whose prompts would not be those of the evaluation.

    Nothing is refused if the student's tokenizer is not on this machine.

    Args:
        conversations: in plain turns; each ends with a reply.
        config: the trainer's, with the values for the chat template.
        is_last: only the last reply is learned.
    """
    from jinja2 import TemplateError

    from dataenvgym.students.trainers.chat_format import render
    from dataenvgym.students.trainers.llama_factory.slots import Slots
    from dataenvgym.students.trainers.student import load_tokenizer

    kwargs = config.chat_template_kwargs
    try:
        tokenizer = load_tokenizer(student, download=False, reads_clock=True)
        fixed = load_tokenizer(student, download=False, chat_template_kwargs=kwargs)
    except ConfigurationError:
        return
    # None for what LLaMA-Factory lacks
    thinks: Any = config.options().get("enable_thinking", None if kwargs else True)
    try:
        slots = None if thinks is None else Slots.parse(tokenizer)
    except TemplateError:
        slots = None  # LLaMA-Factory cannot use it
    first = -1 if is_last else 0
    for conversation in conversations:
        ends = [i for i, message in enumerate(conversation) if message.role == "assistant"]
        ours = [render(fixed, conversation[:end]) for end in ends[first:]]
        if slots is None or ours != [*slots.prompts(conversation, thinks, is_last=is_last)][first:]:
            values = f"chat_template_kwargs is {kwargs}, with which " if kwargs else ""
            turns = ", ".join(message.role for message in conversation)
            raise ConfigurationError(
                f"{values}LLaMA-Factory's prompts would differ from those of the evaluation (in a "
                f"conversation of {turns}): it splits the student's chat template into one text "
                "for each role, and has only enable_thinking (true or false), for templates whose "
                "replies begin with <think>. Set trainer=in_process, or trainer.template to one of "
                "its own templates, which is not compared; or put a chat_template.jinja that "
                "writes every turn alike into the student's folder"
            )


def check_prompts(predictor: PredictorInterface, task: TaskInterface) -> None:
    """Refuse a student that would not learn from the prompts at which the task asks it.

    A predictor and a trainer in this process write the same ones, with any chat template.

    Raises:
        ConfigurationError: if LLaMA-Factory, or a server, would write others.
    """
    learner: Any = predictor
    form, trainer = getattr(learner, "_format", COMPLETION), getattr(learner, "trainer", None)
    if form is COMPLETION or trainer is None or options_of(trainer).template is not None:
        return
    prompt: Conversation = (_ASKED,)
    more: Conversation = (_SAID,)
    is_ours, serves = isinstance(trainer, InProcessTrainer), isinstance(predictor, Connects)
    is_theirs = not is_ours and isinstance(trainer, trainers.LlamaFactoryTrainer)
    if isinstance(task, Task) and (is_theirs or serves):
        prompt = next(iter(first_prompts(task)), prompt)
        with closing(task.make_environment()) as environment:
            more = (_SAID, _ASKED, _SAID) if environment.max_turns > 1 else more
    if is_theirs:
        config = trainer.config.with_options(chat_template_kwargs=learner.chat_template_kwargs)
        refuse_other_prompts([form.flatten((*prompt, *more))], learner.student, config)
    if serves:
        _refuse_other_server(learner, form.flatten(prompt))


def _refuse_other_server(learner: Any, asked: Conversation) -> None:
    """Refuse a server whose prompt is not the trainer's: it reads the clock, or drops messages."""
    from jinja2 import TemplateError

    from dataenvgym.students.trainers.chat_format import render
    from dataenvgym.students.trainers.student import load_tokenizer

    def prompt(*, by_server: bool) -> str:
        kwargs = learner.chat_template_kwargs
        tokenizer = load_tokenizer(
            learner.student, download=False, reads_clock=by_server, chat_template_kwargs=kwargs
        )
        return render(tokenizer, asked, merges=not by_server)

    options = getattr(getattr(learner, "_given", None), "options", None) or {}
    try:
        is_same = prompt(by_server=True) == prompt(by_server=False)
    except (ConfigurationError, TemplateError):
        is_same = True  # the student is not on this machine, or the server refuses the prompt, too
    if not is_same or {"chat_template", "chat-template"} & options.keys():
        raise ConfigurationError(
            "a server's prompts would differ from those of the training: predictor.options has "
            "another chat_template than the student's own, or that one writes today's date or "
            "leaves out the system message. Put a chat_template.jinja without that into the "
            "student's folder, give its variable for the date in predictor.chat_template_kwargs, "
            "or set predictor=in_process"
        )


_ASKED, _SAID = Message(role="user", content="1 + 1?"), Message(role="assistant", content="2")


def save_nothing(folder: Path, student: str) -> None:
    """Write the note that nothing has been learned; `student` is for the reader."""
    with publishing(folder) as new:
        write_json(new / _NOTHING, {"student": Path(student).name})


def copy_checkpoint(source: Path, folder: Path) -> None:
    """Copy a checkpoint folder, completely or not at all."""
    with publishing(folder) as new:
        shutil.copytree(source, new, dirs_exist_ok=True)


def write_merged(student: str, checkpoint: Path, folder: Path) -> None:
    """Write the student with a checkpoint as a whole student: an adapter becomes part of it.

    The weights keep the type that they are stored in. They are merged on the CPU.

    Raises:
        AdapterError: if the folder is not a checkpoint, or the adapter fits another student.
    """
    if (kind := require_kind(checkpoint)) == "student":
        copy_checkpoint(checkpoint, folder)
        return
    import torch
    from transformers import AutoConfig

    from dataenvgym.students.trainers.adapters import Adapter, merge
    from dataenvgym.students.trainers.student import (
        load_base_model,
        load_tokenizer,
        without_progress_bar,
    )

    config = AutoConfig.from_pretrained(student, trust_remote_code=False)
    dtype = getattr(config, "dtype", None) or torch.float32
    model = load_base_model(student, device=torch.device("cpu"), dtype=dtype)
    if kind == "adapter":
        model = merge(model, Adapter.read(checkpoint))
    with publishing(folder) as new, without_progress_bar():
        model.save_pretrained(new)
        load_tokenizer(student).save_pretrained(new)


def train_on(
    training_data: Sequence[TrainingDatum],
    run: TrainingRun,
    *,
    trainer: TrainerInterface,
    student: str,
    current: Callable[[], Path | None],
    initial: Path | None = None,
    tool_format: ToolFormat = LLAMA_FACTORY,
    chat_template_kwargs: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Write the dataset and the training's file, run the trainer; return the checkpoint.

    All files go into `run.directory`: `dataset/`, `training.yaml`, `adapter/` and the trainer's
    logs. If a complete checkpoint is already there, because the run was interrupted after the
    training, it is returned; one that was damaged since is trained again. Without training data
    nothing is trained, and `adapter/` is a copy of the checkpoint from which the training would
    have started.

    Args:
        student: the untouched student's folder, or its name on the hub.
        current: returns the folder with the student's present checkpoint, None without one; called
            only if `run.start` is "adapter".
        initial: the folder with its checkpoint from before the episode, used if `run.start` is
            "base".
        tool_format: writes tools and calls into the dataset as text. With `COMPLETION`, the records
            are trained without a chat template (see `trainers.completions`).
        chat_template_kwargs: see `checked_kwargs`.

    Raises:
        ConfigurationError: for records of several stages, or options that cannot work.
        UnsupportedStageError, TrainingError: from the trainer.
    """
    config_path = write_training(
        training_data,
        run,
        trainer=trainer,
        student=student,
        current=current,
        initial=initial,
        tool_format=tool_format,
        chat_template_kwargs=chat_template_kwargs,
    )
    if config_path is None:
        return run.directory / "adapter"
    with run.phase("train"):
        trained: object = trainer.train(config_path)
    if not isinstance(trained, str | Path) or kind_of(Path(trained)) is None:
        raise TrainingError(
            f"{type(trainer).__name__} returned {trained}, where there is no adapter: "
            f"expected a folder with {' and '.join(ADAPTER_FILES)}"
        )
    mark_training(run.directory)
    return Path(trained)


def mark_training(directory: Path) -> None:
    """Mark the files that a training wrote (see `checksums`)."""
    MarkedFolder(directory, _CONTINUES).mark_all()


def write_training(
    training_data: Sequence[TrainingDatum],
    run: TrainingRun,
    *,
    trainer: TrainerInterface,
    student: str,
    current: Callable[[], Path | None],
    initial: Path | None,
    tool_format: ToolFormat,
    chat_template_kwargs: Mapping[str, Any],
) -> Path | None:
    """Write the dataset and the training's file for `train_on`; return the file.

    None if there is nothing to train: the checkpoint in `adapter/` is complete.
    """
    folder = run.directory / "adapter"
    marks = MarkedFolder(run.directory, _CONTINUES)
    if kind_of(folder) is not None:
        try:
            marks.check(below="adapter/", large=True)
        except RunDirectoryError as error:
            warn_run(f"{folder} is trained again: {error}")
            remove_folder(folder)
        else:
            return None
    marks.forget(name for name in marks.read() if name.startswith(OF_TRAINING))
    start = current() if run.start == "adapter" else initial
    written = training_data
    options = options_of(trainer).with_options(chat_template_kwargs=chat_template_kwargs)
    training_data = _learnable(written, options, tool_format)
    if not training_data:
        save_nothing(folder, student) if start is None else copy_checkpoint(start, folder)
        return None
    if options.curriculum is not None:
        if (stage := stage_of(training_data[0])) != "sft":
            raise ConfigurationError(
                f"trainer.curriculum is set, and the records are for stage {stage!r}, expected "
                "'sft' (supervised records and chats): leave it out"
            )
        options = options.with_options(curriculum=options.curriculum.placed(training_data))
    with run.phase("dataset"):
        if tool_format is COMPLETION:
            from dataenvgym.students.trainers.completions import as_completions

            training_data = as_completions(training_data, student)
            options, tool_format = options.with_options(template="empty"), LLAMA_FACTORY
        elif (
            options.template is None
            and not isinstance(trainer, InProcessTrainer)
            and isinstance(trainer, trainers.LlamaFactoryTrainer)
        ):
            is_last = isinstance(training_data[0], PreferenceDatum | KTODatum)
            plain = (
                tool_format.flatten(getattr(one, "conversation", (*one.prompt, _SAID)))
                for one in training_data
                if not isinstance(one, TextDatum)
            )
            refuse_other_prompts(plain, student, options, is_last=is_last)
        shutil.rmtree(run.directory / "dataset", ignore_errors=True)
        dataset = write_dataset(run.directory / "dataset", training_data, tool_format=tool_format)
        config_path = run.directory / "training.yaml"
        _training_config(options, dataset, run, student, start).write(config_path)
    warn_of_idle_options(options, written, dataset.stage)
    return config_path


def _learnable(
    training_data: Sequence[TrainingDatum], options: TrainingConfig, tool_format: ToolFormat
) -> Sequence[TrainingDatum]:
    """The records for the trainer, with scored ones converted as the option `scored_as` says."""
    if options.scored_as is None:
        return training_data
    kept = without_weights(
        training_data,
        options.scored_as,
        threshold=options.scored_threshold,
        segment=options.scored_segment or 1,
        tool_format=tool_format,
    )
    if training_data and not kept:
        reason = {
            "sft": f"no dialogue has a mean weight of {options.scored_threshold} or more",
            "kto": "no turn has a weight other than 0",
            "dpo": "no two dialogues have different weights for replies to the same beginning",
        }[options.scored_as]
        warn_run(
            f"{len(training_data)} scored records give nothing to train on with "
            f"scored_as={options.scored_as}: {reason}; the student stays as it was"
        )
    return kept


def _training_config(
    options: TrainingConfig,
    dataset: WrittenDataset,
    run: TrainingRun,
    student: str,
    start: Path | None,
) -> TrainingConfig:
    config = options.with_options(
        model_name_or_path=student,
        stage=dataset.stage,
        dataset=dataset.name,
        dataset_dir=dataset.folder,
        output_dir=run.directory / "adapter",
        seed=run.seed % 2**32,
    )
    if start is None:
        return config
    if kind_of(start) == "student":
        if config.finetuning_type == "lora":
            raise ConfigurationError(
                f"{start} is a whole student, and finetuning_type 'lora' would train an adapter "
                "for it that fits no other: expected 'full' or 'freeze', as it was trained"
            )
        return config.with_options(model_name_or_path=str(start.resolve()))
    config = config.with_options(adapter_name_or_path=str(start.resolve()))
    if dataset.stage in ("dpo", "kto"):
        # preferences are compared with the present student, not with the base
        reference = {"ref_model": student, "ref_model_adapters": str(start.resolve())}
        config = config.with_options(extra={**config.extra, **reference})
    return config
