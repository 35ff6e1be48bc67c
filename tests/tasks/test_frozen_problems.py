"""No one can change the problems of a task in place, and a change by other means is an error."""

from contextlib import nullcontext

import pytest

from dataenvgym.environments import OpenEnded, SkillList
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import CompletedTaskInstance, TaskInstance
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.building import build_task
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.runs.episodes import EpisodeCallback, run_episode
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import report_on
from tests.records.test_model import assert_frozen

SIZES = ["task.n_train=2", "task.n_validation=4", "task.n_test=2"]
TASKS = {
    **{name: SIZES for name in options_by_group()["task"] if name.startswith("pocket_")},
    **{name: [] for name in ("calendar", "shop", "wallet", "social")},
}


@pytest.mark.parametrize("name", TASKS)
def test_nothing_that_students_and_agents_are_shown_of_a_task_can_be_changed_in_place(name):
    task = build_task(compose([f"task={name}", *TASKS[name]]))
    shown = []
    watching = ScriptedPredictor(lambda conversation: shown.append(conversation) or "No.")
    tried = task.attempt(watching, task.instances[:4])
    before = task.generate_performance_report(tried)
    for each in (*shown, *tried, before, *task.instances[:4]):
        assert_frozen(each)
    assert {type(c.instance.data) for c in tried} == {type(task.instances[0].data)}


@pytest.mark.parametrize("name", [n for n in TASKS if n.startswith("pocket_")])
def test_a_problem_that_changed_since_it_was_loaded_is_an_error_that_names_it(name):
    task = build_task(compose([f"task={name}", *SIZES]))
    chosen = task.instances[2]
    for change in ({"answer": "I do not know."}, {"id": "other"}, {"data": {}, "answer": "x"}):
        kept = dict(chosen.__dict__)
        chosen.__dict__.update(change)
        with pytest.raises(InvalidInstanceError, match=chosen.id):
            task.evaluate(ScriptedPredictor(lambda _: "?"))
        chosen.__dict__.update(kept)
    dict.__setitem__(chosen.data, "answers", ["?"])  # past the methods that refuse
    with pytest.raises(InvalidInstanceError, match=chosen.id):
        task.evaluate(ScriptedPredictor(lambda _: "?"))


class Own:
    """A task of another class, which shows its own problems."""

    name = "own"

    def __init__(self):
        same = {"task": self.name, "instruction": "?", "answer": "7", "data": {"a": [7]}}
        self.problems = [TaskInstance(id=str(n), **same) for n in range(4)]

    def evaluate(self, predictor):
        return [
            CompletedTaskInstance(
                instance=one,
                transcript=(),
                reward=float(one.data["a"][0] == 8 or one.answer == "8"),
                was_correct=False,
            )
            for one in self.problems
        ]

    def generate_performance_report(self, completed):
        return report_on(self.name, completed)


class Vandal:
    """Writes harmless records, and does something to a problem that it is shown."""

    def __init__(self, do):
        self.do = do

    def __call__(self, completed, predictor):
        self.do(completed[0].instance)
        return [{"instruction": "Say this.", "output": "this"}]

    def step(self):
        pass


@pytest.mark.parametrize(
    ("do", "error"),
    [
        (lambda shown: shown.data["a"].__setitem__(0, 8), TypeError),
        (lambda shown: shown.data.update(a=[8]), TypeError),
        (lambda shown: setattr(shown, "answer", "8"), ValueError),
        (lambda shown: shown.__dict__.update(answer="8"), InvalidInstanceError),
        (lambda shown: dict.update(shown.data, a=[8]), InvalidInstanceError),
    ],
)
@pytest.mark.parametrize("kind", [OpenEnded, SkillList])
def test_an_agent_that_changes_a_problem_ends_the_run_or_changes_only_its_copy(kind, do, error):
    environment = kind(Own(), ScriptedPredictor(lambda _: "?"))
    is_copy = kind is OpenEnded and "__dict__" in do.__code__.co_names
    with nullcontext() if is_copy else pytest.raises(error):
        summary = run_episode(environment, Vandal(do), iterations=1, progress=False)
        assert [iteration.val_score for iteration in summary.iterations] == [0.0, 0.0]


def test_nothing_that_callbacks_are_shown_can_be_changed_in_place():
    class Watcher(EpisodeCallback):
        def on_iteration(self, summary):
            shown.append(summary)

        def on_end(self, summary):
            shown.append(summary)

    shown = []
    environment = SkillList(Own(), ScriptedPredictor(lambda _: "?"))
    agent = Vandal(lambda instance: None)
    run_episode(environment, agent, iterations=1, callbacks=[Watcher()], progress=False)
    assert len(shown) == 3
    for each in (*shown, *environment.results):
        assert_frozen(each)


def test_an_agent_that_changes_its_report_changes_no_reward():
    environment = SkillList(Own(), ScriptedPredictor(lambda _: "?"))
    observation, _ = environment.reset(seed=0)
    observation["report"].__dict__["score"] = -1.0
    records = [{"instruction": "Say this.", "output": "this"}]
    assert environment.step(records)[1] == 0.0
