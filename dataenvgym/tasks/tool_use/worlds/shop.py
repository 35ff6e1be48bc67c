"""A shop with orders and returns."""

from __future__ import annotations

from typing import Literal

from dataenvgym.tasks.tool_use.state import Row, State, Table
from dataenvgym.tasks.tool_use.world import ToolError, World, check, tool

Status = Literal["pending", "delivered", "cancelled", "returned"]


class Order(Row):
    """An order of one product."""

    customer: str
    product: str
    quantity: int = 1
    price: float
    status: Status = "pending"


class ShopState(State):
    """The orders."""

    orders: Table[Order] = Table()


class Shop(World[ShopState]):
    """A shop with orders and returns."""

    name = "shop"
    policy = (
        "You help the customers of a shop. Look an order up before you change it. "
        "Only pending orders can be cancelled; only delivered ones can be returned."
    )

    def initial(self) -> ShopState:
        orders = {
            "order_1": Order(customer="Ann", product="lamp", price=20.0),
            "order_2": Order(customer="Bob", product="chair", quantity=2, price=45.5),
            "order_3": Order(customer="Ann", product="desk", price=120.0, status="delivered"),
        }
        return ShopState(orders=Table(orders))

    @tool
    def find_orders(self, customer: str) -> list[str]:
        """List the ids of a customer's orders.

        Args:
            customer: the customer's first name.
        """
        return [key for key, order in self.state.orders.items() if order.customer == customer]

    @tool
    def read_order(self, order_id: str) -> Order:
        """Read an order.

        Args:
            order_id: such as "order_1".
        """
        return self._order(order_id)

    @tool(writes=True)
    def cancel_order(self, order_id: str) -> str:
        """Cancel a pending order.

        Args:
            order_id: such as "order_1".
        """
        return self._move(order_id, "pending", "cancelled")

    @tool(writes=True)
    def return_order(self, order_id: str) -> str:
        """Return a delivered order.

        Args:
            order_id: such as "order_1".
        """
        return self._move(order_id, "delivered", "returned")

    @check
    def has_status(self, order_id: str, status: str) -> bool:
        return self._order(order_id).status == status

    def _order(self, order_id: str) -> Order:
        if order_id not in self.state.orders:
            raise ToolError(f"there is no order {order_id}")
        return self.state.orders[order_id]

    def _move(self, order_id: str, before: Status, after: Status) -> str:
        order = self._order(order_id)
        if order.status != before:
            raise ToolError(f"{order_id} is {order.status}, not {before}")
        self.state.orders[order_id] = order.changed(status=after)
        return f"{order_id} is {after}"
