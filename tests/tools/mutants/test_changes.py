import logging
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.mutants.changes import find, sites, watched
from tools.ratchet import read

CODE = '''
class Shop:
    limit: int = 3

    def price(self, n: int, kind="new") -> float:
        """A price."""
        if n > self.limit and not self.closed:
            self.note(kind, n=n)
        logger.info("sold")
        for i in range(n):
            if i in {7}:
                raise ValueError("n is 7")
        return [n]
'''
MODULE = Path("package/shop.py")


def _package(folder, text=CODE, path=MODULE):
    (file := folder / path).parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return read(folder, "package")


@pytest.fixture
def package(tmp_path):
    return _package(tmp_path)


def _all(package):
    return [site.mutant for site in sites(package)]


def test_each_kind_of_fault_is_put_into_bodies_of_functions_but_not_into_sentences(package):
    assert {(m.kind, m.before, m.after) for m in _all(package)} == {
        ("and/or", "n > self.limit and (not self.closed)", "n > self.limit or not self.closed"),
        ("comparison", "n > self.limit", "n <= self.limit"),
        ("boundary", "n > self.limit", "n >= self.limit"),
        ("boolean", "not self.closed", "self.closed"),
        ("statement", "self.note(kind, n=n)", "pass"),
        ("argument", "self.note(kind, n=n)", "self.note(kind)"),
        ("comparison", "i in {7}", "i not in {7}"),
        ("constant", "7", "8"),
        ("return", "return [n]", "return []"),
    }


def test_a_fault_is_found_after_its_function_moved_and_its_line_was_broken(package, tmp_path):
    fault = next(m for m in _all(package) if m.kind == "and/or")
    text = CODE.replace("if n >", "if (\n            n >").replace("closed:", "closed\n        ):")
    moved = _package(tmp_path / "other", "import os\n" + text, Path("package/inner/shops.py"))
    site = find([fault], moved)[fault]
    assert (site.mutant.file, site.number) == ("package/inner/shops.py", 9)
    gone = _package(tmp_path / "third", CODE.replace("and not self.closed", ""))
    assert find([fault], gone) == {}


def _run(package):
    """Sell two things, with a probe at each fault; the faults by name, and what was paid."""
    faults = {str(number): site for number, site in enumerate(sites(package))}
    (text,) = watched(package, faults).values()
    exec(text, names := {"logger": logging.getLogger("shop")})
    return faults, names["Shop"]().price(2)


def test_a_probe_hits_when_the_statement_of_its_fault_runs(package, monkeypatch):
    hits = set()
    monkeypatch.setitem(sys.modules, "mutants_probe", SimpleNamespace(hit=hits.add))
    faults, _ = _run(package)
    assert {faults[name].mutant.kind for name in hits} == {
        *("and/or", "boundary", "comparison", "boolean", "constant", "return")
    }


def test_a_probe_has_no_effect_where_it_cannot_be_imported(package):
    assert _run(package)[1] == [2]
