"""Scenes that are played are kept as episodes, and told of as events."""

import pytest

from dataenvgym.domains.social import Profiles, SocialTask, read_sotopia, write_sotopia
from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.domains.social.scene_log import EPISODES
from dataenvgym.domains.social.sotopia_dump import SotopiaDump
from dataenvgym.errors import StoreError
from dataenvgym.records.store import FileStore, open_store
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.base import attempts_for
from tests.domains.social.social_scenes import instance, judge, people, sale, says, scene, verdict


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store")


def verdicts(**scores):
    """Of all dimensions."""
    return verdict(**dict.fromkeys(DIMENSIONS, 0) | scores)


def played(task, store, problems, *replies, phase="sample-000"):
    """The problems, tried by a student that says the replies in turn."""
    task.domain.record_in(store, {"student": "pupil"})
    with attempts_for("mine", phase):
        return task.attempt(says(*replies), problems)


def modeled(judge=None, partner="[leave]", **options):
    others = {"partner": says(partner)} | ({"judge": judge} if judge else {})
    return SocialTask(partner="model", others=others, **options)


def test_a_scene_is_stored_with_words_and_scores_and_gives_events_as_it_runs(store):
    task = modeled(partner="[leave] Bye.")
    (completed,) = played(task, store, [instance(sale())], "I want 130 euros.")
    (id,) = store.ids(EPISODES)
    kept = store.get(EPISODES, id)
    assert id.startswith("mine.sample-000.one.")
    assert (kept.scene, kept.characters, kept.tag) == ("talk", ("ann", "bob"), "mine")
    assert kept.models == ("rules", "pupil", "model")
    assert [[(u.sender, u.text) for u in turn] for turn in kept.turns[1:]] == [
        [("Ann Lee", 'said: "I want 130 euros."')],
        [("Bob Lee", 'left the conversation, saying: "Bye."')],
    ]
    assert kept.turns[0][1].recipient == "Bob Lee"
    assert kept.scores[0].dimensions == completed.scores == {"goal": 0.0}
    assert kept.scores[1] is None
    events = [stored.event for stored in store.events("mine")]
    assert [e["event"] for e in events] == ["began", "turn", "turn", "ended", "scored"]
    assert {e["episode"] for e in events} == {id}
    assert (events[1]["from"], events[1]["kind"]) == ("Ann Lee", "speak")
    assert events[3]["why"] == "fewer than two are left"


def test_a_scene_that_breaks_off_leaves_no_episode(store):
    (completed,) = played(modeled(partner=""), store, [instance(sale())], "Hello.")
    assert completed.fault == "partner"
    assert store.ids(EPISODES) == []
    assert [e.event["event"] for e in store.events("mine")] == ["began", "turn", "failed"]


def test_the_same_attempt_replaces_its_episode_and_another_phase_has_its_own(store):
    task = SocialTask()
    problems = task.instances[:2]
    played(task, store, problems, "[leave]")
    first = store.ids(EPISODES)
    played(SocialTask(), store, problems, "[leave]")
    assert store.ids(EPISODES) == first
    played(SocialTask(), store, problems, "[leave]", phase="sample-001")
    assert len(store.ids(EPISODES)) == 2 * len(first) == 4


def test_nothing_is_kept_of_attempts_that_are_for_nothing_and_of_gold_records(store):
    task = SocialTask()
    task.domain.record_in(store)
    assert task.domain.gold_record(task.instances[0]) is not None
    task.attempt(ScriptedPredictor(lambda conversation: "[leave]"), task.instances[:1])
    assert store.ids(EPISODES) == []


def test_episodes_are_written_in_sotopias_fields(store, tmp_path):
    task = modeled(judge(verdicts(goal=4)), dimensions=tuple(DIMENSIONS), scored="all")
    played(task, store, [instance(scene())], "Hello.")
    kept = store.get_many(EPISODES, store.ids(EPISODES))
    assert store.find(EPISODES, scene="talk") == store.ids(EPISODES)
    characters = {c.id: c for c in people()}
    dump = SotopiaDump(Profiles(characters, {"talk": scene()}, {}), tuple(kept))
    write_sotopia(tmp_path / "dump", dump)
    theirs = tuple(e.model_copy(update={"by_judge": ()}) for e in kept)  # they have one judge
    assert read_sotopia(tmp_path / "dump").episodes == theirs


def test_a_scene_that_fails_says_so_once_a_store_that_was_lost_is_back(tmp_path):
    class Lost(FileStore):
        is_there = False
        n_refused = 0

        def add_event(self, stream, event):
            if not self.is_there:
                self.n_refused += 1
                raise StoreError("no connection")
            return super().add_event(stream, event)

    def fails(conversation):
        raise ValueError("the partner trips")

    store = Lost(tmp_path)
    task = SocialTask(partner="model", others={"partner": ScriptedPredictor(fails)})
    problem = instance(sale())
    with pytest.raises(StoreError, match="no connection"):
        played(task, store, [problem], "Hello.")
    store.is_there = True
    with attempts_for("mine", "sample-000"):
        (completed,) = task.attempt(ScriptedPredictor(lambda c: "Hello."), [problem])
    assert completed.error is not None
    events = [stored.event["event"] for stored in store.events("mine")]
    assert (events[0], events[-1]) == ("began", "failed")

    def loses(conversation):
        store.is_there, store.n_refused = False, 0
        return "Hello."

    with attempts_for("mine", "sample-001"), pytest.raises(StoreError, match="no connection"):
        task.attempt(ScriptedPredictor(loses), [problem])
    assert store.n_refused == 1  # closing the scene does not try again


def test_a_full_disk_is_an_error_of_the_store(tmp_path):
    (tmp_path / "store").write_text("a file where a folder should be")
    task = SocialTask()
    with pytest.raises(StoreError, match="cannot be written"):
        played(task, open_store(tmp_path / "store"), task.instances[:1], "Hello.")


def test_another_trial_has_the_same_scenes_and_other_seeds():
    first, second = (SocialTask(trial=trial).instances for trial in (0, 1))
    assert [i.id for i in first] == [i.id for i in second]
    assert all(a.data["seed"] != b.data["seed"] for a, b in zip(first, second, strict=True))
    assert SocialTask(trial=1).sampling.seed != SocialTask().sampling.seed
