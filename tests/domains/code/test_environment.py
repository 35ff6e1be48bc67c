import gymnasium
import pytest

import dataenvgym  # noqa: F401 - registers the ids
from dataenvgym.domains.code.environment import CodeEnvironment, CodeOptions
from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, SandboxError
from dataenvgym.records import TaskInstance
from dataenvgym.sandbox.opening import SharedSandbox
from tests.domains.code.problems import Broken

ID = "dataenvgym/Code-v0"
PROBLEM = CodeProblem(
    entry_point="f", public=[[[1], {}, 2]], hidden=[[[41], {}, 42], [[98761], {}, 98762]]
)
ADD = TaskInstance(id="add", task="t", instruction="Schreibe f: plus 1.", data=PROBLEM.data())
RIGHT = "Gern:\n```python\ndef f(x):\n    return x + 1\n```\n"
WRONG = "```python\ndef f(x):\n    return x - 1\n```"
OVERFIT = "```python\ndef f(x):\n    if x > 1:\n        raise ValueError(x)\n    return 2\n```"


def begun(sandbox, instance=ADD, **options):
    shared = sandbox if isinstance(sandbox, SharedSandbox) else None
    backend = {} if shared else {"sandbox": sandbox}
    environment = CodeEnvironment([instance], CodeOptions(**backend, **options), shared=shared)
    conversation, _ = environment.reset(options={"instance": instance})
    return environment, conversation


def test_code_that_passes_all_tests_is_right(bubblewrap):
    environment, _ = begun(bubblewrap)
    conversation, reward, terminated, truncated, info = environment.step(RIGHT)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info == {"instance_id": "add", "was_correct": 1.0, "scores": {"tests_passed": 1.0}}
    assert len(conversation) == 2


@pytest.mark.parametrize(
    ("reply", "share", "note"),
    [
        (WRONG, 0.0, "0 of 3 tests passed; f(1) gave 0, expected 2"),
        (OVERFIT, 1 / 3, "1 of 3 tests passed; f(41) raised ValueError"),
        ("Das kann ich nicht.", 0.0, "no code in the reply"),
        ("", 0.0, "no code in the reply"),
    ],
)
def test_code_that_fails_a_test_or_none_at_all_is_wrong(reply, share, note, bubblewrap):
    environment, _ = begun(bubblewrap)
    conversation, reward, terminated, _, info = environment.step(reply)
    assert (reward, terminated, info["was_correct"]) == (0.0, True, 0.0)
    assert info["scores"]["tests_passed"] == pytest.approx(share)
    assert info["note"].startswith(note)
    assert len(conversation) == 2


def test_messages_of_exceptions_are_escaped_for_the_student(bubblewrap):
    environment, _ = begun(bubblewrap, max_turns=2)
    raises = "def f(x):\n    raise ValueError('\\ud800 \\x1b[2J')\n"
    conversation, _, terminated, _, _ = environment.step(raises)
    assert not terminated
    assert r"ValueError: \ud800 \x1b[2J" in conversation[-1].content
    *_, info = environment.step(raises)
    assert r"ValueError: \ud800 \x1b[2J" in info["note"]


def test_the_student_sees_a_public_failure_and_may_try_again(bubblewrap):
    environment, _ = begun(bubblewrap, max_turns=3)
    conversation, reward, terminated, truncated, info = environment.step(WRONG)
    assert (reward, terminated, truncated, info["was_correct"]) == (0.0, False, False, 0.0)
    assert conversation[-1].role == "user"
    assert "f(1) gave 0, expected 2" in conversation[-1].content
    conversation, reward, terminated, _, info = environment.step(RIGHT)
    assert (reward, terminated, info["was_correct"]) == (1.0, True, 1.0)
    assert len(conversation) == 4


def test_of_a_hidden_failure_the_student_learns_only_that_there_is_one(bubblewrap):
    environment, first = begun(bubblewrap, max_turns=2)
    conversation, _, terminated, *_ = environment.step(OVERFIT)
    assert not terminated
    told = conversation[-1].content
    assert "a hidden one" in told
    for secret in ("41", "42", "98761", "ValueError"):
        assert secret not in told
        assert secret not in repr(first)
    conversation, reward, terminated, truncated, _ = environment.step(OVERFIT)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert conversation[-1].role == "assistant"


def test_a_sandbox_that_fails_is_an_error_and_no_wrong_answer():
    environment, _ = begun(Broken)
    with pytest.raises(SandboxError, match="gone"):
        environment.step(RIGHT)
    environment.close()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"template": "Los!"}, r"template is 'Los!', expected a text with \{instruction\}"),
        ({"max_turns": 0}, "max_turns is 0, expected 1 to 32"),
        ({"max_turns": 33}, "max_turns is 33"),
    ],
)
def test_impossible_options_are_refused(options, reason):
    with pytest.raises(ConfigurationError, match=reason):
        CodeEnvironment((), CodeOptions(**options))


def test_an_instance_without_tests_is_refused(bubblewrap):
    with pytest.raises(InvalidInstanceError, match="'open': no tests"):
        begun(bubblewrap, TaskInstance(id="open", task="t", instruction="Warum?"))


def test_the_bare_id_is_the_pocket_task(bubblewrap):
    environment = gymnasium.make(ID)
    task = PocketCodeTask(split="validation")
    assert environment.unwrapped.instances == task.instances
    assert environment.unwrapped.limits == task.domain.limits
    environment.reset(seed=0)
    assert environment.step("?")[1] == 0.0
    environment.close()
