import psutil
import pytest

from dataenvgym.students.external.memory import free_memory


@pytest.mark.parametrize(
    ("limit", "expected"), [("max", None), (str(10**18), None), ("3000000", 3_000_000 - 400_000)]
)
def test_the_limit_of_a_container_counts(tmp_path, limit, expected, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 10**9}))
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 600000\n")
    assert free_memory(tmp_path) == (10**9 if expected is None else expected)


def test_without_a_control_group_the_systems_memory_counts(tmp_path):
    assert free_memory(tmp_path) > 0
