import pytest

from dataenvgym.errors import AdapterError
from dataenvgym.interfaces import (
    Failure,
    TrainingRun,
)
from dataenvgym.records import Conversation, SupervisedDatum
from dataenvgym.students.predictors import ScriptedPredictor

DATA = [SupervisedDatum(instruction="q", output="a")] * 3


def echo(conversation: Conversation) -> str | Failure:
    text = conversation[-1].content
    return Failure(reason="no idea") if text == "?" else text.upper()


def test_it_counts_its_trainings_and_takes_them_up_again(tmp_path):
    predictor = ScriptedPredictor(echo)
    for n in (1, 2):
        directory = tmp_path / str(n)
        directory.mkdir()
        predictor.train(DATA, TrainingRun(directory=directory, start="adapter"))
    assert (predictor.trainings, predictor.records) == (2, 6)
    predictor.load(tmp_path / "1" / "adapter")
    assert (predictor.trainings, predictor.records) == (1, 3)
    predictor.save(tmp_path / "saved")
    predictor.reset()
    assert (predictor.trainings, predictor.records) == (0, 0)
    predictor.load(tmp_path / "saved")
    assert predictor.trainings == 1
    predictor.train(DATA, TrainingRun(directory=tmp_path))  # from the base
    assert (predictor.trainings, predictor.records) == (1, 3)


def test_a_folder_without_counts_is_refused(tmp_path):
    with pytest.raises(AdapterError, match="no scripted student"):
        ScriptedPredictor(echo).load(tmp_path)
