"""Documents to keep, and a store of each kind, empty."""

import pytest
from pydantic import BaseModel, ConfigDict

from dataenvgym.records.store import Kind, open_store


class Person(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    age: int = 0
    height: float = 1.7
    likes: tuple[str, ...] = ()
    home: dict[str, str] | None = None


PEOPLE = Kind("people", Person)


@pytest.fixture
def people():
    return PEOPLE


@pytest.fixture
def person():
    return Person


@pytest.fixture(params=["files", "redis"])
def place(request, tmp_path):
    """The place of the store: the argument of `open_store`."""
    return tmp_path / "store" if request.param == "files" else request.getfixturevalue("redis_url")


@pytest.fixture
def store(place):
    return open_store(place)
