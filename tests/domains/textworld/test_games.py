"""Games of other packages: their files, TextWorld and ALFWorld themselves, WebShop's interface."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from dataenvgym.domains.textworld import games
from dataenvgym.domains.textworld.domain import audit
from dataenvgym.domains.textworld.games import GameProblem, check_game
from dataenvgym.domains.textworld.task import TextworldGamesTask, WebshopTask
from dataenvgym.errors import BrokenFileError, ConfigurationError, DataEnvGymError
from dataenvgym.runs.config import build_task, compose
from dataenvgym.students.predictors import ScriptedPredictor

STORY = bytes(range(256)) * 8


def z_machine(version=5, *, body=STORY, unit=4):
    """A file with the header of a Z-machine's game."""
    header = bytearray(64)
    header[0] = version
    header[26:28] = ((64 + len(body)) // unit).to_bytes(2, "big")
    header[28:30] = (sum(body) % 2**16).to_bytes(2, "big")
    return bytes(header) + body


@pytest.mark.parametrize(("version", "unit"), [(3, 2), (5, 4), (8, 8)])
def test_a_sound_game_file_passes(tmp_path, version, unit):
    game = tmp_path / f"game.z{version}"
    game.write_bytes(z_machine(version, unit=unit))
    check_game(str(game))
    assert GameProblem(game=str(game)).fault() is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.z5", None, "No such file"),
        ("g.z5", b"\x09" + bytes(100), "not a game of a Z-machine"),
        ("g.z5", z_machine()[:-300], r"damaged \(1812 bytes, expected 2112 or more"),
        ("g.z5", z_machine().replace(b"\x41\x42", b"\x41\x43", 1), "damaged .*checksum"),
        ("game.tw-pddl", b"{", "no JSON"),
        ("game.tw-pddl", b'{"grammar": "", "pddl_problem": ""}', "it has no pddl_domain"),
    ],
)
def test_a_damaged_game_file_is_named_before_it_can_end_the_process(
    tmp_path, name, content, message
):
    game = tmp_path / name
    if content is not None:
        game.write_bytes(content)
    with pytest.raises(BrokenFileError, match=message) as error:
        check_game(str(game))
    assert str(error.value).startswith(str(game))
    assert "\n" not in str(error.value)
    assert message.split(" ")[0].strip("(") in str(GameProblem(game=str(game)).fault())


def test_games_that_alfworld_leaves_out_are_left_out_and_counted(tmp_path):
    parts = dict.fromkeys(("pddl_domain", "grammar", "pddl_problem"), "")
    for name, solvable in (("look-Mug", False), ("pick-movable", True)):
        folder = tmp_path / name / "trial"
        folder.mkdir(parents=True)
        (folder / "game.tw-pddl").write_text(json.dumps({**parts, "solvable": solvable}))
    (folder / "game.tw-pddl").write_text("{}")  # it is not looked at
    task = TextworldGamesTask(sources={"validation": str(tmp_path)})
    with pytest.raises(DataEnvGymError, match="can be judged"):
        task.instances  # noqa: B018


# --- the packages themselves ---


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with two games that TextWorld makes."""
    textworld = pytest.importorskip("textworld")
    folder = tmp_path_factory.mktemp("games")
    for seed in (1, 2):
        options = textworld.GameOptions()
        options.seeds = seed
        options.nb_rooms, options.nb_objects, options.quest_length = 2, 3, 2
        options.path = str(folder / f"game-{seed}.z8")
        textworld.make(options)
    return folder


@pytest.mark.external
def test_games_of_textworld_are_played_to_their_end_by_their_walkthrough(made):
    task = TextworldGamesTask(sources={"validation": str(made)})
    assert audit(task).violations == []
    assert len(task.instances) == 2
    for instance in task.instances:
        done = task.domain.gold_conversation(instance)
        assert (done.was_correct, done.reward, done.scores["score"]) == (True, 1, 1)
        environment = task.domain.make_environment()
        _, info = environment.reset(seed=0, options={"instance": instance})
        assert "look" in info["actions"].splitlines()
        *_, info = environment.step("Action: xyzzy")
        assert info["scores"]["invalid_actions"] == 1
    idle = task.evaluate(ScriptedPredictor(lambda conversation: "Action: look"))
    assert [done.reward for done in idle] == [0, 0]


@pytest.mark.external
def test_a_changed_game_of_textworld_is_named_and_the_process_lives(made, tmp_path):
    data = bytearray((made / "game-1.z8").read_bytes())
    data[5000] ^= 255
    (tmp_path / "game.z8").write_bytes(data)
    task = TextworldGamesTask(sources={"validation": str(tmp_path)})
    with pytest.raises(BrokenFileError, match="file is damaged"):
        task.instances  # noqa: B018


MUG_TO_SHELF = """
(define (problem plan) (:domain alfred)
 (:objects agent1 - agent  Mug_bar_1 - object  Desk_bar_1 Shelf_bar_1 - receptacle
   MugType - otype  ShelfType DeskType - rtype  loc0 loc1 loc2 - location)
 (:init (= (total-cost) 0) (atLocation agent1 loc0) (objectType Mug_bar_1 MugType)
   (receptacleType Desk_bar_1 DeskType) (receptacleType Shelf_bar_1 ShelfType)
   (canContain DeskType MugType) (canContain ShelfType MugType) (pickupable Mug_bar_1)
   (receptacleAtLocation Desk_bar_1 loc1) (receptacleAtLocation Shelf_bar_1 loc2)
   (objectAtLocation Mug_bar_1 loc1) (inReceptacle Mug_bar_1 Desk_bar_1))
 (:goal (and (exists (?r - receptacle) (exists (?o - object) (and (inReceptacle ?o ?r)
   (objectType ?o MugType) (receptacleType ?r ShelfType))))))
 (:metric minimize (total-cost)))
"""


@pytest.mark.external
def test_a_game_in_the_rules_of_alfworld_is_solved_by_its_planner_and_in_both_wordings(tmp_path):
    rules = Path(pytest.importorskip("alfworld").__file__).parent / "data"
    grammar = (rules / "alfred.twl2").read_text().replace("UNKNOWN GOAL", "put some mug on shelf")
    game = {
        "pddl_domain": (rules / "alfred.pddl").read_text(),
        "grammar": grammar,
        "pddl_problem": MUG_TO_SHELF,
        "solvable": True,
    }
    folder = tmp_path / "pick_and_place_simple-Mug-None-Shelf-1" / "trial"
    folder.mkdir(parents=True)
    (folder / "game.tw-pddl").write_text(json.dumps(game))
    task = TextworldGamesTask(sources={"validation": str(tmp_path)}, name="alfworld")
    (instance,) = task.instances
    assert instance.skill == "pick_and_place_simple"
    assert instance.instruction == (
        "You are in the middle of a room. Looking quickly around you, you see a desk 1, and a "
        "shelf 1.\n\nYour task is to: put some mug on shelf."
    )
    assert audit(task).violations == []
    assert task.domain.gold_conversation(instance).was_correct
    for last in ("put mug 1 in/on shelf 1", "move mug 1 to shelf 1"):
        actions = ["go to desk 1", "take mug 1 from desk 1", "go to shelf 1", last]
        done = task.domain.conversation(instance, [f"Action: {action}" for action in actions])
        assert (done.was_correct, done.scores["invalid_actions"]) == (True, 0)
    (folder / "game.tw-pddl").write_text(json.dumps({**game, "pddl_problem": "(define"}))
    with pytest.raises(BrokenFileError, match="tw-pddl"):
        task.load("validation")


# --- WebShop, by its documented interface ---


class WebAgentTextEnv:
    """WebShop's methods, with three goals and one product."""

    loaded: list[dict] = []

    def __init__(self, observation_mode="html", server=None, session_prefix="", **options):
        assert observation_mode == "text"
        if server is None:
            type(self).loaded.append(options)
        self.server = server or SimpleNamespace(goals=[0, 1, 2], sessions={})
        self.prefix = session_prefix

    def reset(self, session=None, instruction_text=None):
        self.session = f"{self.prefix}{session}"
        assert self.session not in self.server.sessions
        self.server.sessions[self.session] = "search"
        return f"WebShop [SEP] Instruction: [SEP] Find shoes {session} [SEP] Search", None

    @property
    def page(self):
        return self.server.sessions[self.session]

    def get_available_actions(self):
        buttons = {"search": ["search"], "results": ["back to search", "b000000001"],
                   "product": ["back to search", "size 7", "buy now"]}  # fmt: skip
        return {"has_search_bar": self.page == "search", "clickables": buttons[self.page]}

    def step(self, action):
        after = {"search[shoes]": "results", "click[b000000001]": "product",
                 "click[back to search]": "search", "click[size 7]": "product"}  # fmt: skip
        if action == "click[buy now]":
            return "Thank you for shopping with us! [SEP] Your score", 0.75, True, None
        self.server.sessions[self.session] = after[action]
        return f"page {self.page}", 0, False, None


@pytest.fixture
def webshop(monkeypatch):
    module = ModuleType("web_agent_site.envs")
    module.WebAgentTextEnv = WebAgentTextEnv
    monkeypatch.setitem(sys.modules, "web_agent_site", ModuleType("web_agent_site"))
    monkeypatch.setitem(sys.modules, "web_agent_site.envs", module)
    monkeypatch.setattr(WebAgentTextEnv, "loaded", [])
    games._webshop.cache_clear()
    yield WebAgentTextEnv
    games._webshop.cache_clear()


def test_a_purchase_in_webshop_has_its_reward_and_products_are_loaded_once(webshop):
    task = WebshopTask(sources={"validation": "0:2", "test": "2:"}, n_products=1000)
    replies = ["Action: search[Shoes]", "Action: click[B000000001]", "Action: click[Fly]",
               "Action: click[Size 7]", "Action: click[Buy Now]"]  # fmt: skip
    done = task.evaluate(
        ScriptedPredictor(lambda c: replies[sum(m.role == "assistant" for m in c)])
    )
    assert [i.id for i in task.instances] == ["session-0", "session-1"]
    assert [d.reward for d in done] == [0.75, 0.75]
    assert [d.was_correct for d in done] == [False, False]
    assert [d.scores["invalid_actions"] for d in done] == [1, 1]
    assert "Find shoes 1" in task.instances[1].instruction
    assert len(task.on("test").instances) == 1
    assert webshop.loaded == [{"human_goals": True, "num_products": 1000}]
    assert task.domain.gold_record(task.instances[0]) is None


def test_what_is_lacking_is_named_with_where_to_get_it(tmp_path, monkeypatch):
    (tmp_path / "game.z5").write_bytes(z_machine())
    games._webshop.cache_clear()
    for module, task, match in (
        ("textworld", TextworldGamesTask(sources={"validation": str(tmp_path)}), r"gym\[textworld"),
        ("web_agent_site", WebshopTask(), "WebShop"),
        ("web_agent_site", WebshopTask(sources={"validation": "all"}), "range such"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ConfigurationError, match=match):
            _ = task.instances


def test_a_limit_samples_before_worlds_are_started(webshop):
    one, again = (WebshopTask(sources={"validation": "0:3"}, limit=1) for _ in range(2))
    assert len(one.instances) == 1
    assert one.instances == again.instances


def test_the_tasks_of_the_originals_compose(monkeypatch, tmp_path):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    config = compose(["task=alfworld"])
    assert config.task.sources.test == f"{tmp_path}/json_2.1.1/valid_unseen"
    task = build_task(config)
    assert (task.name, task.domain.options.max_turns) == ("alfworld", 40)
    with pytest.raises(ConfigurationError, match=r"no game in .*valid_seen"):
        task.instances  # noqa: B018
    webshop = build_task(compose(["task=webshop"]))
    assert (webshop.name, webshop.domain.options.max_turns) == ("webshop", 10)
