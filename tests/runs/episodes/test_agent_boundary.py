"""Output of agents and tasks that could not be read back or repeated."""

import pytest
from pydantic import ValidationError

from dataenvgym.errors import AgentError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import SamplingParameters, TrainablePredictorInterface
from dataenvgym.records import Message
from dataenvgym.storage import read_json, write_json
from dataenvgym.workspace import installed_versions
from tests.runs.episodes.echo import EchoTask, Writer


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"a": {"b": [1.0, float("nan")]}}, "cannot be saved as JSON"),
        ({"a": float("inf")}, "cannot be saved as JSON"),
        ({"a": object()}, "cannot be saved as JSON"),
        ({"a": "\ud800"}, "cannot be saved as JSON"),
        ([1, 2], "a list"),
    ],
)
def test_a_state_that_could_not_be_read_back_is_refused(play, tmp_path, state, expected):
    class Odd(Writer):
        def state_dict(self):
            return state

    with pytest.raises(AgentError, match=rf"state_dict\(\) of Odd.*{expected}"):
        play(tmp_path / "run", agent=Odd())
    assert not (tmp_path / "run" / "agent").exists()
    assert play(tmp_path / "run").status == "finished"


@pytest.mark.parametrize("method", ["reset", "train", "load"])
def test_an_agent_cannot_change_the_student(play, tmp_path, method):
    arguments = {"reset": (), "train": ([], None), "load": (tmp_path,)}[method]

    class Meddling(Writer):
        def __call__(self, completed, predictor):
            getattr(predictor, method)(*arguments)
            return super().__call__(completed, predictor)

    with pytest.raises(AgentError, match="agent called"):
        play(tmp_path / "run", agent=Meddling())


def test_an_agent_may_ask_the_student_and_look_at_it(play, tmp_path):
    seen = []

    class Curious(Writer):
        def __call__(self, completed, predictor):
            asked = [(Message(role="user", content="Say 1, please"),)]
            (reply,) = predictor.predict(asked, SamplingParameters())
            seen.append((reply.text, predictor.records, hasattr(predictor, "submit")))
            assert isinstance(predictor, TrainablePredictorInterface)
            return super().__call__(completed, predictor)

    play(tmp_path / "run", iterations=2, agent=Curious())
    assert seen == [("1", 0, False), ("1", 3, False)]


def test_a_report_with_a_score_that_is_not_a_number_is_refused(play, tmp_path):
    def with_report(make):
        class Odd(EchoTask):
            def generate_performance_report(self, completed):
                return make(super().generate_performance_report(completed))

        return Odd()

    nan = float("nan")
    for field in ("score", "accuracy"):
        with pytest.raises(ValidationError, match=field):
            play(
                tmp_path / "run", task=with_report(lambda r, f=field: r.model_copy(update={f: nan}))
            )
    assert play(tmp_path / "run").status == "finished"


def test_another_version_on_resume_is_named_in_a_warning(play, tmp_path):
    play(tmp_path / "run", iterations=1)
    path = tmp_path / "run" / "environment.json"
    begun = read_json(path)
    assert begun["versions"] == installed_versions()
    assert {"python", "torch", "transformers", "peft", "numpy"} <= begun["versions"].keys()
    warnings: list[str] = []
    with hearing_warnings(warnings.append):
        play(tmp_path / "run", iterations=2)
    assert warnings == []
    old = {**begun["versions"], "torch": "1.0", "gone": "2"}
    write_json(path, {**begun, "versions": old})
    with hearing_warnings(warnings.append):
        play(tmp_path / "run", iterations=3)
    (warning,) = set(warnings)  # a finished run is looked at before it is extended
    assert f"torch 1.0 -> {begun['versions']['torch']}" in warning
    assert "gone 2 -> (none)" in warning
    assert "numpy" not in warning
    assert read_json(path)["versions"] == old
