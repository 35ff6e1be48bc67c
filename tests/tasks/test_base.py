import re
import textwrap

import pytest

import dataenvgym.tasks
from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.interfaces import SamplingParameters, TaskInterface
from dataenvgym.records import (
    ChatDatum,
    Message,
    PreferenceDatum,
    SupervisedDatum,
    TaskInstance,
    TextDatum,
    Tool,
)
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Ask, Domain, Outcome, Source, Task, TaskEnvironment
from dataenvgym.tasks.domain import solves
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate
from tests.fakes import Student
from tests.tasks.rollouts.fakes import Echo


class EchoTask(Task):
    name = "echo"
    words = {"train": ("a", "b"), "validation": ("c", "d", "e"), "test": ("f",)}

    def __init__(self, **options):
        super().__init__(**options)
        self.loads = []

    def load(self, split):
        self.loads.append(split)
        return [
            TaskInstance(id=w, task=self.name, instruction=f"Say {w}.", answer=w)
            for w in self.words[split]
        ]

    def make_environment(self):
        return Echo(self.instances)


def parrot():
    return Student(lambda question, sampling: question[4:-1])


def test_a_task_evaluates_a_predictor_on_its_split_and_sums_up():
    task = EchoTask()
    assert isinstance(task, TaskInterface)
    completed = task.evaluate(parrot())
    assert [c.instance.id for c in completed] == ["c", "d", "e"]
    report = task.generate_performance_report(completed)
    assert (report.task, report.accuracy, report.n) == ("echo", 1.0, 3)


def test_sampling_and_chunks_are_those_of_the_task():
    student = parrot()
    EchoTask(chunk_size=2, sampling=SamplingParameters(max_tokens=9)).evaluate(student)
    assert student.sizes == [2, 1]
    assert [sampling.max_tokens for sampling in student.samplings] == [9, 9]


def test_the_other_split_is_another_view_of_the_same_task_and_each_is_loaded_once():
    task = EchoTask()
    test = task.on("test")
    assert type(test) is EchoTask
    assert [i.id for i in test.instances] == ["f"]
    assert [i.id for i in task.instances] == ["c", "d", "e"]
    assert test.on("validation").instances is task.instances
    task.on("train").on("validation").evaluate(parrot())
    assert task.loads == ["test", "validation"]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Größe, bitte!", "GRÖSSE bitte", True), ("\uff11\uff12 cafés", "12 CAFÉS", True),
        ("3 4", "34", False), ("3 4", "4 3", False), ("कि", "का", False),
    ],
)  # fmt: skip
def test_an_overlap_key_knows_words_and_digits_but_not_case_form_or_punctuation(one, other, equal):
    keys = [EchoTask().domain.overlap_key(text) for text in (one, other)]
    assert (keys[0] == keys[1]) is equal


def test_the_domain_in_the_documentation_works_unchanged():
    documentation = dataenvgym.tasks.__doc__
    (code,) = re.findall(
        r"^    from dataenvgym(?:.*\n(?:    .*\n|\n)*)", documentation, re.MULTILINE
    )
    namespace = {}
    exec(textwrap.dedent(code), namespace)
    task = namespace["EchoTask"]()
    completed = task.evaluate(parrot())
    assert [c.was_correct for c in completed] == [True, True]


@pytest.mark.parametrize(
    ("loaded", "expected"),
    [
        ((), "there are no instances"),
        ([TaskInstance(id="a", task="t", instruction="?")] * 2, "two instances have the id 'a'"),
    ],
)
def test_invalid_return_values_of_load_are_named_and_it_may_be_a_generator(loaded, expected):
    task = EchoTask(split="train")
    task.load = lambda split: loaded
    with pytest.raises(InvalidInstanceError, match=expected):
        _ = task.instances
    task.load = lambda split: iter(EchoTask().load(split))
    assert len(task.instances) == 2


class Digits(Source):
    def load(self, split):
        numbers = {"train": (1, 2), "validation": (3, 4, 5)}[split]
        return [
            TaskInstance(id=str(n), task="digits", instruction=f"{n} + 1?", answer=str(n + 1))
            for n in numbers
        ]

    @property
    def splits(self):
        return ("train", "validation")

    def share(self, split, chosen):
        return f"{chosen} of 5"


def test_a_task_combines_a_source_and_a_domain():
    task = Task(Digits(), MathDomain(), name="digits", split="train")
    assert (task.name, task.splits, task.share()) == ("digits", ("train", "validation"), "2 of 5")
    assert (task.on("validation").share(), task.has_one_source) == ("3 of 5", False)
    student = ScriptedPredictor(lambda c: "#### 2" if c[-1].content == "1 + 1?" else "#### 7")
    assert [c.was_correct for c in task.evaluate(student)] == [True, False]
    assert [c.instance.id for c in task.attempt(student, samples=2)] == ["1", "2", "1", "2"]
    assert task.domain.gold_record(task.instances[0]).output == "#### 2"
    with pytest.raises(ConfigurationError, match="is not read"):
        task.whole()


def test_a_class_may_name_its_domain_in_place_of_making_environments():
    class Sums(Task):
        name = "sums"
        domain = MathDomain(PromptTemplate("Be brief."))

        def load(self, split):
            return Digits().load("train")

    task = Sums(split="test")
    assert task.make_environment().reset(seed=0)[0][0].content == "Be brief."
    assert task.domain.overlap_key("1 + 1?") == "1 1 +"


def test_a_part_that_is_missing_is_refused_with_both_ways_to_give_it():
    with pytest.raises(ConfigurationError, match="no source"):
        Task(domain=MathDomain())
    with pytest.raises(ConfigurationError, match="no domain"):
        Task(Digits())


def test_the_domain_of_a_task_with_environments_alone_judges_by_them():
    task = EchoTask()
    domain = task.domain
    instance = task.on("train").instances[0]
    assert domain.prompt(instance)[0].content == "Say a."
    assert (solves(domain, instance, "a"), solves(domain, instance, "b")) == (True, False)
    assert domain.gold_record(instance).output == "a"
    assert domain.prompt_template == PLAIN
    assert task.on("test").domain is not domain


def test_a_domain_is_refused_where_the_class_has_its_own_and_would_pass_over_it():
    class Own(EchoTask):
        domain = MathDomain()

    with pytest.raises(ConfigurationError, match="a domain of"):
        Own(domain=MathDomain())


def test_a_record_is_a_problem_of_a_domain_with_environments_alone_if_its_output_solves_it():
    class Environment(TaskEnvironment):
        def respond(self, instance, conversation):
            said = conversation[-1].content
            return Outcome(was_correct=instance.answer in (said, "2") and "2" in said)

    class Reading(Domain):
        def make_environment(self, instances=()):
            return Environment(instances)

    record = SupervisedDatum(instruction="1 + 1?", output="it is 2")
    assert Reading().problem_of_record(record).answer == "it is 2"
    wrong = record.model_copy(update={"output": "it is 3"})
    assert Reading().problem_of_record(wrong) is None  # it would call every reply wrong


class Asked(Echo):
    """Problems with their own first message and their own scoring."""

    def begin(self, instance):
        said = (yield Ask("user", (Message(role="user", content=instance.instruction),))).text
        return (Message(role="user", content=said),)

    def respond(self, instance, conversation):
        verdict = (yield Ask("judge", conversation)).text
        return Outcome(reward=float(verdict == "yes"), was_correct=verdict == "yes")


class AskedTask(EchoTask):
    def make_environment(self):
        return Asked(self.instances)


def test_prompts_verdicts_and_gold_records_ask_the_other_speakers_of_the_task():
    user = ScriptedPredictor(lambda conversation: f"Please: {conversation[-1].content}")
    judge = ScriptedPredictor(
        lambda c: "yes" if c[-1].content in c[0].content.split(" ")[-1] else "no"
    )
    task = AskedTask(others={"user": user, "judge": judge})
    (instance, *_) = task.instances
    assert task.domain.prompt_template.template == "Please: {instruction}"
    assert task.domain.gold_record(instance).output == "c"
    with pytest.raises(ConfigurationError, match="Asked asks 'user'"):  # it is not left out
        AskedTask().domain.gold_record(instance)


def test_a_record_of_any_kind_is_a_problem_if_the_domain_says_so():
    class OfTools(MathDomain):
        def problem_of_record(self, record):
            return super().problem_of_record(record) or record.tools

    task = Task(Digits(), OfTools())
    pair = PreferenceDatum(instruction="1+1?", chosen="It is\n#### 2", rejected="#### 3")
    assert task.problem_of(pair).answer == "2"
    assert task.problem_of(TextDatum(text="1+1 is 2")) is None
    turns = (Message(role="user", content="1?"), Message(role="assistant", content="2"))
    record = ChatDatum(messages=turns, tools=(Tool(name="add"),))
    assert task.problem_of(record) == record.tools
