import pytest

from dataenvgym.domains.tool_use.calls.schemas import argument_error, json_schema
from dataenvgym.records import Tool, ToolCall

TOOL = Tool(
    name="f",
    parameters=json_schema(
        {
            "type": "dict",
            "properties": {
                "n": {"type": "float"},
                "pair": {"type": "tuple", "items": {"type": "float"}},
                "what": {"type": "any"},
            },
            "required": ["n"],
        }
    ),
)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"n": 1}, None),
        ({"n": 1.5, "pair": [1, 2.0], "what": "x"}, None),
        ({}, "f lacks the required argument 'n'"),
        ({"n": 1, "m": 1}, "f has no argument 'm'; its arguments: n, pair, what"),
        ({"n": "1"}, "argument 'n' of f is '1', expected number"),
        ({"n": True}, "argument 'n' of f is True, expected number"),
        ({"n": 1, "pair": {}}, "argument 'pair' of f is {}, expected array"),
    ],
)
def test_a_call_has_to_have_the_arguments_that_the_tool_takes(arguments, complaint):
    assert argument_error(ToolCall(name="f", arguments=arguments), TOOL) == complaint


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"type": "ArrayList"}, "type is 'ArrayList', expected string, "),
        ({"type": "dict", "properties": []}, "properties is \\[\\], expected an object"),
        ({"type": "dict", "properties": {"a": 1}}, "properties.a is 1, expected an object"),
        ({"type": "array", "items": {"type": "x"}}, "items.type is 'x'"),
    ],
)
def test_an_unknown_type_is_refused_with_its_place(declared, complaint):
    with pytest.raises(ValueError, match=complaint):
        json_schema(declared)


def test_other_keys_of_a_schema_stay():
    declared = {"type": "float", "description": "x", "enum": [1], "default": 1, "optional": True}
    assert json_schema(declared) == {
        "type": "number",
        "description": "x",
        "enum": [1],
        "default": 1,
    }
