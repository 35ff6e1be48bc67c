"""The examples run as they are, and those of the README do what it says."""

import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

from dataenvgym.runs import config
from tests.docs.shortening import Here, shortened
from tests.processes import python
from tools.ratchet import code_lines, read

ROOT = Path(__file__).parents[1]
FILES = {p.relative_to(ROOT / "examples") for p in (ROOT / "examples").rglob("*.py")}
IMPORTED = {
    "own_domain/models.py",
    "own_domain/shop.py",
    "social/haggler.py",
}  # by their neighbours
EXAMPLES = sorted(FILES - set(map(Path, IMPORTED)))
EXTERNAL = ["llamafactory_vllm.py", "llm_teacher.py"]  # need LLaMA-Factory or vLLM
ELSEWHERE = [*EXTERNAL, "custom_task.py", "own_domain/teach.py", "rl_policy.py"]
ELSEWHERE += ["social/self_play.py", "social/strategist.py"]
REDUCED = {
    "self_teaching.py": ["rejection_sampling"],
    "self_edit/continual.py": ["2", "1"],
    "self_edit/knowledge.py": ["2"],
    "self_edit/few_shot.py": ["2"],
    "study.py": ["0,1", "1"],
    "new_strategy.py": ["0,1", "1"],
}  # it is enough to show that it runs; `test_learning.py` shows that students learn
EXAMPLE_MODULES = read(ROOT, "examples")
README = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def run(path: Path, *arguments: str, folder: Path) -> str:
    done = python(path, *arguments, cwd=folder, timeout=580)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted(FILES), ids=str)
def test_an_example_has_at_most_forty_code_lines(path):
    assert code_lines(EXAMPLE_MODULES[Path("examples", path)]) <= 40


@pytest.mark.slow
def test_the_example_of_a_task_is_learned(tmp_path):
    before, after = run(ROOT / "examples" / "custom_task.py", folder=tmp_path).split()[1::2]
    assert float(before) <= 0.2
    assert float(after) >= 0.8


def test_the_example_agent_runs_as_agent_custom_with_the_seed_of_the_run(monkeypatch):
    from dataenvgym.runs.config import build_agent, compose

    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    agent = "agent=custom_agent.RewritingAgent"
    one, other = (build_agent(compose([agent, f"seed={seed}"])) for seed in (0, 1))
    records = [a.record("What is the smallest of 1 2 3 4 5?", min) for a in (one, other)]
    assert records[0] != records[1]


@pytest.mark.slow
def test_the_example_with_other_speakers_asks_them_all_at_once_and_alike_in_rounds(tmp_path):
    shown = run(ROOT / "examples" / "own_domain" / "teach.py", "24", "160", folder=tmp_path)
    assert "24 requests at once; as in rounds: True" in shown
    before, after = re.findall(r"validation (0\.\d+) -> ([01]\.\d+)", shown)[0]
    assert float(after) > float(before) + 0.1


@pytest.mark.slow
def test_the_example_world_takes_forty_lines_and_its_student_solves_one_problem(tmp_path):
    example = ROOT / "examples" / "tool_use" / "own_world.py"
    assert len(list(filter(str.strip, example.read_text().splitlines()))) <= 40
    shown = run(example, folder=tmp_path).splitlines()
    assert [line.split("  ")[-1].strip() for line in shown] == ["solved"] + ["not solved"] * 2


@pytest.mark.slow
def test_a_student_that_has_learned_beats_its_former_self_and_not_itself(tmp_path):
    shown = run(ROOT / "examples" / "social" / "self_play.py", folder=tmp_path)
    itself, former, untouched, saved, _ = (float(line.split()[0]) for line in shown.splitlines())
    assert itself < former == saved < untouched


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in map(str, EXAMPLES) if n not in ELSEWHERE])
def test_every_other_example_runs(name, tmp_path, monkeypatch, capsys):
    """Those that compose a configuration are run in short settings."""
    if name.startswith("code/") and shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap (Debian: bubblewrap)")
    example = ROOT / "examples" / name
    if "compose(" not in example.read_text():
        assert run(example, *REDUCED.get(name, ()), folder=tmp_path).strip()
        return
    compose, nothing_else = config.compose, Here("", "", "")
    monkeypatch.setattr(
        config, "compose", lambda given: compose(shortened(["run", *given], nothing_else)[1:])
    )
    monkeypatch.setattr(sys, "argv", [name, *REDUCED.get(name, ())])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.slow
def test_the_example_strategist_learns_to_give_good_advice(tmp_path):
    shown = run(ROOT / "examples" / "social" / "strategist.py", "1", folder=tmp_path)
    (line,) = re.findall(r"test (0\.\d+) -> (0\.\d+)", shown)
    before, after = map(float, line)
    assert after > before + 0.1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_policy_trained_in_simulation_beats_random_there(tmp_path):
    pytest.importorskip("stable_baselines3", reason="needs the extra [rl]")
    shown = run(ROOT / "examples" / "rl_policy.py", "60000", "100", "0", folder=tmp_path)
    assert float(shown.split()[shown.split().index("to") - 1]) > 0  # where the interval begins


@pytest.mark.external
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", EXTERNAL)
def test_every_example_with_external_programs_runs_whole(name, tmp_path):
    scores = re.findall(r"validation (0\.\d+)", run(ROOT / "examples" / name, folder=tmp_path))
    assert len(scores) == 3
    if name != "llm_teacher.py":  # whose teacher, without arguments, knows nothing
        assert float(scores[-1]) > float(scores[0])


@pytest.mark.slow
def test_the_readmes_agent_teaches_what_the_readme_says(tmp_path):
    (block,) = README
    script = tmp_path / "readme.py"
    script.write_text(block)
    shown = run(script, folder=tmp_path)
    before, after = re.findall(r"test (0\.\d+) -> (0\.\d+)", shown)[0]
    assert float(after) > float(before) + 0.05
    scores = [float(score) for score in re.findall(r"validation (0\.\d+)", shown)]
    assert max(scores) > scores[0] + 0.05


def test_the_readme_is_short_and_shows_what_its_example_prints():
    text = (ROOT / "README.md").read_text()
    output = text.partition(README[0])[2].partition("## ")[0]
    assert len(re.findall(r"^ +\d+ records: validation 0\.\d{3}$", output, flags=re.M)) == 3
    before, after = re.findall(r"test (0\.\d{3}) -> (0\.\d{3})", output)[0]
    assert float(after) > float(before)
    assert len(text.splitlines()) <= 150
    prose = re.sub(r"```.*?```|^(?: {4}|\|).*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) <= 700
