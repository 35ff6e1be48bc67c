"""Refuses students whose prompts in training would not be those of the evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

from dataenvgym.errors import ConfigurationError, need
from dataenvgym.interfaces import PredictorInterface, can
from dataenvgym.records import Conversation, Message
from dataenvgym.records.tool_formats import COMPLETION
from dataenvgym.students import trainers
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.llama_factory.training_config import options_of
from dataenvgym.students.trainers import InProcessTrainer, TrainerInterface
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.first_prompts import first_prompts

_ASKED, SAID = Message(role="user", content="1 + 1?"), Message(role="assistant", content="2")


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
        refuse_other_prompts([(_ASKED, SAID)], student, config)
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


def check_prompts(predictor: PredictorInterface, task: Task) -> None:
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
    more: Conversation = (SAID,)
    is_ours, serves = isinstance(trainer, InProcessTrainer), can(predictor, "connect")
    is_theirs = not is_ours and isinstance(trainer, trainers.LlamaFactoryTrainer)
    if task.offers("make_environment") and (is_theirs or serves):
        prompt = next(iter(first_prompts(task)), prompt)
        with closing(task.make_environment()) as environment:
            more = (SAID, _ASKED, SAID) if environment.max_turns > 1 else more
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
