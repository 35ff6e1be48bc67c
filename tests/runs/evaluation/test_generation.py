"""Rows through a prompt and a model: in parts, resumed, with a reply to each row."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from dataenvgym.errors import (
    ConfigChangedError,
    ConfigurationError,
    EvaluationError,
    RunDirectoryError,
)
from dataenvgym.runs.evaluation.generation import generate
from dataenvgym.storage import read_jsonl, write_jsonl
from dataenvgym.workspace import locked
from tests.damages import after_damages

MODELS = '''
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dataenvgym.interfaces import Failure, Reply


class Model:
    """Repeats the question and its seed; `stop` ends it after so many questions."""

    def predict(self, conversations, sampling):
        Path("asked").open("a").write(f"{len(conversations)} ")
        return [self.say(c, sampling) for c in conversations]

    def say(self, conversation, sampling):
        if Path("stop").exists():
            left = int(Path("stop").read_text() or 0)  # a thread of before may be writing it
            if not left:
                raise KeyboardInterrupt
            Path("stop").write_text(str(left - 1))
        text = conversation[-1].content
        if Path("dead").exists() and Path("dead").read_text() in text:
            return Failure(reason="away", outage=True)
        if Path("refused").exists() and Path("refused").read_text() in text:
            return Failure(reason="HTTP 400: filtered")
        return Reply(text=f"{text}|{sampling.seed}", prompt_tokens=3, completion_tokens=2)


class Served(Model):
    """The same by `submit`; `most` is how many questions waited at once."""

    most = 0

    def __init__(self, concurrency=4):
        self.concurrency = concurrency
        self.pool = ThreadPoolExecutor(1)
        self.waiting = 0

    def submit(self, conversation, sampling):
        self.waiting += 1
        Served.most = max(Served.most, self.waiting)

        def answer():
            self.waiting -= 1
            return self.say(conversation, sampling)

        return self.pool.submit(answer)
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asking.py").write_text(MODELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "ask.yaml").write_text("system: Short.\nuser: |\n  {what} {how}\n")
    rows = [{"what": f"w{i}", "how": [i], "id": i} for i in range(10)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    yield tmp_path
    sys.modules.pop("asking", None)


def typed(model="Model", *more):
    return ["prompt=ask.yaml", "input=rows.jsonl", "predictor=custom",
            f"predictor._target_=asking.{model}", "name=g", "concurrency=4", *more]  # fmt: skip


def contents(folder):
    paths = (p for p in sorted((folder / "generations" / "g").rglob("*")) if p.is_file())
    return {str(path): path.read_bytes() for path in paths}


@pytest.mark.parametrize("model", ["Model", "Served"])
def test_worked_examples_are_shown_before_each_question_and_are_part_of_the_settings(folder, model):
    shots = folder / "shots.yaml"
    first, last = "instruction: w1 or {0}, answer: first", "instruction: w7, answer: last"
    text = f"examples: [{{{{{first}}}}}, {{{{{last}}}}}]"
    shots.write_text(text.format("w2") + "\nnearest: 1\n")
    made = generate(typed(model, "worked_examples=shots.yaml"))
    said = [row["generation"] for row in read_jsonl(made.files[0])]
    assert said[7] == "w7\nlast\n\nw7 [7]|0"
    assert said[1] == "w1 or w2\nfirst\n\nw1 [1]|0"
    shots.write_text(text.format("w3"))
    with pytest.raises(ConfigChangedError, match="examples"):
        generate(typed(model, "worked_examples=shots.yaml"))


@pytest.mark.parametrize("model", ["Model", "Served"])
def test_each_row_has_a_reply_for_each_seed(folder, model):
    made = generate(typed(model, "seeds=2"))
    assert [path.name for path in made.files] == ["rows-000.jsonl", "rows-001.jsonl"]
    assert (made.n_rows, made.replies) == (10, 20)
    assert (made.prompt_tokens, made.completion_tokens, made.was_finished) == (60, 40, False)
    first, second = (list(read_jsonl(path)) for path in made.files)
    assert first[3] == {
        "what": "w3", "how": [3], "id": 3, "generation": "w3 [3]|0", "finish_reason": "stop",
        "prompt_tokens": 3, "completion_tokens": 2,
    }  # fmt: skip
    assert [row["id"] for row in second] == list(range(10))
    assert len({row["generation"].partition("|")[2] for row in first + second}) == 2
    again = generate(typed(model, "seeds=2"))
    assert again.was_finished
    assert generate(typed(model, "seeds=3")).replies == 30


def test_numbers_of_rows_keep_their_digits(folder):
    numbers = f'"what": "w", "how": [{2**70}, 0.10000000000000000001, 1e-400], "id": -{2**64}'
    (folder / "rows.jsonl").write_text(f"{{{numbers}}}\n")
    (file,) = generate(typed()).files
    assert file.read_text().startswith(f"{{{numbers},".replace(" ", ""))
    (row,) = read_jsonl(file)
    assert row["generation"] == f"w [{2**70},0.10000000000000000001,1e-400]|0"
    assert generate(typed()).was_finished


def test_a_server_gets_so_many_questions_at_once(folder):
    generate(typed("Served"))
    assert 1 <= sys.modules["asking"].Served.most <= 4


def test_an_interrupted_generation_ends_with_the_same_files(folder):
    model = "Served"
    generate(typed(model, "seeds=2", "num_chunks=3"))
    undisturbed = contents(folder)
    for stop in (0, 1, 5, 2, 9):
        (folder / "stop").write_text(str(stop))
        fresh = stop == 0
        with pytest.raises(KeyboardInterrupt):
            generate(typed(model, "seeds=2", "num_chunks=3"), fresh=fresh)
        for part in folder.rglob("*.part"):  # as a kill would leave it
            part.write_bytes(part.read_bytes() + b'{"row": 3, "te')
    (folder / "stop").unlink()
    generate(typed(model, "seeds=2", "num_chunks=3"))
    assert contents(folder) == undisturbed


def test_chunks_may_be_generated_by_several_processes(folder):
    generate(typed("Model", "name=whole"))
    parts = [generate(typed("Model", "num_chunks=3", f"chunk={c}")) for c in (2, 0, 1)]
    assert [len(part.files) for part in parts] == [0, 0, 1]
    assert [part.n_rows for part in parts] == [4, 3, 3]
    whole = folder / "generations" / "whole" / "rows-000.jsonl"
    assert parts[2].files[0].read_bytes() == whole.read_bytes()
    with ThreadPoolExecutor(3) as pool:
        more = [typed("Model", "seeds=2", "num_chunks=3", f"chunk={c}") for c in range(3)]
        list(pool.map(generate, more))
    assert generate(typed("Model", "seeds=2", "num_chunks=3")).was_finished


def test_starting_over_leaves_what_other_processes_write(folder):
    generate(typed("Model", "num_chunks=2", "name=two"))
    first = folder / "generations" / "two" / "chunk-0000"
    with locked(first):
        written = (first / "replies-000.jsonl").stat().st_ino
        with pytest.raises(RunDirectoryError, match="writing"):
            generate(typed("Model", "num_chunks=2", "name=two"), fresh=True)
        again = generate(typed("Model", "num_chunks=2", "name=two", "chunk=1"), fresh=True)
    assert (again.was_finished, again.replies) == (False, 5)
    assert (first / "replies-000.jsonl").stat().st_ino == written


def test_rows_without_a_reply_are_asked_again(folder):
    (folder / "dead").write_text("w4")
    with pytest.raises(EvaluationError, match="no reply"):
        generate(typed("Served"))
    assert not list(folder.rglob("rows-*.jsonl"))
    (folder / "dead").write_text("w5")  # which is known already
    assert generate(typed("Served")).replies == 10


@pytest.mark.parametrize("model", ["Model", "Served"])
def test_rows_that_the_model_refuses_are_counted_and_the_rest_goes_on(folder, model):
    (folder / "refused").write_text("w4")
    made = generate(typed(model, "seeds=2", "num_chunks=10"))
    assert (made.replies, len(made.refusals)) == (18, 2)
    assert made.refusals[0] == "row 5: HTTP 400: filtered"
    rows = list(read_jsonl(made.files[1]))
    assert rows[4] == {
        "what": "w4", "how": [4], "id": 4, "generation": None, "finish_reason": None,
        "prompt_tokens": None, "completion_tokens": None, "error": "HTTP 400: filtered",
    }  # fmt: skip
    assert "error" not in rows[5]
    (folder / "refused").unlink()
    again = generate(typed(model, "seeds=2", "num_chunks=10"))
    assert again.was_finished
    assert again.refusals == made.refusals
    assert generate(typed(model, "seeds=2", "num_chunks=10"), fresh=True).replies == 20


def test_a_generation_all_of_whose_rows_are_refused_has_failed(folder):
    (folder / "refused").write_text("w")
    for _ in range(2):
        with pytest.raises(EvaluationError, match="row 1: HTTP 400: filtered"):
            generate(typed())
    (folder / "refused").unlink()
    assert generate(typed(), fresh=True).replies == 10


@pytest.mark.parametrize("stop", [None, 7])
@pytest.mark.parametrize("each", [2, pytest.param(None, marks=pytest.mark.slow)])
def test_damaged_files_are_asked_again_or_refused_by_name(folder, stop, each):
    command = typed("Model", "seeds=2", "num_chunks=2")
    directory = folder / "generations" / "g"
    if stop is None:
        generate(command)
    else:
        (folder / "stop").write_text(str(stop))
        with pytest.raises(KeyboardInterrupt):
            generate(command)
        (folder / "stop").unlink()
        assert list(folder.rglob("*.part"))
    wrong, healed, refused = after_damages(
        directory,
        lambda: generate(command),
        lambda: {n: data for n, data in contents(folder).items() if "files.json" not in n},
        each=each,
        unmarked=("environment.json",),  # other versions are a warning
    )
    assert not wrong, chr(10).join(wrong)
    assert healed > 0
    assert refused > 0


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["field=what"], "has a field 'what' already"),
        (["field=finish_reason"], "field is 'finish_reason', which has a fact"),
        (["chunk=1"], "chunk is 1, expected a number from 0 to 0"),
        (["seeds=0"], "seeds is 0"),
        (["sampling.max_tokens=0"], "sampling.max_tokens"),
        (["seeds=many"], "seeds is 'many'"),
        (["seeds=2", "sampling.temperature=0.0"], "greedy replies are all alike"),
        (["input=none.jsonl"], "there is no file"),
        (["prompt=other.yaml"], "name the prompt once"),
        (["sampling.temprature=1"], "Did you mean 'sampling.temperature'?"),
    ],
)
def test_mistakes_are_found_before_the_model_is_asked(folder, overrides, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        generate([*typed(), *overrides])
    assert not (folder / "generations").exists()
    (folder / "ask.yaml").write_text("user: '{what} {why}'\n")
    with pytest.raises(ConfigurationError, match=r"the prompt has.*jsonl:1"):
        generate(typed())
    with pytest.raises(ConfigurationError, match="name the prompt once"):
        generate(typed()[1:])
    with pytest.raises(ConfigurationError, match="is no prompt"):
        generate(["prompt=sulve", *typed()[1:]])


def test_another_prompt_or_other_rows_are_not_mixed_with_the_first(folder):
    generate(typed())
    (folder / "ask.yaml").write_text("user: '{what}'\n")
    with pytest.raises(ConfigChangedError, match=r"prompt\.user"):
        generate(typed())
    (folder / "ask.yaml").write_text("system: Short.\nuser: |\n  {what} {how}\n")
    write_jsonl(folder / "rows.jsonl", [{"what": "w", "how": 1}])
    with pytest.raises(ConfigChangedError, match="input"):
        generate(typed())
    assert generate(typed(), fresh=True).replies == 1
