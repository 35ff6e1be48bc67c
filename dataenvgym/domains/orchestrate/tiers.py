"""Tiers: the models behind the orchestrator's tools, with price, latency and where to ask them.

A tool has several tiers, such as `answer-1` and `answer-4`, and a call names one. A tier's replies
come from a model (`task.others`, `base_url`, or an endpoint file), or are simulated with a stated
accuracy. A tier with neither is not offered.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.options import Free, Share
from dataenvgym.records import Conversation, Model
from dataenvgym.storage import read_model
from dataenvgym.students.predictors import OpenAIPredictor
from dataenvgym.tasks.rows import parsed
from dataenvgym.teachers import ask_all
from dataenvgym.teachers.budget import Price

ToolName = Literal["search", "enhance_reasoning", "answer"]
TOOLS: tuple[ToolName, ...] = get_args(ToolName)
RETRIEVAL = "retrieval"
"""The name of search servers in an endpoint file."""


class Tier(Model):
    """One model behind a tool.

    Attributes:
        tool: the tool that it serves.
        price: in US dollars for a million tokens; None if it is unknown, and so are its costs.
        seconds: of a reply; used for simulated replies, and for others whose time is unknown.
        model: its name on servers and in an endpoint file.
        base_url: its server, or several; None if it is in the endpoint file or in `others`.
        accuracy: of simulated replies, in 0..1, or one for each skill of problems.
        informed: the accuracy of a simulated answer if a document, an output of code or an attempt
            has the gold answer; None is the same as `accuracy`.
        reply_tokens: of a simulated reply.
        context_tokens: the longest context that it is given, of documents, code and attempts.
        temperature, max_tokens: how it draws its replies.
    """

    tool: ToolName
    price: Price | None = None
    seconds: float | None = Field(default=None, ge=0.0, allow_inf_nan=False)
    model: str | None = None
    base_url: str | tuple[str, ...] | None = None
    accuracy: Share | dict[str, Share] | None = None
    informed: Share | None = None
    reply_tokens: int = Field(default=500, ge=0)
    context_tokens: int = Field(default=24_000, ge=1)
    temperature: float = Field(default=0.2, ge=0.0)
    max_tokens: int = Field(default=8_000, ge=1)

    @property
    def sampling(self) -> SamplingParameters:
        return SamplingParameters(temperature=self.temperature, max_tokens=self.max_tokens)

    def chance(self, name: str, skill: str | None) -> float:
        """The accuracy at problems of a skill.

        Raises:
            ConfigurationError: if none is stated for that skill.
        """
        if not isinstance(self.accuracy, dict):
            assert self.accuracy is not None
            return self.accuracy
        if (skill or "") not in self.accuracy:
            raise ConfigurationError(
                f"tier {name!r} has accuracies for {', '.join(self.accuracy)}, and a problem has "
                f"the skill {skill!r}: add it to task.tiers.{name}.accuracy, or give one number"
            )
        return self.accuracy[skill or ""]


def _tier(tool: ToolName, model: str, seconds: float, *price: float, **more: Any) -> Tier:
    paid = Price(prompt=price[0], completion=price[1])
    return Tier(tool=tool, model=model, seconds=seconds, price=paid, **more)


_GPT = {"temperature": 1.0, "max_tokens": 40_000, "context_tokens": 120_000}
DEFAULT_TIERS: Mapping[str, Tier] = {
    "search-1": _tier("search", "gpt-5", 22, 1.25, 10, **_GPT),
    "search-2": _tier("search", "gpt-5-mini", 16, 0.25, 2, **_GPT),
    "search-3": _tier("search", "Qwen/Qwen3-32B", 8, 0.8, 0.8),
    "reasoner-1": _tier("enhance_reasoning", "gpt-5", 31, 1.25, 10, **_GPT),
    "reasoner-2": _tier("enhance_reasoning", "gpt-5-mini", 25, 0.25, 2, **_GPT),
    "reasoner-3": _tier("enhance_reasoning", "Qwen/Qwen2.5-Coder-32B-Instruct", 9, 0.8, 0.8),
    "answer-1": _tier("answer", "gpt-5", 96, 1.25, 10, **_GPT),
    "answer-2": _tier("answer", "gpt-5-mini", 27, 0.25, 2, **_GPT),
    "answer-3": _tier(
        "answer", "meta-llama/Llama-3.3-70B-Instruct", 15, 0.9, 0.9, context_tokens=80_000
    ),
    "answer-4": _tier("answer", "Qwen/Qwen3-32B", 11, 0.8, 0.8),
    "answer-math-1": _tier(
        "answer",
        "Qwen/Qwen2.5-Math-72B-Instruct", 13, 0.9, 0.9, context_tokens=2_000, max_tokens=2_000,
    ),
    "answer-math-2": _tier(
        "answer",
        "Qwen/Qwen2.5-Math-7B-Instruct", 9, 0.2, 0.2, context_tokens=2_000, max_tokens=2_000,
    ),
}  # fmt: skip
"""The models, prices and seconds of ToolOrchestra."""


def parse_tiers(
    given: Mapping[str, Any] | None, base: Mapping[str, Tier] = DEFAULT_TIERS
) -> dict[str, Tier]:
    """The tiers of `base` with the given changes and additions, by name.

    Raises:
        ConfigurationError: naming the tier and its invalid field.
    """
    tiers = dict(base)
    for name, options in (given or {}).items():
        if isinstance(options, Mapping) and name in tiers:
            options = tiers[name].model_dump() | dict(options)
        tiers[name] = parsed(Tier, options, f"tier {name!r}", ConfigurationError)
    return tiers


class _Server(Model):
    ip_addr: str
    port: int


_Endpoints = dict[str, str | Annotated[tuple[_Server, ...], Field(min_length=1)]]


def read_endpoints(path: str | Path) -> dict[str, tuple[str, ...]]:
    """The servers of each model in ToolOrchestra's `model_config.json`.

    The file maps the name of a model to a list of `{"ip_addr": ..., "port": ...}`. Texts in it,
    such as comments, are skipped.

    Raises:
        ConfigurationError: naming the entry that cannot be read.
    """
    form = 'endpoints are a JSON file: {"NAME": [{"ip_addr": "10.0.0.1", "port": 1800}]}'
    found = read_model(Path(path), _Endpoints, form, ConfigurationError)
    return {
        name: tuple(f"http://{each.ip_addr}:{each.port}" for each in servers)
        for name, servers in found.items()
        if not isinstance(servers, str)
    }


class ServerPool:
    """A model on several servers; each conversation goes to the next one, and so does a retry.

    Args:
        model: its name on the servers.
        base_urls: the servers, which need no key, with or without "/v1".
        price: see `OpenAIPredictor`; a tier has its own.
    """

    def __init__(
        self,
        model: str,
        base_urls: Sequence[str],
        *,
        price: Free[Price | Mapping[str, float] | None] = None,
    ) -> None:
        self.servers = [
            OpenAIPredictor(
                model, base_url=url, timeout=600.0, retries=1, api_key_variable=None, price=price
            )
            for url in base_urls
        ]
        self._turns = itertools.count()

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation."""
        return ask_all(self.submit, conversations, sampling)

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """A future of the next server's reply or failure."""
        server = self.servers[next(self._turns) % len(self.servers)]
        return server.submit(conversation, sampling)

    def close(self) -> None:
        """Disconnect from all servers."""
        for server in self.servers:
            server.close()

    def describe(self) -> dict[str, Any]:
        """The model and its servers, for the run directory."""
        urls = [server.base_url for server in self.servers]
        return {"name": type(self).__name__, "model": self.servers[0].model, "base_urls": urls}


def make_speakers(
    tiers: Mapping[str, Tier], endpoints: Mapping[str, Sequence[str]], taken: Mapping[str, Any]
) -> dict[str, ServerPool]:
    """The speakers of tiers that have servers, except those that are `taken` already."""
    speakers = {}
    for name, tier in tiers.items():
        urls = tier.base_url or endpoints.get(tier.model or "")
        if urls and name not in taken:
            if tier.model is None:
                raise ConfigurationError(
                    f"tier {name!r} has a base_url and no model: set task.tiers.{name}.model to "
                    "the model's name on the server"
                )
            listed = (urls,) if isinstance(urls, str) else urls
            speakers[name] = ServerPool(tier.model, listed)
    return speakers
