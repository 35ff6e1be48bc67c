"""Training and evaluation prompts are equal for every engine."""

import shutil

import numpy as np
import pytest

from dataenvgym.agents import Assignment, PoolEngine, RandomSelection
from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import SupervisedDatum
from dataenvgym.storage import write_jsonl
from tests.agents.test_every_pair import refusal

SMALL = {"n_train": 24, "n_validation": 20, "n_test": 20}
BEFORE, AFTER = "Read this twice, and work it out in 1 step:\n", "\nEnd with your answer."
FRAME = {"system_prompt": "You are brief.", "template": f"{BEFORE}{{instruction}}{AFTER}"}


@pytest.fixture(scope="module", params=["pocket_math", "pocket_code"])
def task(request):
    if request.param == "pocket_math":
        yield PocketMathTask(**SMALL, **FRAME)
    else:
        if shutil.which("bwrap") is None:
            pytest.skip("needs bubblewrap (Debian: bubblewrap)")
        code = PocketCodeTask(**SMALL, **FRAME)
        yield code
        code.close()


@pytest.fixture(scope="module")
def student(task, make_half_a_student):
    return make_half_a_student(task)


@pytest.fixture(scope="module")
def plan(task, student):
    completed = task.evaluate(student)
    wrong = [c for c in completed if not c.was_correct][:2]
    return tuple(Assignment(1, skill=c.instance.skill, examples=[c]) for c in wrong)


def written_by(engine, plan, student):
    return engine.generate(plan, student, np.random.default_rng(0))


def shown_in_evaluation(task, instruction):
    """The environment's prompt for a problem with that instruction."""
    instance = task.instances[0].model_copy(update={"instruction": instruction})
    environment = task.make_environment()
    try:
        return environment.reset(seed=0, options={"instance": instance})[0]
    finally:
        environment.close()


def test_the_prompt_of_a_record_is_that_of_an_evaluation(
    engine_name, task, student, plan, build_part, willing_teacher
):
    policy = "none" if engine_name == "none" else "skill_list"
    if (why := refusal(task, policy, engine_name)) is not None:
        with pytest.raises(ConfigurationError, match=why):
            written_by(build_part("engine", engine_name, task), plan, student)
        return
    records = written_by(build_part("engine", engine_name, task), plan, student)
    # this student says the same each time, so no try of its own is right beside a wrong one
    assert bool(records) == (engine_name not in ("none", "contrast", "group_relative_tries"))
    for record in records:
        prompt = record.conversation[:-1] if record.kind == "scored" else record.prompt
        text = prompt[-1].content
        assert text.startswith(BEFORE)
        assert text.endswith(AFTER)
        instruction = text[len(BEFORE) : -len(AFTER)]
        assert BEFORE not in instruction
        assert prompt == shown_in_evaluation(task, instruction)
    assert not any(BEFORE in request for request in willing_teacher.asked)


def test_records_of_a_file_get_the_tasks_prompt_once(tmp_path):
    task = PocketMathTask(**SMALL, **FRAME)
    plain = SupervisedDatum(instruction="What is 1 + 1?", output="#### 2")
    framed = task.domain.prompt_template.frame(
        plain.model_copy(update={"instruction": "What is 2?"})
    )
    own = plain.model_copy(update={"system": "Another one.", "instruction": "What is 3?"})
    both = plain.model_copy(update={"instruction": "Add these:", "input": "1 2"})
    path = tmp_path / "pool.jsonl"
    write_jsonl(path, [record.model_dump(mode="json") for record in (plain, framed, own, both)])
    engine = PoolEngine(RandomSelection(), task, path=path)
    records = engine.generate((Assignment(4),), None, np.random.default_rng(0))
    assert {r.prompt for r in records} == {
        task.domain.prompt_template.conversation("What is 1 + 1?"),
        task.domain.prompt_template.conversation("What is 2?"),
        task.domain.prompt_template.conversation("Add these:\n1 2"),
        own.prompt,
    }
