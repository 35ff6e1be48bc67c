"""Noor's requests to her wallet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date

from dataenvgym.domains.tool_use.worlds.wallet import POLICY, Wallet
from tools.worlds.writer import (
    Call,
    Options,
    Writer,
    answers,
    rule_named,
)

_STATE = Wallet().state
_BILLS, _ACCOUNTS = _STATE.bills, _STATE.accounts
_LIST_BILLS: Call = ("list_bills", {})


def write(w: Writer) -> None:
    """Write all problems of the wallet."""
    _pay(w)
    _bills(w)
    _move(w)
    _later(w)
    _cards(w)
    _facts(w)
    _refuse(w)
    _several(w)
    _with_users(w)


def _name(payee: int) -> str:
    return _STATE.payees[f"payee_{payee}"].name


def _find(payee: int) -> Call:
    return "find_payees", {"name": _name(payee)}


def _pay(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "Pay {amount} to {name}.",
        "I owe {name} {amount}. Send it, please.",
        "{name} gets {amount} from me today.",
    )
    for payee, amount in ((7, 60), (8, 22.5), (12, 80), (5, 134.2), (15, 18.75)):
        gold: Sequence[Call] = [
            _find(payee),
            ("pay", {"payee_id": f"payee_{payee}", "amount": amount}),
        ]
        w.add("pay", "payments", phrases, gold, name=_name(payee), amount=amount)
    phrases = (
        'Pay {amount} to {name} from my account "{account}".',
        '{amount} for {name}, please; take it from "{account}".',
    )
    for payee, amount, account in (
        (5, 76.4, "household"),
        (18, 120, "travel"),
        (2, 55, "household"),
        (16, 90, "travel"),
    ):
        pay = {"payee_id": f"payee_{payee}", "amount": amount, "account": account}
        words = Options(name=_name(payee), amount=amount, account=account)
        w.add("pay from account", "payments", phrases, [_find(payee), ("pay", pay)], **words)
    phrases = (
        "Send {amount} to payee_{payee}.",
        "payee_{payee} is to get {amount} today.",
    )
    for payee, amount in ((14, 330), (3, 950), (10, 412.6), (4, 300)):
        payee_id = f"payee_{payee}"
        gold = [
            ("read_payee", {"payee_id": payee_id}),
            ("pay", {"payee_id": payee_id, "amount": amount}),
        ]
        large = Options(basis=("state", "calls"), payee=payee, amount=amount)
        w.add("large payment", "payments", phrases, gold, **large)


def _bills(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "Pay the bill of {name}.",
        "There is a bill of {name}, settle it, please.",
        "{name} sent a bill. Pay it.",
    )
    for number in (2, 4, 5, 6, 10, 12):
        bill = _BILLS[f"bill_{number}"]
        payee = int(bill.payee_id.removeprefix("payee_"))
        gold: Sequence[Call] = [
            _find(payee),
            _LIST_BILLS,
            ("pay_bill", {"bill_id": f"bill_{number}"}),
        ]
        w.add("pay bill", "bills", phrases, gold, name=_name(payee))
    phrases = (
        'Pay the bill of {name}, but from "{account}".',
        'Take the money for the bill of {name} from "{account}" and pay it.',
    )
    for number, account in ((2, "household"), (5, "household"), (12, "travel")):
        payee = int(_BILLS[f"bill_{number}"].payee_id.removeprefix("payee_"))
        pay = ("pay_bill", {"bill_id": f"bill_{number}", "account": account})
        gold = [_find(payee), _LIST_BILLS, pay]
        w.add("pay bill from account", "bills", phrases, gold, name=_name(payee), account=account)
    phrases = ("Pay the bill over {amount}.", "My unpaid bill of {amount}: please pay it.")
    for number in (3, 7, 9):
        bill = _BILLS[f"bill_{number}"]
        read = ("read_payee", {"payee_id": bill.payee_id})
        gold = [_LIST_BILLS, read, ("pay_bill", {"bill_id": f"bill_{number}"})]
        large = Options(basis=("state", "calls"), amount=bill.amount)
        w.add("large bill", "bills", phrases, gold, **large)


def _move(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'Move {amount} from "{source}" to "{target}".',
        'Transfer {amount} to my account "{target}"; it comes from "{source}".',
        'Put {amount} of "{source}" into "{target}", please.',
    )
    moves = (
        ("checking", "household", 250),
        ("rainy_day", "checking", 1200),
        ("checking", "new_home", 400.5),
        ("travel", "checking", 60),
        ("new_home", "rainy_day", 3000),
    )
    for source, target, amount in moves:
        transfer = Options(source=source, target=target, amount=amount)
        w.add("transfer", "accounts", phrases, [("transfer", transfer)], **transfer)
    phrases = (
        'I want exactly {rest} left in "{source}". Move what is more than that to "{target}".',
        'All but {rest} of "{source}" goes to "{target}".',
    )
    for source, target, rest in (
        ("household", "rainy_day", 500),
        ("checking", "new_home", 1500),
        ("travel", "household", 100),
        ("new_home", "checking", 14000),
    ):
        amount = round(_ACCOUNTS[source].balance - rest, 2)
        balance = round(_ACCOUNTS[target].balance + amount, 2)
        checks = (
            ("has_balance", {"account": source, "amount": rest}, True),
            ("has_balance", {"account": target, "amount": balance}, True),
        )
        rows = (f"accounts.{source}", f"accounts.{target}")
        move = ("transfer", {"source": source, "target": target, "amount": amount})
        told = Options(basis=("assertions",), assertions=checks, may_differ=rows, rest=rest)
        words = Options(source=source, target=target)
        gold: Sequence[Call] = [("list_accounts", {}), move]
        w.add("transfer the rest", "accounts", phrases, gold, **told, **words)


def _later(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "Pay {amount} to {name} on {day}.",
        "On {day}, {name} should get {amount} from me. Schedule it.",
        "Plan a payment: {amount} for {name}, on {day}.",
    )
    for payee, amount, on in (
        (7, 60, date(2026, 1, 24)),
        (9, 55, date(2026, 3, 10)),
        (1, 79.9, date(2026, 2, 11)),
        (4, 120, date(2026, 1, 19)),
    ):
        later = {"payee_id": f"payee_{payee}", "amount": amount, "on": on.isoformat()}
        gold: Sequence[Call] = [_find(payee), ("schedule_payment", later)]
        words = Options(name=_name(payee), amount=amount, day=f"{on:%-d %B %Y}")
        w.add("schedule payment", "payments", phrases, gold, **words)
    phrases = (
        "The payment to {name} that is scheduled: cancel it.",
        "Do not send the next payment to {name}, please.",
    )
    for number in (5, 6, 7, 8, 9):
        payee = int(_STATE.payments[f"payment_{number}"].payee_id.removeprefix("payee_"))
        gold = [
            _find(payee),
            ("list_payments", {"payee_id": f"payee_{payee}"}),
            ("cancel_payment", {"payment_id": f"payment_{number}"}),
        ]
        w.add("cancel payment", "payments", phrases, gold, name=_name(payee))


def _cards(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "I cannot find my {card} card. Freeze it!",
        "Please block the {card} card for now.",
    )
    for card in ("blue", "black", "green"):
        w.add("freeze card", "cards", phrases, [("freeze_card", {"card": card})], card=card)
    unfreeze = ("freeze_card", {"card": "silver", "frozen": False})
    phrases = (
        "I have found my silver card again. It should pay as before.",
        "Is the silver card frozen? Then lift that, I need it tomorrow.",
    )
    for _ in phrases:
        w.add("unfreeze card", "cards", phrases, [("list_cards", {}), unfreeze])
    phrases = (
        "Set the limit of the {card} card to {limit}.",
        "My {card} card should pay up to {limit} in a day.",
    )
    for card, limit in (("blue", 1200), ("green", 450), ("black", 2000), ("silver", 900)):
        gold: Sequence[Call] = [("set_limit", {"card": card, "limit": limit})]
        w.add("set card limit", "cards", phrases, gold, card=card, limit=limit)


def _facts(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'How much is in "{account}"?',
        'Tell me the balance of "{account}".',
    )
    for account in ("checking", "household", "new_home"):
        said = (f"{_ACCOUNTS[account].balance:g}",)
        if account == "new_home":
            said = (str(_ACCOUNTS[account].balance),)
        gold: Sequence[Call] = [("list_accounts", {})]
        balances = [str(each.balance) for each in _ACCOUNTS.values()]
        w.add("balance", "facts", phrases, gold, said=said, others=balances, account=account)
    phrases = ("What is the limit of my {card} card?", "Up to what sum does the {card} card pay?")
    for card in ("silver", "green"):
        said = (f"{_STATE.cards[card].limit:g}",)
        limits = [f"{each.limit:g}" for each in _STATE.cards.values()]
        words = Options(said=said, others=limits, card=card)
        w.add("card limit", "facts", phrases, [("list_cards", {})], **words)
    phrases = ("How much do I owe {name} in all?", "What do the unpaid bills of {name} add up to?")
    for payee in (1, 10):
        owed: dict[str, float] = defaultdict(float)
        for bill in _BILLS.values():
            owed[bill.payee_id] += 0 if bill.is_paid else bill.amount
        said = (f"{owed[f'payee_{payee}']:.2f}",)
        words = Options(said=said, others=[f"{sum_:.2f}" for sum_ in owed.values()])
        gold = [_find(payee), _LIST_BILLS]
        w.add("what is owed", "facts", phrases, gold, name=_name(payee), **words)
    phrases = (
        "How much did I last send to {name}?",
        "What was the sum of my latest payment to {name} that has left?",
    )
    for payee, amount in ((18, "48.5"), (5, "112.35")):
        gold = [_find(payee), ("list_payments", {"payee_id": f"payee_{payee}"})]
        words = Options(others=[str(payment.amount) for payment in _STATE.payments.values()])
        w.add("last payment", "facts", phrases, gold, said=(amount,), name=_name(payee), **words)


def _refuse(w: Writer) -> None:
    """Requests that a rule forbids: only the refusal is noted, and the answer names the rule."""
    requests: tuple[tuple[int, str, str, tuple[Call, ...]], ...] = (
        (1, "payee_3", "Pay 1,450 to Hillside Rent.", (_find(3),)),
        (1, "payee_14", "Maple School gets 1,001 today.", (_find(14),)),
        (2, "payee_6", 'Pay 85 to Fern Telecom from "rainy_day".', (_find(6),)),
        (2, "payee_9", 'The bill of Northside Gym: pay it from "new_home".', (_LIST_BILLS,)),
        (2, "payee_8", 'Send Mia Sato 40, and take it from my account "rainy_day".', (_find(8),)),
        (3, "payee_13", "Pay the bill of Ravi's Garage, please.", (_find(13), _LIST_BILLS)),
        (3, "payee_12", "Send 150 to Tiny Toy Store.", (_find(12),)),
        (3, "payee_16", "Sunny Travel should get 180 from my travel account.", (_find(16),)),
        (4, "red", "My red card does not pay. Unfreeze it!", (("list_cards", {}),)),
        (6, "green", "From now on the green card should pay up to 5,000.", ()),
        (5, "travel", 'Move 300 from "travel" to "checking".', (("list_accounts", {}),)),
        (5, "household", 'Put 660 of "household" into "rainy_day".', (("list_accounts", {}),)),
        (6, "black", "The black card should have a limit of 3,500.", (("list_cards", {}),)),
        (6, "blue", "Set the limit of the blue card to 2,500, I am going to buy a bicycle.", ()),
        (7, "payee_11", "Pay 480 to Quick Loans Ltd.", (_find(11),)),
        (7, "payee_17", "Lucky Prize Office wants 320 of me, send it.", (_find(17),)),
    )
    for rule, about, request, looks in requests:
        gold = (*looks, ("refuse", {"rule": rule, "about": about}))
        w.add("refuse", "rules", (request,), gold, **rule_named(rule, POLICY))


def _several(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'Move {amount} from "{source}" to "checking", then pay {paid} to {name}.',
        'First {amount} from "{source}" into "checking", please; then {name} gets {paid}.',
    )
    for source, amount, payee, paid in (("rainy_day", 500, 7, 260), ("new_home", 900, 4, 145)):
        gold: Sequence[Call] = [
            ("transfer", {"source": source, "target": "checking", "amount": amount}),
            _find(payee),
            ("pay", {"payee_id": f"payee_{payee}", "amount": paid}),
        ]
        words = Options(source=source, amount=amount, name=_name(payee), paid=paid)
        w.add("transfer and pay", "accounts and payments", phrases, gold, **words)
    phrases = ("Pay the bill of {one} first, and then the one of {two}.",)
    for one, two in ((2, 4), (5, 6)):
        bills = [_BILLS[f"bill_{number}"].payee_id for number in (one, two)]
        names = [_STATE.payees[payee].name for payee in bills]
        pay: list[Call] = [("pay_bill", {"bill_id": f"bill_{number}"}) for number in (one, two)]
        words = Options(one=names[0], two=names[1])
        w.add("pay two bills", "bills", phrases, [_LIST_BILLS, *pay], **words)
    phrases = ("My {card} card is lost: freeze it, and set its limit to {limit}.",)
    for card, limit in (("blue", 100), ("black", 50)):
        freeze, lower = (
            ("freeze_card", {"card": card}),
            ("set_limit", {"card": card, "limit": limit}),
        )
        w.add("freeze and limit", "cards", phrases, [freeze, lower], card=card, limit=limit)
    phrases = ("I want to owe {name} nothing any more: pay all that is open.",)
    for payee in (1,):
        owed = [k for k, b in _BILLS.items() if b.payee_id == f"payee_{payee}" and not b.is_paid]
        gold = [_LIST_BILLS, *(("pay_bill", {"bill_id": bill_id}) for bill_id in owed)]
        whole = sum(_BILLS[bill_id].amount for bill_id in owed)
        left = round(_ACCOUNTS["checking"].balance - whole, 2)
        checks = (
            ("owes", {"payee_id": f"payee_{payee}"}, False),
            ("has_balance", {"account": "checking", "amount": left}, True),
        )
        first = int(_STATE.payments.new_id("payment").removeprefix("payment_"))
        rows = [f"payments.payment_{first + n}" for n in range(len(owed))]  # in any order
        settle = Options(basis=("assertions",), assertions=checks, may_differ=rows)
        settle["name"] = _name(payee)
        w.add("settle all", "bills", phrases, gold, **settle)


def _with_users(w: Writer) -> None:
    openings: tuple[str, ...] = ("I have to pay somebody.", "Please send some money for me.")
    paid = ((7, 45, "Leo Brandt gets 45."), (18, 32.5, "32.50 for Pia Lindqvist, please."))
    for payee, amount, detail in paid:
        gold: Sequence[Call] = [
            _find(payee),
            ("pay", {"payee_id": f"payee_{payee}", "amount": amount}),
        ]
        w.add("ask whom to pay", "payments", openings, gold, user=answers(detail))
    openings = ("One of my cards is gone.", "I lost a card, what now?")
    for card in ("green", "blue"):
        detail = f"The {card} one. Freeze it."
        gold = [("list_cards", {}), ("freeze_card", {"card": card})]
        w.add("ask which card", "cards", openings, gold, user=answers(detail))
    openings = ("There are two things about my accounts.", "I want to put my money in order.")
    wishes = (
        ("Move 100 from checking to travel.", "Now 35 from household to checking.", 100, 35),
        ("Move 80 from checking to travel.", "And 20.5 from household to checking.", 80, 20.5),
    )
    for detail, later, first, second in wishes:
        gold = [
            ("transfer", {"source": "checking", "target": "travel", "amount": first}),
            ("transfer", {"source": "household", "target": "checking", "amount": second}),
        ]
        w.add("two wishes", "accounts", openings, gold, user=answers(detail, later))
    openings = ("Can you pay something?", "A payment has to go out.")
    refused = (("1,200 to City Power.", 1, 1), ('60 to Leo Brandt, from "rainy_day".', 7, 2))
    for detail, payee, rule in refused:
        told = rule_named(rule, POLICY) | {"user": answers(detail)}
        gold = [_find(payee), ("refuse", {"rule": rule, "about": f"payee_{payee}"})]
        w.add("ask, then refuse", "rules", openings, gold, **told)
