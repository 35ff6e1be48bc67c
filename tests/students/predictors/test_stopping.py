"""A reply ends where one of `stop` begins, with every predictor."""

import pytest

from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Message
from dataenvgym.students.predictors import InProcessPredictor, ScriptedPredictor

ASKED = [(Message(role="user", content=f"{n} " * (n % 5 + 1)),) for n in range(11)]
LONG = SamplingParameters(max_tokens=25)


def texts(predictor: InProcessPredictor, sampling: SamplingParameters) -> list[tuple[str, str]]:
    replies = predictor.predict(ASKED, sampling)
    return [(r.text, r.finish_reason) for r in replies if isinstance(r, Reply)]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(
    "batch_size",
    [pytest.param(1, marks=pytest.mark.slow), 4, pytest.param(64, marks=pytest.mark.slow)],
)
def test_a_student_in_this_process_stops_where_it_would_have_said_it(
    tiny_student, batch_size, temperature
):
    sampling = LONG.model_copy(update={"temperature": temperature})
    predictor = InProcessPredictor(tiny_student, batch_size=batch_size)
    whole = texts(predictor, sampling)
    long = sorted((text for text, _ in whole if len(text) > 12), key=len)
    stop = (long[0][5:8], long[-1][9:10])
    expected = []
    for text, reason in whole:
        kept = min((text[: text.find(s)] for s in stop if s in text), key=len, default=text)
        expected.append((kept, "stop" if kept != text else reason))
    assert texts(predictor, sampling.model_copy(update={"stop": stop})) == expected
    assert sum(kept != text for (kept, _), (text, _) in zip(expected, whole, strict=True)) > 1
    assert any(reason == "length" for _, reason in expected) or temperature


def test_generation_ends_with_the_text(tiny_student):
    predictor = InProcessPredictor(tiny_student)
    steps: list[int] = []
    predictor._student.model.register_forward_hook(lambda *_: steps.append(1))
    (whole,) = predictor.predict(ASKED[:1], LONG)
    assert isinstance(whole, Reply)
    before, stop = len(steps), whole.text[6:8]
    (reply,) = predictor.predict(
        ASKED[:1], LONG.model_copy(update={"stop": (stop, "not said", "é" * 50)})
    )
    assert isinstance(reply, Reply)
    assert reply.text == whole.text[: whole.text.find(stop)]
    assert len(steps) - before < before


def test_a_scripted_student_stops_too():
    student = ScriptedPredictor(lambda _: "Action: f\nObservation: 3")
    sampling = SamplingParameters(stop=("\nObservation:",))
    assert student.predict(ASKED[:1], sampling) == [Reply(text="Action: f")]
