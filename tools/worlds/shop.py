"""The requests of a shop's customers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataenvgym.domains.tool_use.worlds.shop import POLICY, Order, Shop
from tools.worlds.writer import (
    Call,
    Options,
    Writer,
    answers,
    rule_named,
)

_ORDERS = Shop().state.orders
_PRODUCTS = Shop().state.products


def write(w: Writer) -> None:
    """Write all problems of the shop."""
    _cancel(w)
    _change(w)
    _buy(w)
    _give_back(w)
    _facts(w)
    _refuse(w)
    _several(w)
    _with_users(w)


def _of(number: int) -> tuple[str, Order]:
    return f"order_{number}", _ORDERS[f"order_{number}"]


def _refusal(rule: int, order_id: str | None) -> Call:
    return "refuse", {"rule": rule} | ({"order_id": order_id} if order_id else {})


def _total(order: Order) -> str:
    return f"{order.price * order.quantity:g}"


def _look(order: Order, order_id: str) -> tuple[Call, ...]:
    """Find the order of a customer, and read it."""
    read = ("read_order", {"order_id": order_id})
    return ("find_orders", {"customer": order.customer}), read


def _about_order(
    w: Writer,
    skill: str,
    category: str,
    phrases: Sequence[str],
    number: int,
    call: Call,
    **words: Any,
) -> None:
    """A problem about one order: find it, read it, and make a call for it."""
    order_id, order = _of(number)
    tool, given = call
    gold = (*_look(order, order_id), (tool, {"order_id": order_id, **given}))
    named = Options(who=order.customer, product=order.product)
    w.add(skill, category, phrases, gold, **named, **words)


def _cancel(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "I am {who}. Please cancel my {product} order.",
        "{who} here. I no longer need the {product} that I ordered, stop that order.",
        "My name is {who}, and I ordered the {product} by mistake. Please undo it.",
        "Hello, this is {who}. The {product} has not arrived yet and I do not want it any more.",
    )
    for number in (1, 4, 2, 16, 25, 15):
        _about_order(w, "cancel", "orders", phrases, number, ("cancel_order", {}))


def _change(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "I am {who}. Make it {n} of the {product} in my open order, please.",
        "{who} speaking: my order of the {product} should have {n} pieces.",
        "This is {who}. I want {n} {product} pieces and not as many as I ordered.",
    )
    for number, quantity in ((2, 4), (7, 5), (19, 1), (20, 3), (27, 2)):
        change = ("change_quantity", {"quantity": quantity})
        _about_order(w, "change quantity", "orders", phrases, number, change, n=quantity)
    phrases = (
        "I am {who} and will be in {city} next week. Send my {product} there, please.",
        "{who} here: the {product} that you have not sent yet should go to {city}.",
        "Please redirect {who}'s pending {product} order to {city}. That is me.",
    )
    for number, city in ((4, "Turin"), (11, "Oslo"), (16, "Lyon"), (30, "Porto"), (36, "Ghent")):
        send = ("change_city", {"city": city})
        _about_order(w, "change city", "orders", phrases, number, send, city=city)


def _buy(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "I am {who}. I would like to order {n} of the product {product}.",
        "{who} here, send me {n} x {product}, please.",
        "Please place an order for {who}: {product}, {n} in all.",
    )
    wanted = [("Gus", "bowl", 3), ("Eva", "lamp", 2), ("Ivo", "soap", 5), ("Jana", "pan", 1)]
    for who, product, n in wanted:
        gold: Sequence[Call] = [
            ("place_order", {"customer": who, "product": product, "quantity": n})
        ]
        w.add("place order", "orders", phrases, gold, who=who, product=product, n=n)
    phrases = (
        "This is {who}. Order one of your cheapest {kind} products for me, please.",
        "{who} speaking. Which {kind} product costs least? Send me one of it.",
    )
    for who, kind in (("Dan", "kitchen"), ("Hana", "furniture"), ("Finn", "care")):
        prices = {name: p.price for name, p in _PRODUCTS.items() if p.kind == kind}
        order = {"customer": who, "product": min(prices, key=prices.__getitem__)}
        gold = [("list_products", {"kind": kind}), ("place_order", order)]
        w.add("order cheapest", "orders", phrases, gold, who=who, kind=kind)


def _give_back(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "I am {who}. The {product} is not what I expected, I want to return it.",
        "{who} here: I send the {product} back.",
        "Hello, {who} again. Please take back the {product} that you delivered.",
    )
    for number in (3, 12, 21, 28, 34):
        _about_order(w, "return", "returns", phrases, number, ("return_order", {}))
    phrases = (
        "{who} here. I return the {product} and take a voucher for it.",
        "I am {who}, and the {product} goes back to you. A voucher is fine, I need no money.",
    )
    for number in (9, 18, 24, 29):
        back = ("return_order", {"refund_to": "voucher"})
        _about_order(w, "return for a voucher", "returns", phrases, number, back)
    phrases = (
        "I am {who}. Exchange the {product} that I got for the product {new}, please.",
        "{who} speaking. I would rather have the {new} than the {product} that came.",
        "Can I have the {new} in place of the {product}? It is {who}.",
    )
    for number, new in ((5, "bowl"), (10, "pan"), (18, "stool"), (24, "kettle"), (28, "shelf")):
        change = ("exchange_order", {"product": new})
        _about_order(w, "exchange", "returns", phrases, number, change, new=new)
    phrases = (
        "I am {who}. The {product} has a scratch. I keep it if you give {amount} back.",
        "{who} here, one side of the {product} is dented. Refund {amount} and it is fine.",
    )
    for number, amount in ((3, 20), (9, 7.5), (12, 8), (21, 6.25)):
        refund = ("refund_part", {"amount": amount})
        _about_order(w, "partial refund", "returns", phrases, number, refund, amount=amount)


def _facts(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "I am {who}. How much was my {product} order in all?",
        "{who} here. What did all pieces of the {product} in my order cost together?",
    )
    for number in (2, 18, 7, 22):
        order_id, order = _of(number)
        mentioned = (f"{order.price:g}", str(order.quantity))
        totals = [t for t in map(_total, _ORDERS.values()) if t not in mentioned]
        words = Options(who=order.customer, product=order.product, others=totals)
        gold: Sequence[Call] = _look(order, order_id)
        w.add("order total", "facts", phrases, gold, said=(_total(order),), **words)
    phrases = ("How many of the product {product} are left?", "Stock of {product}, please?")
    for product in ("chair", "pan", "honey"):
        gold = (("read_product", {"product": product}),)
        stocks = [str(p.stock) for p in _PRODUCTS.values()]
        said = (str(_PRODUCTS[product].stock),)
        w.add("stock", "facts", phrases, gold, said=said, others=stocks, product=product)
    phrases = (
        "I am {who}. On which date was order_{number} delivered? With the year, please.",
        "When did order_{number} arrive? {who} asks for the date with its year.",
    )
    dates = [str(order.delivered) for order in _ORDERS.values() if order.delivered]
    for number in (31, 21, 35):
        order_id, order = _of(number)
        gold = (("read_order", {"order_id": order_id}),)
        words = Options(who=order.customer, number=number, others=dates)
        w.add("day of delivery", "facts", phrases, gold, said=(str(order.delivered),), **words)


def _refuse(w: Writer) -> None:
    """Requests that a rule forbids: only the refusal is noted, and the answer names the rule."""
    requests = (
        (1, 13, "I am Gus. Give my money back for the mirror, I return it today."),
        (1, 21, "Bob here. Cancel the kettle that you delivered in December."),
        (1, 36, "This is Eva. Exchange the toaster on its way to me for a kettle."),
        (2, 6, "I am Dan. The shelf stands crooked, I want to return it."),
        (2, 17, "Ivo speaking. Please take both lamps back for a voucher."),
        (2, 33, "I am Gus, and the two knives are blunt. Exchange them for bowls."),
        (3, 8, "Eva here. The tea tastes of nothing, I want my money back for it."),
        (3, 14, "I am Hana. Swap the two creams for shampoo, please."),
        (3, 22, "This is Bob. I send the soap back; I never opened it."),
        (4, 3, "I am Ann. Exchange the desk for toasters, they cost less anyway."),
        (4, 28, "Hana here: could I have a pan in place of the lamp?"),
        (5, 2, "I am Bob. Make it 8 chairs in my open order."),
        (6, 12, "Gus here. The toaster has a scratch, I want 20 of its price back."),
        (6, 18, "I am Jana. One of the four chairs wobbles: refund 60, and I keep them."),
        (7, 16, "I am Eva. Please cancel Ivo's desk, he has changed his mind."),
        (7, 30, "Finn here. Send Jana's stool to me in Ghent."),
    )
    for rule, number, request in requests:
        order_id, order = _of(number)
        gold: Sequence[Call] = (*_look(order, order_id), _refusal(rule, order_id))
        w.add("refuse", "rules", (request,), gold, **rule_named(rule, POLICY))
    gold = (_refusal(5, None),)
    w.add("refuse", "rules", ("I am Cleo. Order 12 mugs.",), gold, **rule_named(5, POLICY))


def _several(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "I am {who}. I want nothing any more: cancel whatever has not been sent to me.",
    )
    for who in ("Gus", "Jana", "Eva", "Ann"):
        pending = [k for k, o in _ORDERS.items() if o.customer == who and o.status == "pending"]
        cancel = [("cancel_order", {"order_id": order_id}) for order_id in pending]
        gold: list[Call] = [("find_orders", {"customer": who}), *cancel]
        gone = [
            ("has_status", {"order_id": order_id, "status": "cancelled"}, True)
            for order_id in pending
        ]
        none = ("has_open_orders", {"customer": who}, False)
        rows = [f"orders.{order_id}" for order_id in pending]
        several = Options(basis=("assertions",), assertions=[none, *gone], may_differ=rows, who=who)
        w.add("cancel all", "orders", phrases, gold, **several)
    phrases = (
        "I am {who}. I return the {product}; order {n} of the product {new} for me as well.",
        "{who} here: take the {product} back, and send me {n} x {new}.",
    )
    for number, new, n in ((3, "stool", 2), (28, "mirror", 1), (29, "mug", 4), (21, "pan", 1)):
        order_id, order = _of(number)
        buy = {"customer": order.customer, "product": new, "quantity": n}
        back = ("return_order", {"order_id": order_id})
        gold = [*_look(order, order_id), back, ("place_order", buy)]
        words = Options(who=order.customer, product=order.product, new=new, n=n)
        w.add("return and order", "orders and returns", phrases, gold, **words)


def _with_users(w: Writer) -> None:
    openings: tuple[str, ...] = (
        "I want to cancel an order.",
        "Something that I ordered: please cancel it.",
    )
    details = {2: "I am Bob, it is about the chairs.", 36: "I am Eva. The toaster, please."}
    for number, detail in details.items():
        cancel: Call = ("cancel_order", {})
        user = answers(detail)
        _about_order(w, "ask what to cancel", "orders", openings, number, cancel, user=user)
    openings = ("I would like to send something back.", "Can you take a thing back from me?")
    returned = {3: "I am Ann, it is the desk.", 9: "Eva. It is the stools; to my card, please."}
    for number, detail in returned.items():
        back: Call = ("return_order", {})
        user = answers(detail)
        _about_order(w, "ask what to return", "returns", openings, number, back, user=user)
    openings = ("Hi, it is Dan. I need a change to an order.", "Ann again, about an order.")
    changed = {
        7: ("The pans: make it 3.", "And one more thing: send them to Lyon.", 3, "Lyon"),
        20: ("I want 5 mugs, not 2.", "They should go to Brno, by the way.", 5, "Brno"),
    }
    for number, (detail, later, quantity, city) in changed.items():
        order_id, order = _of(number)
        gold: Sequence[Call] = [
            *_look(order, order_id),
            ("change_quantity", {"order_id": order_id, "quantity": quantity}),
            ("change_city", {"order_id": order_id, "city": city}),
        ]
        w.add("two changes", "orders", openings, gold, user=answers(detail, later))
    openings = ("I have to return something.", "A thing that you sent me is broken.")
    refused = {26: ("I am Finn, it is the bowls.", 2), 35: ("Jana, the shampoo leaks.", 3)}
    for number, (detail, rule) in refused.items():
        order_id, order = _of(number)
        gold = [*_look(order, order_id), _refusal(rule, order_id)]
        told = rule_named(rule, POLICY) | {"user": answers(detail)}
        w.add("ask, then refuse", "rules", openings, gold, **told)
