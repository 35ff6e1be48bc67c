from dataclasses import dataclass

import pytest

from dataenvgym.adaptation import Arms, Context, Edit, RestEM, rest_em
from dataenvgym.adaptation.report import AdaptationReport
from dataenvgym.errors import ConfigurationError, DivergedError, PredictionError, TrainingError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import ChatDatum, Message, SupervisedDatum, TaskInstance, TextDatum
from dataenvgym.storage import read_json
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.tasks import Task
from tests.adaptation.test_continual import Exact
from tests.adaptation.test_inner_loop import Learner
from tests.fakes import Teacher

WORDS = ("ab", "cd", "ef", "gh")


class Words(Task):
    """Two questions about each word; all splits ask about the same words."""

    name = "words"

    def load(self, split):
        return [
            TaskInstance(
                id=f"{split}-{word}-{n}",
                task="words",
                instruction=f"{n} {word}",
                answer="yes",
                data={"word": word},
            )
            for word in WORDS
            for n in range(2)
        ]

    def make_environment(self):
        return Exact()


TASK = Words(sampling=SamplingParameters(max_tokens=4))


@dataclass
class Engine:
    """An edit teaches the right answers if it begins with "good", and nothing else."""

    sampling = SamplingParameters(max_tokens=6, temperature=1.0)

    def contexts(self, instances):
        words = dict.fromkeys(i.data["word"] for i in instances)
        of = {w: tuple(i for i in instances if i.data["word"] == w) for w in words}
        return [Context(word, questions) for word, questions in of.items()]

    def edit_prompt(self, context):
        return (Message(role="user", content=f"write {context.id}"),)

    def read_edit(self, context, text, rng):
        if text is None:
            return Edit([TextDatum(text=context.id)])
        if not text.startswith("good"):
            return Edit((), failure="it is not good")
        told = [SupervisedDatum(instruction=q.instruction, output="yes") for q in context.questions]
        return Edit(told)


def run(directory, student, names, rest_em=None, **given):
    rest_em = rest_em or RestEM(None, contexts=2)
    arms = Arms(names, contexts=2)
    return list(
        arms.run(TASK, Engine(), lambda folder: student, directory, rest_em=rest_em, **given)
    )


class Writer(Learner):
    """Writes "good" for two of the words, and knows an answer once it has learned a record."""

    def reply(self, conversation):
        asked = conversation[0].content
        if asked.startswith("write"):
            return "good" if asked.endswith(("ab", "cd")) else "bad"
        return "yes" if self.records > 1 else "no"


# --- arms ---


def test_an_edit_that_failed_counts_without_gain_and_a_failed_call_does_not_count(tmp_path):
    def say(text, sampling):
        return "good" if text.endswith(("ab", "ef")) else Failure(reason="?")

    teacher = Teacher(say)
    names = ("self_edits", "teacher_edits", "context_only")
    results = run(tmp_path, Writer(), names, teacher=teacher, seed=3)
    by_arm = {result.arm: result for result in results}
    assert [*by_arm] == ["base", "context_only", "self_edits", "teacher_edits"]
    words = [edit.context for edit in by_arm["base"].edits]
    assert all([e.context for e in result.edits] == words for result in results)
    for edit in by_arm["self_edits"].edits:
        is_good = edit.context in ("ab", "cd")
        assert (edit.mean, edit.failure == "") == (float(is_good), is_good)
    for edit in by_arm["teacher_edits"].edits:
        assert edit.mean == (1.0 if edit.context in ("ab", "ef") else None)
    figures = {f.arm: f for f in AdaptationReport.of("words", results).arms}
    n_good = sum(word in ("ab", "cd") for word in words)
    assert figures["self_edits"].adapter.mean == n_good / 2
    assert figures["self_edits"].n_failed == 2 - n_good
    n_written = sum(word in ("ab", "ef") for word in words)
    assert figures["teacher_edits"].n_errors == 2 - n_written
    assert figures["teacher_edits"].n_edits == n_written


def test_the_contexts_that_are_evaluated_teach_no_writer(tmp_path):
    for seed in range(4):
        arms = Arms(contexts=3)
        evaluated, training = arms.chosen(TASK, Engine(), RestEM(None), seed)
        assert sorted(c.id for c in (*evaluated, *training)) == sorted(WORDS)
        assert len(evaluated) == 3
        assert {q.id.split("-")[0] for c in training for q in c.questions} == {"train"}
    evaluated, training = Arms().chosen(TASK, Engine(), RestEM(None), 0)
    assert (len(evaluated), len(training)) == (2, 2)
    with pytest.raises(ConfigurationError, match="contexts is 2"):
        Arms(contexts=3).chosen(TASK, Engine(), RestEM(None, contexts=2), 0)
    with pytest.raises(ConfigurationError, match=r"arms\.contexts is 5"):
        Arms(contexts=5).chosen(TASK, Engine(), RestEM(None), 0)
    with pytest.raises(ConfigurationError, match="RestEM"):
        Arms(contexts=4).chosen(TASK, Engine(), RestEM(None), 0)
    assert Arms(["self_edits"], contexts=4).chosen(TASK, Engine(), RestEM(None), 0)[1] == []


def test_arms_of_a_teacher_need_one(tmp_path):
    with pytest.raises(ConfigurationError, match="there is no teacher"):
        run(tmp_path, Writer(), ["teacher_edits"])


def test_without_a_kept_edit_the_student_stays_and_the_run_is_warned(tmp_path):
    student, warned = Writer(), []
    student.reply = lambda conversation: "bad"
    student.answer = student.reply
    with hearing_warnings(warned.append):
        *_, last = run(tmp_path, student, ["rest_em"], RestEM(None, rounds=1))
    assert (last.arm, last.kept) == ("rest_em_1", 0)
    assert "RestEM kept none of 10 edits of 2 contexts" in warned[0]


def test_failed_calls_for_edits_are_made_again_on_demand_and_no_others(tmp_path):
    def say(text, sampling):
        return Failure(reason="?") if text.endswith(lost) else "good"

    words = [context.id for context in Arms(contexts=2).chosen(TASK, Engine(), RestEM(None), 0)[0]]
    (lost, _), teacher = words, Teacher(say)
    *_, before = run(tmp_path, Writer(), ["teacher_edits"], teacher=teacher)
    assert [edit.mean for edit in before.edits] == [None, 1.0]
    lost = "nothing"
    assert [*run(tmp_path, Writer(), ["teacher_edits"], teacher=teacher)][-1] == before
    again = {"teacher": teacher, "retry_errors": True}
    *_, after = run(tmp_path, Writer(), ["teacher_edits"], **again)
    assert [edit.mean for edit in after.edits] == [1.0, 1.0]
    assert teacher.sizes == [2, 1]


def test_a_round_whose_kept_edits_changed_is_done_again(tmp_path, monkeypatch):
    def write(student, checkpoint, folder):
        folder.mkdir(parents=True)

    class Taught(Writer):
        trainer = InProcessTrainer(threads=1)
        lost = ""

        def reply(self, conversation):
            asked = conversation[0].content
            if asked.startswith("write"):
                return Failure(reason="gone") if asked.endswith(self.lost or "?") else "good"
            return super().reply(conversation)

        def train(self, training_data, run):
            learned.extend(
                [r.messages[0].content for r in training_data if isinstance(r, ChatDatum)]
            )
            super().train(training_data, run)

    monkeypatch.setattr(rest_em, "write_merged_student", write)
    learned, student = [], Taught()
    one_round = RestEM(InProcessTrainer(threads=1), contexts=2, rounds=1, edits=1)
    _, others = Arms(contexts=2).chosen(TASK, Engine(), one_round, 0)
    student.lost, kept = others[0].id, f"write {others[1].id}"
    *_, before = run(tmp_path, student, ["rest_em"], one_round)
    assert (before.kept, learned) == (1, [kept])
    student.lost = ""
    *_, after = run(tmp_path, student, ["rest_em"], one_round, retry_errors=True)
    assert after.kept == 2
    assert learned[1:] == [f"write {context.id}" for context in others]


def test_a_round_that_kept_nothing_is_done_again_once_an_edit_is_kept(tmp_path, monkeypatch):
    """What the untouched student wrote after it is not taken for the trained one's."""
    monkeypatch.setattr(
        rest_em, "write_merged_student", lambda student, checkpoint, folder: folder.mkdir()
    )
    one_round = RestEM(InProcessTrainer(threads=1), contexts=2, rounds=1, edits=1)
    _, others = Arms(contexts=2).chosen(TASK, Engine(), one_round, 0)

    class Taught(Writer):
        trainer = InProcessTrainer(threads=1)
        lost, has_learned = others[0].id, False

        def reply(self, conversation):
            asked = conversation[0].content
            if not asked.startswith("write"):
                return super().reply(conversation)
            if asked.endswith(self.lost):
                return Failure(reason="gone")
            is_good = self.has_learned or asked.endswith(others[0].id)
            return "good" if is_good else "bad"

        def train(self, training_data, run):
            Taught.has_learned |= isinstance(training_data[0], ChatDatum)
            super().train(training_data, run)

    *_, before = run(tmp_path, Taught(), ["rest_em"], one_round)
    assert before.kept == 0
    assert {edit.text for edit in before.edits} == {"bad"}
    Taught.lost = "nothing"
    *_, after = run(tmp_path, Taught(), ["rest_em"], one_round, retry_errors=True)
    assert after.kept == 1
    assert {edit.text for edit in after.edits} == {"good"}


def test_if_no_edit_is_written_the_run_fails_and_can_be_continued(tmp_path):
    lost = Teacher(lambda text, sampling: Failure(reason="the server is gone"))
    with pytest.raises(PredictionError, match="self-edits was"):
        run(tmp_path, Writer(), ["teacher_edits"], teacher=lost)
    good = Teacher(lambda text, sampling: "good")
    *_, found = run(tmp_path, Writer(), ["teacher_edits"], teacher=good)
    assert [edit.mean for edit in found.edits] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("error", "expected"), [(DivergedError, (0.0, 0.0, 0)), (TrainingError, (None, 0.0, 2))]
)
def test_an_edit_whose_training_diverges_has_failed_and_a_lost_training_is_open(
    error, expected, tmp_path
):
    class Daring(Engine):
        def read_edit(self, context, text, rng):
            told = super().read_edit(context, "good", rng)
            return Edit(told.records, {"learning_rate": 1e6})

    class Diverges(Writer):
        trainer = InProcessTrainer()

        def train(self, training_data, run):
            assert self.trainer.config.learning_rate == 1e6
            raise error("the loss is not finite")

    student, arms = Diverges(), Arms(["self_edits"], contexts=2)
    *_, found = arms.run(TASK, Daring(), lambda _: student, tmp_path, rest_em=RestEM(None))
    assert [(e.mean, e.baseline, e.n_unscored) for e in found.edits] == [expected] * 2
    is_own_fault = error is DivergedError
    assert all(("the loss is not finite" in edit.failure) == is_own_fault for edit in found.edits)
    assert all(edit.is_complete == is_own_fault for edit in found.edits)
    assert student.trainer is Diverges.trainer


# --- with a real student ---


@pytest.fixture
def real(make_student, tmp_path):
    """Makes students; `stop` is the number of trainings after which they are interrupted."""
    folder = make_student(tmp_path / "student", words=("good", "bad", "yes"))
    trainer = InProcessTrainer(threads=1, num_train_epochs=10, learning_rate=2e-2)

    class Student(InProcessPredictor):
        stop = 10**6
        trained = 0

        def train_each(self, jobs):
            self.interrupt()
            return super().train_each(jobs)

        def train(self, training_data, run):
            self.interrupt()
            super().train(training_data, run)

        @classmethod
        def interrupt(cls):
            cls.trained += 1
            if cls.trained > cls.stop:
                raise KeyboardInterrupt

    def student(of=None):
        return Student(of or folder, trainer, threads=1)

    student.kind = Student
    return student


def everything(directory):
    names = ("results.json", "edits.jsonl", "records.jsonl", "model.safetensors", "adapted.json")
    files = [path for name in names for path in directory.rglob(name)]
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


@pytest.mark.slow
def test_the_writer_learns_to_write_what_was_worth_most_and_is_the_next_base(real, tmp_path):
    class Lucky(Engine):
        def read_edit(self, context, text, rng):
            # an edit is good if its first character is, so that some of a random student's are
            is_good = text is not None and text[:1] and ord(text[0]) % 2
            return super().read_edit(context, "good" if is_good else "bad", rng)

    trainer = InProcessTrainer(threads=1, num_train_epochs=60, learning_rate=1e-2)
    rest_em = RestEM(trainer, rounds=2, edits=4)
    arms = Arms(["self_edits", "rest_em"], edits=2)

    def run_in(directory):
        return list(arms.run(TASK, Lucky(), real, directory, rest_em=rest_em))

    undisturbed = run_in(tmp_path / "a")
    assert [result.arm for result in undisturbed] == [
        *("base", "self_edits", "rest_em_1", "rest_em_2")
    ]
    selected = read_json(tmp_path / "a/round-0/selection/results.json")
    assert any(edit["accuracies"] == [1.0] for edit in selected)
    learned = {}
    for edit in selected:
        if edit["accuracies"] == [1.0]:
            learned.setdefault(edit["context"], edit["text"])
    again = read_json(tmp_path / "a/round-1/selection/results.json")
    written = [edit["text"] == learned[e] for edit in again if (e := edit["context"]) in learned]
    assert sum(written) >= len(written) / 2 > 0  # by chance, no text of a random student repeats
    assert real.kind.trained > 4

    # killed after each training, and continued
    for stop in range(1, real.kind.trained):
        real.kind.stop, real.kind.trained = stop, 0
        try:
            run_in(tmp_path / "b")
        except KeyboardInterrupt:
            continue
        break
    assert everything(tmp_path / "b") == everything(tmp_path / "a")
    real.kind.stop = 0
    assert run_in(tmp_path / "b") == undisturbed  # a finished run trains nothing
