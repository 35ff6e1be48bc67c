"""A shop with orders and returns. The tools check what is possible, the policy what is allowed."""

from __future__ import annotations

from datetime import date
from typing import Literal

from dataenvgym.domains.tool_use.worlds import first_state, note_refusal, require, row_of
from dataenvgym.tasks.worlds.state import Row, State, Table
from dataenvgym.tasks.worlds.world import World, check, tool

Status = Literal["pending", "delivered", "cancelled", "returned"]
Kind = Literal["furniture", "kitchen", "food", "care"]
RefundTo = Literal["card", "voucher"]

POLICY = """\
You help the customers of a shop. Today is 5 January 2026. The rules:
Rule 1: Only pending orders are cancelled or changed; only delivered ones are returned or exchanged.
Rule 2: What was delivered more than 30 days ago is not returned or exchanged.
Rule 3: Food and care products are not returned or exchanged.
Rule 4: A product is exchanged only for one of the same kind.
Rule 5: An order has at most 5 pieces.
Rule 6: A partial refund is at most a fifth of what the order cost.
Rule 7: Customers speak for their own orders only.
If a rule forbids a request, change nothing: call refuse once, and say which rule it is and name no
other, such as "rule 3". To a question, tell what was asked for and no other answers. Refunds go to
the card unless the customer says otherwise. When you know what is meant, do not ask again."""


class Customer(Row):
    """A customer; the id is the first name."""

    city: str


class Product(Row):
    """A product; the id is its name."""

    kind: Kind
    price: float
    stock: int


class Order(Row):
    """An order of one product.

    Attributes:
        price: of one piece.
        city: the destination.
        delivered: the day of delivery.
        refunded: the amount that the customer got back.
    """

    customer: str
    product: str
    quantity: int = 1
    price: float
    status: Status = "pending"
    city: str
    delivered: date | None = None
    refunded: float = 0.0
    refund_to: RefundTo | None = None


class ShopState(State):
    """Customers, products and orders of the shop, and the requests that were refused."""

    customers: Table[Customer] = Table()
    products: Table[Product] = Table()
    orders: Table[Order] = Table()
    refused: tuple[str, ...] = ()


class Shop(World[ShopState]):
    """A shop with orders and returns."""

    name = "shop"
    policy = POLICY

    def initial(self) -> ShopState:
        return first_state(ShopState, self.name)

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

    @tool
    def list_products(self, kind: Kind | None = None) -> dict[str, float]:
        """List the products with their prices.

        Args:
            kind: only products of this kind.
        """
        products = self.state.products.items()
        return {name: p.price for name, p in products if kind in (None, p.kind)}

    @tool
    def read_product(self, product: str) -> Product:
        """Read a product's kind, price and stock.

        Args:
            product: its name, such as "lamp".
        """
        return self._product(product)

    @tool(writes=True)
    def place_order(self, customer: str, product: str, quantity: int = 1) -> str:
        """Order a product; it goes to the customer's city.

        Args:
            customer: the customer's first name.
            product: its name, such as "lamp".
            quantity: how many pieces.
        """
        city = row_of(self.state.customers, customer, "customer").city
        price = self._product(product).price
        self._take(product, quantity)
        order_id = self.state.orders.new_id("order")
        self.state.orders[order_id] = Order(
            customer=customer, product=product, quantity=quantity, price=price, city=city
        )
        return f"{order_id} is placed"

    @tool(writes=True)
    def cancel_order(self, order_id: str) -> str:
        """Cancel a pending order.

        Args:
            order_id: such as "order_1".
        """
        order = self._order(order_id, "pending")
        self._put_back(order)
        self.state.orders[order_id] = order.changed(status="cancelled")
        return f"{order_id} is cancelled"

    @tool(writes=True)
    def change_quantity(self, order_id: str, quantity: int) -> str:
        """Change how many pieces a pending order has.

        Args:
            order_id: such as "order_1".
            quantity: how many pieces it has afterwards.
        """
        order = self._order(order_id, "pending")
        self._put_back(order)
        self._take(order.product, quantity)
        self.state.orders[order_id] = order.changed(quantity=quantity)
        return f"{order_id} has {quantity} pieces"

    @tool(writes=True)
    def change_city(self, order_id: str, city: str) -> str:
        """Send a pending order to another city.

        Args:
            order_id: such as "order_1".
            city: where it goes.
        """
        order = self._order(order_id, "pending")
        self.state.orders[order_id] = order.changed(city=city)
        return f"{order_id} goes to {city}"

    @tool(writes=True)
    def return_order(self, order_id: str, refund_to: RefundTo = "card") -> str:
        """Return a delivered order; the customer gets the rest of its price back.

        Args:
            order_id: such as "order_3".
            refund_to: where the money goes.
        """
        order = self._order(order_id, "delivered")
        total = round(order.price * order.quantity, 2)
        self.state.orders[order_id] = order.changed(
            status="returned", refunded=total, refund_to=refund_to
        )
        return f"{order_id} is returned: {total:.2f} in all"

    @tool(writes=True)
    def exchange_order(self, order_id: str, product: str) -> str:
        """Exchange a delivered order for as many pieces of another product.

        Args:
            order_id: such as "order_3".
            product: the new product's name.
        """
        order = self._order(order_id, "delivered")
        price = self._product(product).price
        self._take(product, order.quantity)
        self.state.orders[order_id] = order.changed(
            product=product, price=price, status="pending", delivered=None
        )
        return f"{order_id} is now {order.quantity} {product}"

    @tool(writes=True)
    def refund_part(self, order_id: str, amount: float) -> str:
        """Give a part of a delivered order's price back, such as for damage.

        Args:
            order_id: such as "order_3".
            amount: how much.
        """
        order = self._order(order_id, "delivered")
        refunded = round(order.refunded + amount, 2)
        fits = amount > 0 and refunded <= order.price * order.quantity
        require(fits, f"{amount:.2f} cannot be refunded for {order_id}")
        self.state.orders[order_id] = order.changed(refunded=refunded, refund_to="card")
        return f"{refunded:.2f} of {order_id} are refunded"

    @tool(writes=True)
    def refuse(self, rule: int, order_id: str | None = None) -> str:
        """Note that a rule forbids a request; then say so to the customer.

        Args:
            rule: the number of the rule.
            order_id: the order that it is about; leave it out for a new order.
        """
        if order_id is not None:
            self._order(order_id)
        return note_refusal(self.state, rule, 7, order_id)

    @check
    def has_status(self, order_id: str, status: str) -> bool:
        """Whether an order is there and has that status."""
        order = self.state.orders.get(order_id)
        return order is not None and order.status == status

    @check
    def has_open_orders(self, customer: str) -> bool:
        """Whether a customer has pending orders."""
        orders = self.state.orders.values()
        return any(order.customer == customer and order.status == "pending" for order in orders)

    def _product(self, product: str) -> Product:
        return row_of(self.state.products, product, "product")

    def _order(self, order_id: str, wanted: Status | None = None) -> Order:
        order = row_of(self.state.orders, order_id, "order")
        require(wanted in (None, order.status), f"{order_id} is {order.status}, not {wanted}")
        return order

    def _take(self, product: str, quantity: int) -> None:
        found = self._product(product)
        short = f"{quantity} of {product} cannot be had: {found.stock} are in stock"
        require(1 <= quantity <= found.stock, short)
        self.state.products[product] = found.changed(stock=found.stock - quantity)

    def _put_back(self, order: Order) -> None:
        found = self._product(order.product)
        self.state.products[order.product] = found.changed(stock=found.stock + order.quantity)
