"""A received folder chooses no class of a package that somebody else installed."""

import pytest
from omegaconf import OmegaConf

from dataenvgym.runs.config import received
from dataenvgym.runs.config.groups import sources_by_group


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package of a stranger, whose agent and policy have short names."""
    (tmp_path / "strange.py").write_text("class Thing:\n    def __init__(self, n: int = 1): ...\n")
    about = tmp_path / "strange-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    points = "[dataenvgym.agents]\nstrange = strange:Thing\n"
    points += "[dataenvgym.policies]\nstrange = strange:Thing\n"
    (about / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    received._ours.cache_clear()
    yield
    received._ours.cache_clear()


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({"_target_": "strange.Thing"}, "agent._target_"),
        (
            {"_target_": "dataenvgym.agents.Agent", "policy": {"_target_": "strange.Thing"}},
            "agent.policy._target_",
        ),
    ],
)
def test_a_received_folder_does_not_choose_a_strangers_named_class(installed, section, key):
    assert "strange" in sources_by_group()["agent"]
    found = received.foreign("agent", OmegaConf.create({}), section, None)
    assert dict(found) == {key: "strange.Thing"}
