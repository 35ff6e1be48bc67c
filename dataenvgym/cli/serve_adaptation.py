"""`dataenvgym serve-adaptation`: trains and asks an adapter for each request of a client."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path

from omegaconf import DictConfig

from dataenvgym.cli.console import open_console, quieten, showing_warnings
from dataenvgym.config import build_predictor, build_task, compose
from dataenvgym.config.identity import decisive_values, digest, task_name
from dataenvgym.llm import key_from

_SECTIONS = ("task", "student", "predictor", "trainer")


def serve_adaptation(arguments: Namespace) -> None:
    """Serve until a shutdown request or a signal; stderr shows the address."""
    quieten()
    from dataenvgym.adaptation.request_queue import opened_queue
    from dataenvgym.adaptation.server import AdaptationServer

    console = open_console(plain=True)
    token = key_from(arguments.token_variable, option="--token-variable")
    config = compose(arguments.overrides, config_dir=arguments.config_dir)
    task = build_task(config)
    predictor = build_predictor(config, task=task)
    directory = _directory(arguments.adaptations_dir, config)

    def show(url: str) -> None:
        print(f"{directory.name} is at {url} (Ctrl-C ends it)", file=sys.stderr, flush=True)

    with showing_warnings(console), opened_queue(task, predictor, directory) as queue:
        server = AdaptationServer(
            queue,
            transport=arguments.transport,
            host=arguments.host or "127.0.0.1",
            port=arguments.port,
            token=token,
        )
        ended_by = server.run(show)
    if ended_by is not None:
        os.kill(os.getpid(), ended_by)  # with the exit code of an interrupted command


def _directory(parent: str, config: DictConfig) -> Path:
    """The folder of the server: another task, student or trainer has another one."""
    values = decisive_values(config)
    own = {key: value for key, value in values.items() if key.partition(".")[0] in _SECTIONS}
    return Path(parent).expanduser() / f"server-{task_name(config)}-{digest(own)}"
