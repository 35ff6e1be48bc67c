"""`dataenvgym serve`: a vLLM server of a student, for evaluations and programs of one's own.

`serve-adaptation` trains and asks an adapter for each request of a client.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import NonNegativeInt

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import build_predictor, build_task, compose
from dataenvgym.runs.config.identity import decisive_values, digest, task_name
from dataenvgym.runs.config.overrides import parse_overrides
from dataenvgym.teachers import key_from

LOOK_S = 2.0
"""Seconds between two looks at whether the server's process still runs."""


def serve(
    overrides: list[str],
    *,
    config_dir: str | None = None,
) -> None:
    """Start a vLLM server of a student, and print its address.

    Examples:
      dataenvgym serve student=hf student.path=Qwen/Qwen3-8B
      dataenvgym serve model=vllm/Qwen/Qwen3-8B:ADAPTER predictor.port=8000

    It is the pinned vLLM of `dataenvgym external install vllm`, with the options of
    predictor=vllm. Runs and evaluations with the same options share it.

    Raises:
        ConfigurationError: for another predictor than vLLM, or a server that runs already.
        ServerError: if it does not start, or dies again.
    """
    from dataenvgym.students.predictors.vllm import VllmPredictor
    from dataenvgym.students.predictors.vllm.own_server import OwnServer

    console = Terminal(plain=True)
    keys = {override.key for override in parse_overrides(overrides)}
    chosen = [] if "predictor" in keys else ["predictor=vllm"]
    config = compose([*chosen, *overrides], config_dir=config_dir)
    predictor = build_predictor(config, trainable=False)
    if not isinstance(predictor, VllmPredictor) or config.predictor.get("base_url") is not None:
        raise ConfigurationError(
            f"predictor is a {type(predictor).__name__}"
            f"{' with a base_url' if config.predictor.get('base_url') else ''}, and serve starts a "
            "vLLM server: leave it out, or choose model=vllm/NAME"
        )
    if predictor.chat_template_kwargs:
        raise ConfigurationError(
            f"chat_template_kwargs is {predictor.chat_template_kwargs}, which belongs to each "
            "request: leave it out here, and set it where the server is asked"
        )
    with console.working(), closing(predictor):
        server = predictor.server
        assert isinstance(server, OwnServer)  # there is no base_url
        name = predictor.served_name
        # no `console.print`: told to end within one, rich would print that line again
        say = partial(print, file=console.file, flush=True)
        try:
            say(f"{name} is at {server.base_url}/v1 (Ctrl-C ends it)")
            say(
                f"another terminal: dataenvgym eval model=openai/{name} "
                f"predictor.base_url={server.base_url} predictor.api_key_variable=null"
            )
            while True:
                time.sleep(LOOK_S)
                if not server.is_alive:
                    server.revive()
        except KeyboardInterrupt:  # the way to end it
            say("ended")


_SECTIONS = ("task", "student", "predictor", "trainer")


def serve_adaptation(
    overrides: list[str],
    *,
    config_dir: str | None = None,
    transport: Literal["http", "zmq"] = "http",
    host: str = "127.0.0.1",
    port: NonNegativeInt = 5555,
    token_variable: str | None = None,
    adaptations_dir: str = "adaptations",
) -> None:
    r"""Train and ask an adapter for each request of a client.

    Examples:
      dataenvgym serve-adaptation task=pocket_knowledge
      dataenvgym serve-adaptation task=squad student=hf student.path=NAME \
          student.format=completion --transport zmq

    Each request trains an adapter from the untouched student, and asks its
    questions with and without it. Requests have the fields of SEAL's clients; see
    docs/self_editing.md.

    Args:
        transport: of the requests; zmq needs pyzmq
        host: the address to listen on
        port: 0 takes a free one
        token_variable: the variable with the token of requests from other hosts
        adaptations_dir: the folder of answers
    """
    from dataenvgym.adaptation.request_queue import opened_queue
    from dataenvgym.adaptation.server import AdaptationServer

    console = Terminal(plain=True)
    token = key_from(token_variable, option="--token-variable")
    config = compose(overrides, config_dir=config_dir)
    task = build_task(config)
    predictor = build_predictor(config, task=task)
    values = decisive_values(config)
    own = {key: value for key, value in values.items() if key.partition(".")[0] in _SECTIONS}
    name = f"server-{task_name(config)}-{digest(own)}"  # of this task, student and trainer
    directory = Path(adaptations_dir).expanduser() / name

    def show(url: str) -> None:
        print(f"{directory.name} is at {url} (Ctrl-C ends it)", file=sys.stderr, flush=True)

    with console.working(), opened_queue(task, predictor, directory) as queue:
        server = AdaptationServer(
            queue,
            transport=transport,
            host=host,
            port=port,
            token=token,
        )
        ended_by = server.run(show)
    if ended_by is not None:
        os.kill(os.getpid(), ended_by)  # with the exit code of an interrupted command
