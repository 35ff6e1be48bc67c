"""Commands, their typos, exit codes and the listing."""

import re
import subprocess
import sys

import pytest

import dataenvgym as package
from dataenvgym.cli.commands import COMMANDS
from dataenvgym.runs.config.groups import options_by_group
from tests.processes import MAIN, environment, python


def test_the_version_is_the_packages(dataenvgym):
    assert dataenvgym("--version").out == f"dataenvgym {package.__version__}\n"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_80_columns_and_describes_each_option(dataenvgym, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, shown, err = dataenvgym(*filter(None, [command]), "--help")
    assert (code, err) == (0, "")
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    texts = re.findall(r"^  -\S.*?(?:  |\n) +(\S.*)$", shown, re.MULTILINE)
    assert len(texts) >= 2
    assert [text for text in texts if text.startswith("(default")] == []


def test_help_may_be_written_without_dashes(dataenvgym):
    assert dataenvgym("help").out == dataenvgym("--help").out
    assert dataenvgym("help", "run").out == dataenvgym("run", "--help").out
    assert "no command 'rnu'" in dataenvgym("help", "rnu").err


def test_the_list_has_every_option_and_every_id_on_a_line_of_its_own(dataenvgym):
    lines = dataenvgym("list").out.splitlines()
    for group, options in options_by_group().items():
        block = lines[lines.index(f"{group}=") + 1 :]
        names = [line.lstrip(" *").split()[0] for line in block[: block.index("")]]
        assert names == sorted(options)
    assert "dataenvgym/SkillList-v0" in map(str.strip, lines)
    assert any(line.startswith("*  pocket_math ") for line in lines)


def test_a_long_description_is_cut_in_the_list_and_whole_in_the_list_of_its_group(
    dataenvgym, monkeypatch, folder
):
    monkeypatch.setenv("COLUMNS", "120")
    (folder / "own" / "agent").mkdir(parents=True)
    words = " ".join(["word"] * 30)
    (folder / "own" / "agent" / "words.yaml").write_text(f"# {words}\n_target_: a.B\n")
    out = dataenvgym("list", "--config-dir", "own").out
    assert re.search(r"^   words +word( word)+ ?\w*\.\.\.$", out, re.MULTILINE)
    trainers = out.partition("\ntrainer=\n")[2].partition("\n\n")[0].splitlines()
    assert len({re.match(r"[ *]  \w+ +", line).end() for line in trainers}) == 1  # level
    whole = dataenvgym("list", "agent", "--config-dir", "own").out
    assert re.search(r"^   words +word", whole, re.MULTILINE)
    assert whole.count("word") == 30 + 1
    assert "task=" not in whole
    assert max(map(len, (out + whole).splitlines())) <= 120


def test_the_command_starts_without_torch_and_ends_with_its_code():
    code = "import sys; from dataenvgym.cli.main import main; c = main(['run', 'agent=x']); "
    done = python("-c", code + "print('torch' in sys.modules); sys.exit(c)")
    assert (done.returncode, done.stdout) == (2, "False\n")
    assert done.stderr.startswith("dataenvgym: there is no agent=x.")


def test_a_closed_output_pipe_is_not_an_error():
    piped = f"{sys.executable} {' '.join(MAIN)} list | head -n 1"
    done = subprocess.run(piped, shell=True, capture_output=True, text=True, env=environment())
    assert (done.stdout, done.stderr) == ("task=\n", "")


def test_control_characters_in_an_error_are_escaped(dataenvgym, small, folder):
    (folder / "red.py").write_text(
        "from dataenvgym.errors import AgentError\n\n"
        "class Red:\n"
        "    def step(self): pass\n"
        "    def __call__(self, completed, predictor): raise AgentError('\\x1b[31mred')\n"
    )
    result = dataenvgym("run", *small[:4], "agent=red.Red", "name=r")
    assert result.code == 1
    assert result.err.endswith("dataenvgym: run failed: \\x1b[31mred\n")


def test_a_command_of_a_broken_package_is_named_and_ours_work(dataenvgym, tmp_path, monkeypatch):
    about = tmp_path / "broken-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[dataenvgym.commands]\nhum = nowhere:hum\nrun = a:b\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = dataenvgym("--help")
    assert result.code == 0
    assert "usage" in result.out
    assert "'hum'" in result.err
