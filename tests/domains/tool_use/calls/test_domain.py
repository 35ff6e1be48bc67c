import pytest

from dataenvgym.domains.tool_use.calls.problem import NO_CALL, as_calls_text
from dataenvgym.domains.tool_use.calls.task import APIBankTask, BFCLTask
from dataenvgym.environments.checks import RecordChecks
from dataenvgym.records import Provenance, SupervisedDatum, ToolCall
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.domain import gives, solves

SHARES = {"train": 0.5, "validation": 0.3, "test": 0.2}


def add(**arguments):
    return as_calls_text([ToolCall(name="math.add", arguments=arguments)])


@pytest.fixture
def task(bfcl_files):
    return BFCLTask(bfcl_files, fractions=SHARES)


@pytest.fixture
def instances(task):
    return {i.id: i for i in task.whole().instances}


def written(instance, domain, output, question=None):
    """The record that a teacher writes, with another question."""
    text = domain.text_of(instance)
    if question is not None:
        text = text.replace(instance.instruction, question)
    return SupervisedDatum(
        instruction=text, output=output, provenance=Provenance(id="r1", skill="simple")
    )


def test_answers_are_canonical_calls(task, instances):
    instance, domain = instances["simple_python_1"], task.domain
    classes = {
        domain.answer_class(instance, reply)
        for reply in (
            add(a=1, b=1.0),
            add(b=1, a=1),
            'Action: math.add\nAction Input: {"b": 1.0, "a": 1}',
            f"I add. {add(a=1.0, b=1)}",
        )
    }
    assert len(classes) == 1
    assert domain.answer_class(instance, add(a=2, b=1)) not in classes
    assert domain.answer_class(instance, "I cannot.") == "[]"
    one, other = (domain.answer_class(instance, add(a=[[number]])) for number in (1, 1.0))
    assert one == other
    silent = task.evaluate(ScriptedPredictor(lambda conversation: ""))
    assert task.generate_performance_report(silent).no_answer_rate is None
    calls = [ToolCall(name="say", arguments={"text": text}) for text in "ab"]
    one, other = map(as_calls_text, (calls, calls[::-1]))
    parallel = instances["parallel_0"]
    assert domain.answer_class(parallel, one) == domain.answer_class(parallel, other)


def test_answers_are_the_same_if_they_match(task, instances, bfcl_files):
    instance, domain = instances["multiple_0"], task.domain
    one, other, third = (
        domain.answer_class(instance, as_calls_text([ToolCall(name="say", arguments={"text": t})]))
        for t in ("Item 0", "item, 0", "item 1")
    )
    assert domain.same_answer(instance, one, other)
    assert not domain.same_answer(instance, one, third)
    assert not domain.same_answer(instance, one, "[]")
    assert not domain.same_answer(instance, one, "some text")
    strict = BFCLTask(bfcl_files, matching="strict").domain
    assert not strict.same_answer(instance, one, other)
    assert gives(domain, instance, "Hm.", one) is False
    assert gives(domain, instance, instances["multiple_0"].answer, one) is True


def test_the_answer_to_a_user_is_the_text(dialogues):
    task = APIBankTask(dialogues, turns="replies").whole()
    instance = task.instances[0]
    assert task.domain.answer_class(instance, " Hi. ") == "Hi."
    assert task.domain.answer_class(instance, " ") is None
    call = as_calls_text([ToolCall(name="AddAlarm")])
    assert task.domain.answer_class(instance, call) == '["[\\"AddAlarm\\", {}]"]'
    assert not task.domain.same_answer(instance, "Hi.", "[1]")


def test_gold_records_declare_the_tools_and_make_the_calls(task, instances):
    record = task.domain.gold_record(instances["simple_python_3"])
    assert [m.content for m in record.messages] == ["What is 3 and 3.5?", ""]
    (said,) = record.messages[1].tool_calls
    assert said == ToolCall(name="math.add", arguments={"a": 3, "b": 3.5, "unit": "meters"})
    assert record.provenance == Provenance(skill="simple", task="bfcl")
    assert (*record.conversation[:-1],) == task.domain.prompt(instances["simple_python_3"])
    silent = task.domain.gold_record(instances["irrelevance_0"])
    assert silent.messages[-1].content == NO_CALL
    assert [*task.domain.ways_to_answer(instances["irrelevance_0"])] == [NO_CALL]


def test_a_teachers_text_becomes_a_chat_record_in_the_tasks_prompt(bfcl_files):
    task = BFCLTask(bfcl_files, system_prompt="Be brief.", template="Q: {instruction}")
    instance = task.whole().instances[0]
    record = task.domain.frame(written(instance, task.domain, add(a=7, b=1), "What is 7 and 1?"))
    assert record.system == "Be brief."
    assert record.messages[0].content == "Q: What is 7 and 1?"
    assert record.messages[1].tool_calls[0].arguments == {"a": 7, "b": 1}
    assert record.provenance.id == "r1"
    again = task.domain.unframe(record)
    assert again.instruction.startswith("What is 7 and 1?\n\nTools:\n")
    assert task.domain.frame(again) == record


def test_records_become_problems_that_their_own_calls_solve(task, instances):
    domain = task.domain
    text = written(instances["simple_python_0"], domain, add(a=7, b=1), "What is 7 and 1?")
    for record in (text, domain.frame(text)):
        problem = domain.problem_of_record(record)
        assert (problem.id, problem.skill) == ("r1", "simple")
        assert problem.instruction == "What is 7 and 1?"
        assert solves(domain, problem, add(a=7, b=1.0))
        assert not solves(domain, problem, add(a=7, b=2))


def test_records_that_cannot_be_judged_are_not_problems(task, instances):
    domain = task.domain
    unknown = instances["simple_python_0"], domain
    for record in (
        written(*unknown, "I cannot.", "What is 7 and 1?"),
        written(*unknown, as_calls_text([ToolCall(name="fly")]), "What is 7 and 1?"),
        SupervisedDatum(instruction="What is 1?", output=add(a=1, b=1)),
        written(*unknown, add(a=7, b=1)).model_copy(update={"system": "Be brief."}),
    ):
        assert domain.problem_of_record(record) is None
    plain = SupervisedDatum(instruction="What is 1?", output="1")
    assert domain.frame(plain) == domain.unframe(plain) == plain  # without tools


def test_a_known_problem_is_judged_by_its_own_gold_calls(task):
    domain = task.domain
    known = {i.category: i for i in task.on("train").instances}
    silent = domain.gold_record(known["irrelevance"])
    assert domain.judge_record(silent) is True
    assert solves(domain, domain.problem_of_record(silent), "I cannot.")
    calling = written(known["irrelevance"], domain, as_calls_text([ToolCall(name="say")]))
    assert domain.judge_record(calling) is False
    assert domain.problem_of_record(calling) is None


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (add(a=7, b=1), None),
        (add(a=7, b=1.5, unit="m"), None),
        (add(a=7), False),
        (add(a="7", b=1), False),
        (add(a=7, b=True), False),
        (add(a=7, b=1, c=1), False),
        (as_calls_text([ToolCall(name="fly")]), False),
    ],
)
def test_calls_that_the_tools_do_not_take_are_wrong(task, instances, output, verdict):
    record = written(instances["simple_python_0"], task.domain, output, "What is 7 and 1?")
    assert task.domain.judge_record(record) is verdict
    assert task.domain.judge_record(task.domain.frame(record)) is verdict


def test_checks_tell_records_by_their_tools_and_drop_those_that_put_an_evaluation_problem(
    task, instances
):
    domain = task.domain
    record = domain.gold_record(instances["multiple_0"])
    fewer = record.model_copy(update={"tools": record.tools[1:]})
    assert RecordChecks().check([record, fewer, record]).reasons == {"duplicate": 1}
    evaluated = next(i for i in task.instances if i.category == "simple")
    other = written(evaluated, domain, add(a=70, b=1), "What is 70 and 1, summed?")
    records = [domain.gold_record(evaluated), domain.frame(other)]
    assert RecordChecks(task).check(records).reasons == {"evaluation_overlap": 1}
