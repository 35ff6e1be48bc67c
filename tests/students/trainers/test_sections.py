"""Curricula: which records a section draws, when it ends, and what is refused."""

from collections import Counter

import pytest

from dataenvgym.errors import ConfigurationError, UnsupportedStageError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import AdapterJob, TrainingRun
from dataenvgym.records import PreferenceDatum, Provenance, SupervisedDatum
from dataenvgym.storage import hash_files, read_jsonl
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.llama_factory.curriculum import Curriculum
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer, LlamaFactoryTrainer
from dataenvgym.students.trainers.loop import updates


def record(n, skill, output="yes"):
    provenance = Provenance(skill=skill, iteration=n % 2 + 1)
    return SupervisedDatum(instruction=f"say {n}", output=output, provenance=provenance)


RECORDS = [record(n, "easy" if n < 8 else "hard") for n in range(12)]


def curriculum(*sections, **options):
    return {"sections": list(sections), **options}


def steps(sections, records=RECORDS, **options):
    options = {"per_device_train_batch_size": 4, "seed": 5, **options}
    config = TrainingConfig(curriculum=Curriculum(**sections).placed(records), **options)
    return updates(len(records), config)


def drawn(found, section):
    return [i for u in found if u.section[0] == section for batch in u.batches for i in batch]


def test_sections_follow_each_other_with_their_shares_and_epochs():
    found = steps(
        curriculum({"mix": {"easy": 1}}, {"mix": {"easy": 0.25, "hard": 0.75}, "epochs": 2})
    )
    assert sorted(drawn(found, 0)) == list(range(8))
    second = Counter("easy" if i < 8 else "hard" for i in drawn(found, 1))
    assert second == {"easy": 6, "hard": 18}
    assert [u.section for u in found] == [(0, 0)] * 2 + [(1, 0)] * 3 + [(1, 1)] * 3
    assert min(Counter(drawn(found, 1)).get(i, 0) for i in range(8, 12)) >= 4
    assert found[-1].epoch == pytest.approx(32 / 12)


def test_groups_are_of_any_named_field_and_records_of_none_are_told():
    heard = []
    with hearing_warnings(heard.append):
        found = steps(curriculum({"mix": {2: 1}}, by="iteration"))  # as YAML reads it
    assert found == steps(curriculum({"mix": {"2": 1}}, by="iteration"))
    assert set(drawn(found, 0)) == {1, 3, 5, 7, 9, 11}
    assert "6 of 12 records are in no section" in heard[0]
    assert "iteration 1" in heard[0]
    assert len(drawn(steps(curriculum({"mix": {"supervised": 1}}, by="kind")), 0)) == 12


def test_a_share_that_is_too_small_for_one_record_is_told():
    heard = []
    with hearing_warnings(heard.append):
        found = steps(curriculum({"mix": {"easy": 0.97, "hard": 0.03}}))
    assert not {8, 9, 10, 11} & set(drawn(found, 0))
    assert (
        "section 1 of trainer.curriculum has too few records for the share of skill hard"
        in (heard[0])
    )


def trained(student, folder, sections, records=RECORDS, **options):
    options = {"learning_rate": 1e-2, "per_device_train_batch_size": 4, **options}
    trainer = InProcessTrainer(threads=1, curriculum=sections, **options)
    folder.mkdir()
    InProcessPredictor(student, trainer).train(records, TrainingRun(folder, seed=1))
    return list(read_jsonl(folder / "trainer_log.jsonl"))


def test_a_gate_ends_a_section_and_the_next_one_begins(tiny_student, tmp_path):
    def both(name, **gate):
        first = {"mix": {"easy": 1}, "epochs": 30, **gate}
        sections = curriculum(first, {"mix": {"hard": 1}, "epochs": 2})
        return trained(tiny_student, tmp_path / name, sections)

    whole = both("whole")
    assert len(whole) == 30 * 2 + 2
    by_loss = both("loss", until_loss=0.5)
    n = next(i for i in range(2, 60, 2) if (whole[i - 2]["loss"] + whole[i - 1]["loss"]) / 2 <= 0.5)
    assert [s["step"] for s in by_loss] == [*range(1, n + 1), 61, 62]
    assert by_loss[:n] == whole[:n]
    assert by_loss[-1]["learning_rate"] == whole[-1]["learning_rate"]
    by_accuracy = both("accuracy", until_accuracy=1.0)
    assert 2 + 2 <= len(by_accuracy) < len(whole)
    assert len(both("never", until_loss=1e-6)) == len(whole)


def test_the_same_curriculum_gives_the_same_adapter_also_among_many(tiny_student, tmp_path):
    sections = curriculum({"mix": {"easy": 1}, "until_loss": 1.0, "epochs": 3})
    hashes = set()
    for name in ("a", "b"):
        trained(tiny_student, tmp_path / name, sections)
        hashes.add(str(hash_files(tmp_path / name / "adapter")))
    options = {"learning_rate": 1e-2, "per_device_train_batch_size": 4}
    student = InProcessPredictor(
        tiny_student, InProcessTrainer(threads=1, curriculum=sections, **options)
    )
    (tmp_path / "c").mkdir()
    (folder,) = student.train_each([AdapterJob(RECORDS, TrainingRun(tmp_path / "c", seed=1))])
    hashes.add(str(hash_files(folder)))
    assert len(hashes) == 1
    assert len(student.losses(RECORDS[:8], learned=RECORDS[8:])) == 8  # of no section


@pytest.mark.parametrize(
    ("sections", "why"),
    [
        (curriculum({"mix": {"easy": 0.5, "hard": 0.4}}), r"shares sum to 0\.9, expected 1"),
        (curriculum(), "sections"),
        (curriculum({"mix": {}}), "mix"),
        (curriculum({"mix": {"easy": 1}, "epochs": 0}), "epochs is 0"),
        (curriculum({"mix": {"easy": 1}, "until": 1}), "until"),
        (curriculum({"mix": {"easy": 1}, "epoch": 1}), "epoch"),
        (curriculum({"mix": {"easy": 1}}, by="color"), "by is 'color'"),
    ],
)
def test_an_impossible_curriculum_is_refused(sections, why):
    with pytest.raises(ConfigurationError, match=why):
        InProcessTrainer(curriculum=sections)


def test_what_no_record_has_and_what_has_no_sections_is_refused(tiny_student, tmp_path):
    one = curriculum({"mix": {"easy": 1}}, {"mix": {"harder": 1}})
    with pytest.raises(ConfigurationError, match="mean 'hard'"):
        trained(tiny_student, tmp_path / "a", one)
    easy = curriculum({"mix": {"easy": 1}})
    pair = PreferenceDatum(instruction="a", chosen="b", rejected="c")
    with pytest.raises(ConfigurationError, match="for stage 'dpo', expected"):
        trained(tiny_student, tmp_path / "b", easy, records=[pair])
    with pytest.raises(ConfigurationError, match="max_steps"):
        InProcessTrainer(curriculum=easy, max_steps=3)
    with pytest.raises(UnsupportedStageError, match="sections"):
        LlamaFactoryTrainer(curriculum=easy)
