"""SmolLM2 itself, with the weights of `dataenvgym external install smollm2`."""

import pytest
import torch

from dataenvgym.agents.engines.gold import gold_records
from dataenvgym.cli.main import main
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.records import Message, SupervisedDatum
from dataenvgym.runs.config import build_task, compose
from dataenvgym.storage import hash_file, read_json, read_jsonl
from dataenvgym.students.external.models import external_models
from dataenvgym.students.predictors import InProcessPredictor, VllmPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.llama_factory import LlamaFactoryTrainer
from dataenvgym.students.trainers.student import load_tokenizer

pytestmark = [pytest.mark.external, pytest.mark.timeout(1200)]

WEIGHTS = "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd"
"""SHA-256 of `model.safetensors`: published figures belong to these weights."""
TOKENS = {
    "12345 + 678 = 13023": "33 34 35 36 37 1232 216 38 39 40 446 216 33 35 32 34 35",
    "x=  12\n\n  34": "104 45 256 33 34 39892 35 36",
    "price: $1,234.56": "17517 42 1885 33 28 34 35 36 30 37 38",
    "<|im_start|>user\nhi 5<|im_end|>\n": "1 4093 198 6004 216 37 2 198",
    "I'll don't we're 'S": "57 3060 1326 982 392 2316 637 67",
    "٠١٢ 5५६": "164 250 164 111 164 112 216 37 9310 121 9310 122",
}
"""The tokens of llama.cpp, which reads the GGUF file itself."""
QUESTIONS = (
    "What is the capital of France?",
    "Name three primes.",
    "What is 17 + 25?",
    "List the days of the week.",
    "Who was Ada Lovelace?",
    "What is the opposite of hot?",
)
GREEDY = SamplingParameters(max_tokens=24)
OPTIONS = {
    "lora_rank": 4,
    "max_steps": 10,
    "per_device_train_batch_size": 4,
    "logging_steps": 1,
    "lora_dropout": 0.0,
    "learning_rate": 3e-4,
    "threads": 1,
}
DATA = [SupervisedDatum(instruction=f"{n} + 1 =", output=f"It is {n + 1}.") for n in range(40)]


@pytest.fixture(scope="module")
def folder():
    model = external_models()["smollm2"]
    if not model.is_installed:
        pytest.skip(f"smollm2 is not installed: {model.how_to_install}")
    return model.folder


@pytest.fixture(scope="module")
def asked():
    return [(Message(role="user", content=question),) for question in QUESTIONS]


@pytest.fixture(scope="module")
def answers(folder, asked):
    return texts(InProcessPredictor("smollm2").predict(asked, GREEDY))


def texts(replies: list[Reply | Failure]) -> list[str]:
    assert all(isinstance(reply, Reply) for reply in replies), replies
    return [reply.text for reply in replies if isinstance(reply, Reply)]


def trained(trainer, directory):
    """The student after forty records, and the losses of its steps."""
    student = InProcessPredictor("smollm2", trainer, threads=1)
    student.train(DATA, TrainingRun(directory=directory, seed=3))
    (log,) = directory.rglob("trainer_log.jsonl")
    return student, [line["loss"] for line in read_jsonl(log) if "loss" in line]


@pytest.fixture(scope="module")
def taught(folder, tmp_path_factory):
    """The student after training, its losses, and the folder where it is saved."""
    student, losses = trained(InProcessTrainer(**OPTIONS), tmp_path_factory.mktemp("run"))
    student.save(saved := tmp_path_factory.mktemp("students") / "taught")
    return student, losses, saved


@pytest.fixture(scope="module")
def arithmetic(folder):
    """Hundred problems in plain English."""
    pytest.importorskip("reasoning_gym", reason="needs the extra [reasoning-gym]")
    task = build_task(compose(["task=smol_arithmetic"]))
    instances = task.on("validation").instances
    assert len(instances) == 100
    return task, instances


@pytest.fixture(scope="module")
def served(folder, vllm_python, tmp_path_factory):
    """The student in a vLLM server, with leases of its own."""
    command = [str(vllm_python), "-P", "-m", "vllm.entrypoints.openai.api_server"]
    cache = tmp_path_factory.mktemp("cache")
    (cache / folder.parent.name).symlink_to(folder.parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATAENVGYM_CACHE", str(cache))
        predictor = VllmPredictor(
            "smollm2", trainer=InProcessTrainer(**OPTIONS), command=command, max_model_len=1024
        )
        yield predictor
        predictor.close()


def test_the_weights_are_those_of_the_published_figures(folder):
    assert hash_file(folder / "model.safetensors") == WEIGHTS
    assert "SmolLM2-135M-Instruct, dequantized from Q4_1" in (folder / "ORIGIN.md").read_text()
    assert "Apache License" in (folder / "LICENSE").read_text()


def test_texts_have_the_tokens_of_llama_cpp_and_round_trip(folder):
    tokenizer = load_tokenizer(str(folder))
    for text, expected in TOKENS.items():
        ids = tokenizer(text, add_special_tokens=False).input_ids
        assert ids == list(map(int, expected.split())), text
        assert tokenizer.decode(ids) == text


def test_it_answers_in_english_and_like_transformers(folder, asked, answers):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    assert answers[0] == "The capital of France is Paris."
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.float32
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for (message,), answer in zip(asked, answers, strict=True):
        chat = [{"role": "user", "content": message.content}]
        given = tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        output = model.generate(**given, max_new_tokens=24, do_sample=False)[0]
        new = output[given["input_ids"].shape[1] :]
        assert tokenizer.decode(new, skip_special_tokens=True) == answer


def test_it_learns_and_what_it_learned_is_saved_and_loaded(asked, answers, taught):
    student, losses, saved = taught
    assert losses[-1] < losses[0] - 0.2
    learned = texts(student.predict(asked, GREEDY))
    assert learned != answers
    other = InProcessPredictor("smollm2")
    other.load(saved)
    assert texts(other.predict(asked, GREEDY)) == learned


def test_llama_factory_finds_the_same_folder_and_has_the_same_losses_for_ten_steps(
    llama_factory_python, taught, tmp_path
):
    command = str(llama_factory_python.with_name("llamafactory-cli"))
    trainer = LlamaFactoryTrainer(command=command, **OPTIONS)
    try:
        _, theirs = trained(trainer, tmp_path)
    finally:
        trainer.close()
    _, ours, _ = taught
    assert len(ours) == 10
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_vllm_gives_the_same_answers_before_and_after_an_adapter_is_swapped_in(
    arithmetic, served, taught
):
    task, instances = arithmetic

    def answers_of(student, most=100):
        completed = task.attempt(student, instances[:most])
        assert not any(c.error for c in completed)
        return [c.transcript[-1].content for c in completed]

    here = InProcessPredictor("smollm2", threads=1)
    ours, theirs = [answers_of(here)], [answers_of(served)]
    for student in (here, served):
        student.load(taught[2])
    ours.append(answers_of(here))
    theirs.append(answers_of(served))
    for expected, found in zip(ours, theirs, strict=True):
        assert sum(a == b for a, b in zip(expected, found, strict=True)) >= 98
    assert sum(a != b for a, b in zip(*ours, strict=True)) > 20  # the adapter changes answers
    served.reset()
    assert answers_of(served, 20) == theirs[0][:20]


@pytest.mark.parametrize("name", ["arithmetic", "numbers", "facts", "code", "tools", "social"])
def test_a_step_on_each_of_its_tasks(folder, tmp_path, name):
    if name in ("arithmetic", "numbers"):
        pytest.importorskip("reasoning_gym", reason="needs the extra [reasoning-gym]")
    task = build_task(compose([f"task=smol_{name}"]))
    student = InProcessPredictor(
        "smollm2", InProcessTrainer(**OPTIONS | {"max_steps": 1, "cutoff_len": 640}), threads=1
    )
    records = gold_records(task, task.on("train").instances[:4])
    student.train(records, TrainingRun(directory=tmp_path, seed=3))
    completed = task.attempt(student, task.on("validation").instances[:2])
    assert [c.error for c in completed] == [None, None]


def test_the_experiment_teaches_it_on_the_command_line(folder, tmp_path, monkeypatch):
    pytest.importorskip("reasoning_gym", reason="needs the extra [reasoning-gym]")
    monkeypatch.chdir(tmp_path)
    sizes = ["task.sizes.validation=2", "task.sizes.test=2", "agent.records_per_iteration=8"]
    small = [*sizes, "episode.iterations=1", "predictor.threads=1", "--name", "small"]
    assert main(["run", "experiment=smollm2", *small]) == 0
    summary = read_json(tmp_path / "runs" / "small" / "summary.json")
    assert (summary["status"], summary["iterations"][-1]["n_records"]) == ("finished", 8)
