import json
import os
import shutil
import threading
from contextlib import suppress

import pytest
import torch

from dataenvgym.errors import ConfigurationError
from dataenvgym.events import CancelledTask
from dataenvgym.records import SupervisedDatum
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors.generation import generate, greedy
from dataenvgym.students.trainers.adapters import new_adapter
from dataenvgym.students.trainers.compute import workers
from dataenvgym.students.trainers.examples import supervised_examples
from dataenvgym.students.trainers.loop import optimize
from dataenvgym.students.trainers.objectives import CrossEntropy, padder
from dataenvgym.students.trainers.student import fingerprint, load_base_model, load_tokenizer, twin
from tests.waiting import eventually, is_cancelled, wait_for

CPU = torch.device("cpu")


def test_a_changed_folder_is_loaded_again(make_student, tmp_path):
    first = load_base_model(str(make_student(tmp_path)), device=CPU, dtype=torch.float32)
    make_student(tmp_path, layers=1)
    second = load_base_model(str(tmp_path), device=CPU, dtype=torch.float32)
    assert (first.config.num_hidden_layers, second.config.num_hidden_layers) == (2, 1)


def test_a_student_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        load_tokenizer(str(tmp_path))
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        load_base_model(str(tmp_path), device=CPU, dtype=torch.float32)


def test_a_tokenizer_without_an_end_is_refused(make_student, tmp_path):
    tokenizer = load_tokenizer(str(make_student(tmp_path)))
    tokenizer.eos_token = None
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ConfigurationError, match="no eos_token"):
        load_tokenizer(str(tmp_path))


def test_weights_larger_than_the_free_memory_are_refused(make_student, tmp_path, monkeypatch):
    folder = make_student(tmp_path / "student")
    monkeypatch.setattr("dataenvgym.students.trainers.student.free_memory", lambda: 1000)
    with pytest.raises(ConfigurationError, match="are free"):
        load_base_model(str(folder), device=torch.device("cpu"), dtype=torch.float32)


def test_a_fingerprint_changes_with_the_weights_even_of_the_same_size_and_time(
    tiny_student, tmp_path
):
    folder = shutil.copytree(tiny_student, tmp_path / "student")
    assert fingerprint(str(folder)) == fingerprint(str(tiny_student))
    before, weights = fingerprint(str(folder)), folder / "model.safetensors"
    known, content = weights.stat(), bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert fingerprint(str(folder)) != before


def a_generation(model, folder):
    return generate(model, [[3, 4]], [400], greedy, end_tokens=[])


def a_training(model, folder):
    records = [SupervisedDatum(instruction=f"say {n}", output=str(n)) for n in range(8)]
    config = TrainingConfig(num_train_epochs=100.0)
    adapted = new_adapter(model, config)
    examples = supervised_examples(records, load_tokenizer(str(folder)), 60)
    objective = CrossEntropy(examples, padder(0, CPU))
    return list(optimize(adapted, objective, config, parts=1, run=map))


@pytest.mark.parametrize("compute", [a_generation, a_training])
@pytest.mark.parametrize("smallest", [0, 10**9], ids=["large", "small"])
def test_a_computation_ends_before_its_next_layer_once_its_block_is_left(
    tiny_smollm, compute, smallest, monkeypatch
):
    """The block is left while the computation is in its first layer."""
    monkeypatch.setattr("dataenvgym.students.trainers.compute.LARGE", smallest)
    model = twin(load_base_model(str(tiny_smollm), device=CPU, dtype=torch.float32))
    begun, ended, computed = threading.Event(), [], []

    def wait_in_layer(module, inputs):
        begun.set()
        assert eventually(is_cancelled)

    first, second = (layer.input_layernorm for layer in model.model.layers)
    first.register_forward_pre_hook(wait_in_layer)
    second.register_forward_pre_hook(lambda module, inputs: computed.append(module))

    def work(what):
        if what == "interrupt":
            wait_for(begun.is_set)
            raise KeyboardInterrupt
        try:
            compute(model, tiny_smollm)
        except CancelledTask:
            ended.append(what)

    with pytest.raises(KeyboardInterrupt), workers(2, CPU) as run:
        run(work, ["interrupt", "compute"])
    assert (ended, computed) == (["compute"], [])


def test_code_in_a_students_folder_is_not_run(tiny_student, tmp_path, monkeypatch):
    """Also not if a user at a terminal would answer yes to transformers' question."""
    folder = shutil.copytree(tiny_student, tmp_path / "student")
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w').close()\nfrom transformers import PretrainedConfig as Own\n"
    (folder / "own.py").write_text(code)
    for name in ("config.json", "tokenizer_config.json"):
        content = json.loads((folder / name).read_text())
        content |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}
        if name == "tokenizer_config.json":
            content["auto_map"] = {"AutoTokenizer": ["own.Own", "own.Own"]}
            content["tokenizer_class"] = "Own"
        (folder / name).write_text(json.dumps(content))
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        load_base_model(str(folder), device=torch.device("cpu"), dtype=torch.float32)
    with suppress(ConfigurationError):
        load_tokenizer(str(folder))
    assert not ran.exists()


@pytest.mark.parametrize("value", ["evil/kernel", "paged|evil/kernel", {"": "evil/kernel"}])
def test_a_students_folder_names_no_kernel_of_the_hub(tiny_student, tmp_path, value):
    folder = shutil.copytree(tiny_student, tmp_path / "student")
    content = json.loads((folder / "config.json").read_text())
    for changed in ({"attn_implementation": value}, {"sub": {"_experts_implementation": value}}):
        (folder / "config.json").write_text(json.dumps({**content, **changed}))
        with pytest.raises(ConfigurationError, match="code"):
            load_base_model(str(folder), device=torch.device("cpu"), dtype=torch.float32)
