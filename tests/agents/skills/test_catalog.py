import pytest
from pydantic import ValidationError

from dataenvgym.agents.skills import LabeledQuestion, Skill, SkillCatalog, read_catalog
from dataenvgym.errors import ConfigurationError


def catalog(**changes) -> SkillCatalog:
    fields = {
        "method": "clusters",
        "task": "sums",
        "options": {"seed": 1},
        "skills": (Skill(name="add", category="numbers"), Skill(name="sort")),
        "labels": (LabeledQuestion(id="1", question="1 + 1?", skill="add"),),
        "counts": {"questions": 1},
    }
    return SkillCatalog(**{**fields, **changes})


def test_it_is_read_back_as_it_was_saved_also_by_its_run_directory(tmp_path):
    catalog().save(tmp_path / "skills.json")
    assert read_catalog(tmp_path / "skills.json") == catalog() == read_catalog(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["skills.json"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"labels": (LabeledQuestion(id="1", question="?", skill="dance"),)}, "names 'dance'"),
        ({"skills": (Skill(name="add"), Skill(name="add"))}, "two skills have the name 'add'"),
        ({"skills": ()}, "at least 1"),
    ],
)
def test_inconsistent_catalogs_are_refused(changes, expected):
    with pytest.raises(ValidationError, match=expected):
        catalog(**changes)


def test_a_file_that_is_not_there_or_no_catalog_is_named_with_the_way_out(tmp_path):
    with pytest.raises(ConfigurationError, match="skills=clusters wrote"):
        read_catalog(tmp_path)
    for text in ("{", '{"method": "gold"}'):
        (tmp_path / "skills.json").write_text(text)
        with pytest.raises(ConfigurationError, match="damaged"):
            read_catalog(tmp_path)
