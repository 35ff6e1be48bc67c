"""The worlds of the package: their contents and problems."""

import random
from itertools import islice

import pytest

from dataenvgym.domains.tool_use.audit import audit
from dataenvgym.domains.tool_use.components import Ending, score
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.problem import load_problems
from dataenvgym.domains.tool_use.village import Village
from dataenvgym.domains.tool_use.worlds import WORLDS, find_world, problems_of
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import ToolCall
from dataenvgym.runs.config import build_task, compose
from dataenvgym.tasks.worlds.audit.legal_values import ExtremeValues
from tools.worlds.__main__ import WRITERS, text_of

PROBLEMS = {name: load_problems(problems_of(name), name) for name in WORLDS}


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("shp", "Did you mean 'shop'"),
        ("dataenvgym.domains.tool_use.worlds.shop.Shp", "cannot be imported"),
        ("dataenvgym.records.Message", "expected a subclass of World"),
    ],
)
def test_a_world_that_cannot_be_found_is_refused(name, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        find_world(name)


@pytest.mark.parametrize("name", WORLDS)
def test_every_tool_and_argument_is_described(name):
    for tool in find_world(name).tools():
        assert tool.description
        for argument, schema in tool.parameters.get("properties", {}).items():
            assert schema.get("description"), f"{tool.name}.{argument}"


@pytest.mark.parametrize("name", WRITERS)
def test_the_files_equal_the_output_of_the_script(name):
    assert problems_of(name).read_bytes() == text_of(name)


@pytest.mark.parametrize("name", WRITERS)
def test_every_tool_is_needed_by_some_problem(name):
    called = {call["name"] for p in PROBLEMS[name] for call in p.data["gold"]}
    assert called == set(find_world(name).methods)


@pytest.mark.parametrize("name", WRITERS)
def test_of_a_forbidden_request_only_the_refusal_is_noted(name):
    world = find_world(name)
    refusals = [p for p in PROBLEMS[name] if p.category == "rules"]
    rules = {rule for p in refusals for rule in p.data["said"]}
    assert len(refusals) >= 15
    assert len(rules) >= 6
    assert all(f"Rule {rule.split()[1]}:" in world.policy for rule in rules)
    for problem in refusals:
        assert {"state", "said"} <= set(problem.data["basis"])
        assert {*problem.data["said"], *problem.data["not_said"]} >= rules
        assert [c["name"] for c in problem.data["gold"] if world.methods[c["name"]].writes] == [
            "refuse"
        ]


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WORLDS)
def test_the_audit_finds_nothing(name, step):
    assert audit(find_world(name), PROBLEMS[name][::step]).violations == []


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WORLDS)
def test_what_solves_a_problem_earns_nothing_in_another(name, step):
    """The gold plan and words of each other problem, and one refusal with all rules.

    Some requests for the same change are made twice: at once, and to a student who asks.
    """
    prepare = ToolUseDomain(find_world(name)).prepared
    prepared = {p.id: prepare(p) for p in PROBLEMS[name]}
    all_rules = tuple(
        ToolCall(name="refuse", arguments={"rule": n, **about})
        for n in range(1, 8)
        for about in ([{}] if name != "wallet" else [{"about": "checking"}])
    )
    sentence = "I cannot do that: rule 1, rule 2, rule 3, rule 4, rule 5, rule 6, rule 7."
    replies = {key: (p.problem.gold, p.problem.said) for key, p in prepared.items()}
    replies |= {"words": ((), (sentence,)), "refusals": (all_rules, (sentence,))}
    for key, one in islice(prepared.items(), 0, None, step):
        for other, (calls, words) in replies.items():
            world = one.world.at(one.state.fork())
            made = [call for call in calls if world.call(call).error is None]
            earned, _ = score(one.problem, Ending(world, one.gold_state, words, made))
            alike = not words and other in prepared and one.gold_state == prepared[other].gold_state
            assert earned == (key == other or alike), (key, other)


@pytest.mark.parametrize("world", [*map(find_world, WORLDS), Village()], ids=lambda w: w.name)
def test_arguments_at_the_ends_of_their_ranges_are_refused_or_answered(world):
    values, rng, tools = ExtremeValues(world.state), random.Random(0), world.tools()
    results = [world.call(values.draw(rng.choice(tools), rng)) for _ in range(1500)]
    assert 150 < sum(result.error is None for result in results) < 1350
    assert world.state.digest()
    assert type(world.state).model_validate_json(world.state.model_dump_json())


@pytest.mark.parametrize("name", WRITERS)
def test_a_config_names_the_world_and_divides_its_problems(name):
    task = build_task(compose([f"task={name}"]))
    parts = [task.on(split).instances for split in ("train", "validation", "test")]
    ids = [instance.id for part in parts for instance in part]
    assert sorted(ids) == sorted(problem.id for problem in PROBLEMS[name])
    assert all(len(part) >= 20 for part in parts)


@pytest.mark.parametrize(
    ("name", "call", "arguments", "complaint"),
    [
        ("shop", "cancel_order", {"order_id": "order_3"}, "delivered, not pending"),
        ("shop", "refund_part", {"order_id": "order_3", "amount": 500}, "cannot be refunded"),
        ("calendar", "move_event", {"event_id": "event_1", "start": "2026-01-05T10:00"}, "event_2"),
        ("calendar", "invite", {"event_id": "event_2", "contact_id": "contact_3"}, "already"),
        ("wallet", "pay", {"payee_id": "payee_7", "amount": 0.001}, "not an amount"),
        ("wallet", "transfer", {"source": "checking", "target": "x", "amount": 5}, "no account x"),
    ],
)
def test_a_tool_refuses_impossible_calls_and_changes_nothing(name, call, arguments, complaint):
    world = find_world(name)
    before = world.state.digest()
    assert complaint in world.call(ToolCall(name=call, arguments=arguments)).error
    assert world.state.digest() == before


def test_stock_and_money_add_up():
    shop, wallet = find_world("shop"), find_world("wallet")
    shop.call(ToolCall(name="change_quantity", arguments={"order_id": "order_2", "quantity": 5}))
    assert shop.state.products["chair"].stock == 9 + 2 - 5
    shop.call(ToolCall(name="cancel_order", arguments={"order_id": "order_2"}))
    assert shop.state.products["chair"].stock == 11
    total = sum(account.balance for account in wallet.state.accounts.values())
    move = {"source": "checking", "target": "travel", "amount": 0.1}
    wallet.call(ToolCall(name="transfer", arguments=move))
    assert sum(a.balance for a in wallet.state.accounts.values()) == pytest.approx(total)
    assert wallet.state.accounts["travel"].balance == 310.1
