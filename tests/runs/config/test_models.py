"""Short names for students."""

import pytest

from dataenvgym.runs.config import build_task, compose


@pytest.mark.parametrize(
    ("text", "predictor", "path", "adapter"),
    [
        ("hf/pocket", "InProcessPredictor", "pocket", None),
        ("vllm/pocket", "VllmPredictor", "pocket", None),
        ("hf/Qwen/Qwen3-8B", "InProcessPredictor", "Qwen/Qwen3-8B", None),
        ("vllm//models/mine:runs/r/3", "VllmPredictor", "/models/mine", "runs/r/3"),
        ("hf/~/it's, [mine]", "InProcessPredictor", "~/it's, [mine]", None),
        ('hf/a "b"\\c\\', "InProcessPredictor", 'a "b"\\c\\', None),
    ],
)
def test_a_name_sets_predictor_student_and_adapter(text, predictor, path, adapter):
    config = compose([f"model={text}"])
    assert config.predictor._target_ == f"dataenvgym.students.predictors.{predictor}"
    assert (config.student.path, config.student.adapter) == (path, adapter)
    assert (config.predictor.student, config.predictor.adapter) == (path, adapter)


def test_later_overrides_win():
    assert compose(["model=hf/some/one:a", "model=hf/pocket"]).student == {
        "path": "pocket",
        "adapter": None,
        "format": "chat",
    }
    assert compose(["model=hf/some/one", "student.path=other"]).student.path == "other"
    assert compose(["student.path=other", "model=hf/pocket"]).student.path == "pocket"


@pytest.mark.parametrize("chosen", [["student=pocket"], ["model=hf/pocket"], []])
def test_the_pocket_student_is_the_one_that_the_task_names(chosen):
    assert compose(chosen).predictor.student == "pocket"
    config = compose([*chosen, "+task.student=pocket-tools-v1"])
    assert config.predictor.student == "pocket-tools-v1"
    assert build_task(config).student == "pocket-tools-v1"


TEACHER = "dataenvgym.teachers.Teacher"
PREDICTOR = "dataenvgym.students.predictors.InProcessPredictor"
STUDENT = "dataenvgym.tasks.rollouts.StudentSpeaker"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("openai/ft:gpt-4o:mine::1", {"_target_": TEACHER, "model": "ft:gpt-4o:mine::1"}),
        ("hf/B:c", {"_target_": PREDICTOR, "student": "B", "adapter": "c"}),
        ("student", {"_target_": STUDENT, "adapter": "current"}),
        ("student/former", {"_target_": STUDENT, "adapter": "former"}),
        ("student//runs/a", {"_target_": STUDENT, "adapter": "/runs/a"}),
        ("my_module.make_judge", {"_target_": "my_module.make_judge"}),
    ],
)
def test_a_speaker_is_a_teacher_a_predictor_the_student_or_a_class_of_your_own(text, expected):
    config = compose(["task=social", "model=hf/A", f"task.others.partner={text}"])
    assert config.task.partner == "model"
    assert {name: config.task.others.partner[name] for name in expected} == expected
    others = compose(["task=calendar", f"task.others.user={text}"]).task.others
    assert others.user._target_ == expected["_target_"]


def test_several_judges_have_numbers_and_options_of_their_own():
    url = "task.others.judge_2.base_url=http://localhost:1"
    config = compose(["task=social", "task.others.judge=[openai/A,'openai/B']", url])
    assert config.task.judges == ["judge_1", "judge_2"]
    assert [config.task.others[judge].model for judge in config.task.judges] == ["A", "B"]
    assert config.task.others.judge_2.base_url == "http://localhost:1"


def test_strategists_are_named_by_the_side_that_they_advise():
    texts = ["task.others.partner_strategist=openai/T", "task.others.strategist=openai/S"]
    assert compose(["task=social", *texts]).task.strategists == ["own", "partner"]
    assert compose(["task=social", *texts[:1]]).task.strategists == ["partner"]
    typed = compose(
        ["task=social", *texts, "task.strategists=[own]", "task.others.partner=student"]
    )
    assert (typed.task.strategists, typed.task.partner) == (["own"], "model")
