"""What tests of pages share: a reader's empty folder, models for them, and a run to look at."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from dataenvgym.cli.main import main
from dataenvgym.students.pocket import student_path
from tests.docs.readers_files import write_data
from tests.docs.served_models import served_models
from tests.docs.shortening import Here, shortened

CONTEXT = 16_384  # tokens; scenes and worlds are longer than what pocket students are made for


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, as the current one, in a terminal that finds `dataenvgym` and a key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for variable in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(variable, "a key")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.fixture(scope="session")
def chat_model(tmp_path_factory):
    """The folder of a model for `student=hf`: a pocket student with a long context.

    Its chat template has Qwen3's switch for thoughts.
    """
    folder = tmp_path_factory.mktemp("models") / "student"
    shutil.copytree(student_path("pocket-social-v1"), folder)
    for name, key in (
        ("config.json", "max_position_embeddings"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        options = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(options | {key: CONTEXT}))
    with (folder / "chat_template.jinja").open("a") as template:
        template.write("{% if add_generation_prompt and enable_thinking is false %}{{ '<think>")
        template.write("\\n\\n</think>\\n\\n' }}{% endif %}")
    return folder


@pytest.fixture(scope="session")
def here(chat_model, request):
    redis = request.getfixturevalue("redis_server") if shutil.which("redis-server") else ""
    with served_models() as url:
        yield Here(url, str(chat_model), redis)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """For DATAENVGYM_DATA: the data sets that are there."""
    folder = tmp_path_factory.mktemp("data")
    real = os.environ.get("DATAENVGYM_DATA")
    write_data(folder, Path(real) if real else None)
    return folder


@pytest.fixture(scope="session")
def earlier_run(here, tmp_path_factory):
    """A run of three iterations whose records a teacher wrote."""
    runs = tmp_path_factory.mktemp("earlier")
    words = ["run", "agent/engine=llm", "teacher=openai", "teacher.model=NAME", "name=earlier"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "a key")
        short = shortened([*words, f"runs_dir={runs}"], here)
        assert main([*short, "episode.iterations=3"]) == 0
    return runs / "earlier"
