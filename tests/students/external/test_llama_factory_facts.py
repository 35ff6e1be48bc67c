"""Our constants about LLaMA-Factory equal those of the installed one."""

import json
import subprocess
from pathlib import Path

import pytest

from dataenvgym.students.llama_factory.options import KNOWN_OPTIONS, TEMPLATES

pytestmark = [pytest.mark.external, pytest.mark.timeout(600)]

PROBE = Path(__file__).with_name("llama_factory_probe.py")


@pytest.fixture(scope="module")
def facts(llama_factory_python, tmp_path_factory):
    path = tmp_path_factory.mktemp("facts") / "facts.json"
    subprocess.run([llama_factory_python, PROBE, "facts", path], check=True, capture_output=True)
    return json.loads(path.read_text())


def test_we_know_the_options_that_llama_factory_knows(facts):
    assert sorted(KNOWN_OPTIONS) == facts["options"]


def test_we_know_the_templates_that_llama_factory_knows(facts):
    assert sorted(TEMPLATES) == facts["templates"]
