"""Valid text and JSON in a record."""

import pytest
from pydantic import ValidationError

from dataenvgym.errors import InvalidRecordError
from dataenvgym.records import ToolCall, parse_training_datum


@pytest.mark.parametrize("field", ["instruction", "input", "output", "system"])
def test_a_lone_surrogate_is_not_text(field):
    value = {"instruction": "a", "output": "b", field: "\ud800"}
    with pytest.raises(InvalidRecordError, match=rf"field {field}: .*[Uu]nicode"):
        parse_training_datum(value)


@pytest.mark.parametrize("number", [2**64, float("nan")])
def test_a_number_that_json_cannot_hold_is_refused(number):
    with pytest.raises(ValidationError, match="no JSON"):
        ToolCall(name="add", arguments={"a": [number]})
