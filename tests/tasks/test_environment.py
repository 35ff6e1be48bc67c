import pytest
from gymnasium.error import ResetNeeded

from dataenvgym.errors import (
    ConfigurationError,
    EvaluationError,
    InvalidActionError,
)
from dataenvgym.records import Message, TaskInstance, Tool, ToolCall
from dataenvgym.tasks import Outcome, TaskEnvironment
from tests.tasks.rollouts.fakes import Echo

INSTANCES = [
    TaskInstance(id=f"w{k}", task="echo", instruction=f"Sag {word}!", answer=word)
    for k, word in enumerate(["Größe", "日本", "🙂"])
]


class Patient(TaskEnvironment):
    """Asks again until the answer is right."""

    max_turns = 3

    def respond(self, instance, conversation):
        if conversation[-1].content == instance.answer:
            return Outcome(reward=0.5, was_correct=True, info={"asked": len(conversation) / 2})
        return Outcome(messages=(Message(role="user", content="Nein."),), done=False, reward=9.0)


def test_without_options_the_environment_picks_with_its_own_generator():
    environment = Echo(INSTANCES)
    picks = [environment.reset(seed=seed)[1]["instance_id"] for seed in range(20)]
    assert set(picks) == {"w0", "w1", "w2"}
    assert picks == [environment.reset(seed=seed)[1]["instance_id"] for seed in range(20)]


def test_a_step_without_a_problem_in_progress_needs_a_reset():
    environment = Echo(INSTANCES)
    with pytest.raises(ResetNeeded):
        environment.step("ja")
    environment.reset()
    environment.step("ja")
    with pytest.raises(ResetNeeded):
        environment.step("ja")


@pytest.mark.parametrize("action", [None, "\ud83d"])
def test_an_action_that_is_not_text_is_refused_and_changes_nothing(action):
    environment = Echo(INSTANCES)
    environment.reset(options={"instance_id": "w2"})
    with pytest.raises(InvalidActionError, match="expected Unicode text"):
        environment.step(action)
    conversation, reward, *_ = environment.step("🙂")
    assert (len(conversation), reward) == (2, 1.0)


def test_unknown_instances_and_options_are_refused_with_a_hint():
    environment = Echo(INSTANCES)
    with pytest.raises(KeyError, match="w7"):
        environment.reset(options={"instance_id": "w7"})
    with pytest.raises(ValueError, match="high"):
        Echo().reset()
    with pytest.raises(ConfigurationError, match="instance_id"):
        environment.reset(options={"instanceid": "w1"})


def test_the_transcript_can_be_rendered_as_text():
    environment = Echo(INSTANCES, render_mode="ansi")
    environment.reset(options={"instance_id": "w0"})
    environment.step("Größe")
    assert environment.render() == "[user] Sag Größe!\n[assistant] Größe"


@pytest.mark.parametrize("outcome", [Outcome(reward=float("nan")), Outcome(messages=("Nein.",))])
def test_invalid_return_values_of_respond_are_named(outcome):
    class Odd(TaskEnvironment):
        def respond(self, instance, conversation):
            return outcome

    environment = Odd(INSTANCES)
    environment.reset()
    with pytest.raises(EvaluationError, match="Odd"):
        environment.step("Größe")


class Scoring(TaskEnvironment):
    """Gives the scores that it is made with, over two messages."""

    def __init__(self, instances, scores):
        super().__init__(instances)
        self.scores = scores

    def respond(self, instance, conversation):
        done = len(conversation) > 2
        messages = () if done else (Message(role="user", content="Und?"),)
        return Outcome(messages=messages, done=done, scores=self.scores)


@pytest.mark.parametrize(
    "scores", [{"kind": float("nan")}, {"kind": "0.5"}, {"kind": None}, {"\x1b[31m": 1.0}, [1.0]]
)
def test_scores_that_are_not_finite_numbers_are_refused_by_name(scores):
    environment = Scoring(INSTANCES, scores)
    environment.reset(seed=0)
    with pytest.raises(EvaluationError, match="Scoring"):
        environment.step("a")


def test_a_problem_that_is_not_finished_within_the_limit_of_messages_is_truncated():
    for options, turns in ({}, 3), ({"max_turns": 2}, 2), ({"max_turns": 1}, 1):
        environment = Patient(INSTANCES, **options)
        environment.reset(seed=0)
        ends = [environment.step("?")[1:4] for _ in range(turns)]
        assert ends == [(0.0, False, False)] * (turns - 1) + [(0.0, False, True)]
    with pytest.raises(ConfigurationError, match="is 4, exp"):
        Patient(INSTANCES, max_turns=4)


def test_every_environment_takes_a_system_prompt_and_a_template():
    environment = Echo(INSTANCES, system_prompt="Kurz.", template="{instruction} Bitte {sehr}!")
    conversation, _ = environment.reset(options={"instance_id": "w1"})
    assert [(m.role, m.content) for m in conversation] == [
        ("system", "Kurz."),
        ("user", "Sag 日本! Bitte {sehr}!"),
    ]
    with pytest.raises(ConfigurationError, match="template is 'Los!'"):
        Echo(INSTANCES, template="Los!")


class Calculator(TaskEnvironment):
    """Answers calls; the first message without one ends it."""

    tools = (Tool(name="add"),)

    def begin(self, instance):
        (first,) = super().begin(instance)
        return (first.model_copy(update={"tools": self.tools}),)

    def respond(self, instance, conversation):
        calls = conversation[-1].tool_calls
        results = tuple(Message(role="tool", content=str(call.arguments)) for call in calls)
        return Outcome(messages=results, done=not calls)


def test_calls_are_read_from_the_students_messages_if_tools_are_declared():
    environment = Calculator(INSTANCES)
    environment.reset(options={"instance_id": "w0"})
    call = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    conversation, _, done, _, _ = environment.step(f"So: {call}{call}")
    assert not done
    assert [m.content for m in conversation[1:]] == ["So: ", "{'a': 1}", "{'a': 1}"]
    assert conversation[1].tool_calls == (ToolCall(name="add", arguments={"a": 1}),) * 2
    assert environment.step("Action: add\nAction Input: {")[2]
