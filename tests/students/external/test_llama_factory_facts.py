"""Our options of LLaMA-Factory are those of the installed one."""

import json
import subprocess
from pathlib import Path

import pytest

from dataenvgym.students.llama_factory import TrainingConfig
from tests.students.llama_factory.test_training_config import OURS

pytestmark = [pytest.mark.external, pytest.mark.timeout(600)]

PROBE = Path(__file__).with_name("llama_factory_probe.py")


@pytest.fixture(scope="module")
def facts(llama_factory_python, tmp_path_factory):
    path = tmp_path_factory.mktemp("facts") / "facts.json"
    subprocess.run([llama_factory_python, PROBE, "facts", path], check=True, capture_output=True)
    return json.loads(path.read_text())


def test_our_fields_are_options_that_llama_factory_has_or_never_get_into_its_files(facts):
    assert TrainingConfig.model_fields.keys() - {"extra"} - OURS <= set(facts)
    assert not OURS & set(facts)
