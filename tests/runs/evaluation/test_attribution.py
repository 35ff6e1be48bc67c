"""Which records helped: a student that really learns is trained again without some of them."""

import json
import shutil

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillList
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.records import Refusal
from dataenvgym.runs.documents import markdown
from dataenvgym.runs.episodes import run_episode
from dataenvgym.runs.episodes.attribution import Agreement, GroupEffect, read_attribution
from dataenvgym.runs.episodes.run_files import RunFiles
from dataenvgym.runs.evaluation import attribute_run
from dataenvgym.runs.evaluation.attribution import _agreement, _noise
from dataenvgym.storage import hash_file, read_json, read_jsonl
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors import InProcessPredictor, ScriptedPredictor
from dataenvgym.students.predictors.checkpoints import kind_of
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.completions import as_completions
from dataenvgym.students.trainers.influence import GoldAnswers
from dataenvgym.tasks.base import training_problems

TASK = PocketMathTask(n_train=60, n_validation=10, n_test=4, sampling={"max_tokens": 6})


class Mixed:
    """Twelve right records in each iteration, and, from the second one on, twelve wrong ones."""

    name = "mixed"

    def __init__(self):
        self.calls = 0

    def __call__(self, completed, predictor):
        problems = training_problems(TASK)[24 * self.calls : 24 * self.calls + 24]
        gold = [TASK.domain.gold_record(one).model_dump() for one in problems]
        wrong = [{**one, "output": "#### 9 9 9 9 9 9 9 9"} for one in gold[12:] if self.calls]
        self.calls += 1
        return [*gold[:12], *wrong]

    def step(self):
        pass


@pytest.fixture(scope="module")
def student(tiny_student):
    def make(kind=InProcessPredictor, **format):
        options = {"num_train_epochs": 4, "per_device_train_batch_size": 6, "learning_rate": 1e-2}
        return kind(tiny_student, InProcessTrainer(threads=1, **options), threads=1, **format)

    return make


@pytest.fixture(scope="module")
def finished(student, tmp_path_factory):
    """A run of two iterations; the second one was trained on wrong records, too."""
    folder = tmp_path_factory.mktemp("runs") / "mixed"
    environment = SkillList(TASK, student(), directory=folder, replay=4, similarity=0.99)
    run_episode(environment, Mixed(), iterations=2, progress=False)
    records = list(read_jsonl(folder / "iterations/002/records.jsonl"))
    ids = [row["record"]["provenance"]["id"] for row in records]
    assert len(ids) == 24
    groups = {"right": ids[:6], "right too": ids[6:12], "wrong": ids[12:], "one": ids[:1]}
    (folder.parent / "groups.json").write_text(json.dumps(groups))
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """A copy of that run, of which nothing has been measured."""
    leave_out = shutil.ignore_patterns("attribution")
    return shutil.copytree(finished, tmp_path / "mixed", ignore=leave_out)


@pytest.fixture
def attribute(finished, student):
    def measure(run, predictor=None, **options):
        named = {"iteration": 2, "groups": finished.parent / "groups.json", **options}
        return attribute_run(run, task=TASK, predictor=predictor or student(), **named)

    return measure


@pytest.fixture(scope="module")
def measured(finished, student):
    """The run, its files' hashes before, and the table of its groups with two repeats."""
    before = hashes(finished)
    table = attribute_run(
        finished,
        iteration=2,
        groups=finished.parent / "groups.json",
        repeats=2,
        task=TASK,
        predictor=student(),
    )
    return finished, before, table


def known_of(run):
    return read_attribution(run, RunFiles(run).results)


def hashes(run):
    files = (p for p in run.rglob("*") if p.is_file() and "attribution" not in p.parts)
    return {path: hash_file(path) for path in files}


class Dying(InProcessPredictor):
    """Is interrupted in its fourth training."""

    trainings = 0

    def train(self, training_data, run):
        self.trainings += 1
        if self.trainings == 4:
            raise KeyboardInterrupt
        super().train(training_data, run)


def test_the_training_with_all_records_is_the_runs_own_bit_for_bit(measured):
    run, _, table = measured
    result = read_json(run / "iterations/002/iteration.json")
    assert table.score == result["report"]["score"]
    config = TrainingConfig.read(run / "iterations/002/training.yaml")
    gold = [TASK.domain.gold_record(one) for one in TASK.instances]
    loss = GoldAnswers(gold, config, 1, "cpu").loss(run / "iterations/002/adapter")
    assert table.loss == loss
    assert table.n_records == 28  # with the replayed ones
    assert not any("exactly" in note for note in table.notes)


def test_a_student_that_completes_bare_texts_learns_its_gold_answers_as_such(student, tmp_path):
    run = tmp_path / "bare"
    environment = SkillList(TASK, student(format="completion"), directory=run, similarity=0.99)
    run_episode(environment, Mixed(), iterations=1, progress=False)
    predictor = student(format="completion")
    table = attribute_run(run, by="kind", repeats=1, task=TASK, predictor=predictor)
    config = TrainingConfig.read(run / "iterations/001/training.yaml")
    gold = as_completions(
        [TASK.domain.gold_record(one) for one in TASK.instances], config.model_name_or_path
    )
    assert table.loss == GoldAnswers(gold, config, 1, "cpu").loss(run / "iterations/001/adapter")


@pytest.mark.slow
def test_after_a_refused_iteration_the_student_before_it_is_trained(
    student, attribute, tmp_path, monkeypatch
):
    def refusal(episode, completed, accepted):
        is_second = len(episode.history.results) == 2
        return Refusal(skills=(), drop=0.1, p=0.01) if is_second else None

    monkeypatch.setattr("dataenvgym.environments.teaching_episode.TeachingEpisode.refusal", refusal)
    run = tmp_path / "gated"
    environment = SkillList(TASK, student(), directory=run, replay=4, similarity=0.99, gate=0.05)
    run_episode(environment, Mixed(), iterations=3, progress=False)
    table = attribute(run, iteration=3, groups=None, by="iteration", repeats=1)
    assert {one.group: one.n_records for one in table.groups} == {"1": 4, "3": 12}
    assert table.score == read_json(run / "iterations/003/iteration.json")["report"]["score"]
    begun = TrainingConfig.read(run / "iterations/003/training.yaml")
    assert begun.adapter_name_or_path == str(run / "iterations/001/adapter")
    gold = [TASK.domain.gold_record(one) for one in TASK.instances]
    assert table.loss == GoldAnswers(gold, begun, 1, "cpu").loss(run / "iterations/003/adapter")


def test_wrong_records_have_the_lowest_effect_and_the_lowest_estimate(measured):
    _, _, table = measured
    lowest = min(table.groups, key=lambda group: group.estimate)
    assert table.groups[-1].group == lowest.group == "wrong"
    assert table.groups[-1].loss < -table.loss_noise < 0
    assert lowest.estimate < 0
    assert table.loss_agreement.correlation > 0


def test_only_the_folder_of_the_table_is_written(measured):
    run, before, _ = measured
    assert hashes(run) == before
    names = {path.name for path in (run / "attribution").iterdir()}
    assert names == {"attribution.json", "retrainings", "table.md"}
    assert "| wrong | 12 |" in (run / "attribution" / "table.md").read_text()


@pytest.mark.slow
def test_an_interrupted_command_goes_on_to_the_same_table(measured, run, attribute, student):
    finished, _, _ = measured
    dying = student(Dying)
    with pytest.raises(KeyboardInterrupt):
        attribute(run, dying, repeats=2)
    folder = run / "attribution" / "retrainings"
    done = {path: hash_file(path) for path in folder.iterdir() if path.name != "files.json"}
    assert len(done) == 3
    attribute(run, dying, repeats=2)
    assert dying.trainings == 4 + 7
    assert {path: hash_file(path) for path in done} == done
    assert known_of(run) == known_of(finished)
    attribute(run, dying, repeats=2)
    assert dying.trainings == 4 + 7


def test_what_was_measured_before_an_iteration_was_done_again_does_not_count(measured):
    finished, _, _ = measured
    base, first, second = RunFiles(finished).results
    known = known_of(finished)
    assert len(known.tables) == 1
    again = second.model_copy(update={"fingerprint": first.fingerprint})
    found = read_attribution(finished, [base, first, again])
    assert (found.tables, found.estimates) == ((), {})


def test_the_predictor_is_the_untouched_student_afterwards(run, attribute, student):
    predictor = student()
    attribute(run, predictor, groups=None, by="kind", repeats=1)
    assert predictor.former_adapter() is None
    predictor.save(run.parent / "after")
    assert kind_of(run.parent / "after") == "nothing"


def test_a_refused_iteration_is_called_that(run, attribute):
    path = run / "iterations/002/iteration.json"
    result = read_json(path)
    result["report"]["refused"] = {"skills": [], "drop": 0.5, "p": 0.01}
    path.write_text(json.dumps({**result, "adapter": 1}))
    with pytest.raises(RunDirectoryError, match="mixed"):
        attribute(run, iteration=2)


def test_a_student_that_is_no_network_has_scores_alone(tmp_path):
    def answer(conversation):
        return "#### 1"

    environment = SkillList(TASK, ScriptedPredictor(answer), directory=tmp_path / "r")
    run_episode(environment, Mixed(), iterations=1, progress=False)
    table = attribute_run(
        tmp_path / "r", by="kind", repeats=1, task=TASK, predictor=ScriptedPredictor(answer)
    )
    shown, *_ = table.document()
    assert shown.names == ["kind", "records", "score"]
    assert [group.group for group in table.groups] == ["supervised"]
    text = markdown(table.document())
    assert "the noise is unknown" in text
    assert "changes the order of the others" in text
    assert "No loss and no estimate: ScriptedPredictor" in text


def test_records_can_be_drawn(run, attribute):
    places = [_groups(run, by="record", limit=5, seed=seed) for seed in (0, 0, 1)]
    assert places[0] == places[1] != places[2]
    assert [len(place) for place in places[0].values()] == [1] * 5
    assert places[0].keys() < _groups(run, by="record", limit=9).keys()
    assert _groups(run, by="iteration").keys() == {"1", "2"}


def _groups(run, *, by, limit=None, seed=0):
    from dataenvgym.runs.evaluation.attribution import TrainedIteration

    return TrainedIteration(run, 2).groups(by, None, limit, seed)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": ["002-00001", "009-00000"]}', "not trained on '009-00000' .1 of 2 ids."),
        ('{"a": "002-00001"}', "a is .* list"),
        ('{"a": []}', "a is .* item"),
        ("[]", "dictionary"),
        ("{", "not JSON"),
    ],
)
def test_impossible_groups_are_refused(run, attribute, tmp_path, content, message):
    (tmp_path / "mine.json").write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        attribute(run, groups=tmp_path / "mine.json")
    assert not (run / "attribution").exists()


def test_impossible_runs_and_iterations_are_refused(run, attribute, tmp_path):
    with pytest.raises(RunDirectoryError, match="no finished"):
        attribute(run, iteration=7)
    with pytest.raises(RunDirectoryError, match="mixed"):
        attribute(run, iteration=0)
    with pytest.raises(ConfigurationError, match="mean 'skill'"):
        attribute(run, by="skil")
    with pytest.raises(ConfigurationError, match="made in Python"):
        attribute_run(run)
    summary = read_json(run / "summary.json")
    (run / "summary.json").write_text(json.dumps({**summary, "status": "interrupted"}))
    with pytest.raises(RunDirectoryError, match="expected a finished"):
        attribute(run)


def test_an_agent_without_records_leaves_nothing_to_leave_out(tmp_path, attribute):
    class Silent(Mixed):
        def __call__(self, completed, predictor):
            return []

    predictor = ScriptedPredictor(lambda conversation: "#### 1")
    environment = SkillList(TASK, predictor, directory=tmp_path / "r")
    run_episode(environment, Silent(), iterations=1, progress=False)
    with pytest.raises(RunDirectoryError, match="records"):
        attribute(tmp_path / "r", predictor, iteration=None)


def test_the_noise_is_pooled_over_the_groups():
    assert _noise([[0.1]]) is None
    assert _noise([[0.1, 0.1], [0.2, 0.2]]) == 0.0
    # variances .02 and 0, so .01; the quantile with 2 degrees of freedom is 4.303
    assert _noise([[0.1, 0.3], [0.0, 0.0]]) == pytest.approx(4.303 * (0.01 / 2) ** 0.5, rel=1e-3)


def test_noise_that_all_groups_share_has_few_degrees_of_freedom():
    # variance .02 in both, all of it shared; the quantile with 1 degree of freedom is 12.71
    assert _noise([[0.1, 0.3], [0.2, 0.4]]) == pytest.approx(12.71 * 0.1, rel=1e-3)


def test_the_agreement_has_an_interval_from_four_groups_on():
    def rows(*estimates):
        return [GroupEffect(group="g", n_records=1, score=0.0, estimate=e) for e in estimates]

    assert _agreement(rows(1, 2, 3), [1, 3, 2]) == Agreement(correlation=0.5)
    assert _agreement(rows(1, 1, 1), [1, 3, 2]) is None
    found = _agreement(rows(1, 2, 3, 4, 5, 6), [2, 1, 3, 4, 6, 5])
    assert found.low < found.correlation < found.high < 1
    assert str(found) == "0.89 (95%: 0.07 to 0.99)"
