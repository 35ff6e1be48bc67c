"""A wallet with accounts, bills and cards. Tools check what is possible, the policy the rest."""

from __future__ import annotations

from datetime import date
from typing import Literal

from dataenvgym.domains.tool_use.worlds import first_state, note_refusal, require, row_of
from dataenvgym.tasks.worlds.state import Row, State, Table
from dataenvgym.tasks.worlds.world import World, check, tool

Status = Literal["sent", "scheduled", "cancelled"]

POLICY = """\
You look after the wallet of Noor. Today is 5 January 2026. The rules:
Rule 1: A payment is at most 1,000.
Rule 2: Money leaves a savings account only by a transfer to another account of Noor's.
Rule 3: A payee who is new gets at most 100 in one payment.
Rule 4: A card that the bank has frozen stays frozen.
Rule 5: At least 50 stay in an account after a payment or transfer.
Rule 6: The limit of a card is at most 2,000.
Rule 7: Before a payment of 300 or more, read the payee. Nothing is paid to one with a warning.
If a rule forbids a request, change nothing: call refuse once, and say which rule it is and name no
other, such as "rule 4". To a question, tell what was asked for and no other answers. Payments come
from the account "checking" unless Noor says otherwise. When you know what is meant, do not ask."""


class Account(Row):
    """An account of Noor's."""

    kind: Literal["checking", "savings"]
    balance: float


class Payee(Row):
    """A recipient of payments."""

    name: str
    is_new: bool = False
    warning: str | None = None


class Payment(Row):
    """A payment, today or later."""

    account: str
    payee_id: str
    amount: float
    on: date
    status: Status = "sent"


class Bill(Row):
    """A bill to be paid."""

    payee_id: str
    amount: float
    due: date
    is_paid: bool = False


class Card(Row):
    """A card of an account; `limit` is the largest sum that it pays in a day."""

    account: str
    limit: float
    frozen_by: Literal["owner", "bank"] | None = None


class WalletState(State):
    """Accounts, payees, payments, bills and cards, and the requests that were refused."""

    accounts: Table[Account] = Table()
    payees: Table[Payee] = Table()
    payments: Table[Payment] = Table()
    bills: Table[Bill] = Table()
    cards: Table[Card] = Table()
    refused: tuple[str, ...] = ()


class Wallet(World[WalletState]):
    """A wallet with accounts, bills and cards."""

    name = "wallet"
    policy = POLICY

    def initial(self) -> WalletState:
        return first_state(WalletState, self.name)

    @tool
    def list_accounts(self) -> dict[str, Account]:
        """List the accounts with their balances."""
        return dict(self.state.accounts)

    @tool
    def find_payees(self, name: str) -> dict[str, str]:
        """Find payees by a part of their name: id and name.

        Args:
            name: such as "power".
        """
        payees = self.state.payees.items()
        return {key: p.name for key, p in payees if name.casefold() in p.name.casefold()}

    @tool
    def read_payee(self, payee_id: str) -> Payee:
        """Read a payee: whether it is new, and a warning if there is one.

        Args:
            payee_id: such as "payee_1".
        """
        return row_of(self.state.payees, payee_id, "payee")

    @tool
    def list_payments(self, payee_id: str | None = None) -> dict[str, Payment]:
        """List payments.

        Args:
            payee_id: only those to this payee.
        """
        payments = self.state.payments.items()
        return {key: p for key, p in payments if payee_id in (None, p.payee_id)}

    @tool
    def list_bills(self) -> dict[str, Bill]:
        """List the bills that are not paid."""
        return {key: bill for key, bill in self.state.bills.items() if not bill.is_paid}

    @tool
    def list_cards(self) -> dict[str, Card]:
        """List the cards."""
        return dict(self.state.cards)

    @tool(writes=True)
    def pay(self, payee_id: str, amount: float, account: str = "checking") -> str:
        """Pay somebody today.

        Args:
            payee_id: such as "payee_1".
            amount: how much.
            account: where the money comes from.
        """
        return self._send(account, payee_id, amount)

    @tool(writes=True)
    def pay_bill(self, bill_id: str, account: str = "checking") -> str:
        """Pay a bill today.

        Args:
            bill_id: such as "bill_1".
            account: where the money comes from.
        """
        bill = row_of(self.state.bills, bill_id, "bill")
        require(not bill.is_paid, f"{bill_id} is paid already")
        self.state.bills[bill_id] = bill.changed(is_paid=True)
        return self._send(account, bill.payee_id, bill.amount)

    @tool(writes=True)
    def transfer(self, source: str, target: str, amount: float) -> str:
        """Move money between two accounts.

        Args:
            source: the account that it comes from.
            target: the account that it goes to.
            amount: how much.
        """
        require(source != target, "the two accounts are one")
        self._add(source, -_money(amount))
        self._add(target, _money(amount))
        return f"{amount:.2f} are moved from {source} to {target}"

    @tool(writes=True)
    def schedule_payment(
        self, payee_id: str, amount: float, on: date, account: str = "checking"
    ) -> str:
        """Pay somebody on a later day.

        Args:
            payee_id: such as "payee_1".
            amount: how much.
            on: the day, such as "2026-02-01".
            account: where the money comes from.
        """
        require(on > self.state.now.date(), f"{on} is not in the future")
        row_of(self.state.accounts, account, "account")
        return self._record(account, payee_id, _money(amount), on, "scheduled")

    @tool(writes=True)
    def cancel_payment(self, payment_id: str) -> str:
        """Cancel a scheduled payment.

        Args:
            payment_id: such as "payment_1".
        """
        payment = row_of(self.state.payments, payment_id, "payment")
        is_scheduled = payment.status == "scheduled"
        require(is_scheduled, f"{payment_id} is {payment.status}, not scheduled")
        self.state.payments[payment_id] = payment.changed(status="cancelled")
        return f"{payment_id} is cancelled"

    @tool(writes=True)
    def freeze_card(self, card: str, frozen: bool = True) -> str:
        """Freeze a card, or let it pay again.

        Args:
            card: its name, such as "blue".
            frozen: false lets it pay again.
        """
        found = row_of(self.state.cards, card, "card")
        was_frozen = bool(found.frozen_by)
        require(frozen != was_frozen, f"{card} is{'' if frozen else ' not'} frozen already")
        self.state.cards[card] = found.changed(frozen_by="owner" if frozen else None)
        return f"{card} is {'frozen' if frozen else 'no longer frozen'}"

    @tool(writes=True)
    def set_limit(self, card: str, limit: float) -> str:
        """Set what a card pays at most in a day.

        Args:
            card: its name, such as "blue".
            limit: the new limit.
        """
        found = row_of(self.state.cards, card, "card")
        self.state.cards[card] = found.changed(limit=_money(limit))
        return f"the limit of {card} is {limit:.2f}"

    @tool(writes=True)
    def refuse(self, rule: int, about: str) -> str:
        """Note that a rule forbids a request; then say so to Noor.

        Args:
            rule: the number of the rule.
            about: the payee of a payment, the account that a transfer leaves, or the card; such as
                "payee_1" or "travel".
        """
        state = self.state
        known = (*state.payees, *state.accounts, *state.cards)
        require(about in known, f"there is no payee, account or card {about}")
        return note_refusal(self.state, rule, 7, about)

    @check
    def has_balance(self, account: str, amount: float) -> bool:
        """Whether an account has exactly so much."""
        found = self.state.accounts.get(account)
        return found is not None and found.balance == amount

    @check
    def owes(self, payee_id: str) -> bool:
        """Whether there is an unpaid bill of that payee."""
        bills = self.state.bills.values()
        return any(bill.payee_id == payee_id and not bill.is_paid for bill in bills)

    def _send(self, account: str, payee_id: str, amount: float) -> str:
        self._add(account, -_money(amount))
        return self._record(account, payee_id, amount, self.state.now.date(), "sent")

    def _record(self, account: str, payee_id: str, amount: float, on: date, status: Status) -> str:
        name = row_of(self.state.payees, payee_id, "payee").name
        payment_id = self.state.payments.new_id("payment")
        self.state.payments[payment_id] = Payment(
            account=account, payee_id=payee_id, amount=amount, on=on, status=status
        )
        return f"{payment_id}: {amount:.2f} to {name}, {status}"

    def _add(self, account: str, amount: float) -> None:
        found = row_of(self.state.accounts, account, "account")
        balance = round(found.balance + amount, 2)
        require(balance >= 0, f"{account} has only {found.balance:.2f}")
        self.state.accounts[account] = found.changed(balance=balance)


def _money(amount: float) -> float:
    is_money = amount > 0 and round(amount, 2) == amount
    require(is_money, f"{amount:g} is not an amount of money")
    return amount
