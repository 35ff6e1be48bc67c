"""`dataenvgym harvest`: says what a fruit weighs in a basket."""

from .domain import make


def harvest(number: int) -> None:
    """Say the answer of a problem of the orchard.

    Args:
        number: the number of the basket
    """
    print(make(number).answer)
