"""`study.json`: what it keeps, and what happens if it is damaged."""

import copy
from itertools import cycle

import pytest

from dataenvgym.errors import BrokenFileError, RunDirectoryError
from dataenvgym.storage import read_json, write_json
from dataenvgym.studies.plan import plan_study, read_state, write_state
from dataenvgym.studies.study import Study
from tests.studies.conftest import SMALL

GRID = ("agent=random,open_ended", "seed=0,1", *SMALL)


@pytest.fixture
def plan(folder):
    return plan_study(GRID, name="s", bounds=False)


def test_the_state_is_read_as_it_was_written(plan):
    first, *others = plan.cells
    write_state(plan, unfinished={first.directory: "interrupted"}, stopped=[others[0].directory])
    state = read_state(plan.directory)
    assert [one.name for one in state.strategies] == ["random", "open_ended"]
    assert state.seeds == (0, 1)
    assert [e.status for e in state.episodes] == ["unfinished", "stopped", "finished", "finished"]
    assert [e.reason for e in state.episodes] == ["interrupted", None, None, None]
    assert state.command.startswith("dataenvgym study agent=random,open_ended")


def test_a_race_continued_as_a_study_is_one_until_all_its_episodes_have_run(folder):
    race = plan_study(("agent=random,open_ended", "seed=range(4)", *SMALL), name="s", race=True)
    write_state(race, {}, stopped=[cell.directory for cell in race.cells[-2:]])
    assert read_state(race.directory).race
    study = plan_study(race.overrides, name="s")
    write_state(study, {study.cells[-1].directory: "not run yet"})
    assert read_state(study.directory).race
    write_state(study, {})
    assert not read_state(study.directory).race


def _mutants(state):
    for key in state:
        if key not in ("format", "race"):
            yield {k: v for k, v in state.items() if k != key}
        yield {**state, key: {"other": 1}}
    for key in state["episodes"][0]:
        mutant = copy.deepcopy(state)
        mutant["episodes"][0][key] = ["other"]
        yield mutant
    yield from ([], "text", None)


def test_a_damaged_state_is_named_by_whoever_reads_it_and_kept(plan):
    write_state(plan, {})
    path = plan.directory / "study.json"
    mutants = list(_mutants(read_json(path)))
    assert len(mutants) > 25
    readers = (
        lambda: Study(plan).check(),
        lambda: plan_study((*GRID[:1], "seed=range(6)", *SMALL), name="s", race=True),
        lambda: write_state(plan, {}),
    )
    for mutant, read in zip(mutants, cycle(readers), strict=False):
        write_json(path, mutant)
        before = path.read_bytes()
        with pytest.raises((BrokenFileError, RunDirectoryError), match=r"study\.json"):
            read()
        assert path.read_bytes() == before
