"""Several contexts in one student: sequences, and adapters of several contexts at once."""

import shutil
from dataclasses import dataclass

import pytest

from dataenvgym.adaptation import Arms, Context, Continual, Edit, RestEM
from dataenvgym.adaptation.continual import Row, SequenceResult
from dataenvgym.adaptation.report import AdaptationReport
from dataenvgym.errors import ConfigurationError, RunDirectoryError, TrainingError
from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import Message, TaskInstance, TextDatum
from dataenvgym.students.predictors import InProcessPredictor, ScriptedPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.tasks import Outcome, Task, TaskEnvironment
from tests.fakes import Teacher

WORDS = ("ab", "cd", "ef", "gh")


class Exact(TaskEnvironment):
    max_turns = 1

    def respond(self, instance, conversation):
        is_right = conversation[-1].content == instance.answer
        return Outcome(reward=float(is_right), was_correct=is_right)


class Words(Task):
    """Two questions about each word."""

    name = "words"

    def load(self, split):
        return [
            TaskInstance(id=f"{word}-{n}", task="words", instruction=f"{n} {word}", answer=word)
            for word in WORDS
            for n in range(2)
        ]

    def make_environment(self):
        return Exact()


TASK = Words(sampling=SamplingParameters(max_tokens=4))


@dataclass
class Engine:
    """An edit teaches its word, unless it is about `bad`."""

    bad: str = ""
    sampling = SamplingParameters(max_tokens=4, temperature=1.0)

    def contexts(self, instances):
        return [
            Context(word, tuple(i for i in instances if i.instruction.endswith(word)))
            for word in WORDS
        ]

    def edit_prompt(self, context):
        return (Message(role="user", content=f"write {context.id}"),)

    def read_edit(self, context, text, rng):
        if context.id == self.bad:
            return Edit((), failure="it is not good")
        return Edit([TextDatum(text=context.id), TextDatum(text=f"{context.id}{context.id}")])


class Reader(ScriptedPredictor):
    """Knows the words of its last training."""

    def __init__(self, failing=()):
        super().__init__(self.reply)
        self.failing = failing
        self.known = set()
        self.trained = []

    def reply(self, conversation):
        word = conversation[0].content.split()[-1]
        return word if word in self.known else "?"

    def train(self, training_data, run):
        self.known = {record.text for record in training_data}
        self.trained.append(sorted(record.text for record in training_data))
        if self.known & {*self.failing}:
            raise TrainingError("the loss is not finite")

    def reset(self):
        self.known = set()


# --- several contexts at once ---


@pytest.mark.parametrize(("at_once", "sizes"), [(None, [2] * 4), (1, [2] * 4), (3, [6, 2])])
def test_one_adapter_learns_contexts_at_once_and_each_has_its_result(tmp_path, at_once, sizes):
    student = Reader()
    arms = Arms(["self_edits"], contexts=4, at_once=at_once, repeats=2)
    base, found = arms.run(
        TASK, Engine(), lambda folder: student, tmp_path, rest_em=RestEM(None), seed=1
    )
    assert [edit.context for edit in found.edits] == [edit.context for edit in base.edits]
    assert [edit.accuracies for edit in found.edits] == [(1.0, 1.0)] * 4
    assert sorted(map(len, student.trained)) == sorted([*sizes, *sizes])


@pytest.mark.parametrize(
    "arms",
    [
        Arms(["context_only", "self_edits"], contexts=3, edits=2, repeats=2, at_once=2),
        Arms(["self_edits"], contexts=3, edits=2, repeats=2, at_once="all"),
        Arms(["context_only", "self_edits"], contexts=3, edits=3, repeats=2),
    ],
)
def test_the_work_of_arms_is_what_they_do(tmp_path, arms):
    heard = []

    class Listening(Reader):
        def reply(self, conversation):
            heard.append(conversation[0].content.split()[0])
            return super().reply(conversation)

    student, rest_em = Listening(), RestEM(None)
    work = [*arms.work(TASK, Engine(), rest_em, 1)]
    found = [*arms.run(TASK, Engine(), lambda folder: student, tmp_path, rest_em=rest_em, seed=1)]
    assert [one.arm for one in work] == [one.arm for one in found]
    assert {one.contexts for one in work} == {3}
    assert sum(one.edits for one in work) == heard.count("write")
    assert sum(one.trainings for one in work) == len(student.trained)
    assert sum(one.questions for one in work) == len(heard) - heard.count("write")


def test_all_contexts_and_all_edits_train_one_adapter_and_failures_stay_with_their_context(
    tmp_path,
):
    student = Reader()
    arms = Arms(["self_edits"], contexts=4, edits=3, at_once="all")
    _, found = arms.run(
        TASK, Engine(bad="cd"), lambda folder: student, tmp_path, rest_em=RestEM(None)
    )
    assert [len(texts) for texts in student.trained] == [3 * 3 * 2]
    for edit in found.edits:
        is_bad = edit.context == "cd"
        assert (edit.mean, edit.failure) == ((0.0, "it is not good") if is_bad else (1.0, ""))
        assert edit.n_records == 18


def test_a_context_without_an_edit_does_not_count_until_it_is_written(tmp_path):
    lost = "cd"

    def say(text, sampling):
        return Failure(reason="gone") if text.endswith(lost) else "good"

    def run(directory, **options):
        arms = Arms(["teacher_edits"], contexts=4, edits=2, at_once=4)
        (*_, found) = arms.run(
            TASK, Engine(), lambda folder: Reader(), directory, rest_em=RestEM(None),
            teacher=Teacher(say), **options,
        )  # fmt: skip
        return found

    found = run(tmp_path / "a")
    means = {edit.context: (edit.mean, edit.error) for edit in found.edits}
    assert means.pop("cd") == (None, "gone")
    assert {*means.values()} == {(1.0, None)}
    lost = "nothing"
    assert run(tmp_path / "a", retry_errors=True) == run(tmp_path / "b")


def test_a_failed_training_of_contexts_at_once_is_unscored_for_all_of_them(tmp_path):
    student = Reader(failing=["ab"])
    arms = Arms(["self_edits"], contexts=4, at_once=4)
    _, found = arms.run(TASK, Engine(), lambda folder: student, tmp_path, rest_em=RestEM(None))
    assert [(edit.mean, edit.n_unscored) for edit in found.edits] == [(None, 2)] * 4


# --- sequences ---


@pytest.fixture
def student_of(tiny_student):
    def of(folder):
        trainer = InProcessTrainer(threads=1, num_train_epochs=2, learning_rate=1e-2, lora_rank=2)
        return InProcessPredictor(folder or tiny_student, trainer, threads=1)

    return of


def sequences(directory, student_of, engine=None, **options):
    found = Continual(**{"contexts": 3, **options}).run(
        TASK, engine or Engine(), student_of, directory, rest_em=RestEM(None), seed=5
    )
    return {result.arm: result for result in found}


def test_each_row_asks_for_all_contexts_so_far(student_of, tmp_path):
    found = sequences(tmp_path, student_of)
    assert [*found] == ["merged", "stacked"]
    for result in found.values():
        assert [len(row.accuracies) for row in result.rows] == [3, 1, 2, 3]
        assert len({*result.contexts}) == 3
        assert not any(row.failure or row.n_unscored for row in result.rows)
    assert found["merged"].contexts == found["stacked"].contexts
    n_asked = sum(2 * len(row.accuracies) for row in found["merged"].rows)
    work = Continual(contexts=3, edits=2).work(TASK, Engine(), RestEM(None), 5)
    assert [*work] == [("merged", 3, 6, 3, n_asked), ("stacked", 3, 6, 3, n_asked)]
    kept = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("student"))
    assert kept == ["merged/step-03/student", "stacked/step-03/student"]  # only the newest


def test_a_killed_sequence_is_continued_with_the_same_student(student_of, tmp_path, monkeypatch):
    undisturbed = sequences(tmp_path / "a", student_of)
    trained = []
    train = InProcessPredictor.train

    def dying(self, training_data, run):
        trained.append(run.directory.parent.name)
        if len(trained) in (2, 6):
            raise KeyboardInterrupt
        train(self, training_data, run)

    monkeypatch.setattr(InProcessPredictor, "train", dying)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            sequences(tmp_path / "b", student_of)
    assert sequences(tmp_path / "b", student_of) == undisturbed
    assert trained == [*("step-01", "step-02") , *("step-02", "step-03", "step-01", "step-02"),
                       *("step-02", "step-03")]  # fmt: skip
    for join in ("merged", "stacked"):
        one, other = (tmp_path / run / join / "step-03/student" for run in "ab")
        (weights,) = (path.name for path in one.glob("*.safetensors"))
        assert (one / weights).read_bytes() == (other / weights).read_bytes()


def test_a_lost_row_whose_student_is_gone_is_not_made_up(student_of, tmp_path):
    before = sequences(tmp_path, student_of)
    last = tmp_path / "merged/step-03/row.json"
    last.unlink()
    assert sequences(tmp_path, student_of) == before  # its student is still there
    (tmp_path / "merged/step-02/row.json").unlink()
    with pytest.raises(RunDirectoryError, match="merged"):
        sequences(tmp_path, student_of)
    assert last.exists()


def test_stacked_adapters_start_from_the_untouched_student_and_merged_ones_do_not(
    student_of, tmp_path
):
    from safetensors.torch import load_file

    sequences(tmp_path / "three", student_of, names=["stacked"])
    shutil.copytree(tmp_path / "three/stacked/step-03/student", tmp_path / "student")
    three = load_file(tmp_path / "student/adapter_model.safetensors")
    sequences(tmp_path / "two", student_of, names=["stacked"], contexts=2)
    two = load_file(tmp_path / "two/stacked/step-02/student/adapter_model.safetensors")
    for name, weight in three.items():
        first = weight[:4] if ".lora_A." in name else weight[:, :4]
        assert (first == two[name]).all()
        assert sorted({*weight.shape})[0] == 6  # three times the rank of one adapter


def test_replay_trains_again_on_records_of_earlier_contexts(student_of, tmp_path, monkeypatch):
    sizes = []
    train = InProcessPredictor.train

    def counted(self, training_data, run):
        sizes.append(len({record.text[:2] for record in training_data}))
        assert len(training_data) == 2 + min(3, 2 * (len(sizes) - 1))
        train(self, training_data, run)

    monkeypatch.setattr(InProcessPredictor, "train", counted)
    found = sequences(tmp_path, student_of, names=["merged"], replays=[3])
    assert [*found] == ["merged, replay 3"]
    assert sizes == [1, 2, 3]


def test_a_context_that_teaches_nothing_is_named_and_the_sequence_continues(student_of, tmp_path):
    results = sequences(tmp_path, student_of, Engine(bad="ef"), contexts=4, names=["stacked"])
    (result,) = results.values()
    at = result.contexts.index("ef") + 1
    assert [row.failure for row in result.rows] == [
        "it is not good" if n == at else "" for n in range(5)
    ]
    (figures,) = AdaptationReport.of("words", [result]).arms
    assert (figures.n_failed, figures.first_failure) == (1, "it is not good")


def test_impossible_sequences_are_refused(student_of, tmp_path):
    with pytest.raises(ConfigurationError, match="contexts is 5"):
        sequences(tmp_path, student_of, contexts=5)
    with pytest.raises(ConfigurationError, match="retry_errors is set"):
        [
            *Continual(contexts=1).run(
                TASK, Engine(), student_of, tmp_path, rest_em=RestEM(None), retry_errors=True
            )
        ]


def test_an_adapter_that_the_student_began_with_cannot_be_stacked(
    student_of, tiny_student, tmp_path
):
    sequences(tmp_path / "first", student_of, names=["stacked"], contexts=1)
    adapter = tmp_path / "first/stacked/step-01/student"

    def of(folder):
        return InProcessPredictor(tiny_student, InProcessTrainer(threads=1), adapter=adapter)

    with pytest.raises(ConfigurationError, match="begins with an adapter"):
        sequences(tmp_path / "second", of, names=["stacked"])


# --- figures ---


def result(*rows, seed=0):
    found = tuple(Row(accuracies=tuple(row)) for row in rows)
    ids = tuple(f"c{n}" for n in range(len(rows) - 1))
    return SequenceResult(arm="merged", seed=seed, contexts=ids, rows=found)


FIRST = result((0.0, 0.2, 0.4), (0.8,), (1.0, 0.6), (0.4, 0.8, 1.0))


def test_forgetting_is_the_distance_from_the_best_since_a_context_was_learned():
    (figures,) = AdaptationReport.of("words", [FIRST]).arms
    assert figures.base.mean == pytest.approx(0.2)
    assert figures.learned.mean == pytest.approx((0.8 + 0.6 + 1.0) / 3)
    assert figures.final.mean == pytest.approx((0.4 + 0.8 + 1.0) / 3)
    assert figures.forgetting.mean == pytest.approx(((1.0 - 0.4) + (0.6 - 0.8)) / 2)
    assert figures.gain.mean == pytest.approx(figures.final.mean - 0.2)


def test_the_matrix_is_the_mean_and_deviation_over_sequences():
    second = result((0.2, 0.2, None), (0.4,), (0.5, 0.6), (0.4, 0.8, None), seed=1)
    report = AdaptationReport.of("words", [FIRST, second])
    _, summary, matrix, _ = report.document()
    assert [[*matrix.names], *matrix.rows] == [
        ["merged", "context 1", "context 2", "context 3"],
        ["base", "0.10 ±0.14", "0.20 ±0.00", "0.40"],
        ["after 1", "0.60 ±0.28", None, None],
        ["after 2", "0.75 ±0.35", "0.60 ±0.00", None],
        ["after 3", "0.40 ±0.00", "0.80 ±0.00", "1.00"],
    ]
    assert summary.names[-2:] == ["forgetting", "forgetting 95%"]
    assert report.seeds == (0, 1)


def test_one_context_cannot_be_forgotten():
    (figures,) = AdaptationReport.of("words", [result((0.0,), (1.0,))]).arms
    assert (figures.forgetting.mean, figures.gain.mean) == (None, 1.0)
