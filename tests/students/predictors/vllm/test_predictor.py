"""The student on a vLLM server: adapters and requests."""

import copy
import json
import pickle
import shutil
import threading
from pathlib import Path

import pytest

from dataenvgym.errors import AdapterError, ConfigurationError, TrainingError
from dataenvgym.interfaces import (
    AdapterJob,
    SamplingParameters,
    TrainingRun,
    can,
)
from dataenvgym.records import Message, SupervisedDatum
from dataenvgym.storage import hash_files
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors import VllmPredictor
from dataenvgym.students.predictors.vllm import server as servers
from dataenvgym.students.trainers import InProcessTrainer
from tests.students.predictors.conftest import who
from tests.waiting import wait_for

SAMPLING = SamplingParameters()
DATA = [SupervisedDatum(instruction="1", output="2")]


def question(text="?"):
    return (Message(role="user", content=text),)


def run(folder: Path, **options) -> TrainingRun:
    folder.mkdir(parents=True, exist_ok=True)
    return TrainingRun(directory=folder, **options)


# --- answering ---


def test_requests_have_the_servers_form(make, stand_in):
    predictor = make(variant="cuda")
    schema = {"type": "object"}
    sampling = SamplingParameters(temperature=0.5, seed=3, max_tokens=10**6, json_schema=schema)
    predictor.predict([question("x")], sampling)
    (asked,) = stand_in.events("ask")
    assert asked["max_tokens"] == 100  # the server's max_model_len
    assert asked["response_format"]["json_schema"]["schema"] == schema
    assert (asked["temperature"], asked["seed"], asked["model"]) == (0.5, 3, "student")


def test_values_that_cannot_be_are_refused_when_the_predictor_is_made(make, make_trainer):
    for options, expected in (
        ({"max_lora_rank": 8}, "an adapter has rank 16"),
        ({"sleep": True, "variant": "cpu"}, "is for GPUs"),
        ({"student": "./nowhere"}, "there is no such folder"),
    ):
        with pytest.raises(ConfigurationError, match=expected):
            make(**options)
    with pytest.raises(AdapterError, match="nowhere"):
        make(adapter="nowhere")
    for options, expected in (
        ({"use_dora": True}, "trainer.use_dora makes DoRA adapters, which vLLM does not serve"),
        ({"extra": {"additional_target": "lm_head"}}, "adapters with whole layers"),
        ({"lora_rank": 513}, "512 at most"),
    ):
        with pytest.raises(ConfigurationError, match=expected):
            make(make_trainer(**options))
    make(make_trainer(use_rslora=True))


# --- adapters ---


def test_adapters_come_under_names_of_their_own_and_the_one_before_goes(make, stand_in, adapter):
    predictor = make()
    for name in "aba":
        predictor.load(adapter(name))
        assert who(predictor) == str(adapter(name))
        assert predictor.has_learned
    predictor.reset()
    assert who(predictor) == predictor.student
    assert not predictor.has_learned
    loaded = [e["name"] for e in stand_in.events("load")]
    assert len(set(loaded)) == 3
    assert [e["name"] for e in stand_in.events("unload")] == loaded
    assert list(predictor.server.adapters) == [predictor.server.untouched]


def test_the_server_is_started_for_the_rank_of_the_current_adapter(make, adapter):
    large = adapter("large", rank=64)
    assert who(make(adapter=large)) == str(large)
    with pytest.raises(ConfigurationError, match="an adapter has rank 64"):
        make(adapter=large, max_lora_rank=16)


def test_an_adapter_that_is_refused_leaves_the_student_as_it_was(make, stand_in, adapter):
    predictor = make()
    predictor.load(adapter("good"))
    with pytest.raises(AdapterError, match="greater"):
        predictor.load(adapter("large", rank=64))
    with pytest.raises(AdapterError, match="holds no adapter"):
        predictor.load(Path("nowhere"))
    assert who(predictor) == str(adapter("good"))
    assert stand_in.events("unload") == []


@pytest.mark.slow
def test_an_adapter_that_is_refused_on_a_new_server_never_becomes_the_untouched_student(
    make, stand_in, adapter
):
    gone = adapter("gone")
    predictor = make(adapter=gone)
    shutil.rmtree(gone)
    for _ in range(2):  # not even the second time
        with pytest.raises(AdapterError, match="No adapter found"):
            who(predictor)
    assert stand_in.events("ask") == []

    predictor = make()
    predictor.load(adapter("good"))
    predictor.close()
    with pytest.raises(AdapterError, match="LoRA rank 64"):
        predictor.load(adapter("large", rank=64))
    assert who(predictor) == str(adapter("good"))


def test_a_student_with_an_adapter_starts_with_it_and_reset_goes_back_to_it(
    make, adapter, tmp_path
):
    predictor = make(adapter=str(adapter("first")))
    assert who(predictor) == str(adapter("first"))
    predictor.train(DATA, run(tmp_path / "1"))
    config = TrainingConfig.read(tmp_path / "1" / "training.yaml")
    assert config.adapter_name_or_path == str(adapter("first"))
    assert who(predictor) == str(tmp_path / "1" / "adapter")
    predictor.reset()
    assert who(predictor) == str(adapter("first"))
    described = predictor.describe()
    assert described["adapter"] == hash_files(adapter("first"))
    assert str(tmp_path) not in str(described)
    assert "adapter" not in make().describe()


def test_a_swap_waits_for_questions_on_their_way_and_answers_are_never_mixed(
    make, adapter, tell, stand_in
):
    predictor = make()
    predictor.load(adapter("old"))
    url, adapter_lock = predictor.server.base_url, predictor.server.adapter_lock
    tell(f"{url}/hold")
    before = [predictor.submit(question(str(n)), SAMPLING) for n in range(8)]
    tell(f"{url}/questions", n=8)
    swap = threading.Thread(target=predictor.load, args=(adapter("new"),))
    swap.start()
    wait_for(lambda: adapter_lock._is_stopped)
    after: list = []

    def ask() -> None:
        after.extend(predictor.predict([question(str(n)) for n in range(8)], SAMPLING))

    asking = threading.Thread(target=ask)
    asking.start()
    assert [e["path"] for e in stand_in.events("load")] == [str(adapter("old"))]
    assert not any(future.done() for future in before)
    tell(f"{url}/release")
    swap.join()
    asking.join()
    texts = [future.result().text for future in before]
    assert texts == [f"{adapter('old')}|{n}" for n in range(8)]
    assert [reply.text for reply in after] == [f"{adapter('new')}|{n}" for n in range(8)]


def test_a_question_that_is_given_up_does_not_hold_a_swap_up(make, adapter, tell):
    predictor = make()
    url = predictor.server.base_url
    tell(f"{url}/hold")
    future = predictor.submit(question(), SAMPLING)
    assert future.cancel()
    predictor.load(adapter("a"))
    tell(f"{url}/release")
    assert who(predictor) == str(adapter("a"))


# --- learning ---


def test_a_training_leaves_its_files_and_the_student_answers_with_the_new_adapter(make, tmp_path):
    predictor = make()
    predictor.train(DATA, run(tmp_path / "1"))
    assert who(predictor) == str(tmp_path / "1" / "adapter")
    predictor.train(DATA, run(tmp_path / "2", start="adapter"))
    config = TrainingConfig.read(tmp_path / "2" / "training.yaml")
    assert config.model_name_or_path == predictor.student
    assert config.adapter_name_or_path == str(tmp_path / "1" / "adapter")
    assert predictor.former_adapter() == tmp_path / "1" / "adapter"
    predictor.train([], run(tmp_path / "3"))
    assert who(predictor) == predictor.student


def test_a_training_that_fails_leaves_the_student_as_it_was(make, make_trainer, tmp_path):
    trainer = make_trainer()
    predictor = make(trainer)
    predictor.train(DATA, run(tmp_path / "1"))

    def fail() -> None:
        raise TrainingError("the loss is not a number")

    trainer.during = fail
    with pytest.raises(TrainingError):
        predictor.train(DATA, run(tmp_path / "2"))
    assert who(predictor) == str(tmp_path / "1" / "adapter")


def test_a_saved_adapter_can_be_loaded_again(make, adapter, tmp_path):
    predictor = make()
    predictor.save(tmp_path / "nothing")
    predictor.load(adapter("a"))
    predictor.save(tmp_path / "saved")
    assert hash_files(tmp_path / "saved") == hash_files(adapter("a"))
    predictor.load(tmp_path / "nothing")
    assert who(predictor) == predictor.student
    with pytest.raises(ConfigurationError, match="known what"):
        predictor.former_adapter()
    predictor.load(tmp_path / "saved")
    assert who(predictor) == str(tmp_path / "saved")
    (tmp_path / "saved" / "adapter_config.json").unlink()
    with pytest.raises(AdapterError, match="is gone: it must stay"):
        predictor.save(tmp_path / "again")


def test_a_closed_predictor_remembers_what_it_has_learned(make, adapter):
    predictor = make()
    predictor.load(adapter("a"))
    predictor.close()
    assert who(predictor) == str(adapter("a"))
    predictor.close()
    predictor.reset()
    assert predictor.former_adapter() is None
    assert who(predictor) == predictor.student


def test_a_copy_is_the_untouched_student_that_is_not_connected(make, adapter, stand_in):
    predictor = make(InProcessTrainer(), adapter=adapter("first"), max_loras=7)
    predictor.load(adapter("a"))
    for twin in (copy.deepcopy(predictor), pickle.loads(pickle.dumps(predictor))):
        assert isinstance(twin, VllmPredictor)
        assert twin._server is None
        assert who(twin) == str(adapter("first"))
        assert twin.server is predictor.server
        twin.close()
    assert who(predictor) == str(adapter("a"))
    assert len(stand_in.lives) == 1


def test_a_thread_that_collects_a_predictor_does_not_wait_for_a_server_that_starts(make, stand_in):
    predictor, other = make(), make()
    server, collected = predictor.server, predictor._disconnect
    assert other.server is server
    before = server.n_users
    with servers._LOCK:  # as while another server starts
        thread = threading.Thread(target=servers.leave_when_collected, args=[collected])
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
        assert server.n_users == before
    wait_for(lambda: server.n_users == before - 1)


# --- whole students ---


def test_a_whole_student_means_another_server(make, make_trainer, stand_in, tmp_path):
    predictor = make(make_trainer(finetuning_type="full"))
    assert who(predictor) == predictor.student
    first = predictor.server
    folder = tmp_path / "1" / "adapter"
    predictor.train(DATA, run(tmp_path / "1"))
    assert who(predictor) == str(folder)
    assert f"--model {folder} " in stand_in.lives[-1]
    assert not first.is_alive
    assert predictor.server.is_alive

    predictor.train(DATA, run(tmp_path / "2", start="adapter"))
    config = TrainingConfig.read(tmp_path / "2" / "training.yaml")
    assert config.model_name_or_path == str(folder)
    predictor.save(tmp_path / "saved")
    predictor.reset()
    assert who(predictor) == predictor.student
    predictor.load(tmp_path / "saved")
    assert who(predictor) == str(tmp_path / "saved")

    n = len(stand_in.lives)
    again = make(make_trainer(finetuning_type="full"), adapter=tmp_path / "saved", max_loras=1)
    assert who(again) == str(tmp_path / "saved")
    assert len(stand_in.lives) == n + 1  # not one with the base first


# --- beside itself ---


def test_another_adapter_answers_on_the_students_server(make, stand_in, adapter):
    predictor = make()
    predictor.load(adapter("now"))
    former, untouched = predictor.with_adapter(adapter("former")), predictor.with_adapter(None)
    assert can(predictor, "with_adapter")
    expected = [str(adapter("now")), str(adapter("former")), predictor.student]
    assert [who(each) for each in (predictor, former, untouched)] == expected
    assert len(stand_in.lives) == 1
    former.close()
    untouched.close()
    assert who(predictor) == str(adapter("now"))
    (gone,) = [e["name"] for e in stand_in.events("unload")]
    assert gone in [e["name"] for e in stand_in.events("load")]


def test_adapters_are_trained_and_answer_beside_that_of_the_student(
    make, stand_in, adapter, tmp_path
):
    predictor = make()
    predictor.load(adapter("now"))
    assert can(predictor, "train_each", "predict_each")
    jobs = [AdapterJob(DATA, run(tmp_path / name)) for name in "ab"]
    one, two = predictor.train_each(jobs)
    assert (one, two) == (tmp_path / "a" / "adapter", tmp_path / "b" / "adapter")
    replies = predictor.predict_each([one, None, two, one], [question()] * 4, SAMPLING)
    assert [reply.text.partition("|")[0] for reply in replies] == [
        str(folder or predictor.student) for folder in (one, None, two, one)
    ]
    loaded, gone = ([e["name"] for e in stand_in.events(kind)] for kind in ("load", "unload"))
    assert len(loaded) == 3
    assert sorted(gone) == sorted(loaded[1:])  # that of the student stays
    assert who(predictor) == str(adapter("now"))


@pytest.mark.slow
def test_another_adapter_survives_a_swap_and_the_death_of_the_server(make, stand_in, adapter):
    stand_in.plan({"die_at": 2}, {})
    predictor = make()
    former = predictor.with_adapter(adapter("former"))
    predictor.load(adapter("now"))
    assert [who(each) for each in (former, predictor, former)] == [
        str(adapter("former")),
        str(adapter("now")),
        str(adapter("former")),
    ]
    assert len(stand_in.lives) == 2


@pytest.mark.slow
def test_a_whole_student_shares_no_server_with_an_adapter(make, make_trainer, adapter, tmp_path):
    predictor = make(make_trainer(finetuning_type="full"))
    predictor.train(DATA, run(tmp_path / "whole"))
    for folder in (adapter("former"), None):
        with pytest.raises(AdapterError, match="do not share a base model"):
            predictor.with_adapter(folder)
    predictor.reset()
    with pytest.raises(AdapterError, match="do not share a base model"):
        predictor.with_adapter(tmp_path / "whole" / "adapter")


@pytest.mark.parametrize(
    "options", [{"rank_pattern": {"q": 2}}, {"alpha_pattern": {"q": 2}}, {"r": "8"}]
)
def test_an_adapter_with_other_ranks_in_some_layers_is_refused(make, adapter, options):
    """A server would compute with one rank and one alpha for all layers."""
    predictor, folder = make(), adapter("some")
    before = who(predictor)
    file = folder / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **options}))
    with pytest.raises(AdapterError, match=next(iter(options))):
        predictor.load(folder)
    assert who(predictor) == before
    with pytest.raises(AdapterError, match=next(iter(options))):
        make(adapter=folder)
