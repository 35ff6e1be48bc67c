"""`run --dry`: the plan of a run, without running it."""

import re

import pytest

from dataenvgym.runs.config.groups import options_by_group

MY_STUDENT = ("predictor=my_students.MyStudent", "task.n_validation=20", "task.n_test=20")
TEACHER = ("agent/engine=llm", "teacher=openai", "teacher.model=big")

MINE = """
class MyAgent:
    def __call__(self, completed, predictor):
        raise AssertionError("called")

    def step(self):
        pass
"""


@pytest.fixture
def dry(dataenvgym, folder, monkeypatch):
    """Runs `run --dry` in 80 columns; checks that no files are left and no model is asked."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    def run(*arguments: str):
        before = sorted(folder.rglob("*"))
        result = dataenvgym("run", "--dry", *MY_STUDENT, *arguments)
        after = sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)
        assert [path for path in after if path not in before] == []
        return result

    return run


def test_it_shows_the_plan_and_the_students_first_prompt(dry):
    result = dry("episode.iterations=2")
    assert (result.code, result.err) == (0, "")
    for words in (
        "agent        skill_list (SkillListPolicy, PocketEngine)",
        "iterations   2 of 300 records at most",
        "task         pocket_math: validation: 20 problems; test: 20 problems",
        "The student's first prompt",
        "No prompt of a teacher: there is no teacher (teacher=none).",
        "Nothing was run.",
    ):
        assert words in result.out
    assert "(new)" in result.out
    assert max(map(len, result.out.splitlines())) <= 80
    # an engine that follows no plan has no limit of records
    assert "iterations   5\n" in re.sub(" +\n", "\n", dry("agent=gold").out)


@pytest.mark.parametrize("agent", ["skill_list", "skill_tree"])
def test_it_shows_the_teachers_first_prompt(dry, agent):
    result = dry(*TEACHER, f"agent={agent}", 'teacher.base_url="https://u:pw@host/v1?key=k"')
    assert (result.code, result.err) == (0, "")
    assert "big at https://host/v1" in result.out
    assert "pw" not in result.out
    purpose = "records" if agent == "skill_list" else "subskills"
    assert re.search(rf"The teacher's prompt 1 of \d+ \({purpose}\)", result.out)
    assert "(the student's answer)" in result.out


def test_it_shows_the_requested_number_of_prompts_from_your_own_prompt_file(dry, folder):
    (folder / "own" / "prompt").mkdir(parents=True)
    text = "user: |\n  Mine: {count} records of {skill}.\n\n  {examples}\n"
    (folder / "own" / "prompt" / "strict.yaml").write_text(text)
    own = ("--config-dir", "own", "prompt=strict", "agent=skill_list")
    result = dry(*TEACHER, *own, "--prompts", "3")
    assert (result.code, result.err) == (0, "")
    titles = re.findall(r"The teacher's prompt (\d+) of (\d+) \(records\)", result.out)
    assert [number for number, _ in titles] == ["1", "2", "3"]
    n_in_all = int(titles[0][1])
    asked = re.findall(r"Mine: (\d+) records of (\w+)\.", result.out)
    assert len(asked) == 3
    assert len(set(asked)) > 1  # each order has a prompt of its own
    everything = dry(*TEACHER, *own, "--prompts", "999").out
    assert everything.count("Mine: ") == n_in_all > 3


def test_code_that_is_not_ours_is_not_called(dry, folder):
    (folder / "mine_dry.py").write_text(MINE)
    result = dry("agent=mine_dry.MyAgent", *TEACHER[1:])
    assert (result.code, result.err) == (0, "")
    assert "agent is your own MyAgent, which could ask a model by itself" in " ".join(
        result.out.split()
    )


def test_an_impossible_run_is_refused_with_the_same_error_as_the_run(dry):
    for number in ("0", "many"):
        assert f"--prompts: {number!r}" in dry("--prompts", number).err
    assert "Did you mean 'skill_list'?" in dry("agent=skil_list").err
    assert "concurrency is 0" in dry(*TEACHER, "teacher.concurrency=0").err


def test_no_key_is_needed_where_nothing_is_asked_and_the_run_refuses_at_once(
    dataenvgym, dry, folder, monkeypatch
):
    monkeypatch.delenv("OPENAI_API_KEY")
    result = dry(*TEACHER, "--prompts", "2")
    assert (result.code, result.err) == (0, "")
    assert "The teacher's prompt 2 of" in result.out
    assert "would need the environment variable OPENAI_API_KEY is not set" in " ".join(
        result.out.split()
    )
    dataenvgym.refuses("OPENAI_API_KEY is not set: set it to", "run", *MY_STUDENT, *TEACHER)
    assert not (folder / "runs").exists()


def test_it_shows_the_progress_of_an_existing_run(dry, dataenvgym):
    small = ("agent.records_per_iteration=20", "episode.iterations=1", "name=r")
    assert dataenvgym("run", *MY_STUDENT, *small).code == 0
    assert "finished already" in dry(*small).out
    assert "continued after iteration 1" in dry(*small[:1], "episode.iterations=2", "name=r").out
    assert "starts over" in dry(*small, "--fresh").out


TALK = """
from dataenvgym.records import Message
from dataenvgym.tasks import Ask, TaskEnvironment
from dataenvgym.domains.math.pocket import PocketMathTask


class Talk(TaskEnvironment):
    def begin(self, instance):
        said = (yield Ask("user", (Message(role="user", content="?"),))).text
        return (Message(role="user", content=f"You heard {said}"),)

    def respond(self, instance, conversation):
        raise AssertionError("answered")


class TalkTask(PocketMathTask):
    def make_environment(self):
        return Talk(self.instances, others=self.others)
"""


def test_it_names_other_speakers_and_asks_none(dry, folder):
    (folder / "interview.py").write_text(TALK)
    speaker = ("+teacher@task.others.user=openai", "task.others.user.model=big")
    result = dry("task._target_=interview.TalkTask", *speaker)
    assert (result.code, result.err) == (0, "")
    assert "user         big at https://api.openai.com/v1" in result.out
    assert "You heard (the user's answer)" in result.out


EXPERIMENTS = [  # without those of `adapt` and those for a laptop
    name
    for name in sorted(options_by_group()["experiment"])
    if not name.startswith(("none", "smollm2", "seal_", "orchestrator_pocket"))
]


@pytest.fixture
def laptop(dataenvgym, folder, monkeypatch):
    """The command on a machine with nothing but the package; checks that no files are left."""
    for name in ("DATAENVGYM_DATA", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATAENVGYM_CACHE", str(folder / "none"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    students = ("students.external.environments", "students.predictors.vllm.starting")
    for module in ("cli.dry", *students):
        monkeypatch.setattr(f"dataenvgym.{module}.has_cuda", lambda: False)

    def run(*arguments: str):
        before = sorted(folder.rglob("*"))
        result = dataenvgym(*arguments)
        assert sorted(folder.rglob("*")) == before
        return result

    return run


@pytest.mark.parametrize(
    ("experiment", "command"),
    [
        pytest.param(name, command, marks=[] if (n + m) % 2 == 0 else [pytest.mark.slow])
        for n, name in enumerate(EXPERIMENTS)
        for m, command in enumerate(["run", "eval"])
    ],
)
def test_every_shipped_experiment_for_gpus_is_shown_on_a_laptop_with_what_it_would_need(
    laptop, experiment, command
):
    result = laptop(command, "--dry", f"experiment={experiment}")
    assert (result.code, result.err) == (0, "")
    needs = " ".join(result.out.split())
    data = {
        "alfworld": "there is no game in",
        "webshop": "WebShop is not installed",
        "dataenvgym_math": "task.sources.train: KeyError",
        "livecodebench": "file 'test2.jsonl' of dataset 'livecodebench/code_generation_lite'",
        "mnms": "task.tools: KeyError",
        "orchestrator": "model_config.json is missing",
    }
    lacking = [message for name, message in data.items() if name in experiment][:1]
    if not lacking:
        assert "The student's first prompt" in result.out
        assert "would need 1 GPU for the" in needs or "would need 2 GPUs for the" in needs
        assert "the cpu environment of vllm is not installed" in needs
    assert all(f"would need {message}" in needs for message in lacking)
    if command == "run" and not re.search("mnms|orchestrator", experiment):  # no task, no trainer
        assert "would need the cpu environment of llamafactory is not installed" in needs


def test_a_dry_evaluation_asks_nothing_and_refuses_the_impossible(laptop):
    result = laptop("eval", "--dry", "task=pocket_math", "--split", "test", "--limit", "7")
    assert (result.code, result.err) == (0, "")
    for words in ("pocket_math, test split, 7 problems", "first prompt", "Nothing was run."):
        assert words in result.out
    assert laptop("eval", "--dry", "samples=0").code == 2
    judged = ("teacher=openai", "teacher.model=m", "metrics=[judge]", "judge.min_judges=3")
    assert "min_judges is 3" in laptop("eval", "--dry", *judged).err
