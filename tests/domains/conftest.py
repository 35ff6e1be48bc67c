"""Shared with tests of the core: the fake hub of Hugging Face, and commands in a folder."""

from tests.cli.conftest import dataenvgym, folder, small  # noqa: F401
from tests.tasks.conftest import hub  # noqa: F401
