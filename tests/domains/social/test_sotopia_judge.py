"""Sotopia's judge: its question, its ranges, and one call for both seats."""

import asyncio
import copy
import importlib
import json
import os
import random
import sys
import types
from collections import Counter
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.domains.social.profiles import Character, Goal, Hint
from dataenvgym.domains.social.scene import Cast, SceneState
from dataenvgym.domains.social.sotopia_judge import SotopiaJudge
from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.judging.verdicts import read_verdict
from tests.domains.social.social_scenes import people, played, scene, state
from tests.domains.social.sotopia_clone import KINDS, evaluations, write_clone


@pytest.fixture
def clone(tmp_path):
    return write_clone(tmp_path / "clone")


def test_the_question_has_the_scene_in_sotopias_form(clone):
    over = played(state(), "Tea?", "[none]", "[non-verbal communication] nods", "[leave]")
    (asked,) = SotopiaJudge(clone).question(over)
    context, _, rest = asked.content.partition("Turn #1\n")
    lines = context.splitlines()
    assert lines[1:3] == ["Scenario: They meet.", "Participants: Ann Lee and Bob Lee"]
    assert lines[4].startswith("Bob Lee's background: Bob Lee is a 30-year-old  cook.  pronouns.")
    assert lines[6] == "Bob Lee's goal: Bob wants tea. Bob's hint."
    lines = rest.splitlines()
    assert lines[:4] == [
        *('Ann Lee  said: "Tea?"', "Turn #2", "Turn #3"),
        "Ann Lee  [non-verbal communication] nods",
    ]
    assert lines[6:8] == ["How well did they do?", 'There are 2 of them: ["agent_1", "agent_2"].']
    schema = json.loads(lines[-1].removeprefix("Like this: "))
    assert schema["$defs"]["SotopiaDimensions"]["properties"]["goal"]["description"] == "About goal"
    assert list(schema["$defs"]["SotopiaDimensions"]["required"]) == list(KINDS)


def test_what_a_character_says_cannot_bring_the_question_into_the_scene(clone):
    said = "I say {agent_instruction}{format_instructions}{history}"
    (asked,) = SotopiaJudge(clone).question(played(state(), said))
    assert f'Ann Lee  said: "{said}"' in asked.content
    assert asked.content.count("There are 2 of them") == 1


def test_a_score_out_of_its_range_is_asked_for_again(clone):
    of = SotopiaJudge(clone)
    for name, kind in KINDS.items():
        low, high = {"Up": (0, 10), "Both": (-5, 5), "Down": (-10, 0)}[kind]
        for score, right in ((low, True), (high, True), (low - 1, False), (high + 1, False)):
            found = read_verdict(evaluations({name: score}, {}), of.verdict)
            assert isinstance(found, str) is not right, (name, score)


@pytest.mark.parametrize(
    ("file", "change", "complaint"),
    [
        ("envs/evaluators.py", None, r"there is no \S*evaluators.py: give 'sotopia'"),
        ("envs/evaluators.py", ("template=", "other="), "form of Sotopia"),
        ("database/evaluation_dimensions.py", ("class SotopiaDim", "class Dim"), "SotopiaDimens"),
        ("database/evaluation_dimensions.py", ("return up(v)", "return v"), "form of Sotopia"),
    ],
)
def test_sources_that_are_missing_or_have_changed_are_refused(clone, file, change, complaint):
    path = clone / "sotopia" / file
    if change is None:
        path.unlink()
    else:
        path.write_text(path.read_text().replace(*change))
    with pytest.raises(ConfigurationError, match=complaint):
        SocialTask(judge_prompt=str(clone))


def test_the_package_is_named_if_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match="pip install sotopia"):
        SotopiaJudge("sotopia")


# --- compared with Sotopia itself ---


class LLMBaseModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LLMEvalBaseModel(LLMBaseModel):
    pass


class Parser:
    """Stands for Sotopia's parser of replies, for the form that it asks for."""

    def __class_getitem__(cls, item):
        return cls

    def __init__(self, pydantic_object):
        self.of = pydantic_object


@pytest.fixture
def original(monkeypatch):
    """Sotopia's clone, its evaluator's module, and its class of dimensions, without its server."""
    folder = Path(os.environ.get("DATAENVGYM_DATA", "/nonexistent")) / "sotopia"
    if not folder.is_dir():
        pytest.skip("needs a clone of sotopia in the folder that DATAENVGYM_DATA names")
    asked = []

    async def agenerate(**call):
        asked.append(call)
        raise ValueError("no model is asked")

    stubs = {
        "gin": {"configurable": lambda function: function},
        "litellm": {},
        "litellm.utils": {"supports_response_schema": lambda model: False},
        "sotopia.generation_utils": {"PydanticOutputParser": Parser, "agenerate": agenerate},
        "sotopia.database": {"LLMBaseModel": LLMBaseModel, "LLMEvalBaseModel": LLMEvalBaseModel},
        "sotopia.envs": {"__path__": [str(folder / "sotopia" / "envs")]},
    }
    monkeypatch.syspath_prepend(str(folder))
    for name, values in stubs.items():
        module = types.ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    evaluators = importlib.import_module("sotopia.envs.evaluators")
    source = (folder / "sotopia" / "database" / "evaluation_dimensions.py").read_text()
    source = source[source.index("def zero_to_ten") : source.index("class GoalDimension")]
    names = {"Field": Field, "field_validator": field_validator}
    names |= {"LLMBaseModel": LLMBaseModel, "LLMEvalBaseModel": LLMEvalBaseModel}
    exec(source, names)
    yield folder, evaluators, names["SotopiaDimensions"], asked
    for name in [name for name in sys.modules if name.partition(".")[0] == "sotopia"]:
        monkeypatch.delitem(sys.modules, name)


WORDS = ("tea", "it's", '"so"', "a\n  b", "{history}", "5 & 6", "<b>", "Ünï", "")


def random_scene(draw):
    """A scene that is over, and Sotopia's messages of it."""
    text = lambda: " ".join(draw.choices(WORDS, k=3)).strip() or "x"  # noqa: E731
    characters = tuple(
        Character(
            **one.model_dump(exclude={"gender", "pronouns", "public_information", "secret"}),
            gender=draw.choice(["Man", "Woman", "Nonbinary", ""]),
            pronouns=draw.choice(["She/her", ""]),
            public_information=draw.choice(["Has a cat.", ""]),
            secret=draw.choice(["Sings.", ""]),
        )
        for one in people()
    )
    hints = ((), (Hint(kind="strategy_hint", text="Ask."),))
    goals = tuple(Goal(text=f"Get {i} cups.", hints=draw.choice(hints)) for i in range(2))
    over = SceneState.begin(Cast(scene(goals=goals, scenario=f"They {text()}."), characters))
    kinds = ["[none]", "[action] {}", "[non-verbal communication] {}", "{}", "{}", "{}"]
    while over.ending is None:
        said = draw.choice([*kinds, "[leave]"] if over.n_turns > 1 else kinds[1:])
        over = played(over, said.format(draw.choice(["Hi", "No way", 'He said "x"', "5 & 6"])))
    return over


ADJECTIVES = {"Man": "male", "Woman": "female", "Nonbinary": "nonbinary"}


def bio(c):
    """A character as the function for friends in Sotopia's `parallel` writes it, without tags."""
    return (
        f"{c.first_name} {c.last_name} is a {c.age}-year-old {ADJECTIVES.get(c.gender, '')} "
        f"{c.occupation.lower()}. {c.pronouns} pronouns. {c.public_information} Personality and "
        f"values description: {c.personality} {c.first_name}'s secrets: {c.secret}"
    )


def messages_of(over, of):
    """The scene as the messages in Sotopia's inbox."""
    cast = over.cast
    background = of.ScriptBackground(
        scenario=cast.scene.scenario,
        agent_names=list(cast.names),
        agent_backgrounds=list(map(bio, cast.characters)),
        agent_goals=[" ".join([g.text, *(h.text for h in g.hints)]) for g in cast.scene.goals],
    )
    messages = [("Environment", background)]
    for turn in range(over.n_turns):
        messages.append(("Environment", of.SimpleMessage(message=f"Turn #{turn + 1}")))
        acted = [e for e in over.events if e.turn == turn and not e.note]
        for e in acted:
            kind, argument = e.action.kind.value, e.action.argument
            action = of.AgentAction(action_type=kind, argument=argument, to=[])
            messages.append((cast.names[e.seat], action))
        if not acted:
            nothing = of.AgentAction(action_type="none", argument="", to=[])
            messages.append((cast.names[turn % 2], nothing))
    return messages


@pytest.mark.slow
def test_questions_are_those_of_sotopias_evaluator(original):
    folder, evaluators, dimensions, asked = original
    messages = importlib.import_module("sotopia.messages")
    format_docstring = importlib.import_module("sotopia.utils").format_docstring
    of = evaluators.EvaluationForAgents[dimensions]
    ours, draw = SotopiaJudge(folder), random.Random(5)
    for number in range(500):
        over = random_scene(draw)
        evaluator = evaluators.EpisodeLLMEvaluator("model", of)
        evaluator.__dict__["response_format_class"] = of
        said = asyncio.run(evaluator.__acall__(0, messages_of(over, messages)))
        assert said == []
        call = asked[-1]
        text = format_docstring(call["template"])
        values = call["input_values"] | {"format_instructions": json.dumps(of.model_json_schema())}
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", str(value))
        assert ours.question(over)[0].content == text, number
    assert len(asked) == 500


@pytest.mark.slow
def test_replies_are_accepted_and_scored_as_by_sotopias_classes(original):
    folder, evaluators, dimensions, _ = original
    of = evaluators.EvaluationForAgents[dimensions]
    ours, draw = SotopiaJudge(folder), random.Random(6)
    counts = Counter()
    for _ in range(3000):
        reply = json.loads(evaluations({}, {}))
        for agent in reply["evaluations"].values():
            for value in agent.values():
                value["score"] = draw.choice([0, 0, 0, 0, 0, 5, -5, 10, -10])
        agents = reply["evaluations"]
        good = draw.random() < 0.5
        for agent in agents.values():
            for name in list(agent):
                of_ours = DIMENSIONS[OURS.get(name, name)]
                if good:
                    agent[name]["score"] = draw.randint(of_ours.low, of_ours.high)
        what = draw.choice(["", "", "less", "more", "float", "text", "extra", "agents"])
        one = draw.choice(list(agents.values()))
        name = draw.choice(list(one))
        if what == "less":
            del one[name]
        elif what == "more":
            one["other"] = copy.deepcopy(one[name])
        elif what == "float":
            one[name]["score"] = draw.choice([0.0, 0.5])
        elif what == "text":
            one[name]["score"] = draw.choice(["0", "none"])
        elif what == "extra":
            one[name]["why"] = "x"
        elif what == "agents":
            agents["Bob"] = agents.pop("agent_2")
        text = json.dumps(reply)
        try:
            theirs = of.model_validate_json(text)
        except ValidationError:
            theirs = None
        found = read_verdict(text, ours.verdict)
        if what in ("float", "text") and isinstance(found, str) and theirs is not None:
            counts[what, "asked again"] += 1  # 0.0 and "0" are no whole numbers for us
            continue
        assert isinstance(found, str) is (theirs is None), (text, found)
        counts[what, theirs is None] += 1
        for seat in range(2):
            if theirs is not None:
                scores = list(theirs.evaluations.values())[seat].model_dump()
                wanted = {OURS.get(n, n): (v["score"], v["reasoning"]) for n, v in scores.items()}
                assert ours.scores(found, seat) == wanted
    assert min(counts["", True], counts["", False]) > 100


OURS = {"financial_and_material_benefits": "financial_and_material"}
