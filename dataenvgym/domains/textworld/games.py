"""Games of other packages as worlds of text: TextWorld's, Jericho's, ALFWorld's, and WebShop.

TextWorld's own environment plays game files: `.z1` to `.z8` (its own games, and those of Jericho)
and `.tw-pddl` (ALFWorld's). WebShop is its repository's `WebAgentTextEnv`, one purchase for each
session. Each is imported where it is played (extras `textworld` and `alfworld`; WebShop has no
package).

A game's reward is its score, from 0 to the highest score, or 1 if it is won. A Z-machine ends the
whole process when its file is damaged, so the file is checked before.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import Field

from dataenvgym.domains.textworld.house import canonical
from dataenvgym.domains.textworld.shop import SHOP_ACTION
from dataenvgym.domains.textworld.worlds import Problem, Seen, Step, World, impossible
from dataenvgym.errors import BrokenFileError, ConfigurationError, need
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.rows import SourceRow, UnfitRowError

PDDL = ".tw-pddl"
_SUFFIXES = (*(f".z{version}" for version in range(1, 9)), PDDL)
_PDDL_FIELDS = ("pddl_domain", "grammar", "pddl_problem")
_BANNER = re.compile(r"\A\s*-= Welcome to TextWorld.*=-\s*")
_STATUS = re.compile(r"\n>[^\n]*\Z")
_GAP = re.compile(r"\n\s*\n")
_ARRIVAL = re.compile(r"\AYou arrive at loc \d+\. ")
_FREE = "<command>"


class GameProblem(Problem):
    """A game; the data are `{"game": "PATH"}`. It is solved by the highest score.

    Attributes:
        game: the game file.
    """

    game: str = Field(min_length=1)

    @property
    def skill(self) -> str:
        """ALFWorld's type of task, by its folder; "game" for other games."""
        path = Path(self.game)
        return path.parent.parent.name.partition("-")[0] if path.suffix == PDDL else "game"

    @property
    def instruction(self) -> str:
        return self.world().opening

    def world(self) -> GameWorld:
        return GameWorld(self.game)

    def fault(self) -> str | None:
        return fault_of(self.game)

    def solution(self) -> Iterator[Step]:
        """The walkthrough of the game, where it has one."""
        _, state = _started(self.game, policy=True)
        for command in state.get("policy_commands") or state.get("extra.walkthrough") or ():
            yield Step("", command)


class GameWorld(World):
    """A game in play; an action that is not offered and changes nothing visible is invalid."""

    def __init__(self, game: str) -> None:
        self._environment, self._state = _started(game)
        feedback = _BANNER.sub("", _cleaned(self._state))
        objective = (self._state.get("objective") or "").strip()
        described = _GAP.sub("\n\n", self._state.get("description") or feedback).strip()
        self.opening = f"{described}\n\n{objective}" if objective else feedback

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(self._state.get("admissible_commands") or (_FREE,))

    def act(self, action: str) -> Seen:
        before = self.actions
        # ALFWorld's releases differ in "put X in/on Y" and "move X to Y"
        command = {canonical(each): each for each in before}.get(canonical(action), action)
        self._state, _, is_over = self._environment.step(command)
        most = self._state.get("max_score") or 1
        share = min(1.0, max(0.0, (self._state.get("score") or 0) / most))
        reward = 1.0 if self._state.get("won") else share
        return Seen(
            _ARRIVAL.sub("", _cleaned(self._state)),
            is_valid=before == (_FREE,) or command in before or before != self.actions,
            done=bool(is_over) or reward >= 1,
            reward=reward,
            scores={"score": reward},
        )


def check_game(game: str) -> None:
    """Raise BrokenFileError if a game file has a fault."""
    if (fault := fault_of(game)) is not None:
        raise BrokenFileError(fault)


def fault_of(game: str) -> str | None:
    """Whether a game file is not there, cut off or changed, without playing it."""
    try:
        data = Path(game).read_bytes()
    except OSError as error:
        return f"{game}: {error.strerror}; it is a game file"
    if game.endswith(PDDL):
        try:
            missing = [name for name in _PDDL_FIELDS if name not in json.loads(data)]
        except ValueError as error:
            missing = [f"JSON ({error})"]
        return f"{game}: it is not a game of ALFWorld: it has no {missing[0]}" if missing else None
    version = data[0] if len(data) >= 64 else 0
    if not 1 <= version <= 8:
        return f"{game}: it is not a game of a Z-machine, version 1 to 8"
    unit = 2 if version < 4 else 4 if version < 6 else 8
    length = int.from_bytes(data[26:28], "big") * unit
    found = sum(data[64:length]) % 2**16, int.from_bytes(data[28:30], "big")
    if length and (len(data) < length or found[0] != found[1]):
        return (
            f"{game}: the file is damaged ({len(data)} bytes, expected {length} or more; checksum "
            f"{found[0]}, expected {found[1]}): copy it again"
        )
    return None


def _started(game: str, *, policy: bool = False) -> tuple[Any, Any]:
    """The environment of a game, and its first state; with `policy`, one that names a solution."""
    check_game(game)
    try:
        import textworld

        wrappers = []
        if game.endswith(PDDL):
            from alfworld.agents.environment.alfred_tw_env import AlfredDemangler

            wrappers = [AlfredDemangler]
    except ImportError as error:
        name = "alfworld" if game.endswith(PDDL) else "textworld"
        lacking = ConfigurationError(
            f"{game} is played by the package {name}, and {error}: pip install dataenvgym[{name}]"
        )
        need(lacking)
        raise lacking from None
    is_described = game.endswith(PDDL) or Path(game).with_suffix(".json").exists()
    infos = textworld.EnvInfos(
        feedback=True,
        won=True,
        lost=True,
        score=True,
        max_score=True,
        objective=is_described,
        description=is_described and not game.endswith(PDDL),
        admissible_commands=is_described,
        policy_commands=policy and is_described,
        extras=["walkthrough"] if policy and not is_described else [],
    )
    try:
        environment = textworld.start(game, request_infos=infos, wrappers=wrappers)
        return environment, environment.reset()
    except Exception as error:  # parsers of several packages read it, each with its own errors
        raise BrokenFileError(f"{game} cannot be played: {error!r}") from error


def _cleaned(state: Any) -> str:
    """The text of a game's reply, without its status line and prompt."""
    said = _STATUS.sub("", (state.get("feedback") or state.get("raw") or "").rstrip())
    return _GAP.sub("\n\n", said).strip()


Rows = Callable[[Any], Iterator[SourceRow]]


def sampled(rows: Rows, *, limit: int | None, seed: int) -> Rows:
    """Only a seeded sample of the rows, in their order: each world takes a while to start."""

    def chosen(place: Any) -> Iterator[SourceRow]:
        found = list(rows(place))
        order = derive_rng(seed, "games").permutation(len(found))[:limit].tolist()
        return (found[at] for at in sorted(order))

    return chosen


def game_rows(place: Any) -> Iterator[SourceRow]:
    """A row for each game file in a folder and below it; ConfigurationError if there is none."""
    folder = Path(place)
    found = sorted(p for p in (*folder.rglob("*"), folder) if p.suffix in _SUFFIXES)
    if not found:
        lacking = ConfigurationError(
            f"there is no game in {str(folder)!r}, expected files that end in .z1 to .z8 or {PDDL} "
            "(those of ALFWorld: run `alfworld-download`, or set ALFWORLD_DATA)"
        )
        need(lacking)
        raise lacking
    for path in found:
        name = path.relative_to(folder.parent)
        name = name.parent if path.suffix == PDDL else name.with_suffix("")
        yield SourceRow(id=name.as_posix(), where=str(path), values={"game": str(path)})


def check_sound(row: SourceRow) -> None:
    """Check that ALFWorld plays the game of a row.

    Raises:
        UnfitRowError: if its file says that it cannot be solved, or it has movable or sliced
            objects.
    """
    game = row.values["game"]
    if game.endswith(PDDL):
        if is_played := not re.search("movable|Sliced", "/".join(Path(game).parts[-3:])):
            check_game(game)
        if not is_played or json.loads(Path(game).read_bytes()).get("solvable") is False:
            raise UnfitRowError(f"{row.where}: its objects are not played, or it has no solution")


class WebshopProblem(Problem):
    """A purchase in WebShop; the data are `{"session": 0, "n_products": 1000}`.

    Attributes:
        session: the number of its goal.
        n_products: how many products are loaded; None is all.
    """

    session: int = Field(ge=0)
    n_products: int | None = None

    @property
    def skill(self) -> str:
        return "purchase"

    @property
    def instruction(self) -> str:
        return self.world().opening

    def world(self) -> WebshopWorld:
        return WebshopWorld(self.session, self.n_products)

    def fault(self) -> str | None:
        known = len(_webshop(self.n_products).server.goals)
        return None if self.session < known else f"there are {known} goals, numbered from 0"


class WebshopWorld(World):
    """A session of WebShop; its own page, reward and end."""

    def __init__(self, session: int, n_products: int | None) -> None:
        shared = _webshop(n_products)
        with _LOCK:
            self._environment = type(shared)(
                observation_mode="text", server=shared.server, session_prefix=f"{next(_VISITS)}-"
            )
            self.opening: str = self._environment.reset(session=session)[0]

    @property
    def actions(self) -> tuple[str, ...]:
        with _LOCK:
            found = self._environment.get_available_actions()
        search = ("search[<words>]",) if found["has_search_bar"] else ()
        return (*search, *(f"click[{each}]" for each in found["clickables"] if each != "search"))

    def act(self, action: str) -> Seen:
        found = SHOP_ACTION.fullmatch(action.strip())
        name, value = (found[1].lower(), found[2].strip().lower()) if found else ("", "")
        wanted = "search[<words>]" if name == "search" and value else f"{name}[{value}]"
        if wanted not in self.actions:
            return Seen(impossible(action), is_valid=False)
        with _LOCK:
            text, reward, is_over, _ = self._environment.step(f"{name}[{value}]")
        return Seen(text, done=bool(is_over), reward=float(reward))


_LOCK = threading.Lock()  # WebShop's server has one dictionary of sessions
_VISITS = count()


@cache
def _webshop(n_products: int | None) -> Any:
    """WebShop's environment with its products loaded, which takes minutes for all of them."""
    try:
        from web_agent_site.envs import WebAgentTextEnv
    except ImportError as error:
        lacking = ConfigurationError(
            f"WebShop is not installed: {error}. Set it up as https://github.com/princeton-nlp/"
            "WebShop says, and put its folder on PYTHONPATH"
        )
        need(lacking)
        raise lacking from None
    return WebAgentTextEnv(observation_mode="text", human_goals=True, num_products=n_products)


def session_rows(place: Any, *, n_products: int | None) -> Iterator[SourceRow]:
    """A row for each session of a range, such as "0:500" or, to the last one, "500:".

    Raises:
        ConfigurationError: for another text.
    """
    found = re.fullmatch(r"(\d+):(\d*)", str(place))
    if found is None:
        raise ConfigurationError(
            f"the sessions of WebShop are {str(place)!r}, expected a range such as 0:500"
        )
    known = len(_webshop(n_products).server.goals)
    for session in range(int(found[1]), min(known, int(found[2] or known))):
        values = {"session": session, "n_products": n_products}
        yield SourceRow(id=f"session-{session}", where=f"WebShop, session {session}", values=values)
