"""Errors on their way from one process to another."""

import pickle

import pytest

from dataenvgym import events
from dataenvgym.errors import ConfigChangedError, DataEnvGymError, InvalidRecordError
from dataenvgym.studies.executors.worker import CarriedError


def carried(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as raised:
        data = pickle.dumps(CarriedError.of(raised))
    return pickle.loads(data).error()


@pytest.mark.parametrize(
    "error",
    [
        InvalidRecordError("no output", index=3, field="output"),
        ConfigChangedError("changed", keys=("a.b",)),
        KeyError("x"),
        KeyboardInterrupt(),
    ],
)
def test_class_message_and_attributes_arrive(error):
    arrived = carried(error)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    attributes = {k: v for k, v in vars(arrived).items() if k != "__notes__"}
    assert attributes == {k: v for k, v in vars(error).items() if k != "__notes__"}


def test_the_traceback_arrives_as_a_note():
    assert "raise error" in carried(ValueError("x")).__notes__[0]


def test_a_secret_that_only_the_worker_knows_does_not_leave_it():
    with events.secrets_apart():
        events.keep_secret("sk-0123456789")
        data = CarriedError.of(ValueError("no: sk-0123456789"))
    assert str(data.error()) == "no: REDACTED"
    assert b"sk-0123456789" not in pickle.dumps(data)


def test_a_class_that_is_not_known_here_keeps_its_name():
    class Local(Exception):
        pass

    arrived = carried(Local("hm"))
    assert type(arrived) is DataEnvGymError
    assert str(arrived) == "Local: hm"


def test_parts_of_an_error_that_cannot_be_pickled_are_left_out():
    error = ValueError(lambda: 0)
    error.lock = lambda: 0
    arrived = carried(error)
    assert "lambda" in str(arrived)
    assert not hasattr(arrived, "lock")
