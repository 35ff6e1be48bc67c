import pytest

import dataenvgym.tasks
from dataenvgym.errors import ConfigurationError, EvaluationError, InvalidInstanceError
from dataenvgym.interfaces import TaskInterface
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.records import TaskInstance
from dataenvgym.tasks import Outcome, Source, Task, TaskEnvironment
from dataenvgym.tasks.math.domain import MathDomain
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate

from ..students import Student, lost


class EchoEnvironment(TaskEnvironment):
    def respond(self, instance, conversation):
        was_correct = conversation[-1].content == instance.answer
        return Outcome(reward=float(was_correct), was_correct=was_correct)


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
        return EchoEnvironment(self.instances)


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
    from dataenvgym.interfaces import SamplingParameters

    student = parrot()
    EchoTask(chunk_size=2, sampling=SamplingParameters(max_tokens=9)).evaluate(student)
    assert [len(asked) for asked in student.asked] == [2, 1]
    assert [sampling.max_tokens for sampling in student.samplings] == [9, 9]


def test_the_other_split_is_another_view_of_the_same_task():
    task = EchoTask()
    test = task.on("test")
    assert type(test) is EchoTask
    assert [i.id for i in test.instances] == ["f"]
    assert [i.id for i in task.instances] == ["c", "d", "e"]
    assert test.on("validation").instances is task.instances


def test_instances_are_loaded_once():
    task = EchoTask()
    task.evaluate(parrot())
    task.on("train").on("validation").evaluate(parrot())
    assert task.loads == ["validation"]


def test_a_split_that_does_not_exist_is_refused():
    with pytest.raises(ConfigurationError, match="Did you mean 'validation'"):
        EchoTask(split="valid")
    with pytest.raises(ConfigurationError, match="expected one of train, validation, test"):
        EchoTask().on("dev")


@pytest.mark.parametrize(
    ("words", "complaint"), [((), "no instances"), (("a", "a"), "two instances have the id 'a'")]
)
def test_no_instances_and_repeated_ids_are_refused(words, complaint):
    task = EchoTask()
    task.words = {"validation": words}
    with pytest.raises(InvalidInstanceError, match=complaint):
        task.evaluate(parrot())


def test_an_evaluation_in_which_everything_failed_has_no_score():
    task = EchoTask()
    with pytest.raises(EvaluationError, match="HTTP 503"):
        task.generate_performance_report(task.evaluate(Student(lost)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 3 + 4?", "what is  3 4"),
        ("Größe, bitte!", "GRÖSSE bitte"),
        ("Gro\u0308ße", "Größe"),
        ("\uff11\uff12 cafés", "12 CAFÉS"),
    ],
)
def test_wording_that_differs_in_case_form_or_punctuation_has_one_overlap_key(one, other):
    assert EchoTask().domain.overlap_key(one) == EchoTask().domain.overlap_key(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [("3 4", "34"), ("3 4", "4 3"), ("कि", "का"), ("日本", "日中"), ("n 1", "n 2")],
)
def test_other_words_or_digits_have_another_overlap_key(one, other):
    assert EchoTask().domain.overlap_key(one) != EchoTask().domain.overlap_key(other)


def test_the_domain_in_the_documentation_works_as_it_stands():
    documentation = dataenvgym.tasks.__doc__
    lines = documentation.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().startswith("from dataenvgym"))
    code = []
    for line in lines[start:]:
        if line and not line.startswith("    "):
            break
        code.append(line[4:])
    namespace = {}
    exec("\n".join(code), namespace)
    task = namespace["EchoTask"]()
    completed = task.evaluate(parrot())
    assert [c.was_correct for c in completed] == [True, True]


@pytest.mark.parametrize(
    ("loaded", "expected"),
    [
        (None, r"task 'echo', split 'train': load\(\) returned None, expected a sequence"),
        ({"a": 1}, r"load\(\) returned {'a': 1}, expected a sequence of TaskInstance"),
        ("abc", r"load\(\) returned 'abc', expected a sequence"),
        ([{"id": "a"}], r"item 0 of load\(\) is {'id': 'a'}, expected a TaskInstance"),
        ((), "there are no instances"),
    ],
)
def test_what_load_may_not_return_is_named(loaded, expected):
    class Odd(EchoTask):
        def load(self, split):
            return loaded

    with pytest.raises(InvalidInstanceError, match=expected):
        _ = Odd(split="train").instances


def test_load_may_be_a_generator():
    class Lazy(EchoTask):
        def load(self, split):
            yield from super().load(split)

    assert len(Lazy().instances) == 3


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


def test_a_task_is_a_source_and_a_domain_put_together():
    task = Task(Digits(), MathDomain(), name="digits", split="train")
    assert (task.name, task.splits, task.share()) == ("digits", ("train", "validation"), "2 of 5")
    assert (task.on("validation").share(), task.has_one_source) == ("3 of 5", False)
    student = ScriptedPredictor(lambda c: "#### 2" if c[-1].content == "1 + 1?" else "#### 7")
    assert [c.was_correct for c in task.evaluate(student)] == [True, False]
    assert [c.instance.id for c in task.attempt(student, samples=2)] == ["1", "2", "1", "2"]
    assert [g.output for i in task.instances if (g := task.domain.gold_record(i))] == [
        "#### 2",
        "#### 3",
    ]
    with pytest.raises(ConfigurationError, match=r"Task is not read from one file.*train, valid"):
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
    with pytest.raises(ConfigurationError, match=r"Task has no source: .*source=.*`load\(split\)`"):
        Task(domain=MathDomain())
    with pytest.raises(ConfigurationError, match=r"Task has no domain: .*`make_environment\(\)`"):
        Task(Digits())


def test_the_domain_of_a_task_with_environments_alone_judges_by_them():
    task = EchoTask()
    domain = task.domain
    instance = task.on("train").instances[0]
    assert domain.prompt(instance)[0].content == "Say a."
    assert (domain.judge(instance, "a"), domain.judge(instance, "b")) == (True, False)
    assert domain.gold_record(instance).output == "a"
    assert domain.prompt_template == PLAIN
    assert task.on("test").domain is not domain
