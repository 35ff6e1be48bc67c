import json
import shutil

import pytest

from dataenvgym.domains.orchestrate.calls import account
from dataenvgym.errors import ConfigurationError, SpeakerError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.students.predictors import ScriptedPredictor
from tests.domains.orchestrate.orchestrations import (
    PRICE,
    SURE,
    Requests,
    ScriptedRetriever,
    call,
    calls,
    domain,
    played,
    request,
    results,
)

PRICED = {"answer-4": {"price": PRICE, "accuracy": 1.0}}


class Metered:
    """A tier that says these replies in turn, the last one for all that follow."""

    def __init__(self, *replies, **usage):
        self.replies, self.usage, self.asked = replies, usage, []

    def predict(self, conversations, sampling):
        found = []
        for conversation in conversations:
            self.asked.append((conversation[-1].content, sampling))
            said = self.replies[min(len(self.asked), len(self.replies)) - 1]
            found.append(Reply(text=said, **self.usage) if isinstance(said, str) else said)
        return found


def verdict(is_right):
    return json.dumps({"reason": "so it is", "is_right": is_right})


def students(done):
    return [message for message in done.transcript if message.role == "assistant"]


def tools_of(prompt):
    return [tool.name for tool in prompt[0].tools]


# --- turns ---


def test_the_student_sees_the_problem_the_tools_and_their_prices_until_it_has_an_answer():
    done, _ = played(domain({"answer-4": {"accuracy": 0.0}}), call("answer-4"))
    assert (done.reward, done.was_correct, done.error) == (0.0, False, None)
    done, (prompt,) = played(domain(), call("answer-4"))
    assert (done.reward, done.was_correct) == (1.0, True)
    assert [m.role for m in prompt] == ["system", "user"]
    assert prompt[1].content == "Problem: Who won?\n\nChoose an appropriate tool."
    assert tools_of(prompt) == ["search", "enhance_reasoning", "answer"]
    model = prompt[0].tools[2].parameters["properties"]["model"]
    assert model["enum"] == ["answer-4"]
    assert (
        "answer-4 ($0.8 in and $0.8 out for a million tokens, 11 seconds)" in model["description"]
    )


def test_the_context_of_each_turn_is_rebuilt_without_earlier_messages():
    said = (call("search-3"), "words", call("reasoner-3"), call("answer-4"))
    the_domain = domain(documents=2)
    done, prompts = played(the_domain, *said)
    assert the_domain.turns(done) == [(p, m) for p, m in zip(prompts, students(done), strict=True)]
    assert [len(prompt) for prompt in prompts] == [2, 2, 2, 2]
    texts = [prompt[1].content for prompt in prompts]
    assert "Documents:\nDocument 1: Who won? 1\n\nDocument 2: Who won? 0" in texts[1]
    assert "Error: call one of the tools" in texts[2]
    assert "Attempt 1 by reasoner-3: Denver" in texts[3]
    assert "Error" not in texts[3]
    assert [m.role for m in done.transcript] == [
        *("system", "user", "assistant", "tool", "assistant", "user"),
        *("assistant", "tool", "assistant", "tool"),
    ]


def test_a_tool_called_twice_running_is_not_offered_in_the_next_turn():
    said = (call("search-3"), call("search-3"), call("search-3"), call("answer-4"))
    done, prompts = played(domain(), *said)
    assert [("search" in tools_of(prompt)) for prompt in prompts] == [True, True, False, False]
    assert "'search' is not offered now" in results(done)[2]["error"]
    assert account(done).n_invalid == 1
    said = (call("search-3"), call("search-3"), call("reasoner-3"), call("answer-4"))
    _, prompts = played(domain(), *said)
    assert "search" in tools_of(prompts[3])


def test_each_tool_is_called_once_in_a_turn_in_order_up_to_the_answer():
    said = calls("search-3", "search-3", "answer-4", "reasoner-3")
    done, prompts = played(domain(), said)
    found = results(done)
    assert [result.get("tool") for result in found] == ["search", None, "answer", None]
    assert "once in a turn" in found[1]["error"]
    assert "had been answered" in found[3]["error"]
    assert (done.was_correct, len(prompts)) == (True, 1)


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("I do not know.", "call one of the tools"),
        ('<tool_call>\n{"name": "guess", "arguments": {}}\n</tool_call>', "'guess' is not offered"),
        (call("answer-4").replace("answer-4", "answer-9"), "one of: answer-4"),
        ('<tool_call>\n{"name": "answer", "arguments": {}}\n</tool_call>', "takes a model"),
        ('<tool_call>\n{"name": "answer", ', ""),
    ],
)
def test_an_invalid_call_is_told_and_costs_a_turn(said, match):
    done, prompts = played(domain(max_turns=3), said)
    assert match in prompts[1][1].content
    assert (done.reward, done.error, len(prompts)) == (0.0, None, 3)
    assert account(done).n_invalid == 3


def test_the_context_is_cut_to_its_budget_and_documents_to_their_length():
    retriever = ScriptedRetriever(lambda query, k: ["x" * 5_000, "y" * 5_000])
    _, prompts = played(domain(retriever=retriever), call("search-3"), call("answer-4"))
    text = prompts[1][1].content
    assert (text.count("x"), text.count("y")) == (1_200, 1_200)
    short = domain(retriever=retriever, context_tokens=100)
    _, prompts = played(short, call("search-3"), call("answer-4"))
    assert len(prompts[1][1].content) < 500


def test_a_preference_is_shown_to_the_student_and_to_tiers():
    tier = Metered("<answer>Denver</answer>")
    data = {"preference": {"text": "Be cheap.", "weights": {"cost": 1}}}
    others = {"answer-4": tier}
    _, (prompt,) = played(domain({}, others), call("answer-4"), instance=request(**data))
    assert "Who won?\n\nBe cheap." in prompt[1].content
    assert "Be cheap." in tier.asked[0][0]


# --- tiers ---


def test_a_real_tier_is_asked_with_its_own_sampling_and_context():
    tier = Metered("<think>Boston?</think>So <answer> Denver </answer>")
    done, _ = played(domain(SURE, {"answer-4": tier}), call("search-3"), call("answer-4"))
    assert done.was_correct
    asked, sampling = tier.asked[0]
    assert "Documents:\nDocument 1: Who won? 4" in asked
    assert "Question: Who won?" in asked
    assert (sampling.temperature, sampling.max_tokens) == (0.2, 8_000)


def test_simulated_tiers_are_right_as_often_as_stated_and_repeatable():
    tiers = {"answer-4": {"accuracy": 0.3, "informed": 0.9}, "search-3": {"accuracy": 1.0}}
    the_domain = domain(tiers, retriever=ScriptedRetriever(lambda query, k: ["It was Denver."]))
    many = [request(str(i)) for i in range(400)]
    task = Requests(the_domain, many)
    plain = task.evaluate(ScriptedPredictor(lambda _: call("answer-4")))
    assert sum(done.was_correct for done in plain) / 400 == pytest.approx(0.3, abs=0.07)
    assert task.evaluate(ScriptedPredictor(lambda _: call("answer-4"))) == plain
    informed = task.evaluate(ScriptedPredictor(lambda _: calls("search-3", "answer-4")))
    assert sum(done.was_correct for done in informed) / 400 == pytest.approx(0.9, abs=0.07)


@pytest.mark.parametrize(
    ("tier", "bad"),
    [
        ("answer-4", "Denver"),
        ("answer-4", f"<answer>{'a ' * 501}</answer>"),
        ("search-3", "who won"),
        ("reasoner-3", "  "),
        ("answer-4", Failure(reason="HTTP 503", outage=True)),
    ],
)
def test_a_tier_that_is_down_slow_or_says_rubbish_is_at_fault_and_the_answer_is_not_wrong(
    tier, bad
):
    model = Metered(bad)
    done, _ = played(domain(SURE, {tier: model}, retries=2), call(tier))
    assert done.fault == tier
    assert done.error.startswith(f"{tier}: ")
    assert done.error.endswith("(asked 3 times)")
    assert len(model.asked) == 3
    assert len({sampling.seed for _, sampling in model.asked}) == 3  # not the same reply again

    def search(query, k):
        raise SpeakerError("retriever: no reply", fault="retriever")

    done, _ = played(domain(retriever=ScriptedRetriever(search)), call("search-3"))
    assert (done.fault, done.was_correct) == ("retriever", False)


def test_a_tier_that_recovers_is_paid_for_all_its_replies():
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 500_000}
    model = Metered("rubbish", "<answer>Denver</answer>", **usage)
    tiers = {"answer-4": {"price": PRICE, "seconds": 3}}
    done, _ = played(domain(tiers, {"answer-4": model}), call("answer-4"))
    assert done.was_correct
    spent = account(done)
    assert (spent.tools.cost, spent.tools.seconds, spent.tools.tokens) == (4.0, 6.0, 3_000_000)


def test_an_unknown_price_is_null_and_not_zero():
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    tiers = {"free": {"tool": "answer"}}
    the_domain = domain(tiers, {"free": Metered("<answer>Denver</answer>", **usage)})
    said = call("answer-4").replace("answer-4", "free")
    done, _ = played(the_domain, said)
    assert results(done)[0]["usage"] == {
        "prompt_tokens": 10, "completion_tokens": 5, "seconds": None, "cost": None
    }  # fmt: skip
    assert account(done).cost is None
    heard = []
    with hearing_warnings(heard.append):
        report = Requests(the_domain).generate_performance_report([done])
    assert {"cents", "tools_cents", "seconds", "efficiency"}.isdisjoint(report.scores)
    assert report.scores["tools_tokens"] == 15
    assert "the cost of free is unknown" in heard[0]


def test_costs_of_tools_judge_and_policy_are_counted_apart():
    usage = {"prompt_tokens": 1_000, "completion_tokens": 100}
    others = {
        "answer-4": Metered("<answer>The Broncos</answer>", **usage),
        "judge": Metered(verdict(True), cost=0.5, seconds=2.0, **usage),  # as measured
    }
    done, _ = played(domain(PRICED, others), call("answer-4"))
    spent = account(done)
    assert spent.tools.cost == pytest.approx(0.0012)
    assert (spent.judge.cost, spent.judge.seconds, spent.judge.tokens) == (0.5, 2.0, 1_100)
    assert spent.cost == spent.tools.cost  # the judge is not a part of the work


# --- grading ---


@pytest.mark.parametrize(
    ("said", "is_right", "asked"),
    [("The Broncos", True, 1), ("Boston", False, 1), ("denver", True, 0)],
)
def test_a_judge_decides_on_answers_that_are_not_an_exact_match(said, is_right, asked):
    judge = Metered(verdict(is_right if asked else False))
    others = {"answer-4": Metered(f"<answer>{said}</answer>"), "judge": judge}
    done, _ = played(domain({}, others), call("answer-4"))
    assert (done.was_correct, done.error, len(judge.asked)) == (is_right, None, asked)


def test_without_a_judge_an_answer_in_other_words_is_not_scored():
    others = {"answer-4": Metered("<answer>The Broncos</answer>")}
    done, _ = played(domain({}, others), call("answer-4"))
    assert done.fault == "judge"
    assert "set task.others.judge" in done.error
    done, _ = played(domain({}, others, graded_by="exact_match"), call("answer-4"))
    assert (done.was_correct, done.error) == (False, None)


def test_a_boxed_answer_counts():
    others = {"answer-math-2": Metered(r"So \boxed{\frac{1}{2}} it is.")}
    done, _ = played(
        domain({}, others), call("answer-math-2"), instance=request(answer=r"\frac{1}{2}")
    )
    assert done.was_correct


# --- code ---


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (Debian: bubblewrap)")
def test_code_of_a_reasoner_runs_in_the_sandbox_and_its_output_is_shown():
    model = Metered(
        "I compute:\n```python\nimport os\nprint(6 * 7, os.path.exists('/work'))\n```\n"
    )
    the_domain = domain(SURE, {"reasoner-3": model})
    try:
        _, prompts = played(the_domain, call("reasoner-3"), call("answer-4"))
    finally:
        the_domain.close()
    assert "```output\n42 False\n```" in prompts[1][1].content


# --- what cannot work ---


def test_without_a_tier_that_answers_or_something_to_search_in_nothing_is_made():
    with pytest.raises(ConfigurationError, match="endpoints"):
        domain({})
    with pytest.raises(ConfigurationError, match="retriever"):
        domain(SURE, retriever=None)
    assert domain(PRICED, retriever=None).offered == ("answer", "answer-4")
