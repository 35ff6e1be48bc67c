"""The world of the pocket tools: goods, the places that store or sell them, and a basket.

Ten small tools. Their arguments are words, numbers, truth values, lists of words or lists of
numbers; some may be left out.
"""

from __future__ import annotations

from dataenvgym.domains.tool_use.worlds import require
from dataenvgym.tasks.worlds.state import Row, State, Table
from dataenvgym.tasks.worlds.world import World, tool

GOODS = (
    "rice", "tea", "salt", "milk", "flour", "soap", "oil", "sugar", "honey", "corn", "wheat",
    "coal", "sand", "wool", "ink", "paint", "wax", "glue", "rope", "clay", "jam", "bread", "cheese",
    "wine",
)  # fmt: skip
PLACES = (
    "mill", "barn", "harbor", "market", "station", "tower", "school", "church", "bakery", "garage",
    "farm", "inn", "camp", "museum", "bank", "castle",
)  # fmt: skip
_FULL = 9
_OK = "ok"


class Good(Row):
    """The place of a good, and the amount of it in the basket."""

    place: str
    basket: int = _FULL


class Offer(Row):
    """The amount of a good that a place sells, and its price there."""

    amount: int
    price: int


class Gate(Row):
    """The gate of a place, once it has been opened or closed."""

    open: bool


class VillageState(State):
    """Goods by name, offers by `offer_id`, gates by place; what was paid, packed and rung."""

    goods: Table[Good]
    offers: Table[Offer]
    gates: Table[Gate] = Table()
    paid: int = 0
    packed: tuple[str, ...] = ()
    rung: tuple[int, ...] = ()


class Village(World[VillageState]):
    """A village with goods to carry, buy and pack."""

    name = "village"

    def initial(self) -> VillageState:
        return VillageState(
            goods=Table(
                {good: Good(place=PLACES[i % len(PLACES)]) for i, good in enumerate(GOODS)}
            ),
            offers=Table(
                {
                    offer_id(good, place): Offer(amount=(i + j) % 9 + 1, price=(i + 2 * j) % 9 + 1)
                    for i, good in enumerate(GOODS)
                    for j, place in enumerate(PLACES)
                }
            ),
        )

    @tool
    def find(self, item: str) -> str:
        """The place where a good is.

        Args:
            item: the good.
        """
        return self._good(item).place

    @tool
    def count(self, item: str, place: str) -> int:
        """How much of a good a place has for sale.

        Args:
            item: the good.
            place: the place.
        """
        return self._offer(item, place).amount

    @tool
    def price(self, item: str, place: str) -> int:
        """What a good costs at a place.

        Args:
            item: the good.
            place: the place.
        """
        return self._offer(item, place).price

    @tool(writes=True)
    def carry(self, item: str, place: str) -> str:
        """Carry a good to a place.

        Args:
            item: the good.
            place: where it is afterwards.
        """
        self.state.goods[item] = self._good(item).changed(place=_place(place))
        return _OK

    @tool(writes=True)
    def add(self, item: str, amount: int = 1) -> str:
        """Put some of a good into the basket.

        Args:
            item: the good.
            amount: how much of it, above 0.
        """
        return self._change(item, _positive(amount))

    @tool(writes=True)
    def drop(self, item: str, amount: int = 1) -> str:
        """Take some of a good out of the basket.

        Args:
            item: the good.
            amount: how much of it, above 0.
        """
        return self._change(item, -_positive(amount))

    @tool(writes=True)
    def pay(self, amount: int) -> str:
        """Pay.

        Args:
            amount: how many coins, above 0.
        """
        self.state.paid += _positive(amount)
        return _OK

    @tool(writes=True)
    def pack(self, items: list[str]) -> str:
        """Pack goods into the box, the first one at the bottom.

        Args:
            items: the goods.
        """
        for item in items:
            self._good(item)
        self.state.packed += tuple(items)
        return _OK

    @tool(writes=True)
    def gate(self, place: str, open: bool) -> str:
        """Open or close the gate of a place.

        Args:
            place: the place.
            open: whether it is open afterwards.
        """
        self.state.gates[_place(place)] = Gate(open=open)
        return _OK

    @tool(writes=True)
    def ring(self, hours: list[int]) -> str:
        """Have the bell ring.

        Args:
            hours: when, each from 1 to 12.
        """
        for hour in hours:
            require(1 <= hour <= 12, f"the bell cannot ring at {hour}, expected 1 to 12")
        self.state.rung += tuple(hours)
        return _OK

    def _good(self, item: str) -> Good:
        require(item in self.state.goods, f"there is no good {item!r}")
        return self.state.goods[item]

    def _offer(self, item: str, place: str) -> Offer:
        self._good(item)
        return self.state.offers[offer_id(item, _place(place))]

    def _change(self, item: str, amount: int) -> str:
        basket = self._good(item).basket + amount
        require(basket >= 0, f"the basket has only {basket - amount} of the {item}")
        self.state.goods[item] = self._good(item).changed(basket=basket)
        return _OK


def offer_id(good: str, place: str) -> str:
    """The id of a place's offer of a good."""
    return f"{good} {place}"


def _place(name: str) -> str:
    require(name in PLACES, f"there is no place {name!r}")
    return name


def _positive(amount: int) -> int:
    require(amount >= 1, f"the amount is {amount}, expected 1 or more")
    return amount
