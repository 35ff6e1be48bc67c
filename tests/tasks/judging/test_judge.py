"""Judges behind a server: asked again, unscored and counted, combined, cached."""

import pytest
from pydantic import Field

from dataenvgym.errors import ServerError
from dataenvgym.records import Message, Model
from dataenvgym.tasks.judging import Judge, Judged, agreement, combine
from tests.fakes import Teacher, lost
from tests.tasks.judging.judge_server import verdict


class Score(Model):
    reason: str
    score: float = Field(ge=0, le=10)


def asked(*texts):
    return [(Message(role="user", content=text),) for text in texts]


def scores(judged):
    return [one.score("score") for one in judged]


def test_verdicts_come_in_the_order_of_the_questions(server):
    server.say = lambda messages: verdict(int(messages[0]["content"]))
    judged = Judge({"a": server.teacher()}, Score).ask(asked(*"0123456789"))
    assert scores(judged) == [*range(10)]
    schema = server.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["score"]["maximum"] == 10


def test_an_unreadable_verdict_is_shown_to_the_judge_with_the_reason(server):
    first, reason = verdict(11), "less than or equal to 10, found 11"
    server.say = lambda messages: first if len(messages) == 1 else verdict(4)
    teacher = server.teacher()
    (judged,) = Judge({"a": teacher}, Score).ask(asked("?"))
    assert judged.verdicts == {"a": Score(reason="so", score=4)}
    again = server.requests[1]["messages"]
    assert [m["role"] for m in again] == ["user", "assistant", "user"]
    assert again[1]["content"] == first
    assert reason in again[2]["content"]
    assert teacher.usage.malformed == 1


def test_a_judge_that_flatters_to_the_end_is_unscored_and_never_zero(server):
    server.say = lambda messages: "Wonderful! \ud83d\ude00 11 out of 10!" + "\x00" * 5000
    teacher = server.teacher()
    (judged,) = Judge({"a": teacher}, Score, retries=2).ask(asked("?"))
    assert judged.verdicts == {}
    assert "no usable verdict in 3 replies" in judged.unscored["a"]
    assert judged.score("score") is None
    assert (len(server.requests), teacher.usage.malformed) == (3, 3)


def test_a_failed_call_is_unscored_and_not_asked_again_here_but_a_refused_key_is_for_the_user(
    server,
):
    server.say = lambda messages: 500 if messages[0]["content"] == "bad" else verdict(5)
    judged = Judge({"a": server.teacher()}, Score).ask(asked("good", "bad"))
    assert scores(judged) == [5, None]
    assert "500" in judged[1].unscored["a"]
    assert len(server.requests) == 2
    server.say = lambda messages: 401
    with pytest.raises(ServerError):
        Judge({"a": server.teacher()}, Score).ask(asked("1"))


def test_the_other_judges_decide_if_enough_of_them_answered(server):
    server.say = lambda messages: verdict(3)
    (judged,) = Judge({"good": server.teacher(), "gone": Teacher(lost)}, Score).ask(asked("?"))
    assert judged.score("score", min_judges=1) == 3
    assert judged.score("score", min_judges=2) is None
    assert judged.unscored == {"gone": "HTTP 503"}


def test_a_spent_budget_leaves_the_rest_unscored(server):
    judged = Judge({"a": server.teacher(max_requests=2)}, Score).ask(asked("1", "2", "3"))
    assert scores(judged) == [7, 7, None]
    assert "budget" in judged[2].unscored["a"]
    again = Judge({"a": server.teacher(max_requests=0)}, Score).ask(asked("1"))
    assert scores(again) == [None]


def test_scores_are_combined_as_is_said():
    assert combine([4, 4, 9], "majority") == 4
    assert combine([4, 9], "majority") is None
    assert combine([]) is None


class Inner(Model):
    goal: Score


def test_a_flatterer_in_range_shows_in_the_agreement():
    def judged(honest, flatterer):
        given = {"honest": honest, "flatterer": flatterer}
        return Judged({n: Inner(goal=Score(reason="", score=s)) for n, s in given.items()})

    fair = [judged(s, s) for s in (0, 4, 8)]
    flattered = [judged(s, 10) for s in (0, 4, 8)]
    assert agreement(fair, "goal.score", "interval") == 1.0
    assert agreement(flattered, "goal.score", "interval") < 0
