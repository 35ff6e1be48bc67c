import sys

import pytest

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.records import parse_training_data
from dataenvgym.runs.episodes.export import export_adapter, export_records
from dataenvgym.students.llama_factory import stage_of
from tests.runs.episodes.echo import Writer


@pytest.fixture
def load(monkeypatch, tmp_path):
    """`datasets.load_dataset`, offline, with a cache of its own."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="needs the extra [datasets]")

    def run(folder, *names):
        return datasets.load_dataset(
            str(folder), *names, split="train", cache_dir=str(tmp_path / "cache")
        )

    return run


def test_exported_records_load_with_their_provenance(finished_run, tmp_path, load):
    folder = export_records(finished_run, tmp_path / "out")
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
        "README.md", "data/train.parquet"
    ]  # fmt: skip
    rows = load(folder)
    assert rows.num_rows == 9
    first = rows[0]
    assert first.pop("history") == []
    assert first == {
        "id": "001-00000", "skill": "hum", "subskill": None, "agent": "writer", "iteration": 1,
        "instruction": "Say item 1000 [/oops] `x`", "input": "", "system": "", "output": "1000",
    }  # fmt: skip


MIXED = (
    {"instruction": "q1", "output": "2024-01-01", "history": [["u", "a"], ["v", "b"]]},
    {"instruction": "when", "output": "2024-01-02"},
    {"kind": "preference", "instruction": "q2", "chosen": "yes", "rejected": "no"},
    {"kind": "preference", "messages": [{"role": "user", "content": "q4"}],
     "tools": [{"name": "add"}], "chosen": "yes",
     "rejected": [{"role": "assistant", "content": "", "tool_calls": [{"name": "add"}]}]},
    {"kind": "kto", "instruction": "q3", "output": "so", "desirable": False},
    {"kind": "text", "text": "2024-01-01 once upon a time"},
    {"kind": "chat", "messages": [
        {"role": "user", "content": "add", "name": "Ann"},
        {"role": "assistant", "content": "",
         "tool_calls": [{"name": "add", "arguments": {"x": 1, "y": "two"}}]}],
     "tools": [{"name": "add", "parameters": {"x": {"default": 1}, "y": {"default": "s"}}}]},
    {"kind": "scored", "weights": [0.5, None], "messages": [
        {"role": "user", "content": "q5"}, {"role": "assistant", "content": "a5"},
        {"role": "user", "content": "q6"}, {"role": "assistant", "content": "a6"}]},
)  # fmt: skip


def test_each_kind_of_record_is_a_configuration_of_its_own(play, tmp_path, load):
    class Mixed(Writer):
        stages = iter(("sft", "dpo", "kto", "pt", "scored"))

        def __call__(self, completed, predictor):
            stage = next(self.stages)
            return [record for record in parse_training_data(MIXED) if stage_of(record) == stage]

    play(tmp_path / "run", agent=Mixed(), iterations=5)
    folder = export_records(tmp_path / "run", tmp_path / "out")
    supervised = load(folder, "supervised")
    assert supervised["output"][:] == ["2024-01-01", "2024-01-02"]  # text, and no date
    assert supervised["history"][:] == [[["u", "a"], ["v", "b"]], []]
    assert load(folder, "preference")[0]["rejected"] == "no"
    assert load(folder, "preference").num_rows == 1
    turn = load(folder, "preference_chat")[0]
    assert [m["content"] for m in (*turn["messages"], *turn["chosen"])] == ["q4", "yes"]
    assert turn["rejected"][0]["tool_calls"] == '[{"name":"add","arguments":{}}]'
    assert load(folder, "kto")[0]["desirable"] is False
    scored = load(folder, "scored")[0]
    assert (scored["weights"], scored["messages"][3]["content"]) == ([0.5, None], "a6")
    assert load(folder, "text")[0]["text"] == "2024-01-01 once upon a time"
    chat = load(folder, "chat")[0]
    assert chat["messages"][0]["content"] == "Ann: add"
    assert chat["messages"][1] == {
        "role": "assistant", "content": "",
        "tool_calls": '[{"name":"add","arguments":{"x":1,"y":"two"}}]',
    }  # fmt: skip
    assert chat["tools"].startswith('[{"name":"add"')


def test_a_folder_with_something_in_it_is_not_overwritten(finished_run, tmp_path):
    (tmp_path / "out").mkdir()
    export_records(finished_run, tmp_path / "out")  # an empty one will do
    before = (tmp_path / "out" / "data" / "train.parquet").read_bytes()
    for export in (export_records, export_adapter):
        with pytest.raises(ConfigurationError, match="new or empty folder"):
            export(finished_run, tmp_path / "out")
    assert (tmp_path / "out" / "data" / "train.parquet").read_bytes() == before


def test_a_run_without_records_or_adapters_has_nothing_to_export(play, tmp_path):
    play(tmp_path / "run", agent=Writer(size=0), iterations=0 + 1, task=None, max_records=0)
    with pytest.raises(RunDirectoryError, match="no accepted records"):
        export_records(tmp_path / "run", tmp_path / "out")
    with pytest.raises(RunDirectoryError, match="is the base"):
        export_adapter(tmp_path / "run", tmp_path / "out")
    with pytest.raises(RunDirectoryError, match="no finished iteration 5"):
        export_adapter(tmp_path / "run", tmp_path / "out", iteration=5)
    assert not (tmp_path / "out").exists()


def test_the_adapter_of_the_best_or_of_a_given_iteration_is_exported(finished_run, tmp_path):
    best = export_adapter(finished_run, tmp_path / "best")
    source = finished_run / "iterations" / "003" / "adapter" / "scripted.json"
    assert (best / "scripted.json").read_bytes() == source.read_bytes()
    first = export_adapter(finished_run, tmp_path / "first", iteration=1)
    assert "after iteration 1" in (first / "README.md").read_text()
    assert "| test |" not in (first / "README.md").read_text()


def test_an_exported_adapter_loads_with_peft(play, tmp_path, tiny_student):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    from dataenvgym.students.predictors import InProcessPredictor

    play(tmp_path / "run", student=InProcessPredictor(tiny_student), iterations=1)
    folder = export_adapter(tmp_path / "run", tmp_path / "out", iteration=1)
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: peft\n")
    assert "base model **tiny**" in card
    assert str(tiny_student) not in card
    PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tiny_student), str(folder))


def test_without_pyarrow_the_extra_is_named_and_nothing_is_left(
    finished_run, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"dataenvgym\[datasets"):
        export_records(finished_run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("linked", ["adapter", "adapter/secret", "adapter/below/secret"])
def test_an_adapter_with_a_link_is_not_exported(finished_run, tmp_path, linked):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("private")
    iteration = finished_run / "iterations" / "003"
    if linked == "adapter":
        (iteration / "adapter").rename(tmp_path / "moved")
    (iteration / linked).parent.mkdir(exist_ok=True)
    target = tmp_path / "moved" if linked == "adapter" else secret
    (iteration / linked).symlink_to(target, target_is_directory=True)
    with pytest.raises(RunDirectoryError, match=rf"{linked} is a link"):
        export_adapter(finished_run, tmp_path / "out", iteration=3)
    assert not (tmp_path / "out").exists()
