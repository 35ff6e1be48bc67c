"""Suites of evaluations: tasks, benchmarks, and suites of suites."""

import re
import sys
from importlib.metadata import EntryPoint, EntryPoints, entry_points

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.groups import ENTRY_POINTS, _folders_of_packages, options_by_group
from dataenvgym.runs.config.suites import evaluations_of

FILES = {
    "sums": "# Sums\ntask: [pocket_math:4, pocket_code]\nsamples: 2\nmetrics: [pass@1, pass^2]\n",
    "facts": "task: pocket_knowledge\ntask.template: 'A \"b\", {instruction}'\nchunk: null\n",
    "both": "suite: [sums, facts]\nsamples: 3\ntask.chunk_size: 64\n",
    "loop": "suite: round\n",
    "round": "suite: [loop]\n",
    "empty": "samples: 2\n",
    "bare": "- pocket_math\n",
}


@pytest.fixture
def own(tmp_path):
    (tmp_path / "suite").mkdir()
    for name, text in FILES.items():
        (tmp_path / "suite" / f"{name}.yaml").write_text(text)
    return tmp_path


def test_a_single_task_stays_as_it_was_typed():
    typed = ["samples=2", "task=pocket_math", "+predictor.wit=3"]
    assert evaluations_of(typed) == [typed]
    assert evaluations_of([]) == [[]]
    assert evaluations_of(["task=my_module:MyTask"]) == [["task=my_module:MyTask"]]


def test_each_typed_task_is_an_evaluation_with_its_samples():
    assert evaluations_of(["task=a:4,b,c:8", "samples=2", "model=hf/x"]) == [
        ["samples=4", "model=hf/x", "task=a"],
        ["samples=2", "model=hf/x", "task=b"],
        ["samples=8", "model=hf/x", "task=c"],
    ]
    assert evaluations_of(["task=a:4"]) == [["task=a", "samples=4"]]


def test_a_suite_has_the_overrides_of_its_file_and_what_is_typed_wins(own):
    first, second = evaluations_of(["suite=sums", "metrics=[accuracy]"], own)
    assert first == ["samples=4", "metrics=[accuracy]", "task=pocket_math"]
    assert second == ["samples=2", "metrics=[accuracy]", "task=pocket_code"]
    typed = evaluations_of(["suite=sums", "samples=1"], own)
    assert [part[0] for part in typed] == ["samples=1", "samples=1"]


def test_a_suite_may_name_suites_whose_overrides_it_replaces(own):
    parts = evaluations_of(["suite=both"], own)
    assert [part[-2 if "chunk_size" in part[-1] else -1] for part in parts[:2]] == [
        "task=pocket_math",
        "task=pocket_code",
    ]
    assert all({"samples=3", "task.chunk_size=64"} < {*part} for part in parts)
    config = compose(parts[2], name="eval")
    assert config.task.template == 'A "b", {instruction}'
    assert (config.samples, config.task.chunk_size, config.chunk) == (3, 64, None)
    assert len(evaluations_of(["suite=both,facts"], own)) == 4


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["suite=sumz"], "there is no suite=sumz. Did you mean 'sums'?"),
        (["suite=loop"], "suite 'loop' names itself (loop -> round -> loop)"),
        (["suite=empty"], "suite 'empty' names no task"),
        (["suite=bare"], "bare.yaml"),
        (["suite=sums", "task=pocket_code"], "both choose tasks"),
    ],
)
def test_what_is_not_a_suite_of_evaluations_is_refused(own, typed, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        evaluations_of(typed, own)


def test_an_installed_package_adds_configurations_by_an_entry_point(own, monkeypatch):
    package = own / "their_package"
    (own / "suite").rename(own / "moved")
    package.mkdir()
    (package / "__init__.py").touch()
    (own / "moved").rename(package / "suite")
    point = EntryPoint("theirs", "their_package", "dataenvgym.configs")
    monkeypatch.syspath_prepend(str(own))
    ours = [one for group in ENTRY_POINTS.values() for one in entry_points(group=group)]
    found = EntryPoints([*ours, point])
    monkeypatch.setattr("dataenvgym.runs.config.groups.entry_points", found.select)
    _folders_of_packages.cache_clear()
    try:
        assert "sums" in options_by_group()["suite"]
        assert len(evaluations_of(["suite=sums"])) == 2
        (package / "task").mkdir()
        (package / "task" / "theirs.yaml").write_text(
            "# Theirs\n_target_: dataenvgym.domains.math.pocket.PocketMathTask\nn_test: 7\n"
        )
        assert compose(["task=theirs"]).task.n_test == 7
        assert "their_package" not in sys.modules
    finally:
        monkeypatch.undo()
        _folders_of_packages.cache_clear()


@pytest.mark.parametrize("name", [n for n in options_by_group()["suite"] if n != "teach-v1"])
def test_each_suite_of_the_package_is_of_evaluations(name, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    configs = [compose(part, name="eval") for part in evaluations_of([f"suite={name}"])]
    assert configs
    if name == "math":
        paths = [str(config.task.sources.validation) for config in configs]
        assert paths == ["/data/gsm8k/test.jsonl", "/data/math/test.jsonl"]
        assert [config.samples for config in configs] == [4, 4]
        assert configs[1].task.template.endswith("\n\nReason step by step. Put the final answer "
                                                 "into \\boxed{}.")  # fmt: skip
