"""The real vLLM: its answers, its adapters, and its deaths.

One server serves all tests of this module; those that kill it come last.
"""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psutil
import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.records import Conversation, Message, SupervisedDatum, Tool
from dataenvgym.students.predictors import InProcessPredictor, VllmPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.teachers import ChatClient
from tests.students.external.conftest import JSON_ONLY

pytestmark = [pytest.mark.external, pytest.mark.timeout(1200)]

GREEDY = PocketMathTask().sampling
N = 300
# The trained replies: each student has a different one.
LESSONS = {"so": "So it is {}.", "well": "Well, {} #### {}"}


@pytest.fixture(scope="module")
def task():
    return PocketMathTask(n_validation=N, n_train=N, n_test=1)


@pytest.fixture(scope="module")
def asked(task):
    return [(Message(role="user", content=i.instruction),) for i in task.instances]


@pytest.fixture(scope="module")
def adapters(task, tmp_path_factory):
    """The folders of two adapters of the pocket student."""
    found = {}
    for name, said in LESSONS.items():
        folder = tmp_path_factory.mktemp(name)
        data = [
            SupervisedDatum(instruction=i.instruction, output=said.format(i.answer, i.answer))
            for i in task.on("train").instances
        ]
        trainer = InProcessTrainer(num_train_epochs=3, learning_rate=3e-3)
        InProcessPredictor("pocket", trainer).train(data, TrainingRun(directory=folder))
        found[name] = folder / "adapter"
    return found


@pytest.fixture(scope="module")
def expected(asked, adapters):
    """Replies of transformers: by the untouched student (""), and with each adapter."""
    student = InProcessPredictor("pocket")
    found = {"": texts(student.predict(asked, GREEDY))}
    for name, folder in adapters.items():
        student.load(folder)
        found[name] = texts(student.predict(asked, GREEDY))
    return found


@pytest.fixture(scope="module")
def make(make_served):
    """Makes the pocket student on a server."""

    def make(**options: Any) -> VllmPredictor:
        if "base_url" not in options:
            options["options"] = JSON_ONLY
        return make_served("pocket", **{"trainer": InProcessTrainer(), **options})

    return make


@pytest.fixture(scope="module")
def shared(make):
    return make()


@pytest.fixture
def predictor(shared):
    """The student in the module's server, untouched."""
    shared.reset()
    return shared


def texts(replies: Sequence[Reply | Failure]) -> list[str]:
    assert all(isinstance(reply, Reply) for reply in replies), replies
    return [reply.text for reply in replies if isinstance(reply, Reply)]


def agreement(found: Sequence[str], expected: Sequence[str]) -> float:
    return sum(a == b for a, b in zip(found, expected, strict=True)) / len(expected)


# --- answers ---


def test_base_and_adapters_answer_as_in_transformers(predictor, asked, adapters, expected):
    shares = {"": agreement(texts(predictor.predict(asked, GREEDY)), expected[""])}
    for name, folder in adapters.items():
        assert agreement(expected[name], expected[""]) <= 0.8  # it does change the answers
        predictor.load(folder)
        shares[name] = agreement(texts(predictor.predict(asked, GREEDY)), expected[name])
    assert min(shares.values()) >= 0.98, shares
    predictor.reset()
    assert agreement(texts(predictor.predict(asked, GREEDY)), expected[""]) >= 0.98
    for name in adapters:  # never from the cache of another adapter
        predictor.load(adapters[name])
        for _ in range(2):  # the second time from the cache
            found = texts(predictor.predict(asked[:100], GREEDY))
            assert agreement(found, expected[name][:100]) >= 0.98


def test_a_student_without_chat_template_completes_as_in_transformers(
    predictor, make, asked, adapters
):
    sampling = GREEDY.model_copy(update={"stop": ("7",)})
    served = make(base_url=predictor.server.base_url, format="completion")
    ours = InProcessPredictor("pocket", format="completion")
    for folder in (None, *adapters.values()):
        if folder is not None:
            served.load(folder)
            ours.load(folder)
        found, expected = (texts(p.predict(asked, sampling)) for p in (served, ours))
        assert agreement(found, expected) > 0.95
    assert not any("7" in text for text in expected)
    served.close()


def test_a_limit_above_the_context_is_the_room_after_the_prompt(predictor, asked, expected):
    replies = predictor.predict(asked[:20], SamplingParameters(max_tokens=10**6))
    assert agreement(texts(replies), expected[""][:20]) >= 0.95


def test_a_prompt_that_is_too_long_fails_alone(predictor, asked):
    long = (Message(role="user", content="What is 3 + 4? " * 300),)
    failed, answered = predictor.predict([long, asked[0]], GREEDY)
    assert isinstance(failed, Failure)
    assert "maximum context length" in failed.reason
    assert isinstance(answered, Reply)


def test_drawn_replies_depend_on_the_seed(predictor, asked):
    drawn = [
        texts(
            predictor.predict(asked[:40], SamplingParameters(temperature=1.5, seed=s, max_tokens=8))
        )
        for s in (1, 1, 2)
    ]
    assert agreement(drawn[0], drawn[1]) >= 0.95
    assert agreement(drawn[0], drawn[2]) < 0.9


# --- adapters ---


def test_adapters_side_by_side_answer_as_one_at_a_time(predictor, make, asked, adapters, expected):
    students = {"": predictor, **{name: make() for name in adapters}}
    for name, folder in adapters.items():
        students[name].load(folder)
        assert students[name].server.base_url == predictor.server.base_url
    futures = [
        (name, students[name].submit(conversation, GREEDY))
        for conversation in asked
        for name in students
    ]
    found: dict[str, list[Reply | Failure]] = {name: [] for name in students}
    for name, future in futures:
        found[name].append(future.result())
    shares = {name: agreement(texts(found[name]), expected[name]) for name in students}
    assert min(shares.values()) >= 0.98, shares
    for name in adapters:
        students[name].close()


def test_an_adapter_that_comes_while_questions_are_on_their_way_does_not_change_their_answers(
    predictor, asked, adapters, expected
):
    """vLLM issue 47724, past our own guard against it."""
    predictor.load(adapters["so"])
    server, shares = predictor.server, []
    model = server.name_of(predictor._name)
    with ChatClient(server.base_url, concurrency=64) as client:
        for attempt in range(3):
            futures = [client.submit(conversation, GREEDY, model=model) for conversation in asked]
            futures[40].result()
            server._load(f"newcomer-{attempt}", adapters["well"])
            on_their_way = sum(not future.done() for future in futures)
            found = texts([future.result() for future in futures])
            server._unload(f"newcomer-{attempt}")
            shares.append((on_their_way, agreement(found, expected["so"])))
    assert max(n for n, _ in shares) > 0
    assert min(share for _, share in shares) >= 0.98, shares


# --- a server that runs already ---


def test_a_running_server_is_attached_to(predictor, make, asked, adapters, expected):
    attached = make(base_url=predictor.server.base_url)
    assert agreement(texts(attached.predict(asked[:50], GREEDY)), expected[""][:50]) >= 0.98
    attached.load(adapters["so"])
    assert agreement(texts(attached.predict(asked[:50], GREEDY)), expected["so"][:50]) >= 0.98
    found = predictor.server._call("GET", "/v1/models")["data"]
    assert not [model["id"] for model in found if model["id"].startswith("probe")]


def test_a_rank_that_the_running_server_does_not_take_is_refused(predictor, make, asked):
    trainer = InProcessTrainer(lora_rank=32)
    attached = make(base_url=predictor.server.base_url, trainer=trainer)
    with pytest.raises(ConfigurationError, match="rank"):
        attached.predict(asked[:1], GREEDY)


def test_a_running_server_that_reads_no_calls_fails_where_there_are_tools(predictor, make):
    attached = make(base_url=predictor.server.base_url, tool_format="native")
    tools = (Tool(name="add", description="Adds.", parameters={"type": "object"}),)
    (reply,) = attached.predict([(Message(role="user", content="1 + 1?", tools=tools),)], GREEDY)
    assert isinstance(reply, Failure)
    assert "parser" in reply.reason


# --- deaths ---


class Killing:
    """A student whose server dies when so many of its answers have come."""

    def __init__(self, predictor: VllmPredictor, at: int, kill: Callable[[], None]) -> None:
        self.predictor, self.left, self.kill = predictor, at, kill
        self.lock = threading.Lock()

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        future = self.predictor.submit(conversation, sampling)
        future.add_done_callback(self.count)
        return future

    def count(self, future: Future[Reply | Failure]) -> None:
        with self.lock:
            self.left -= 1
            if not self.left:
                self.kill()

    def predict(self, conversations: Any, sampling: Any) -> Any:
        raise AssertionError("it has submit")


def session(leader: int) -> list[psutil.Process]:
    """All processes of a server."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (OSError, psutil.Error):
            pass
    return found


@pytest.mark.parametrize("what", ["server", "engine"])
def test_a_server_that_dies_in_an_evaluation_is_restarted_and_no_answer_is_lost_or_wrong(
    predictor, task, adapters, expected, what
):
    predictor.load(adapters["well"])
    pid = predictor.server.pid  # type: ignore[attr-defined]
    before = session(pid)
    victims = [pid] if what == "server" else [p.pid for p in before if "EngineCore" in p.name()]
    killing = Killing(predictor, 50, lambda: [os.kill(p, signal.SIGKILL) for p in victims])  # type: ignore[arg-type,func-returns-value]
    assert victims
    completed = task.evaluate(killing)
    assert [c.error for c in completed] == [None] * N
    said = [c.transcript[-1].content or "" for c in completed]
    assert agreement(said, expected["well"]) >= 0.98
    assert predictor.server.pid != pid  # type: ignore[attr-defined]
    assert not session(pid)  # nothing of the old server is left, or holds memory


def test_an_attached_server_restarted_while_idle_gets_its_adapter_again(
    predictor, make, asked, adapters, expected
):
    attached = make(base_url=predictor.server.base_url)
    attached.load(adapters["so"])
    texts(attached.predict(asked[:1], GREEDY))
    predictor.server.restart()
    assert agreement(texts(attached.predict(asked[:50], GREEDY)), expected["so"][:50]) >= 0.98


# --- a GPU ---


@pytest.mark.gpu
def test_a_server_sleeps_while_the_trainer_works(make, task, asked):
    student = make(
        variant="cuda",
        sleep=True,
        gpu_memory_utilization=0.3,
        trainer=InProcessTrainer(device="cuda", num_train_epochs=1),
    )
    before = texts(student.predict(asked, GREEDY))
    data = [
        SupervisedDatum(instruction=i.instruction, output=f"So it is {i.answer}.")
        for i in task.on("train").instances
    ]
    folder = Path(os.environ["DATAENVGYM_CACHE"]) / "training"
    folder.mkdir()
    student.train(data, TrainingRun(directory=folder))
    here = InProcessPredictor("pocket", device="cuda")
    here.load(folder / "adapter")
    after = texts(student.predict(asked, GREEDY))
    assert agreement(after, texts(here.predict(asked, GREEDY))) >= 0.95
    student.reset()
    assert agreement(texts(student.predict(asked, GREEDY)), before) >= 0.98
