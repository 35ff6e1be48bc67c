"""Schemas come from signatures and docstrings; arguments are checked as JSON has them."""

from datetime import date
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.worlds.schemas import Arguments, tool_of


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Address(BaseModel):
    city: str
    zip: int | None = None


def order(
    self,
    product: str,
    quantity: int,
    price: float = 1.5,
    size: Size = Size.SMALL,
    pay: Literal["card", "cash"] = "card",
    to: Address | None = None,
    on: date | None = None,
    notes: list[str] | None = None,
    share: Annotated[float, Field(ge=0, le=1)] = 0.5,
) -> str:
    """Order a product.

    It is delivered
    the next day.

    Args:
        product: its name, such as "tea":
            as the catalog has it.

        quantity (int): how many.
        to: where to.

    Returns:
        price: not an argument.
    """


ARGUMENTS = Arguments(order)
TOOL = tool_of("order", order, ARGUMENTS)
PROPERTIES = TOOL.parameters["properties"]


def test_the_docstring_describes_the_tool_and_its_arguments():
    assert TOOL.name == "order"
    assert TOOL.description == "Order a product. It is delivered the next day."
    described = {k: v["description"] for k, v in PROPERTIES.items() if "description" in v}
    assert described == {
        "product": 'its name, such as "tea": as the catalog has it.',
        "quantity": "how many.",
        "to": "where to.",
    }


def test_the_schema_has_types_choices_defaults_and_required_fields():
    assert TOOL.parameters["required"] == ["product", "quantity"]
    assert PROPERTIES["quantity"]["type"] == "integer"
    assert PROPERTIES["price"] == {"type": "number", "default": 1.5}
    assert PROPERTIES["pay"]["enum"] == ["card", "cash"]
    assert PROPERTIES["size"]["default"] == "s"
    assert PROPERTIES["on"]["anyOf"][0] == {"format": "date", "type": "string"}
    assert PROPERTIES["notes"]["anyOf"][0] == {"type": "array", "items": {"type": "string"}}
    assert (PROPERTIES["share"]["minimum"], PROPERTIES["share"]["maximum"]) == (0, 1)
    assert TOOL.parameters["$defs"]["Address"]["required"] == ["city"]
    assert "title" not in str(TOOL.parameters)


def test_arguments_arrive_in_the_types_of_the_method():
    given = {
        "product": "tea",
        "quantity": 2,
        "price": 3,
        "size": "l",
        "to": {"city": "Rome"},
        "on": "2026-01-05",
        "notes": ["now"],
    }
    read = ARGUMENTS.read(given)
    assert read["size"] is Size.LARGE
    assert read["to"] == Address(city="Rome")
    assert read["on"] == date(2026, 1, 5)
    assert read["price"] == 3.0


REQUIRED = {"product": "tea", "quantity": 1}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"quantity": True}, "argument 'quantity' is True"),
        ({"price": "1.5"}, "argument 'price' is '1.5'"),
        ({"to": {"city": "Rome", "zip": "1"}}, "argument 'to.zip' is '1'"),
        ({"to": {}}, "argument 'to.city' is missing"),
        ({"on": "soon"}, "argument 'on' is 'soon'"),
        ({"notes": [["deep"]]}, "argument 'notes.0' is"),
        ({"share": 1.1}, "argument 'share' is 1.1"),
        ({"quantitty": 1}, "no argument 'quantitty'; the arguments are: product, quantity"),
        ({"product": 1, "price": "x" * 100_000}, "argument 'product'"),
        ({"product": "x" * 1_000_000}, "the arguments have 1,000,027 bytes, at most 200,000"),
    ],
)
def test_wrong_arguments_get_a_short_sentence(change, complaint):
    with pytest.raises(ValueError, match=r"\w+") as refused:
        ARGUMENTS.read(REQUIRED | change)
    assert complaint in str(refused.value)
    assert len(str(refused.value)) < 250
    with pytest.raises(ValueError, match="quantity"):
        ARGUMENTS.read({"product": "tea"})


@pytest.mark.parametrize("name", ["quantity", "x" * 150_000])
def test_many_wrong_or_deep_values_get_one_short_sentence(name):
    deep = []
    for _ in range(5000):
        deep = [deep]
    for value in (["x"] * 30_000, [1] * 300_000, {str(n): n for n in range(30_000)}, deep):
        with pytest.raises(ValueError, match="argument") as refused:
            ARGUMENTS.read(REQUIRED | {name: value})
        assert len(str(refused.value)) < 300


def test_a_method_that_has_no_schema_is_refused():
    def untyped(self, x): ...
    def shared(self, x: list[int] = []): ...  # noqa: B006

    with pytest.raises(KeyError, match="x"):
        Arguments(untyped)
    with pytest.raises(ConfigurationError, match="one object for all calls"):
        Arguments(shared)
