"""LLaMA-Factory and servers write prompts themselves: others than the evaluation's are refused."""

from types import SimpleNamespace

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.environments import OpenEnded
from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.interfaces import TrainingRun
from dataenvgym.records import ChatDatum, KTODatum, Message, PreferenceDatum, SupervisedDatum
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer, LlamaFactoryTrainer
from tests.students.predictors.chat_templates import TEMPLATES

MATH = {"n_train": 5, "n_validation": 2, "n_test": 2}
REFUSED = {
    "a system block with the day, always there",
    "thoughts are cut off, and the prompt begins one",
    "the prompt has an empty thought",
    "the prompt begins a thought, replies keep theirs",
    "no system role, turns must alternate",
    "another header in the prompt",
}  # also with one turn


class AskedError(Exception):
    """The first evaluation has begun."""


class Student(InProcessPredictor):
    def predict(self, conversations, sampling):
        raise AskedError


class Served(Student):
    """Its prompts are written elsewhere."""

    def connect(self):
        pass


def llama_factory(**options):
    return LlamaFactoryTrainer(command=["true", "train"], **options)


def student_with(make_student, folder, template, make=Student, trainer=None, **options):
    student = make_student(folder, chat_template=TEMPLATES[template], words=("<s>",))
    return make(student, trainer or llama_factory(), **options)


def begin(predictor, task=PocketMathTask, **options):
    OpenEnded(task(**{**MATH, **options}), predictor).reset(seed=0)


@pytest.mark.parametrize("template", TEMPLATES)
def test_llama_factory_is_refused_before_the_first_evaluation(make_student, tmp_path, template):
    predictor = student_with(make_student, tmp_path, template)
    if template not in REFUSED:
        with pytest.raises(EvaluationError):
            begin(predictor)
    else:
        with pytest.raises(ConfigurationError, match="differ"):
            begin(predictor)
    predictor.trainer = InProcessTrainer()
    with pytest.raises(EvaluationError):
        begin(predictor)


def test_with_a_template_of_llama_factory_nothing_is_compared(make_student, tmp_path):
    template = "a system block with the day, always there"
    trainer = llama_factory(template="llama3")
    with pytest.raises(EvaluationError):
        begin(student_with(make_student, tmp_path, template, trainer=trainer))


def test_conversations_of_several_turns_are_refused_where_single_ones_are_not(
    make_student, tmp_path
):
    predictor = student_with(make_student, tmp_path, "thoughts of earlier turns are left out")
    with pytest.raises(ConfigurationError, match="user, assistant"):
        begin(predictor, PocketToolsTask)
    with pytest.raises(EvaluationError):
        begin(student_with(make_student, tmp_path / "other", "turns"), PocketToolsTask)


def of(*texts):
    roles = ("user", "assistant") * len(texts)
    return tuple(Message(role=role, content=text) for role, text in zip(roles, texts, strict=False))


@pytest.mark.parametrize(
    ("record", "fits"),
    [
        (SupervisedDatum(instruction="1+1?", output="2"), True),
        (SupervisedDatum(instruction="1+1?", output="2", history=(("a", "b"),)), False),
        (ChatDatum(messages=of("a", "b", "c", "d")), False),
        (KTODatum(instruction="1+1?", output="2", desirable=True, history=(("a", "b"),)), True),
        (PreferenceDatum(instruction="?", chosen="1", rejected="2", history=(("a", "b"),)), True),
    ],
)
def test_records_of_an_agent_are_compared_before_they_are_trained(
    make_student, tmp_path, record, fits
):
    predictor = student_with(
        make_student, tmp_path / "student", "thoughts of earlier turns are left out"
    )
    (folder := tmp_path / "run").mkdir()
    with pytest.raises(Exception, match="differ" if not fits else "adapter") as caught:
        predictor.train([record], TrainingRun(directory=folder))
    assert isinstance(caught.value, ConfigurationError) == (not fits)


def test_a_server_with_a_template_of_its_own_is_refused(make_student, tmp_path):
    predictor = student_with(make_student, tmp_path, "turns", Served, InProcessTrainer())
    for options in ({"chat_template": "other.jinja"}, {"chat-template": "other.jinja"}):
        predictor._given = SimpleNamespace(options=options)
        with pytest.raises(ConfigurationError, match="chat_template"):
            begin(predictor)
    predictor._given = SimpleNamespace(options={"max_num_seqs": 4})
    with pytest.raises(EvaluationError):
        begin(predictor)


@pytest.mark.parametrize(
    ("template", "system", "fits"),
    [
        ("turns", "Be brief.", True),
        ("a system block with the day, always there", "", False),
        ("the system message is dropped", "Be brief.", False),
        ("the system message is dropped", "", True),
        ("no system role, turns must alternate", "", True),
    ],
)
def test_a_server_that_writes_other_prompts_is_refused(
    make_student, tmp_path, template, system, fits
):
    predictor = student_with(make_student, tmp_path, template, Served, InProcessTrainer())
    with pytest.raises(EvaluationError if fits else ConfigurationError) as caught:
        begin(predictor, system_prompt=system)
    assert fits or "chat_template.jinja" in str(caught.value)
