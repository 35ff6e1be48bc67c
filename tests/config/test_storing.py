"""The store of a configuration."""

import pytest

from dataenvgym.config import build_task, compose, run_name
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.episodes import EPISODES
from dataenvgym.errors import ConfigurationError
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.store import open_store
from dataenvgym.tasks.base import attempts_for


def test_the_task_keeps_its_episodes_in_the_store(tmp_path):
    config = compose(["task=social", "store=files", f"store.where={tmp_path}", "model=openai/M"])
    task = build_task(config)
    with attempts_for("mine", "sample-000"):
        task.attempt(ScriptedPredictor(lambda c: "[leave]"), task.instances[:1])
    store = open_store(tmp_path)
    (episode,) = store.get_many(EPISODES, store.ids(EPISODES))
    assert (episode.tag, episode.models[0]) == ("mine", "rules")
    assert sorted(episode.models[1:]) == ["M", "fair"]
    assert len(store.events("mine")) > 2


def test_no_store_is_the_default_and_a_store_does_not_change_the_name_of_a_run(tmp_path):
    plain = compose(["task=social"])
    assert plain.store._target_ is None
    assert build_task(plain).domain.recorder is None
    assert run_name(plain) == run_name(compose(["task=social", "store=files"]))


def test_who_is_who():
    config = compose(
        [
            "task=social",
            "model=hf/A:b",
            "task.others.partner=openai/P",
            "task.others.judge=[openai/J,openai/K]",
        ]
    )
    assert SocialDomain.model_names(config) == {"student": "A:b", "partner": "P", "judge": "J + K"}
    assert (
        SocialDomain.model_names(compose(["task=social", "task.partner=soft"]))["partner"] == "soft"
    )
    itself = compose(["task=social", "task.others.partner=student/former"])
    assert SocialDomain.model_names(itself)["partner"] == "student/former"


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["task=pocket_math", "store=files"], "has none: leave store out"),
        (["task=social", "store=files", "store.where="], "expected a folder, a server"),
        (["task=social", "store=redis", "store.where=http://x"], "expected a folder, a server"),
    ],
)
def test_a_store_that_cannot_be_is_refused(overrides, expected):
    with pytest.raises(ConfigurationError, match=expected):
        build_task(compose(overrides))


def test_a_store_that_does_not_exist_is_guessed():
    with pytest.raises(ConfigurationError, match="Did you mean 'redis'"):
        compose(["task=social", "store=reddis"])
