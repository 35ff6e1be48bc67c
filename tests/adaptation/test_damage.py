"""Every file of an adaptation, damaged after it was killed or finished: healed, or refused."""

import pytest

from dataenvgym.adaptation import Arms, Continual, RestEM
from dataenvgym.storage import hash_files
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer
from tests.adaptation.test_continual import TASK, Engine
from tests.damages import after_damages

ARMS = Arms(["self_edits", "rest_em"], split="test", contexts=2)
SEQUENCES = Continual(["merged", "stacked"], contexts=2)
OPTIONS = {"threads": 1, "num_train_epochs": 1, "learning_rate": 1e-2, "lora_rank": 2}


@pytest.fixture
def resume(tiny_student, monkeypatch):
    """Runs arms to their end, or until so many calls of the student have ended."""
    calls = {}

    def counted(name):
        call = getattr(InProcessPredictor, name)

        def calling(self, *args, **kwargs):
            found = call(self, *args, **kwargs)
            calls["left"] -= 1
            if not calls["left"]:
                raise KeyboardInterrupt
            return found

        monkeypatch.setattr(InProcessPredictor, name, calling)

    for name in ("train", "train_each", "predict", "predict_each"):
        counted(name)

    def student_of(folder):
        trainer = InProcessTrainer(**OPTIONS)
        return InProcessPredictor(folder or tiny_student, trainer, threads=1)

    def run(arms, directory, calls_left=-1):
        calls["left"] = calls_left
        rest_em = RestEM(
            InProcessTrainer(**OPTIONS), rounds=1, edits=1, contexts=1, split="validation"
        )
        return [*arms.run(TASK, Engine(), student_of, directory, rest_em=rest_em, seed=5)]

    return run


@pytest.mark.parametrize(
    ("arms", "killed", "each"),
    [
        (ARMS, None, 1),
        (SEQUENCES, None, 1),
        *(pytest.param(ARMS, n, 1, marks=pytest.mark.slow) for n in (3, 4, 5, 7)),
        *(pytest.param(SEQUENCES, n, 1, marks=pytest.mark.slow) for n in (3, 5)),
    ],
)
def test_a_damaged_file_is_healed_or_refused_by_its_name(resume, tmp_path, arms, killed, each):
    directory = tmp_path / "seed-5"
    if killed is None:
        resume(arms, directory)
    else:
        with pytest.raises(KeyboardInterrupt):
            resume(arms, directory, killed)
    found = []

    def go_on():
        found[:] = resume(arms, directory)

    def result():
        students = sorted(directory.rglob("student/*.safetensors"))
        return list(found), {str(path): hash_files(path) for path in students}

    wrong, healed, refused = after_damages(directory, go_on, result, each=each)
    assert not wrong, chr(10).join(wrong)
    assert healed > 0
    assert refused > 0
