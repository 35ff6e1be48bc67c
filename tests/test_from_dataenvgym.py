"""The section for users of DataEnvGym: its commands and names work."""

import re
from pathlib import Path

import pytest

from dataenvgym.agents.skills.catalog import read_catalog
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.storage import write_json

PAGE = Path(__file__).parents[1] / "docs" / "reproducing.md"
TEXT = PAGE.read_text().partition("## Coming from DataEnvGym\n")[2].partition("\n## ")[0]
COMMANDS = re.findall(r"^    dataenvgym run (.+)$", TEXT.replace("\\\n", " "), flags=re.MULTILINE)
OVERRIDES = sorted(
    {
        part
        for code in re.findall(r"`([^`]+)`", TEXT)
        for part in code.split()
        if re.match(r"(agent|task|skills|environment|predictor|trainer|teacher|student)[/=]", part)
        and "..." not in part
    }
)


def test_the_page_has_commands():
    assert len(COMMANDS) >= 10
    assert len(OVERRIDES) > 15


def test_each_option_in_the_tables_exists():
    groups = options_by_group()  # each option of them composes: see config/test_composition.py
    assert [o for o in OVERRIDES if o.split("=")[1] not in groups[o.split("=")[0]]] == []


def test_a_skill_file_published_by_dataenvgym_is_no_catalog_of_ours(tmp_path):
    published = tmp_path / "skills.json"
    skill = {"name": "adding", "reason_for_skill": None}
    asked = {"instance_id": "1", "instruction": "1 + 1", "skill": skill}
    write_json(published, {"labeled_instructions": [asked], "skill_categories": []})
    with pytest.raises(ConfigurationError, match="DataEnvGym") as said:
        read_catalog(published)
    assert "skills.json" in str(said.value)
    assert "`skills=dataenvgym skills.path=FILE`" in TEXT
