"""A configuration and the folder of its run."""

import shutil
from pathlib import Path

import pytest

from dataenvgym.errors import ConfigChangedError, FormatError, RunDirectoryError
from dataenvgym.runs.config import compose, find_run, is_done, open_run, read_config
from dataenvgym.runs.config.run_directory import check_run
from dataenvgym.runs.episodes import Summary, read_summary
from dataenvgym.storage import write_json
from dataenvgym.workspace import FORMAT


@pytest.fixture
def config_of(tmp_path):
    """Composes a configuration whose runs are in this test's folder."""

    def make(*overrides: str):
        return compose([f"runs_dir={tmp_path}", *overrides])

    return make


def opened(config, *, fresh=False) -> Path:
    """The run's folder, opened and let go of."""
    with open_run(config, fresh=fresh) as directory:
        return directory


def begin(directory: Path, iterations=1, status="finished", ended=None):
    """Leave what a run with so many iterations leaves."""
    one = {"val_score": 0.5, "n_val": 1, "n_errors": 0, "n_records": 10}
    one |= {"dropped": {}, "seconds": {}, "val_score_by_skill": {}}
    for i in range(iterations + 1):
        write_json(directory / "iterations" / f"{i:03d}" / "iteration.json", {})
    results = [one | {"iteration": i, "n_records_total": 10 * i} for i in range(iterations + 1)]
    run = {"task": "t", "agent": "a", "seed": 0, "best_iteration": 0}
    summary = Summary(**run, status=status, iterations=results, ended=ended)
    write_json(directory / "summary.json", summary)


def test_the_configuration_is_kept_resolved_and_can_be_read_again(config_of):
    config = config_of("seed=7")
    directory = opened(config)
    text = (directory / "config.yaml").read_text()
    assert "${" not in text
    assert read_config(directory).agent.seed == 7
    assert opened(config) == directory
    assert (directory / "config.yaml").read_text() == text


def test_a_changed_configuration_is_refused_by_the_name_of_the_key(config_of):
    begin(opened(config_of("name=r")))
    with pytest.raises(ConfigChangedError) as caught:
        opened(config_of("name=r", "trainer.lora_rank=4", "environment.replay=1"))
    assert caught.value.keys == ("environment.replay", "trainer.lora_rank")
    assert "trainer.lora_rank: 16 -> 4" in str(caught.value)
    with pytest.raises(ConfigChangedError, match=r"more: \(not there\) -> 1"):
        check_run(config_of("name=r", "+more=1"))
    begin(directory := opened(config_of("name=r", "+more=1"), fresh=True))
    assert [p.name for p in directory.parent.iterdir()] == ["r"]
    with pytest.raises(ConfigChangedError, match=r"more: 1 -> \(not there\)"):
        check_run(config_of("name=r"))


def test_more_iterations_extend_a_run_and_fewer_are_refused(config_of):
    directory = opened(config_of("name=r", "episode.iterations=2"))
    begin(directory, iterations=2)
    assert opened(config_of("name=r", "episode.iterations=4")) == directory
    assert read_config(directory).episode.iterations == 4
    with pytest.raises(ConfigChangedError, match="done") as caught:
        opened(config_of("name=r", "episode.iterations=1"))
    assert caught.value.keys == ("episode.iterations",)


def test_a_run_in_which_nothing_was_done_yet_may_change(config_of):
    directory = opened(config_of("name=r"))
    (directory / "iterations" / "000").mkdir(parents=True)
    opened(config_of("name=r", "seed=5"))
    assert read_config(directory).seed == 5


def test_a_run_is_done_when_nothing_that_is_asked_for_is_left(config_of):
    config = config_of("name=r", "episode.iterations=2")
    assert not is_done(config)
    directory = opened(config)
    begin(directory, iterations=1)
    assert not is_done(config)
    for stop in ("environment.target_score=0.5", "environment.max_records=10"):
        assert is_done(config_of("name=r", stop))
    begin(directory, iterations=1, ended="the budget is spent")
    assert not is_done(config)
    assert is_done(config, or_ended=True)
    begin(directory, iterations=2, status="interrupted")
    assert not is_done(config)
    begin(directory, iterations=2)
    assert is_done(config)
    assert not is_done(config_of("name=r", "episode.iterations=3"))
    shutil.rmtree(directory / "iterations" / "002")
    assert not is_done(config)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_folder_that_is_not_ours_is_left_alone(config_of, tmp_path, fresh):
    precious = tmp_path / "r" / "thesis.tex"
    precious.parent.mkdir()
    precious.write_text("precious")
    with pytest.raises(RunDirectoryError, match="not the folder"):
        opened(config_of("name=r"), fresh=fresh)
    (tmp_path / "r" / "config.yaml").write_text("something: else\n")
    with pytest.raises(RunDirectoryError, match="configuration of"):
        opened(config_of("name=r"), fresh=fresh)
    assert precious.read_text() == "precious"


def test_text_that_looks_like_a_reference_in_a_prompt_is_kept(config_of):
    options = ["task=math_jsonl", "task.sources=p.jsonl", "name=r"]
    config = config_of(*options, r'task.system_prompt="costs \${five}"')
    directory = opened(config)
    begin(directory)
    assert read_config(directory).task.system_prompt == "costs ${five}"
    check_run(config)
    with pytest.raises(ConfigChangedError, match="costs") as caught:
        check_run(config_of(*options, "seed=1", r'task.system_prompt="costs \${six}"'))
    assert caught.value.keys == ("agent.seed", "seed", "task.system_prompt")


@pytest.mark.parametrize(("found", "age"), [(FORMAT + 1, "newer"), (FORMAT - 1, "older")])
def test_a_run_of_another_format_is_refused_and_can_be_started_over(
    config_of, tmp_path, found, age
):
    config = config_of("name=r")
    directory = opened(config)
    begin(directory)
    write_json(directory / "environment.json", {"format": found, "more": "than we know"})
    for use in (lambda: check_run(config), lambda: opened(config), lambda: find_run("r", tmp_path)):
        with pytest.raises(FormatError, match=age):
            use()
    with pytest.raises(FormatError):
        read_summary(directory)
    assert not (opened(config, fresh=True) / "environment.json").exists()


def test_a_damaged_configuration_is_named_in_one_line_with_the_way_out(config_of):
    config = config_of("name=a")
    path = opened(config) / "config.yaml"
    path.write_text("task: [\n")
    for fresh in (False, True):  # whether it is a run cannot be seen, so nothing is removed
        with pytest.raises(RunDirectoryError) as caught:
            opened(config, fresh=fresh)
        message = str(caught.value)
        assert message.endswith("); restore it, or remove the folder")
        assert "\n" not in message
    assert path.exists()
