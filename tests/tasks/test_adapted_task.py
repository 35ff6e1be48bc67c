"""Tasks of other classes, with any subset of the methods of `Task`."""

from types import SimpleNamespace

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import SupervisedDatum, TaskInstance
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Ask, Domain, Outcome, TaskEnvironment, report_on
from dataenvgym.tasks.adapted_task import (
    attemptable,
    known_instances,
    one_by_one,
    task_of,
)
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate
from tests.tasks.rollouts.fakes import Echo

WORD = TaskInstance(id="w", task="theirs", instruction="Say hi.", answer="hi")
RECORD = SupervisedDatum(instruction="Say ho.", output="ho")


def says(text):
    return ScriptedPredictor(lambda conversation: text)


def theirs(**has):
    """A task of another class that has these attributes, and nothing else."""
    return SimpleNamespace(**has)


def test_a_task_that_offers_nothing_has_a_name_one_split_and_a_plain_domain():
    task = task_of(theirs())
    assert (task.name, task.splits) == ("SimpleNamespace", ("validation",))
    assert task.on("validation") is task_of(task) is task
    assert known_instances(task) == ()
    assert one_by_one(task) is None
    domain = task.domain
    assert domain.prompt_template == PLAIN
    assert domain.overlap_key("Say: HI!") == "say hi"
    assert domain.answer_class(WORD, " hi\n") == "hi"
    assert domain.judge_record(RECORD) is None


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda task: task.instances, "instances"),
        (attemptable, "make_environment"),
        (lambda task: task.attempt(says("hi"), [WORD]), "make_environment"),
        (lambda task: task.whole(), "whole"),
        (lambda task: task.on("test"), "on"),
    ],
)
def test_a_missing_method_of_a_task_is_named_where_it_is_needed(ask, named):
    with pytest.raises(ConfigurationError, match=f"has no .*`{named}`"):
        ask(task_of(theirs()))


def test_problems_without_environments_are_the_current_ones_and_cannot_be_tried():
    task = task_of(theirs(instances=[], make_environment=None))
    assert known_instances(task) == ()
    task.inner.instances.append(WORD)
    assert known_instances(task) == task.instances == (WORD,)
    assert task.offers("instances")
    assert not task.offers("instances", "make_environment")
    assert task_of(PocketMathTask()).offers("instances", "make_environment", "on")
    assert task.domain.prompt_template == PLAIN
    with pytest.raises(ConfigurationError, match="has no `make_environment`"):
        task.domain.gold_record(WORD)


def test_problems_with_environments_are_tried_as_those_of_a_task_are():
    frame = PromptTemplate("Be kind.", "Now: {instruction}")
    options = {"system_prompt": frame.system, "template": frame.template}
    inner = theirs(
        instances=[WORD],
        make_environment=lambda: Echo([WORD], **options),
        sampling=SamplingParameters(max_tokens=3),
        chunk_size=2,
        threads=1,
    )
    task = one_by_one(task_of(inner))
    assert task is not None
    assert (task.sampling.max_tokens, task.chunk_size, task.threads) == (3, 2, 1)
    assert task.domain.prompt_template == frame
    completed = task.attempt(says("hi"), samples=2)
    assert [c.was_correct for c in completed] == [True, True]
    gold = task.domain.gold_record(WORD)
    assert gold is not None
    assert (gold.prompt, gold.output) == (frame.conversation("Say hi."), "hi")


def test_options_of_another_kind_are_passed_over():
    odd = {"sampling": "greedy", "threads": "many", "split": "dev", "chunk_size": None}
    assert task_of(theirs(**odd)).split == "validation"


def test_splits_are_handed_on():
    test = theirs(name="test", instances=[WORD])
    task = task_of(theirs(on={"test": test}.__getitem__, splits=["test"]))
    assert task.splits == ("test",)
    assert task.on("test").name == "test"
    assert task_of(theirs(whole=lambda: test)).whole().instances == (WORD,)
    assert task_of(theirs(on=None)).splits == ("validation",)
    assert task_of(theirs(on=lambda split: test)).splits == ("validation", "test")


def test_evaluations_and_reports_are_its_own():
    inner = theirs(instances=[WORD], make_environment=lambda: Echo([WORD]))
    completed = task_of(inner).attempt(says("hi"))
    task = task_of(
        theirs(
            evaluate=lambda predictor: iter(completed),
            generate_performance_report=lambda c: report_on("theirs", c),
        )
    )
    found = task.evaluate(ScriptedPredictor([]))
    assert found == completed
    assert task.generate_performance_report(found).accuracy == 1.0


class Asking(TaskEnvironment):
    def respond(self, instance, conversation):
        verdict = (yield Ask("judge", conversation)).text
        return Outcome(reward=float(verdict == "yes"), was_correct=verdict == "yes")


def test_its_environments_ask_its_other_speakers():
    task = task_of(theirs(make_environment=Asking, others={"judge": says("yes")}))
    (completed,) = task.attempt(says("hi"), [WORD])
    assert (completed.was_correct, completed.error) == (True, None)


class Right(Domain):
    def make_environment(self, instances=()):
        return Echo(instances)


def test_a_task_with_a_domain_is_tried_in_its_environments_unless_it_makes_its_own():
    options = {"sampling": SamplingParameters(), "chunk_size": 1, "threads": 1}
    inner = theirs(instances=[WORD], domain=Right(), **options)
    assert attemptable(task_of(inner)).offers("make_environment", "domain")
    (completed,) = one_by_one(task_of(inner)).attempt(says("hi"))
    assert completed.was_correct
    inner.make_environment = lambda: Echo(template="{instruction}!")
    (completed,) = task_of(inner).attempt(says("hi"), [WORD])
    assert completed.transcript[0].content == "Say hi.!"
