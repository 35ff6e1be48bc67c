"""The adaptation server in a thread, with a student by rule."""

import json
import re
import shutil
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from socket import create_connection
from urllib.parse import urlsplit

import pytest

from dataenvgym.adaptation import request_queue
from dataenvgym.adaptation.request_queue import opened_queue
from dataenvgym.adaptation.server import AdaptationServer
from dataenvgym.domains.knowledge.task import KnowledgeTask
from dataenvgym.errors import ConfigurationError, RunDirectoryError, TrainingError
from dataenvgym.interfaces import Failure
from dataenvgym.runs.config import build_predictor, build_task, compose
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.students.trainers import InProcessTrainer
from tests.waiting import wait_for

TASK = KnowledgeTask("nowhere.json")  # questions come from clients


class Reader(ScriptedPredictor):
    """Answers "QUESTION?" with what its last training said about it; else with "nothing"."""

    def __init__(self):
        super().__init__(self.reply)
        self.trainer = InProcessTrainer(threads=1)
        self.known = {}
        self.trainings = []
        self.asked = []
        self.may_train = threading.Event()
        self.may_train.set()

    def reply(self, conversation):
        question = conversation[-1].content.split("Question: ")[-1].partition("\n")[0]
        self.asked.append(question)
        if question == "broken?":
            return Failure(reason="the server is gone")
        return self.known.get(question, "nothing")

    def train(self, training_data, run):
        texts = [record.text for record in training_data]
        config = self.trainer.config
        self.trainings.append((run.seed, config.learning_rate, config.lora_rank, *texts))
        assert self.may_train.wait(60)
        if "poison" in texts:
            raise TrainingError("the loss is not finite")
        if "crash" in texts:
            raise RuntimeError("out of memory")
        pairs = (text.partition("? ") for text in texts)
        self.known = {f"{question}?": answer for question, _, answer in pairs}

    def reset(self):
        self.known = {}


@pytest.fixture
def student():
    return Reader()


@contextmanager
def serving(student, directory, **options):
    """A server's address and queue."""
    begun = threading.Event()
    addresses = []

    def begin(url):
        addresses.append(url)
        begun.set()

    with opened_queue(TASK, student, directory) as queue:
        server = AdaptationServer(queue, **options)
        thread = threading.Thread(target=server.run, args=[begin], daemon=True)
        thread.start()
        assert begun.wait(60)
        try:
            yield addresses[0], queue
        finally:
            if isinstance(student, Reader):
                student.may_train.set()
            server.stop()
            thread.join(60)
            assert not thread.is_alive()


def post(url, fields, **headers):
    """The status and the answer."""
    body = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    headers = {"Content-Type": "application/json", **headers}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as said:
            return said.status, json.load(said)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def asking(*questions, sequences=("a? one", "b? two"), **fields):
    """A request with questions, each with its answer."""
    asked = [{"question": question, "answer": answer} for question, answer in questions]
    return {"train_sequences": list(sequences), "eval_questions": asked, "seed": 0, **fields}


AB = (("a?", "one"), ("b?", "three"), ("c?", "nothing"))


def test_an_answer_compares_the_adapter_with_the_untouched_student(student, tmp_path):
    full = {"lora_rank": 8, "lora_alpha": 16, "lora_dropout": 0, "finetune_epochs": 10}
    full |= {"finetune_lr": 2e-3, "batch_size": 1, "gradient_accumulation_steps": 1}
    full |= {"end_mask_substring": None, "skip_training": False}
    with serving(student, tmp_path) as (url, _):
        sequences = ["a? one", "b? two", "c? some"]
        assert post(url, asking(*AB, sequences=sequences, **full)) == (
            200,
            {
                "baseline_accuracy": 0.3333,
                "adapter_accuracy": 0.3333,
                "adapter_gain": 0.0,
                "baseline_texts": ["nothing"] * 3,
                "adapter_texts": ["one", "two", "some"],
                "baseline_correct": [False, False, True],
                "adapter_correct": [True, False, False],
                "gains": [1, 0, -1],
            },
        )
    assert student.trainings == [(0, 2e-3, 8, *sequences)]


@pytest.mark.parametrize("how", [{"skip_training": True}, {"sequences": ()}])
def test_without_training_the_answers_are_those_of_the_untouched_student(student, tmp_path, how):
    with serving(student, tmp_path) as (url, _):
        _, answer = post(url, asking(*AB, **how))
    assert answer["adapter_texts"] == answer["baseline_texts"]
    assert answer["gains"] == [0, 0, 0]
    assert student.trainings == []


def test_equal_requests_have_equal_answers_whatever_came_between(student, tmp_path):
    with serving(student, tmp_path / "first") as (url, _):
        answers = [post(url, asking(*AB, seed=seed)) for seed in (0, 1, 0)]
        other = post(url, asking(("d?", "four"), sequences=["d? four"]))
    assert answers[0] == answers[2]
    assert other[1]["adapter_correct"] == [True]
    assert [training[0] for training in student.trainings] == [0, 1, 0]
    assert len({training[-1] for training in student.trainings}) == 2  # the last one is the other
    assert student.asked.count("a?") == 3  # the untouched student once, and each adapter
    with serving(Reader(), tmp_path / "second") as (url, _):
        post(url, asking(("d?", "four"), sequences=["d? four"]))
        assert post(url, asking(*AB)) == answers[0]


def test_32_clients_at_once_get_their_own_answers_and_equal_requests_one_training(
    student, tmp_path
):
    requests = [
        asking(("a?", f"answer {n % 16}"), sequences=[f"a? answer {n % 16}"]) for n in range(32)
    ]
    student.may_train.clear()
    with serving(student, tmp_path) as (url, queue), ThreadPoolExecutor(32) as clients:
        answers = [clients.submit(post, url, request) for request in requests]
        wait_for(lambda: queue.n_waiting == 16)
        student.may_train.set()
        for n, answer in enumerate(answers):
            status, said = answer.result(60)
            assert (status, said["adapter_texts"]) == (200, [f"answer {n % 16}"])
        assert json.load(urllib.request.urlopen(url)) == {"waiting": 0}
    assert len(student.trainings) == len({*student.trainings}) == 16
    assert len(list((tmp_path / "answers").iterdir())) == 16
    assert not [path for path in (tmp_path / "adapters").iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (b"{", "not JSON"),
        ([1], "a list, expected a JSON object"),
        (asking(*AB, sequences=["a " * 2_000_000]), "4000000 bytes"),
        (asking(*AB, sequences=["a? one"] * 20_000, batch_size=10**6), "tokens"),
        (asking(*AB, sequences=["a? " + "one " * 500] * 129, batch_size=129), "tokens"),
        (asking(*AB, lora_rank=0), "lora_rank is 0: "),
        (asking(*AB, lora_rank=True), "lora_rank"),
        (asking(*AB, lora_rank=10**5), "lora_rank is 100000: "),
        (asking(*AB, finetune_epochs=1e308), "training steps, expected 100000 at most"),
        (asking(*AB, finetune_lr="fast"), "finetune_lr"),
        (asking(*AB, finetune_epochs=0), "finetune_epochs is 0"),
        (asking(*AB, sequences=["a", ""]), "train_sequences.1"),
        (asking(*AB, end_mask_substring="? "), "student.format=completion"),
        (asking(("a?", "the")), "question 1 of eval_questions, 'a?' with answer 'the'"),
        ({"cmd": "stop"}, "cmd is 'stop', expected 'shutdown'"),
    ],
)
def test_a_bad_request_is_named_and_the_next_one_is_answered(student, tmp_path, fields, said):
    with serving(student, tmp_path) as (url, _):
        status, answer = post(url, fields)
        assert (status, [*answer]) == (400, ["error"])
        assert said in answer["error"]
        assert post(url, asking(*AB))[0] == 200
    assert len(student.trainings) == 1


def test_the_part_of_a_sequence_before_the_end_of_the_mask_is_not_learned():
    from dataenvgym.adaptation.requests import AdaptationRequest
    from dataenvgym.errors import InvalidInstanceError

    fields = asking(*AB, sequences=["ask: a? one? two"], end_mask_substring="?")
    (record,) = AdaptationRequest.read(fields).records(completes=True)
    assert (record.instruction, record.output) == ("ask: a?", " one? two")
    for sequence in ("no mark", "nothing after?"):
        request = AdaptationRequest.read({**fields, "train_sequences": ["a? b", sequence]})
        with pytest.raises(InvalidInstanceError, match="train_sequences"):
            request.records(completes=True)


def test_what_seals_clients_send_is_accepted(student, tmp_path):
    with serving(student, tmp_path) as (url, _):
        seal = asking(*AB, sequences=(), lora_rank=32, end_mask_substring=None, seed=None)
        for fields in (seal, {**seal, "train_sequences": None, "skip_training": None}):
            status, answer = post(url, fields)
            assert (status, answer["adapter_correct"]) == (200, [False, False, True])
        nothing = {"baseline_accuracy": 0.0, "adapter_accuracy": 0.0, "adapter_gain": 0.0} | {
            f"{whose}_{what}": []
            for whose in ("baseline", "adapter")
            for what in ("texts", "correct")
        }
        for fields in ({}, asking(sequences=())):
            assert post(url, fields) == (200, {**nothing, "gains": []})
        assert student.trainings == []
        assert post(url, {**asking(), "seed": None})[0] == 200
        unknown = {**asking(*AB), "lora_ranks": 8, "note": {"x": 1}}
        unknown["eval_questions"] = [{"id": 7, **asked} for asked in unknown["eval_questions"]]
        status, answer = post(url, unknown)
        assert (status, answer.pop("ignored_fields")) == (200, ["lora_ranks", "note"])
        assert (200, answer) == post(url, asking(*AB))
    assert len(student.trainings) == 2


def test_a_request_without_a_seed_is_trained_anew_each_time(student, tmp_path):
    request = {**asking(*AB), "seed": None}
    with serving(student, tmp_path) as (url, _), ThreadPoolExecutor(3) as clients:
        answers = list(clients.map(lambda _: post(url, request), range(3)))
        del request["seed"]
        answers.append(post(url, request))
    assert [status for status, _ in answers] == [200] * 4
    assert len({seed for seed, *_ in student.trainings}) == 4
    assert not list((tmp_path / "answers").glob("*"))
    (tmp_path / "adapters" / "once-killed" / "adapter").mkdir(parents=True)
    with serving(student, tmp_path):
        assert not list((tmp_path / "adapters").glob("*/"))


def test_slow_clients_are_cut_off_before_they_take_all_connections(student, tmp_path, monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda kind: (4 * 8, 4 * 8))
    head = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    student.may_train.clear()
    with (
        serving(student, tmp_path) as (url, queue),
        ThreadPoolExecutor(1) as clients,
        ExitStack() as s,
    ):
        answer = clients.submit(post, url, asking(*AB))
        wait_for(lambda: queue.n_waiting == 1)
        address = urlsplit(url).hostname, urlsplit(url).port
        slow = [s.enter_context(create_connection(address, 60)) for _ in range(40)]
        for number, connection in enumerate(slow):
            with suppress(OSError):  # it is cut off already
                connection.send(f"{head}Content-Length: 100\r\n\r\n{{"[:number].encode())
        assert json.load(urllib.request.urlopen(url, timeout=60)) == {"waiting": 1}
        with suppress(ConnectionResetError):
            assert slow[0].recv(1) == b""
        student.may_train.set()
        assert answer.result(60)[0] == 200


def test_a_request_that_does_not_arrive_in_time_is_cut_off(student, tmp_path, monkeypatch):
    monkeypatch.setattr("dataenvgym.adaptation.server.SLOWEST", 1.0)
    begun = (b"", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
    student.may_train.clear()
    with (
        serving(student, tmp_path) as (url, queue),
        ThreadPoolExecutor(1) as clients,
        ExitStack() as opened,
    ):
        answer = clients.submit(post, url, asking(*AB))
        wait_for(lambda: queue.n_waiting == 1)
        address = urlsplit(url).hostname, urlsplit(url).port
        slow = [opened.enter_context(create_connection(address, 60)) for _ in begun]
        for connection, data in zip(slow, begun, strict=True):
            connection.sendall(data)
        for connection in slow:
            with suppress(ConnectionResetError):
                while connection.recv(9999):
                    pass
        student.may_train.set()
        assert answer.result(60)[0] == 200  # it has waited for longer


def test_the_first_request_of_the_page_has_the_answer_on_the_page(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "self_editing.md").read_text()
    section = page.partition("## Adaptation server\n")[2]
    command, *_ = re.findall(r"^    (dataenvgym .+)$", section, re.MULTILINE)
    request, expected, *_ = map(
        json.loads, re.findall(r"^```json.*?\n(.*?)^```", section, re.M | re.S)
    )
    config = compose(command.split()[2:])
    task = build_task(config)
    monkeypatch.setattr("tests.adaptation.test_server.TASK", task)
    with serving(build_predictor(config, task=task), tmp_path) as (url, _):
        assert post(url, request) == (200, expected)
        for rate in (1e308, 1e30):
            status, answer = post(url, {**request, "finetune_epochs": 0.1, "finetune_lr": rate})
            assert (status, [*answer]) == (500, ["error"])
        assert post(url, {**request, "skip_training": True})[1]["gains"] == [0]
        assert post(url, {**request, "seed": 1})[1]["baseline_texts"] == expected["baseline_texts"]
        shutil.rmtree(tmp_path / "answers")
        assert post(url, request) == (200, expected)


def test_a_failed_training_fails_alone_and_may_be_tried_again(student, tmp_path):
    kinds = ("poison", "crash", "a? one")
    requests = [asking(("a?", "one"), sequences=[kind]) for kind in kinds]
    student.may_train.clear()
    with serving(student, tmp_path) as (url, queue), ThreadPoolExecutor(4) as clients:
        first = clients.submit(post, url, asking(*AB))
        wait_for(lambda: student.trainings)
        answers = [clients.submit(post, url, request) for request in requests]
        wait_for(lambda: queue.n_waiting == 4)
        student.may_train.set()
        assert first.result(60)[0] == 200
        poison, crash, well = (answer.result(60) for answer in answers)
        assert (poison[0], well[0], well[1]["adapter_correct"]) == (500, 200, [True])
        assert poison[1]["error"] == "TrainingError: the loss is not finite"
        assert crash == (500, {"error": "RuntimeError: out of memory"})
        before = len(student.trainings)
        assert post(url, requests[0])[0] == 500
        assert len(student.trainings) == before + 1


def test_a_question_that_could_not_be_scored_is_null_and_asked_again(student, tmp_path):
    with serving(student, tmp_path) as (url, _):
        for times in (1, 2):
            _, answer = post(url, asking(("a?", "one"), ("broken?", "no")))
            assert (answer["adapter_correct"], answer["gains"]) == ([True, None], [1, None])
            assert (answer["adapter_accuracy"], answer["adapter_gain"]) == (1.0, 1.0)
            assert len(student.trainings) == times


def test_too_many_requests_are_refused_and_none_is_lost(student, tmp_path, monkeypatch):
    monkeypatch.setattr(request_queue, "MOST_WAITING", 3)
    student.may_train.clear()
    with serving(student, tmp_path) as (url, queue), ThreadPoolExecutor(8) as clients:
        answers = [clients.submit(post, url, asking(*AB, seed=seed)) for seed in range(8)]
        wait_for(lambda: queue.n_waiting == 3 and sum(a.done() for a in answers) == 5)
        student.may_train.set()
        statuses = [answer.result(60)[0] for answer in answers]
    assert sorted(statuses) == [200] * 3 + [503] * 5


def test_shutdown_answers_what_was_accepted_and_refuses_the_rest(student, tmp_path):
    student.may_train.clear()
    with serving(student, tmp_path) as (url, queue), ThreadPoolExecutor(2) as clients:
        accepted = [clients.submit(post, url, asking(*AB, seed=seed)) for seed in range(2)]
        wait_for(lambda: queue.n_waiting == 2)
        assert post(url, {"cmd": "shutdown"}) == (200, {"status": "bye"})
        status, answer = post(url, asking(*AB, seed=9))
        assert (status, answer) == (503, {"error": "the server is shutting down"})
        student.may_train.set()
        assert [answer.result(60)[0] for answer in accepted] == [200, 200]


def test_stopping_refuses_what_waits_with_an_error(student, tmp_path):
    student.may_train.clear()
    with ThreadPoolExecutor(3) as clients:
        with serving(student, tmp_path) as (url, queue):
            first = clients.submit(post, url, asking(*AB))
            wait_for(lambda: student.trainings)
            others = [clients.submit(post, url, asking(*AB, seed=seed)) for seed in (1, 2)]
            wait_for(lambda: queue.n_waiting == 3)
            queue.cancel()
            for other in others:
                status, answer = other.result(60)
                assert status == 503
                assert "stopped before there was an answer" in answer["error"]
        assert first.result(60)[0] == 503  # its training ended, and it was not asked
    assert len(student.trainings) == 1
    assert not list((tmp_path / "answers").glob("*"))


def test_a_folder_with_answers_of_another_student_is_refused(tmp_path):
    class Known(Reader):
        weights = "a"

        def describe(self):
            return {"weights": self.weights}

    with serving(Known(), tmp_path) as (url, _):
        assert post(url, asking(*AB))[0] == 200
        with pytest.raises(RunDirectoryError, match="another process"), serving(Known(), tmp_path):
            pass
    other = Known()
    other.weights = "b"
    with (
        pytest.raises(RunDirectoryError, match="was begun with predictor"),
        serving(other, tmp_path),
    ):
        pass


def test_a_server_for_other_machines_needs_a_token(student, tmp_path):
    with opened_queue(TASK, student, tmp_path) as queue:
        for host in ("0.0.0.0", "::", "192.168.1.1", "example.org"):
            with pytest.raises(ConfigurationError, match="token-variable"):
                AdaptationServer(queue, host=host)
        with pytest.raises(ConfigurationError, match="listen"):
            AdaptationServer(queue, port=70000).run()
    with serving(student, tmp_path, host="0.0.0.0", token="a-long-secret") as (url, _):
        url = url.replace("0.0.0.0", "127.0.0.1")
        assert post(url, asking(*AB))[0] == 401
        assert post(url, {"cmd": "shutdown"}, Authorization="Bearer a-long-secre")[0] == 401
        assert post(url, asking(*AB), Authorization="Bearer \xff\xfe")[0] == 401
        assert post(url, asking(*AB), Authorization="Bearer a-long-secret")[0] == 200


def test_a_web_page_cannot_reach_a_server_without_token(student, tmp_path):
    with serving(student, tmp_path) as (url, _):
        shutdown = {"cmd": "shutdown"}
        assert post(url, shutdown, **{"Content-Type": "text/plain"})[0] == 400
        assert post(url, shutdown, Host="page.example.org")[0] == 403
        assert post(url, asking(*AB))[0] == 200
    assert len(student.trainings) == 1


# --- ZeroMQ ---------------------------------------------------------------------------------------


@contextmanager
def client(url, token):
    zmq = pytest.importorskip("zmq", reason="needs the extra [zmq]")
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RCVTIMEO, 60_000)
        socket.connect(url)

        def ask(fields):
            if isinstance(fields, dict):
                fields = {"token": token, **fields}
            socket.send(fields if isinstance(fields, bytes) else json.dumps(fields).encode())
            return socket.recv_json()

        yield ask


def test_zeromq_clients_are_answered_as_over_http(student, tmp_path):
    pytest.importorskip("zmq", reason="needs the extra [zmq]")
    token = "a-long-secret"
    with serving(student, tmp_path) as (url, _):
        expected = post(url, asking(*AB))[1]

    def one(number):
        with client(url, token) as ask:
            assert "lora_rank is 0" in ask(asking(*AB, lora_rank=0))["error"]
            assert "not JSON" in ask(b"\xff")["error"]
            for refused in ({"cmd": "shutdown", "token": "other"}, [1]):
                assert "has not the server's token" in ask(refused)["error"]
            return ask(asking(*AB, seed=number % 8))

    with serving(Reader(), tmp_path / "zmq", transport="zmq", token=token) as (url, _):
        with ThreadPoolExecutor(32) as clients:
            assert list(clients.map(one, range(32))) == [expected] * 32
        with client(url, token) as ask:
            assert ask({"cmd": "shutdown"}) == {"status": "bye"}
