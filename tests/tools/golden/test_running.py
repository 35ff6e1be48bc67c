import pytest

from tools.golden.__main__ import SCRIPTS, TREE, Version, compare
from tools.golden.facts import values


@pytest.mark.slow
def test_a_script_that_runs_twice_differs_in_nothing(tmp_path, capsys):
    tree = Version(TREE, tmp_path / "tree")
    assert compare(tree, tree, ["generate"], tmp_path / "runs") == 0
    assert len(values(tmp_path / "runs/base/generate")) > 20
    assert "0 differences" in capsys.readouterr().out


@pytest.mark.slow
def test_a_command_that_fails_is_an_error_with_its_last_words(tmp_path, monkeypatch):
    (tmp_path / "wrong.sh").write_text("dataenvgym eval --run nowhere\necho later\n")
    monkeypatch.setitem(SCRIPTS, "wrong", tmp_path / "wrong.sh")
    with pytest.raises(RuntimeError, match="nowhere") as error:
        Version(TREE, tmp_path / "tree").run("wrong", tmp_path / "run")
    assert "later" not in str(error.value)
