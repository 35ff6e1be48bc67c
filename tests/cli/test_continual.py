"""`dataenvgym adapt --continual`, and contexts at once, on the command line."""

import json

from tests.cli.test_adapt import student  # noqa: F401  a fixture

SMALL = (
    "task=pocket_knowledge",
    *("task.n_train=24", "task.n_validation=8", "task.n_test=8", "task.sampling.max_tokens=8"),
    *("trainer.num_train_epochs=1", "agent.engine.max_tokens=8", "arms.contexts=2", "name=a"),
)


def test_a_sequence_is_shown_as_a_matrix_and_more_ways_extend_it(dataenvgym, folder, student):  # noqa: F811
    command = ("adapt", "--continual", *SMALL, *student)
    first = dataenvgym.succeeds(*command, "arms.names=[merged]")
    for line in ("\nmerged ", "\nbase ", "\nafter 1", "\nafter 2"):
        assert line in first.out
    more = dataenvgym.succeeds(*command, "arms.replays=[0,2]", "seeds=2")
    results = json.loads((folder / "adaptations/a/results.json").read_text())
    names = ["merged", "merged, replay 2", "stacked", "stacked, replay 2"]
    assert [arm["arm"] for arm in results["arms"]] == names
    assert "context: 2 seeds" in more.out
    assert "| stacked, replay 2 |" in (folder / "adaptations/a/report.md").read_text()
    dataenvgym.refuses("arms.contexts: 2 -> 1", *command, "arms.contexts=1")
