"""Options of a server's start."""

import json

import pytest

from dataenvgym.errors import ConfigurationError, ExternalError
from dataenvgym.students.predictors.vllm.options import VllmOptions
from dataenvgym.students.predictors.vllm.starting import arguments, start_options, variables


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def make(student="some/student", rank=8, **options):
    given = {"command": "vllm serve", "variant": "cpu", **options}
    return start_options(str(student), VllmOptions(**given), rank=rank)


def words(options, port=8000):
    return " ".join(arguments(options, port))


@pytest.mark.parametrize(("rank", "expected"), [(2, 8), (16, 16), (512, 512)])
def test_the_server_takes_adapters_of_the_trainers_rank_at_least(rank, expected):
    assert f"--max-lora-rank {expected} " in words(make(rank=rank))


def test_options_become_words():
    given = {"max-num-batched-tokens": 8, "no_such": False, "hf_overrides": {"a": 1}}
    line = words(make(options={**given, "enable_chunked_prefill": True}), port=81)
    assert line.startswith("vllm serve --model some/student --served-model-name student ")
    assert "--host 127.0.0.1 --port 81 --dtype auto --enable-lora" in line
    assert line.endswith('-prefill --hf-overrides {"a":1} --max-num-batched-tokens 8')
    assert "--enforce-eager" in line
    for absent in ("no-such", "tensor-parallel", "--no-enable-chunked-prefill", "max-num-seqs"):
        assert absent not in line
    assert "--no-enable-chunked-prefill" in words(make())


@pytest.mark.parametrize("name", ["port", "--served-model-name", "max_loras"])
def test_options_that_the_predictor_sets_itself_are_refused(name):
    with pytest.raises(ConfigurationError, match=name.lstrip("-").replace("-", "_")):
        make(options={name: 1})


def test_a_command_without_words_is_that_of_the_pinned_environment():
    for command in (" ", [], None):
        with pytest.raises(ExternalError, match="install vllm"):
            make(command=command)


def test_on_a_gpu_the_server_compiles_and_spreads():
    spread = {"tensor_parallel_size": 2, "data_parallel_size": 4, "max_num_seqs": 64}
    found = make(variant="cuda", **spread, gpus=(1, 3), sleep=True)
    line = words(found)
    assert "--tensor-parallel-size 2 --data-parallel-size 4 --max-num-seqs 64" in line
    assert "--enable-sleep-mode" in line
    assert "--enforce-eager" not in line
    assert "chunked-prefill" not in line
    found = variables(found, {"CUDA_VISIBLE_DEVICES": "0"})
    assert (found["CUDA_VISIBLE_DEVICES"], found["VLLM_SERVER_DEV_MODE"]) == ("1,3", "1")
    assert "VLLM_CPU_KVCACHE_SPACE" not in found
    with pytest.raises(ConfigurationError, match="data_parallel_size"):
        make(data_parallel_size=2)


def test_the_servers_python_gets_nothing_of_ours():
    current = {"PATH": "/bin", "PYTHONPATH": "/ours", "VLLM_API_KEY": "k", "HOME": "/home/me"}
    found = variables(make(command=["/opt/vllm/bin/python", "-m", "vllm"]), current)
    assert found["PATH"] == "/opt/vllm/bin:/bin"
    assert found["HOME"] == "/home/me"
    assert "PYTHONPATH" not in found
    assert "VLLM_API_KEY" not in found
    assert variables(make(command="vllm serve"), current)["PATH"] == "/bin"


def test_the_type_is_that_of_the_students_weights(tmp_path):
    for key, value, expected in (
        ("dtype", "bfloat16", "bfloat16"),
        ("torch_dtype", "torch.float32", "float32"),
        ("torch_dtype", "float8", "auto"),
    ):
        (tmp_path / "config.json").write_text(json.dumps({key: value}))
        assert make(tmp_path).dtype == expected
    assert make(tmp_path, dtype="float16").dtype == "float16"
    assert make("Qwen/Qwen3-8B").dtype == "auto"
