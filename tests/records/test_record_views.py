"""What every kind of record says of itself: its texts, questions, and labeled answers."""

from __future__ import annotations

from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    LabeledAnswer,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    ToolCall,
    all_hold,
)
from dataenvgym.records.training import KINDS

ASKED, SAID = Message(role="user", content="q"), Message(role="assistant", content="a")
CALL = Message(role="assistant", content="", tool_calls=(ToolCall(name="t"),))
RESULT = Message(role="tool", content="r")
PROMPT = {"instruction": "q", "system": "s"}
CHAT = {"messages": (ASKED, CALL, RESULT, SAID), "system": "s"}
UNWANTED = KTODatum(**PROMPT, output="a", desirable=False)
PAIR = PreferenceDatum(**PROMPT, chosen="a", rejected="b")
SCORED = ScoredDatum(**CHAT, weights=(None, 0.5))
EXPECTED = [  # the texts; the questions; the speakers or labels; the answers with their labels
    (SupervisedDatum(**PROMPT, output="a"), "sqa", "sq", "system user assistant", "a+"),
    (UNWANTED, "sqa", "sq", "system user assistant_(undesirable)", "a-"),
    (PAIR, "sqab", "sq", "system user chosen rejected", "a+b-"),
    (ChatDatum(**CHAT), "sqra", "sqr", "system user assistant tool assistant", ""),
    (SCORED, "sqra", "sqr", "system user assistant_(not_scored) tool assistant_(weight_0.5)", ""),
    (TextDatum(text="q"), "q", "q", "", ""),
]


def test_each_kind_of_record_gives_its_texts_questions_and_labeled_answers():
    assert [record.kind for record, *_ in EXPECTED] == sorted(
        KINDS, key=["supervised", "kto", "preference", "chat", "scored", "text"].index
    )
    for record, texts, questions, labels, answers in EXPECTED:
        parts = record.parts()
        assert "".join(part for part in parts if not part.startswith("{")) == texts
        assert any('"tool_calls":[{"name":"t"' in part for part in parts) == ("r" in texts)
        assert "".join(record.questions()) == questions
        assert " ".join(label.replace(" ", "_") for label, _ in record.turns()) == labels
        assert "".join(f"{a.text}{'-+'[a.is_right]}" for a in record.answers()) == answers
        assert record.question == ("" if record.kind == "text" else "q")
        changed = record.with_questions(str.upper)
        assert changed.question == record.question.upper()
        assert changed.parts()[-1] == parts[-1]


def test_a_chat_labels_its_last_answer_right_unless_tools_are_called():
    (answer,) = ChatDatum(messages=(ASKED, SAID, ASKED, SAID), system="s").answers()
    assert [m.role for m in answer.prompt] == ["system", "user", "assistant", "user"]
    assert (answer.question, answer.text) == ("q", "a")


def test_a_preference_for_a_turn_of_a_conversation_labels_nothing():
    pair = PreferenceDatum(messages=(ASKED, SAID, ASKED), chosen="a", rejected="b")
    assert pair.answers() == ()
    assert pair.with_questions(str.upper).messages[2].content == "Q"


def test_a_label_holds_if_the_verdict_agrees_and_all_labels_have_to():
    for right in (True, False):
        answer = LabeledAnswer((ASKED,), "a", right)
        assert [answer.holds(gives) for gives in (True, False, None)] == [right, not right, None]
    verdicts = ([], [True, True], [True, None], [None, False])
    assert list(map(all_hold, verdicts)) == [None, True, None, False]
