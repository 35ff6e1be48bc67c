"""Editors and type checkers know the package: a misspelled option is found before it runs."""

import os

import pytest

from tests.processes import python

SNIPPET = """
import dataenvgym
from dataenvgym import Message, Reply, SupervisedDatum, TrainingDatum, run_episode
from dataenvgym.agents import PreferenceEngine, UCBPolicy
from dataenvgym.environments import OpenEnded, SkillTree
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.agents.skills import ClusteredSkills, SavedSkills
from dataenvgym.students.trainers import InProcessTrainer, LlamaFactoryTrainer

UCBPolicy(exploration=0.2, discount=0.5)
InProcessTrainer(lora_rank=8)
OpenEnded.__init__(..., ..., ..., replay=3)  # type: ignore[arg-type]
record: TrainingDatum = SupervisedDatum(instruction="1 + 1?", output="2")
text: str = dataenvgym.Reply(text="2").text
"""
HEAVY = (
    "torch",
    "transformers",
    "peft",
    "numpy",
    "scipy",
    "sympy",
    "matplotlib",
    "rich",
    "aiohttp",
)
INI = "[mypy]\n" + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in HEAVY)
MISSPELLED = """
UCBPolicy(discuont=0.5)
TrainingConfig(lora_rnak=8)
SavedSkills("path", sede=1)
ClusteredSkills(sede=1)
OpenEnded(..., ..., reply=3)
SkillTree(..., ..., reply=3)
PreferenceEngine(..., ..., round=3)
run_episode(..., ..., iteration=2)
number: int = Reply(text="2").text
message: dataenvgym.Mesage
from dataenvgym import SkilList
"""


@pytest.mark.slow
def test_mypy_finds_the_package_from_any_folder_and_flags_misspelled_options(tmp_path):
    (tmp_path / "right.py").write_text(SNIPPET)
    (tmp_path / "wrong.py").write_text(SNIPPET + MISSPELLED)
    (tmp_path / "mypy.ini").write_text(INI)
    command = ("-m", "mypy", "right.py", "wrong.py", "--cache-dir", tmp_path / "c")
    done = python(*command, cwd=tmp_path, timeout=280, env=os.environ)
    first = len(SNIPPET.splitlines()) + 2
    flagged = {
        line.partition(": error: ")[0] for line in done.stdout.splitlines() if ": error" in line
    }
    lines = range(first, first + len(MISSPELLED.splitlines()) - 1)
    assert flagged == {f"wrong.py:{n}" for n in lines}, done.stdout + done.stderr
    assert 'Unexpected keyword argument "lora_rnak"' in done.stdout
