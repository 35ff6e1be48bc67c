import json

import pytest

SMALL = (
    "task=pocket_knowledge",
    *("task.n_train=24", "task.n_validation=8", "task.n_test=8", "task.sampling.max_tokens=8"),
    *("trainer.num_train_epochs=1", "rest_em.trainer.num_train_epochs=1"),
    *("agent.engine.max_tokens=8", "arms.contexts=2", "name=a"),
    *("rest_em.contexts=2", "rest_em.edits=1", "rest_em.rounds=1"),
)


@pytest.fixture
def student(make_student, folder, capsys):
    """A random student with room for a passage."""
    make_student(folder / "student", context=1024)
    capsys.readouterr()  # transformers' progress bar
    return ("student=hf", "student.path=student")


def test_arms_are_compared_and_the_same_command_shows_them_again(dataenvgym, folder, student):
    first = dataenvgym.succeeds("adapt", *SMALL, *student)
    assert "adaptation: adaptations/a" in first.out
    for arm in ("base", "context_only", "self_edits", "rest_em_1"):
        assert f"\n{arm} " in first.out
    results = json.loads((folder / "adaptations/a/results.json").read_text())
    assert [arm["arm"] for arm in results["arms"]] == [
        *("base", "context_only", "self_edits", "rest_em_1")
    ]
    assert (folder / "adaptations/a/seed-0/round-1/student/config.json").exists()
    assert "| rest\\_em\\_1 |" in (folder / "adaptations/a/report.md").read_text()
    again = dataenvgym.succeeds("adapt", *SMALL, *student)
    assert "This run was finished already" in again.out

    more = dataenvgym.succeeds("adapt", *SMALL, *student, "seeds=2", "arms.names=[self_edits]")
    assert "2 seeds, 2 contexts" in more.out
    dataenvgym.refuses("arms.edits: 1 -> 3", "adapt", *SMALL, *student, "arms.edits=3")
    assert json.loads((folder / "adaptations/a/results.json").read_text())["seeds"] == [0, 1]


def test_a_dry_run_counts_what_the_arms_then_do(dataenvgym, folder, student):
    names = "arms.names=[context_only,gold,self_edits,rest_em]"
    command = ("adapt", *SMALL, *student, names, "arms.edits=2", "arms.repeats=2")
    dry = dataenvgym.succeeds(*command, "--dry", "--prompts", "2")
    assert not (folder / "adaptations").exists()
    assert "adaptations/a (new)" in dry.out
    assert "The writer's prompt 2 of" in dry.out
    assert dry.out.count("Let's read the following passage") == 2
    rows = _rows(dry.out)
    assert set(rows) == {"base", "context_only", "gold", "self_edits", "rest_em_1", "all"}

    gold = dataenvgym.succeeds("adapt", "--dry", "task=pocket_knowledge", "arms.names=[gold]")
    assert "No prompt of a writer" in gold.out
    dataenvgym.succeeds(*command)
    done = folder / "adaptations/a/seed-0"
    n_edits = sum(len(file.read_text().splitlines()) for file in done.rglob("edits.jsonl"))
    loops = [json.loads(file.read_text()) for file in done.rglob("adapted.json")]
    trained = [loop for loop in loops if loop["n_records"]]
    bases = [json.loads(file.read_text()) for file in done.rglob("base_answers.json")]
    n_asked = sum(len(loop["answers"]) for loop in trained) + sum(map(len, bases))
    assert rows["rest_em_1"][0] == 4
    assert rows["all"] == [n_edits, len(trained) + 1, n_asked]  # 1 training of the writer
    assert "adaptations/a (continued)" in dataenvgym.succeeds(*command, "--dry").out


def _rows(out):
    """The numbers of each arm in the table."""
    lines = out[out.index("arm  ") :].partition("At most")[0].splitlines()[2:]
    return {name: list(map(int, numbers)) for name, *numbers in map(str.split, filter(None, lines))}
