"""The tasks of worlds of text: a house and a shop, drawn from a seed or read from files; games.

A row of a file has the data of a problem (see `HouseProblem`, `ShopProblem`), and may have an `id`.
Games of other packages are read where those have put them (see `games`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from pydantic import NonNegativeInt, PositiveInt

from dataenvgym.domains.textworld import household, shop
from dataenvgym.domains.textworld.domain import TextWorldDomain
from dataenvgym.domains.textworld.environment import (
    PROBLEMS,
    PROMPTS,
    PlayOptions,
    TextWorldEnvironment,
)
from dataenvgym.domains.textworld.flowbench import FlowOptions
from dataenvgym.domains.textworld.games import (
    GameProblem,
    Rows,
    WebshopProblem,
    check_sound,
    game_rows,
    sampled,
    session_rows,
)
from dataenvgym.domains.textworld.house import TASK_TYPES
from dataenvgym.domains.textworld.worlds import Problem
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import Given, PlainText, takes
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import (
    THIRDS,
    Places,
    PocketOptions,
    PromptOptions,
    RowOptions,
    TaskOptions,
)
from dataenvgym.tasks.row_source import RowSource
from dataenvgym.tasks.rows import SourceRow, parsed
from dataenvgym.tasks.source import Draws, ProceduralSource, Source, Split


@dataclass(frozen=True, kw_only=True)
class HouseOptions(PocketOptions, PromptOptions, PlayOptions, FlowOptions):
    """Options of `TextworldHouseTask`.

    Attributes:
        sources: files with problems instead of drawn ones: one path for all splits, or {train: ...,
            validation: ..., test: ...}.
        n_train, n_validation, n_test: number of drawn problems in each split.
        system_prompt: the system message of the model that acts.
        sampling: how the student draws its replies.
    """

    sources: Places | None = None
    n_train: NonNegativeInt = 120
    n_validation: NonNegativeInt = 40
    n_test: NonNegativeInt = 40
    system_prompt: PlainText[str] = PROMPTS["house"]
    sampling: SamplingParameters = SamplingParameters(max_tokens=128)


@dataclass(frozen=True, kw_only=True)
class ShopOptions(HouseOptions):
    """Options of `TextworldShopTask`.

    Attributes:
        max_turns: the most messages of the student; the problem is not solved after that.
        system_prompt: the system message of the model that acts.
    """

    max_turns: int = 10
    system_prompt: PlainText[str] = PROMPTS["shop"]


class _TextWorldTask(Task):
    def _set_up(
        self, world: str, skills: Sequence[str], draw: Draws, options: HouseOptions
    ) -> None:
        problem = PROBLEMS[world]
        domain = TextWorldDomain(problem, options, prompt_template=options.prompt, flow=options)
        name = options.name or self.name
        source: Source
        if options.sources is None:
            source = ProceduralSource(name, skills, draw, sizes=options.sizes, seed=options.seed)
        else:
            read = partial(to_instance, problem=problem, name=name)
            source = _rows(options, read, domain, name, gold_errors=domain.gold_errors)
        self.set_up(source, domain, options)


class TextworldHouseTask(_TextWorldTask):
    """Household tasks of six types in rooms of text (ALFWorld's form): 40 turns, reward 1 or 0."""

    name = "textworld_house"

    @takes(HouseOptions)
    def __init__(self, options: HouseOptions) -> None:
        self._set_up("house", TASK_TYPES, household.draw, options)


class TextworldShopTask(_TextWorldTask):
    """Purchases in a shop of text pages (WebShop's form): 10 turns, reward 0 to 1.

    Purchases in five categories, with equal shares; `seed` selects the products, too.
    """

    name = "textworld_shop"

    @takes(ShopOptions)
    def __init__(self, options: ShopOptions) -> None:
        draw = partial(shop.draw, seed=options.seed)
        self._set_up("shop", shop.SKILLS, draw, options)


@dataclass(frozen=True, kw_only=True)
class GameOptions(TaskOptions, PromptOptions, PlayOptions):
    """Options of `TextworldGamesTask`.

    Attributes:
        sources: a folder with games for all splits, or {train: ..., validation: ..., test: ...}.
        limit: largest number of games of each place: a seeded sample.
        seed: selects the sample, and the games of each split of a folder that several share.
        name: of the task; None uses the name of the class.
        system_prompt: the system message of the model that acts.
        sampling: how the student draws its replies.
    """

    sources: Places
    limit: PositiveInt | None = None
    seed: int = 0
    name: Given[str | None] = None
    system_prompt: PlainText[str] = PROMPTS["game"]
    sampling: SamplingParameters = SamplingParameters(max_tokens=128)


_SESSIONS: Mapping[Split, str] = {"train": "1500:", "validation": "500:1500", "test": "0:500"}


@dataclass(frozen=True, kw_only=True)
class WebshopOptions(GameOptions):
    """Options of `WebshopTask`.

    Attributes:
        sources: the sessions of each split; the default has those of the published experiments.
        limit: largest number of sessions of each split: a seeded sample.
        seed: selects the sample.
        n_products: how many products WebShop loads; None is all.
        max_turns: the most messages of the student; the problem is not solved after that.
        system_prompt: the system message of the model that acts.
    """

    sources: Places = field(default_factory=lambda: _SESSIONS)
    n_products: PositiveInt | None = 1000
    max_turns: PositiveInt = 10
    system_prompt: PlainText[str] = PROMPTS["shop"]


class _GamesTask(Task):
    def _set_up(
        self,
        problem: type[Problem],
        rows: Rows,
        options: GameOptions,
        *,
        check: Callable[[SourceRow], None] | None = None,
    ) -> None:
        domain = TextWorldDomain(problem, options, prompt_template=options.prompt)
        name = options.name or self.name

        def read(row: SourceRow) -> TaskInstance:
            if check is not None:
                check(row)
            return to_instance(row, problem=problem, name=name)

        chosen = sampled(rows, limit=options.limit, seed=options.seed)
        source = _rows(options, read, domain, name, rows=chosen)
        self.set_up(source, domain, options)


class TextworldGamesTask(_GamesTask):
    """Games of TextWorld, Jericho or ALFWorld (extras textworld, alfworld): task.sources=FOLDER."""

    name = "textworld_games"

    @takes(GameOptions)
    def __init__(self, options: GameOptions) -> None:
        self._set_up(GameProblem, game_rows, options, check=check_sound)


class WebshopTask(_GamesTask):
    """WebShop itself, on PYTHONPATH: 10 turns, reward 0 to 1."""

    name = "webshop"

    @takes(WebshopOptions)
    def __init__(self, options: WebshopOptions) -> None:
        self._set_up(WebshopProblem, partial(session_rows, n_products=options.n_products), options)


def _rows(
    options: HouseOptions | GameOptions, read: Any, domain: TextWorldDomain, name: str, **more: Any
) -> RowSource:
    assert options.sources is not None
    shares, key = RowOptions(fractions=THIRDS, seed=options.seed), domain.overlap_key
    return RowSource(options.sources, read, shares, name=name, overlap_key=key, **more)


def to_instance(row: SourceRow, *, problem: type[Problem], name: str) -> TaskInstance:
    """The problem in a row.

    Raises:
        InvalidInstanceError: naming the row and the field that is damaged.
    """
    values: dict[str, Any] = {key: value for key, value in row.values.items() if key != "id"}
    read = parsed(problem, values, row.where)
    return TaskInstance(
        id=str(row.values.get("id") or row.id),
        task=name,
        instruction=read.instruction,
        skill=read.skill,
        data=values,
    )


def make_default(
    instances: Sequence[TaskInstance] | None = None,
    *,
    world: Literal["house", "shop"] = "house",
    **options: Any,
) -> TextWorldEnvironment:
    """Make `dataenvgym/TextWorld-v0`: by default, with the validation tasks of the house.

    Args:
        world: "house" or "shop".
        options: those of `TextWorldEnvironment`.
    """
    task = (TextworldShopTask if world == "shop" else TextworldHouseTask)(split="validation")
    assert isinstance(task.domain, TextWorldDomain)
    return task.domain.make_environment(
        task.instances if instances is None else instances, **options
    )
