"""The store of a configuration, and the names of the models in its episodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dataenvgym.config.identity import short_name
from dataenvgym.config.targets import build_section
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TaskInterface
from dataenvgym.store import Store
from dataenvgym.store.ledger import Ledger
from dataenvgym.store.redis import RedisSettings, is_redis_url

if TYPE_CHECKING:
    from omegaconf import DictConfig


@runtime_checkable
class RecordsEpisodes(Protocol):
    """A domain whose problems are episodes that a store can save.

    Attributes:
        recorder: saves them; has the `kind` of these documents, and a `ledger`.
    """

    recorder: Any

    def record_in(self, store: Store, models: dict[str, str], *, events: bool = True) -> None:
        """Also save all episodes from now on in this store."""
        ...

    @staticmethod
    def model_names(config: DictConfig) -> dict[str, str]:
        """The name of the model in each role of the configuration's task (see `model_name`)."""
        ...


def record_in_store(config: DictConfig, task: TaskInterface) -> None:
    """Let the task save its episodes in the store of `config.store`, if there is one.

    Raises:
        ConfigurationError: if the task has no episodes to save, or the store cannot be opened.
    """
    if "store" not in config or config.store.get("_target_") is None:
        return
    store = build_section(config, "store")
    if (domain := recording_domain(task)) is None:
        raise ConfigurationError(
            f"store keeps episodes of several characters, and task {short_name(config.task)!r} has "
            "none: leave store out"
        )
    domain.record_in(store, domain.model_names(config))
    where = str(config.store.get("where"))
    place = RedisSettings(where).place if is_redis_url(where) else where
    lasting = config.store.get("expires_s") is None
    domain.recorder.ledger = Ledger(store, domain.recorder.kind, place, lasting=lasting)


def ledger_of(task: TaskInterface) -> Ledger | None:
    """The ledger of the task's episodes in the store of its configuration."""
    ledger: Ledger | None = getattr(
        getattr(recording_domain(task), "recorder", None), "ledger", None
    )
    return ledger


def check_stored(task: TaskInterface, directory: Path) -> None:
    """Check that the store still has all episodes of the run or evaluation in this folder.

    Raises:
        StoreError: as `Ledger.check`.
    """
    if (ledger := ledger_of(task)) is not None:
        ledger.directory = directory
        ledger.check()


def recording_domain(task: TaskInterface) -> RecordsEpisodes | None:
    """The task's domain, if its problems are episodes that a store can save."""
    domain = getattr(task, "domain", None)
    return domain if isinstance(domain, RecordsEpisodes) else None


def model_name(section: Any) -> str:
    """The name of a model: on its server, or its path with its adapter; else its class."""
    if model := section.get("model"):
        return str(model)
    if str(section.get("_target_")).endswith(".StudentSpeaker"):
        return f"student/{section.adapter}"
    if path := section.get("student"):
        adapter = section.get("adapter")
        return f"{path}:{adapter}" if adapter else str(path)
    return short_name(section)
