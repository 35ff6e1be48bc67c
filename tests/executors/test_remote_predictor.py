"""A student elsewhere; here with hosts in this process that are lost when a test says so."""

from __future__ import annotations

from concurrent.futures import Future, wait

import pytest

from dataenvgym.errors import AdapterError, ConfigurationError, PredictionError, PredictorLostError
from dataenvgym.executors import RemotePredictor
from dataenvgym.executors.errors import CarriedError, opened
from dataenvgym.executors.predictor_host import HostLostError, PredictorHost
from dataenvgym.interfaces import (
    Reply,
    SamplingParameters,
    TrainablePredictorInterface,
    TrainingRun,
)
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.records import Message, SupervisedDatum

GREEDY = SamplingParameters()


class Counting(ScriptedPredictor):
    """Answers with what it has learnt."""

    def __init__(self):
        super().__init__(lambda conversation: f"{self.trainings} {self.records}")


class Quick(Counting):
    def submit(self, conversation, sampling):
        future = Future()
        future.set_result(Reply(text="quick " + self.answer(conversation)))
        return future


class Nested(Counting):
    """Has a phase in a phase, writes more than the adapter, and names a place that is its own."""

    def train(self, training_data, run):
        with run.phase("train"), run.phase("inner"):
            (run.directory / "training.yaml").write_text(f"output_dir: {run.directory}/adapter\n")
        if not training_data:
            raise ConfigurationError(f"{run.directory}/dataset is empty")
        super().train(training_data, run)


class LocalHost:
    """A host in this process, gone for good at the calls in `deaths` (counted over all hosts)."""

    def __init__(self, make, folder, deaths, log):
        self.host = PredictorHost(make, folder)
        self.deaths, self.log = deaths, log
        self.is_lost = False

    def _note(self, method):
        self.log.append(method)
        self.is_lost = self.is_lost or len(self.log) in self.deaths
        if self.is_lost:
            raise HostLostError("lost")

    def call(self, method, *arguments):
        self._note(method)
        try:
            return getattr(self.host, method)(*arguments)
        except Exception as error:
            return opened(self.host.carry(error))

    def narrate(self, method, *arguments):
        for told in getattr(self.host, method)(*arguments):
            yield told
            if not isinstance(told, CarriedError):
                self._note(f"{method}:told")

    def close(self):
        self.is_lost = True
        self.host.close()


@pytest.fixture
def log():
    return []


@pytest.fixture
def remote(tmp_path, log):
    hosts = []

    def make(student=Counting, deaths=(), **options):
        def make_host():
            hosts.append(LocalHost(student, tmp_path / f"far-{len(hosts)}", deaths, log))
            return hosts[-1]

        predictor = RemotePredictor(make_host, **options)
        predictor.hosts = hosts
        return predictor

    return make


@pytest.fixture
def train(tmp_path):
    def run(predictor, number=1, *, start="adapter", size=2, phases=None):
        directory = tmp_path / "near" / f"{number:03d}"
        directory.mkdir(parents=True, exist_ok=True)
        records = [SupervisedDatum(instruction=f"say {i}", output=str(i)) for i in range(size)]
        options = {} if phases is None else {"phase": phases}
        predictor.train(records, TrainingRun(directory=directory, start=start, **options))
        return directory

    return run


def ask(predictor, n=1):
    conversations = [(Message(role="user", content="?"),)] * n
    return [reply.text for reply in predictor.predict(conversations, GREEDY)]


def test_it_is_a_trainable_predictor(remote):
    assert isinstance(remote(), TrainablePredictorInterface)


def test_what_is_learnt_there_is_answered_and_its_files_are_here(remote, train, tmp_path):
    predictor = remote()
    assert ask(predictor, 2) == ["0 0", "0 0"]
    directory = train(predictor)
    assert ask(predictor) == ["1 2"]
    assert (directory / "adapter" / "scripted.json").exists()
    predictor.reset()
    assert ask(predictor) == ["0 0"]
    predictor.load(directory / "adapter")
    assert ask(predictor) == ["1 2"]
    predictor.save(tmp_path / "saved")
    assert [p.name for p in (tmp_path / "saved").iterdir()] == ["scripted.json"]


def test_files_name_the_places_of_whoever_asked(remote, train):
    directory = train(remote(Nested))
    text = (directory / "training.yaml").read_text()
    assert text == f"output_dir: {directory.resolve()}/adapter\n"


def test_errors_have_their_class_and_the_places_of_whoever_asked(remote, train, tmp_path):
    predictor = remote(Nested)
    with pytest.raises(ConfigurationError) as raised:
        train(predictor, size=0)
    assert str(raised.value) == f"{tmp_path}/near/001/dataset is empty"
    with pytest.raises(AdapterError, match=f"^{tmp_path}/none holds no"):
        predictor.load(tmp_path / "none")
    assert ask(predictor) == ["0 0"]


def test_phases_are_entered_here_and_left_when_their_files_have_arrived(remote, train, tmp_path):
    from contextlib import contextmanager

    seen = []

    @contextmanager
    def phase(name):
        seen.append(f"begin {name}")
        yield
        seen.append(f"end {name} {sorted(p.name for p in (tmp_path / 'near').rglob('*.yaml'))}")

    train(remote(Nested), phases=phase)
    assert seen[:4] == [
        "begin train",
        "begin inner",
        "end inner ['training.yaml']",
        "end train ['training.yaml']",
    ]
    assert [s.split()[1] for s in seen[4:]] == ["train", "train", "load", "load"]


def test_it_offers_what_the_student_offers(remote):
    plain, quick = remote(ScriptedPredictorWithoutDescription), remote(Quick)
    assert not hasattr(plain, "describe")
    assert not hasattr(plain, "submit")
    assert quick.describe() == {"name": "Quick"}
    futures = [quick.submit((Message(role="user", content="?"),), GREEDY) for _ in range(9)]
    wait(futures, timeout=10)
    assert {future.result().text for future in futures} == {"quick 0 0"}


class ScriptedPredictorWithoutDescription(Counting):
    describe = None


def test_a_lost_host_is_replaced_and_answers_with_what_was_learnt(remote, train, log):
    predictor = remote()
    train(predictor)
    predictor_deaths = {len(log) + 1}
    predictor.hosts[0].deaths = predictor_deaths
    assert ask(predictor) == ["1 2"]
    assert log[-3:] == ["predict", "load", "predict"]
    assert len(predictor.hosts) == 2


def test_a_host_lost_after_a_reset_is_replaced_by_an_untaught_one(remote, train, log):
    predictor = remote()
    train(predictor)
    predictor.reset()
    predictor.hosts[0].deaths = {len(log) + 1}
    assert ask(predictor) == ["0 0"]
    assert "load" not in log


@pytest.mark.parametrize("told", [1, 2, 3, 4, 5])
def test_a_training_whose_host_is_lost_is_done_again_from_the_same_start(remote, train, log, told):
    predictor = remote()
    train(predictor, 1)
    predictor.hosts[0].deaths = {len(log) + told}
    train(predictor, 2)
    assert ask(predictor) == ["2 4"]
    assert len(predictor.hosts) == 2


def test_a_call_that_loses_every_host_is_given_up(remote):
    predictor = remote(deaths=range(2, 100), max_restarts=2)
    with pytest.raises(PredictorLostError, match=r"died 3 times at the same work \(lost\)"):
        ask(predictor)
    assert len(predictor.hosts) == 3


def test_losses_far_apart_do_not_add_up(remote, log):
    predictor = remote(max_restarts=1)
    for _ in range(5):
        predictor.hosts[-1].deaths = {len(log) + 1}
        assert ask(predictor) == ["0 0"]
    assert len(predictor.hosts) == 6


def test_a_closed_predictor_makes_no_new_host(remote, tmp_path):
    predictor = remote()
    predictor.close()
    with pytest.raises(PredictionError, match="closed"):
        ask(predictor)
    assert len(predictor.hosts) == 1
    assert not (tmp_path / "far-0").exists()


def test_a_negative_number_of_restarts_is_refused(remote):
    with pytest.raises(ConfigurationError, match="max_restarts is -1"):
        remote(max_restarts=-1)
