import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import RecordChecks
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    ToolCall,
)

LONG = (
    "A farmer who lives beside the river counts the animals in her meadow every evening before "
    "she goes home and writes the number into a little red book that her father gave her "
    "when she was a child and the meadow was still a forest full of deer and foxes and owls "
    "and nobody had yet thought of building a road to the town on the other side of the hills"
)


def record(instruction: str, output: str = "#### 1") -> SupervisedDatum:
    return SupervisedDatum(instruction=instruction, output=output)


def reasons(checks: RecordChecks, *records: SupervisedDatum) -> dict[str, int]:
    return checks.check(records).reasons


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Add 3, 4!", "add 3 4"], {"duplicate": 1}),
        ([f"{LONG} today", f"{LONG} now"], {"near_duplicate": 1}),
        (["Add 3 4", "Add 3 5"], {}),
        (["What is 2 + 2?", "What is 2 * 2?", "What is 2 - 2?"], {}),
        (["राम की किताब", "राम का किताब"], {}),  # vowel marks make different words
    ],
)
def test_texts_are_compared_without_case_and_punctuation_but_with_signs(texts, expected):
    assert reasons(RecordChecks(), *map(record, texts)) == expected
    checks = RecordChecks()
    checks.accept([record(texts[0])])
    assert reasons(checks, *map(record, texts[1:])) == expected


def test_an_evaluation_problem_in_other_words_or_another_order_is_dropped():
    task = PocketMathTask(n_validation=40, n_test=40)
    checks = RecordChecks(task)
    for split in ("validation", "test"):
        for instance in task.on(split).instances[:20]:
            numbers = [w.strip(".?") for w in instance.instruction.split()]
            numbers = [w for w in numbers if w.isdigit()]
            other = record("How big is " + " ".join(reversed(numbers)) + " in your opinion?")
            assert reasons(checks, record(instance.instruction)) == {"evaluation_overlap": 1}
            assert reasons(checks, other) == {"evaluation_overlap": 1}


def test_an_evaluation_problem_inside_any_part_of_a_record_is_dropped():
    task = PocketMathTask(n_validation=40, n_test=40)
    question, answer = task.instances[0].instruction, task.instances[0].answer
    asked = (Message(role="user", content="hello"), Message(role="assistant", content="hi"))
    asked += (Message(role="user", content=question), Message(role="assistant", content="#### 1"))
    hidden = [
        ChatDatum(messages=asked),
        ScoredDatum(messages=asked, weights=(None, 1.0)),
        TextDatum(text=f"{question} #### {answer}"),
        record(f"Task 17: {question}"),
        SupervisedDatum(instruction="Problem 7", input=question, output="x"),
        SupervisedDatum(instruction="Say something", system=question, output="x"),
        record("Make up a problem", f"Here is one: {question}"),
    ]
    checked = RecordChecks(task).check(hidden)
    assert checked.reasons == {"evaluation_overlap": len(hidden)}


def test_preferences_for_the_same_turn_differ_by_the_calls_in_their_answers():
    def call(n):
        called = ToolCall(name="f", arguments={"n": n})
        return (Message(role="assistant", content="", tool_calls=(called,)),)

    asked = (Message(role="user", content="Call it."),)
    pairs = [
        PreferenceDatum(messages=asked, chosen=call(right), rejected=call(wrong))
        for right, wrong in ((1, 2), (1, 3), (2, 1), (1, 2))
    ]
    assert RecordChecks().check(pairs).reasons == {"duplicate": 1}


def judge_by(reasons_of: dict[str, str]):
    """A judge that drops by the record's instruction, and the batches it was asked about."""
    asked: list[list[str]] = []

    def judge(records):
        asked.append([r.instruction for r in records])
        return [reasons_of.get(r.instruction) for r in records]

    return judge, asked


def test_a_judge_is_asked_only_about_records_that_pass_the_other_checks():
    task = PocketMathTask(n_validation=40, n_test=40)
    checks = RecordChecks(task)
    checks.accept([record("earlier")])
    judge, asked = judge_by({"bad": "wrong_answer"})
    batch = [record(t) for t in ("good", "bad", "earlier", task.instances[0].instruction, "fine")]
    checked = checks.check(batch, judge)
    assert asked == [["good", "bad", "fine"]]
    assert [r.instruction for r in checked.accepted] == ["good", "fine"]
    verdicts = ["accepted", "wrong_answer", "duplicate", "evaluation_overlap", "accepted"]
    assert [(one.record, one.verdict) for one in checked] == list(zip(batch, verdicts, strict=True))


def test_records_that_a_judge_drops_use_no_budget_and_it_judges_only_as_many_as_fit():
    checks = RecordChecks(max_records=3)
    judge, asked = judge_by({"b": "already_known", "d": "wrong_answer"})
    checked = checks.check([record(letter) for letter in "abcdefg"], judge)
    assert asked == [["a", "b", "c"], ["d"], ["e"]]
    assert [r.instruction for r in checked.accepted] == ["a", "c", "e"]
    assert checked.reasons == {"already_known": 1, "over_budget": 2, "wrong_answer": 1}
    checks.accept(checked.accepted)
    assert reasons(checks, record("a"), record("h")) == {"duplicate": 1, "over_budget": 1}
    assert len(asked) == 3


def test_records_of_the_iteration_itself_do_not_count():
    checks = RecordChecks()
    checks.accept([record("a")], iteration=1)
    checks.accept([record("b")], iteration=2)
    batch = [record("a"), record("b")]
    assert checks.check(batch, iteration=2).reasons == {"duplicate": 1}
    assert checks.check(batch, iteration=1).reasons == {}


def test_records_that_a_judge_could_not_judge_are_not_remembered():
    checks = RecordChecks()

    def judge(records):
        raise KeyboardInterrupt

    batch = [record("a"), record(f"{LONG} today")]
    with pytest.raises(KeyboardInterrupt):
        checks.check(batch, judge)
    assert checks.check([*batch, record(f"{LONG} yesterday")]).reasons == {"near_duplicate": 1}


FRAME = {
    "system_prompt": f"You are patient. {LONG}",
    "template": "There are 3 rules, and 7 of 9 students know them: {instruction}\nMind them.",
}


def framed(task: PocketMathTask, instruction: str, output: str = "#### 1") -> SupervisedDatum:
    return task.domain.prompt_template.frame(record(instruction, output))


def test_the_words_of_a_template_neither_hide_nor_cause_an_overlap_or_a_duplicate():
    task = PocketMathTask(n_validation=20, n_test=20, **FRAME)
    checks = RecordChecks(task)
    checks.accept([framed(task, "Add 3 4")])
    problem = task.instances[0].instruction
    assert reasons(checks, framed(task, problem), record(problem)) == {"evaluation_overlap": 2}
    assert reasons(checks, framed(task, "add 3, 4!"), record("Add 3 4")) == {"duplicate": 2}
    others = [framed(task, f"Say {word}", word) for word in ("apple", "pear", "plum")]
    checked = checks.check(others)
    assert (checked.reasons, checked.accepted) == ({}, tuple(others))  # as they are


def test_a_scored_record_is_a_try_and_repeats_nothing():
    messages = (Message(role="user", content="q " * 50), Message(role="assistant", content="a"))
    other = (messages[0], Message(role="assistant", content="b"))
    batch = [ScoredDatum(messages=messages, weights=(weight,)) for weight in (0.5, None, 0.5)]
    batch.append(ScoredDatum(messages=other, weights=(0.5,)))
    checks = RecordChecks()
    assert checks.check(batch).reasons == {}
    checks.accept(batch)
    assert checks.check(batch).reasons == {}
    pair = [KTODatum(instruction="q", output="a", desirable=d) for d in (True, False)]
    assert checks.check(pair).reasons == {}  # another judgment is another record
    chat = ChatDatum(messages=messages)
    assert checks.check([chat, chat]).reasons == {"duplicate": 1}
