import copy
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.events import counting, hearing_progress, hearing_warnings
from dataenvgym.interfaces import (
    AdapterJob,
    Failure,
    Reply,
    SamplingParameters,
    TrainingRun,
    can,
)
from dataenvgym.records import (
    ChatDatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    Tool,
    ToolCall,
)
from dataenvgym.records.tool_formats import HERMES
from dataenvgym.storage import hash_files
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers import student as trainers_student

GREEDY = SamplingParameters(max_tokens=8)
ASKED = [(Message(role="user", content=f"{n} " * (n % 5 + 1)),) for n in range(23)]
DATA = [SupervisedDatum(instruction=f"say {n}", output=str(n)) for n in range(6)]


def make(student: Path, **options: Any) -> InProcessPredictor:
    trainer = InProcessTrainer(threads=1, **options)
    return InProcessPredictor(student, trainer, threads=2, batch_size=8)


@pytest.fixture
def predictor(tiny_student):
    return make(tiny_student, num_train_epochs=2, lora_rank=4, learning_rate=1e-2)


def run(folder: Path, **options: Any) -> TrainingRun:
    folder.mkdir(parents=True, exist_ok=True)
    return TrainingRun(directory=folder, **options)


def logits(predictor: InProcessPredictor) -> torch.Tensor:
    """The student's logits for some tokens."""
    with torch.inference_mode():
        return predictor._student.model(input_ids=torch.tensor([[3, 70, 80, 4]])).logits.clone()


# --- answering ---


@pytest.mark.parametrize("name", ["tiny_student", "tiny_smollm"])
def test_greedy_replies_are_those_of_transformers_own_generation(request, name):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    student = request.getfixturevalue(name)
    model = AutoModelForCausalLM.from_pretrained(student)
    tokenizer = AutoTokenizer.from_pretrained(student)
    expected = []
    for (message,) in ASKED:
        chat = [{"role": "user", "content": message.content}]
        ids = tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=False
        )
        output = model.generate(ids, max_new_tokens=8, do_sample=False)[0, ids.shape[1] :]
        expected.append(tokenizer.decode(output, skip_special_tokens=True))
    predictor = make(student)
    assert [reply.text for reply in predictor.predict(ASKED, GREEDY)] == expected  # type: ignore[union-attr]
    assert predictor._student.model.dtype == torch.float32


def test_greedy_replies_do_not_depend_on_threads_or_calls_at_the_same_time(predictor, tiny_student):
    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(lambda _: predictor.predict(ASKED, GREEDY), range(4)))
    one_thread = InProcessPredictor(tiny_student, threads=1, batch_size=8)
    assert replies == [one_thread.predict(ASKED, GREEDY)] * 4
    assert predictor.predict([], GREEDY) == []


def test_drawn_replies_depend_on_the_seed_and_the_conversation_only(predictor, tiny_student):
    sampling = SamplingParameters(temperature=1.0, top_p=0.95, max_tokens=6, seed=1)
    before = torch.random.get_rng_state()
    drawn = predictor.predict(ASKED, sampling)
    assert torch.equal(torch.random.get_rng_state(), before)
    other_batches = InProcessPredictor(tiny_student, batch_size=5, threads=1)
    assert other_batches.predict(ASKED[::-1], sampling) == drawn[::-1]
    assert predictor.predict(ASKED, sampling.model_copy(update={"seed": 2})) != drawn
    twice = predictor.predict([ASKED[0], ASKED[0]], sampling)
    assert twice[0] == drawn[0] != twice[1]


def test_a_prompt_that_is_too_long_fails_alone(predictor):
    long = (Message(role="user", content="x" * 200),)
    near = (Message(role="user", content="x" * 120),)  # 123 of 128 tokens: room for 5
    failed, short, cut = predictor.predict([long, ASKED[0], near], GREEDY)
    assert isinstance(failed, Failure)
    assert "203 tokens" in failed.reason
    assert predictor.refusals([long, ASKED[0], near]) == [failed, None, None]  # without an answer
    assert [short] == predictor.predict([ASKED[0]], GREEDY)
    assert isinstance(cut, Reply)


def test_a_schema_that_it_cannot_hold_to_is_refused(predictor):
    with pytest.raises(ConfigurationError, match="json_schema is set"):
        predictor.predict(ASKED[:1], SamplingParameters(json_schema={"type": "object"}))


def test_several_tokens_may_end_a_reply(make_student, tmp_path):
    from transformers import AutoTokenizer, GenerationConfig

    folder = make_student(tmp_path)
    before = [r.text for r in InProcessPredictor(folder).predict(ASKED, GREEDY)]  # type: ignore[union-attr]
    letter = next(c for text in before for c in text[1:] if c.isascii() and c.isalnum())
    (token,) = AutoTokenizer.from_pretrained(folder)(letter)["input_ids"]
    GenerationConfig(eos_token_id=[1, token], pad_token_id=0).save_pretrained(folder)
    after = InProcessPredictor(folder).predict(ASKED, GREEDY)
    for old, reply in zip(before, after, strict=True):
        assert isinstance(reply, Reply)
        assert reply.text == old.split(letter)[0]
        assert reply.finish_reason == "stop" or letter not in old


# --- learning ---


def test_a_training_leaves_its_files(predictor, tmp_path):
    predictor.train(DATA, run(tmp_path, seed=2**40 + 7))
    config = TrainingConfig.read(tmp_path / "training.yaml")
    assert (config.stage, config.seed, config.lora_rank) == ("sft", 7, 4)
    assert config.model_name_or_path == predictor.student
    assert config.adapter_name_or_path is None
    assert list(read_dataset(tmp_path / "dataset", config.dataset or "")) == DATA
    assert (tmp_path / "dataset" / "custom_sft_dataset.jsonl").exists()
    assert (tmp_path / "adapter" / "adapter_config.json").exists()


def test_the_phases_are_seen_in_their_order(predictor, tmp_path):
    phases = []

    @contextmanager
    def phase(name: str) -> Iterator[None]:
        phases.append(f"+{name}")
        yield
        phases.append(f"-{name}")

    predictor.train(DATA, run(tmp_path, phase=phase))
    assert phases == ["+dataset", "-dataset", "+train", "-train", "+load", "-load"]
    phases.clear()
    predictor.train(DATA, run(tmp_path, phase=phase))  # the adapter is already there
    assert phases == ["+load", "-load"]


def test_an_interrupted_run_ends_with_the_same_adapter(predictor, tiny_student, tmp_path):
    predictor.train(DATA, run(tmp_path / "a", seed=5))
    expected = hash_files(tmp_path / "a" / "adapter")

    class Killed(BaseException):
        pass

    @contextmanager
    def killed_at_load(name: str) -> Iterator[None]:
        if name == "load":
            raise Killed
        yield

    other = make(tiny_student, num_train_epochs=2, lora_rank=4, learning_rate=1e-2)
    with pytest.raises(Killed):
        other.train(DATA, run(tmp_path / "b", seed=5, phase=killed_at_load))
    base = logits(other)
    other.train(DATA, run(tmp_path / "b", seed=5))
    assert hash_files(tmp_path / "b" / "adapter") == expected
    assert torch.equal(logits(other), logits(predictor))
    assert not torch.equal(logits(other), base)


def test_a_training_from_the_adapter_continues_and_one_from_the_base_starts_over(
    predictor, tmp_path
):
    predictor.train(DATA, run(tmp_path / "1", start="adapter"))  # there is none yet
    assert TrainingConfig.read(tmp_path / "1" / "training.yaml").adapter_name_or_path is None
    predictor.train(DATA, run(tmp_path / "2", start="adapter"))
    config = TrainingConfig.read(tmp_path / "2" / "training.yaml")
    assert config.adapter_name_or_path == str(tmp_path / "1" / "adapter")
    predictor.train(DATA, run(tmp_path / "3", start="base"))
    assert hash_files(tmp_path / "3" / "adapter") == hash_files(tmp_path / "1" / "adapter")
    assert hash_files(tmp_path / "2" / "adapter") != hash_files(tmp_path / "1" / "adapter")


def test_a_training_can_continue_from_an_adapter_whose_folder_was_removed(predictor, tmp_path):
    predictor.train(DATA, run(tmp_path / "1"))
    (tmp_path / "1").rename(tmp_path / "moved")
    predictor.train(DATA, run(tmp_path / "2", start="adapter"))
    start = tmp_path / "2" / "start"
    assert TrainingConfig.read(tmp_path / "2" / "training.yaml").adapter_name_or_path == str(start)
    assert hash_files(start) == hash_files(tmp_path / "moved" / "adapter")


def test_preferences_are_measured_against_the_student_as_it_is(predictor, tmp_path):
    data = [PreferenceDatum(instruction=f"q{n}", chosen="yes", rejected="no") for n in range(4)]
    predictor.train(data, run(tmp_path / "1"))
    assert TrainingConfig.read(tmp_path / "1" / "training.yaml").extra == {}
    predictor.train(data, run(tmp_path / "2", start="adapter"))
    config = TrainingConfig.read(tmp_path / "2" / "training.yaml")
    assert config.stage == "dpo"
    assert config.extra["ref_model_adapters"] == config.adapter_name_or_path
    first = (tmp_path / "2" / "trainer_log.jsonl").read_text().splitlines()[0]
    assert '"loss":0.693' in first


@pytest.mark.parametrize("learned", [False, True])
def test_without_data_the_student_is_what_the_training_would_have_started_from(
    predictor, tmp_path, learned
):
    base = logits(predictor)
    if learned:
        predictor.train(DATA, run(tmp_path / "1"))
    before = logits(predictor)
    predictor.train([], run(tmp_path / "2", start="adapter"))
    assert torch.equal(logits(predictor), before)
    predictor.train([], run(tmp_path / "3", start="base"))
    assert torch.equal(logits(predictor), base)
    predictor.load(tmp_path / "2" / "adapter")
    assert torch.equal(logits(predictor), before)


def test_records_of_several_stages_are_refused_and_nothing_changes(predictor, tmp_path):
    predictor.train(DATA, run(tmp_path / "1"))
    before = logits(predictor)
    with pytest.raises(ConfigurationError, match="'text'"):
        predictor.train([*DATA, TextDatum(text="x")], run(tmp_path / "2"))
    assert torch.equal(logits(predictor), before)
    assert not (tmp_path / "2" / "adapter").exists()


# --- adapters ---


def test_a_saved_adapter_can_be_loaded_by_any_predictor_of_the_student(
    predictor, tiny_student, tmp_path
):
    predictor.train(DATA, run(tmp_path / "run"))
    predictor.save(tmp_path / "saved")
    assert hash_files(tmp_path / "saved") == hash_files(tmp_path / "run" / "adapter")
    other = InProcessPredictor(tiny_student)
    untouched = logits(other)
    other.load(tmp_path / "saved")
    assert torch.equal(logits(other), logits(predictor))
    assert other.has_learned
    other.reset()
    assert torch.equal(logits(other), untouched)
    assert not other.has_learned
    assert not torch.equal(logits(predictor), untouched)  # two students in one process


def test_an_adapter_that_cannot_be_loaded_leaves_the_student_as_it_was(
    predictor, make_student, tmp_path
):
    predictor.train(DATA, run(tmp_path / "run"))
    before = logits(predictor)
    wider = make(make_student(tmp_path / "wider", width=64), num_train_epochs=1)
    wider.train(DATA, run(tmp_path / "other"))
    broken = tmp_path / "broken"
    predictor.save(broken)
    (broken / "adapter_model.safetensors").write_bytes(b"nothing")
    for folder in (tmp_path / "other" / "adapter", broken, tmp_path / "nowhere"):
        with pytest.raises(AdapterError, match=str(folder)):
            predictor.load(folder)
        assert torch.equal(logits(predictor), before)


def test_in_bfloat16_the_adapter_is_kept_apart_from_the_weights(predictor, tiny_student, tmp_path):
    predictor.train(DATA, run(tmp_path))
    half = InProcessPredictor(tiny_student, dtype="bfloat16")
    base = logits(half)
    half.load(tmp_path / "adapter")
    assert all(isinstance(reply, Reply) for reply in half.predict(ASKED, GREEDY))
    assert not torch.equal(logits(half), base)
    half.reset()
    assert torch.equal(logits(half), base)


def test_a_student_is_described_by_its_weights_and_not_by_its_place(make_student, tmp_path):
    described = [
        InProcessPredictor(make_student(tmp_path / str(n) / "tiny", seed=n // 2)).describe()
        for n in range(3)
    ]
    assert described[0] == described[1] != described[2]
    assert described[0]["student"] == "tiny"
    assert str(tmp_path) not in str(described)


def test_a_tool_format_is_part_of_who_the_student_is_unless_it_is_the_usual_one(tiny_student):
    usual = InProcessPredictor(tiny_student).describe()
    predictor = InProcessPredictor(tiny_student, tool_format="hermes")
    assert predictor.describe() == {**usual, "tool_format": "hermes"}
    assert pickle.loads(pickle.dumps(predictor)).tool_format == "hermes"
    with pytest.raises(ConfigurationError, match="API models"):
        InProcessPredictor(tiny_student, tool_format="native")


def test_a_pocket_student_writes_calls_in_its_pretraining_format_by_default():
    assert InProcessPredictor("pocket").tool_format == "llama_factory"
    tools = InProcessPredictor("pocket-tools-v1")
    for student in (tools, pickle.loads(pickle.dumps(tools))):
        assert student.tool_format == student.describe()["tool_format"] == "pocket"


def test_it_is_trained_on_tools_as_it_is_asked_about_them(tiny_student, tmp_path):
    call = Message(role="assistant", content="", tool_calls=(ToolCall(name="add"),))
    chat = ChatDatum(messages=(Message(role="user", content="q"), call), tools=(Tool(name="add"),))
    trainer = InProcessTrainer(threads=1, num_train_epochs=1, cutoff_len=1024)
    predictor = InProcessPredictor(tiny_student, trainer, tool_format="hermes")
    predictor.train([chat], run(tmp_path))
    (trained,) = read_dataset(tmp_path / "dataset", "custom_sft_dataset")
    assert isinstance(trained, ChatDatum)
    assert trained.conversation == HERMES.flatten(chat.conversation)


def test_a_copy_is_the_untouched_student_with_the_same_options(tiny_student):
    predictor = InProcessPredictor(tiny_student, batch_size=3, threads=1)
    for twin in (copy.deepcopy(predictor), pickle.loads(pickle.dumps(predictor))):
        assert (twin.student, twin.batch_size, twin.threads) == (predictor.student, 3, 1)
        assert twin.trainer.config == predictor.trainer.config


SCORED = [
    ScoredDatum(
        messages=(Message(role="user", content="q"), Message(role="assistant", content=text)),
        weights=(weight,),
    )
    for text, weight in (("yes", 1.0), ("no", -1.0))
]


def test_scored_records_are_learned_by_their_weights_by_default(tiny_student, tmp_path):
    for scored_as, stage in ((None, "scored"), ("sft", "sft"), ("kto", "kto"), ("dpo", "dpo")):
        folder = tmp_path / stage
        make(tiny_student, max_steps=1, scored_as=scored_as).train(SCORED, run(folder))
        assert TrainingConfig.read(folder / "training.yaml").stage == stage


def test_where_scored_records_give_nothing_a_run_is_warned_and_the_student_stays(
    tiny_student, tmp_path
):
    predictor = make(tiny_student, scored_as="sft", scored_threshold=2.0)
    before, told = logits(predictor), list[str]()
    with hearing_warnings(told.append):
        predictor.train(SCORED, run(tmp_path))
    assert torch.equal(logits(predictor), before)
    (text,) = told
    assert "scored_as=sft" in text


# --- beside another adapter, and the version before the last training ---


def trained(predictor: InProcessPredictor, folder: Path) -> Path:
    predictor.train(DATA, run(folder, start="adapter"))
    return folder / "adapter"


def test_a_former_adapter_answers_as_it_did_and_the_student_stays_as_it_is(predictor, tmp_path):
    answers = [predictor.predict(ASKED, GREEDY)]
    for name in ("one", "two"):
        trained(predictor, tmp_path / name)
        answers.append(predictor.predict(ASKED, GREEDY))
    assert answers[0] != answers[1] != answers[2]
    beside = [predictor.with_adapter(f) for f in (None, tmp_path / "one" / "adapter")]
    assert [other.predict(ASKED, GREEDY) for other in beside] == answers[:2]
    assert predictor.predict(ASKED, GREEDY) == answers[2]
    assert predictor.former_adapter() == tmp_path / "one" / "adapter"


def test_all_adapters_share_one_base_model_without_copies_of_its_weights(
    predictor, tmp_path, monkeypatch
):
    loaded, load = [], trainers_student.load_base_model

    def counted(name: str, **options: object) -> object:
        loaded.append(name)
        return load(name, **options)

    folder = trained(predictor, tmp_path / "one")
    other = InProcessPredictor(predictor.student)
    monkeypatch.setattr(trainers_student, "load_base_model", counted)
    other.load(folder)
    beside = [other.with_adapter(folder), other.with_adapter(None)]
    for each in (other, *beside):
        each.predict(ASKED[:1], GREEDY)
    assert len(loaded) == 1
    weights = list(other._loaded.base.model.parameters())
    base = {p.data_ptr() for p in weights}
    own = [p for p in beside[0]._student.model.parameters() if p.data_ptr() not in base]
    assert 0 < sum(p.numel() for p in own) < 0.2 * sum(p.numel() for p in weights)
    assert all(p.ndim == 2 and 4 in p.shape for p in own)  # of rank 4: the adapter's own


def test_the_former_student_is_known_until_another_adapter_is_loaded(predictor, tmp_path):
    assert predictor.former_adapter() is None
    first = trained(predictor, tmp_path / "one")
    assert predictor.former_adapter() is None
    trained(predictor, tmp_path / "two")
    assert predictor.former_adapter() == first
    predictor.load(first)
    with pytest.raises(ConfigurationError, match="known what"):
        predictor.former_adapter()
    predictor.remember_former(None)
    assert predictor.former_adapter() is None
    predictor.load(first)
    predictor.reset()
    assert predictor.former_adapter() is None


def test_a_student_that_had_learned_something_already_begins_with_that(predictor, tmp_path):
    folder = trained(predictor, tmp_path / "one")
    other = InProcessPredictor(predictor.student, predictor.trainer, adapter=folder, threads=1)
    untouched = other.with_adapter(None).predict(ASKED, GREEDY)
    assert untouched == predictor.predict(ASKED, GREEDY)
    trained(other, tmp_path / "two")
    assert other.former_adapter() == folder
    assert other.with_adapter(None).predict(ASKED, GREEDY) == untouched


def test_a_training_that_fails_forgets_nothing(predictor, tmp_path, monkeypatch):
    trained(predictor, tmp_path / "one")
    trained(predictor, tmp_path / "two")

    def fails(config_path: Path) -> Path:
        raise OSError("no disk")

    monkeypatch.setattr(predictor.trainer, "train", fails)
    with pytest.raises(OSError, match="no disk"):
        trained(predictor, tmp_path / "three")
    assert predictor.former_adapter() == tmp_path / "one" / "adapter"


LESSONS = [DATA, [SupervisedDatum(instruction=f"say {n}", output=str(n + 5)) for n in range(6)]]


@pytest.mark.parametrize("batch_size", [8, 1])
def test_each_adapter_answers_its_own_conversations(predictor, tmp_path, batch_size):
    predictor.batch_size = batch_size  # in common batches, or one adapter after another
    assert can(predictor, "train_each", "predict_each")
    jobs = [AdapterJob(records, run(tmp_path / str(k)), None) for k, records in enumerate(LESSONS)]
    first, second = predictor.train_each(jobs)
    assert predictor.former_adapter() is None
    assert predictor._student.folder is None
    base = predictor.predict(ASKED[:9], GREEDY)
    expected = [base]
    for folder in (first, second):
        predictor.load(folder)
        expected.append(predictor.predict(ASKED[:9], GREEDY))
    assert expected[0] != expected[1] != expected[2]
    adapters = [None, first, second] * 3
    replies = predictor.predict_each(adapters, ASKED[:9], GREEDY)
    assert replies == [expected[i % 3][i] for i in range(9)]
    assert len({str(r) for r in replies}) > 1
    with pytest.raises(AdapterError):
        predictor.predict_each([tmp_path], ASKED[:1], GREEDY)


def test_a_job_that_fails_leaves_the_others(predictor, tmp_path):
    unfit = InProcessTrainer(threads=1, lora_target="nowhere")
    failed, trained = predictor.train_each(
        [
            AdapterJob(LESSONS[0], run(tmp_path / "a"), unfit),
            AdapterJob(LESSONS[1], run(tmp_path / "b")),
        ]
    )
    assert isinstance(failed, Failure)
    assert "lora_target is 'nowhere'" in failed.reason
    assert isinstance(trained, Path)
    assert trained.is_dir()


def test_the_trained_adapters_are_counted_within_what_counts_around_them(predictor, tmp_path):
    heard: list[str] = []
    with hearing_progress(heard.append), counting("inner loops", 2):
        predictor.train_each(
            [AdapterJob(records, run(tmp_path / str(k))) for k, records in enumerate(LESSONS)]
        )
    told = [text for text in heard if "training steps" in text]
    assert told[0].startswith("0 of 2 inner loops, 0 of 2 adapters, 0 of ")
    assert "0 of 2 inner loops, 2 of 2 adapters" in heard
