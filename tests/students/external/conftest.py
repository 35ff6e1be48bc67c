"""Shared by tests against real external software: its location."""

import os

import pytest

from dataenvgym.students.external.environments import ExternalEnvironment, external_environment


def installed(name: str) -> ExternalEnvironment:
    """The environment; where there is none the test is skipped, or fails where CI asks for it."""
    environment = external_environment(name)
    if not environment.is_installed and os.environ.get("DATAENVGYM_REQUIRE_EXTERNAL") != "1":
        pytest.skip(f"{name} is not installed: {environment.how_to_install}")
    return environment.require()


@pytest.fixture(scope="session")
def llama_factory_python():
    """The Python interpreter of an environment with LLaMA-Factory in it."""
    return installed("llamafactory").python


@pytest.fixture(scope="session")
def vllm_python():
    """The Python interpreter of an environment with vLLM in it."""
    return installed("vllm").python
