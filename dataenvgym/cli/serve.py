"""`dataenvgym serve`: a vLLM server of a student, for evaluations and programs of one's own.

`serve-adaptation` trains and asks an adapter for each request of a client.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from contextlib import closing
from functools import partial
from pathlib import Path

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import build_predictor, build_task, compose
from dataenvgym.runs.config.identity import decisive_values, digest, task_name
from dataenvgym.runs.config.overrides import parse_overrides
from dataenvgym.teachers import key_from

LOOK_S = 2.0
"""Seconds between two looks at whether the server's process still runs."""


def serve(arguments: Namespace) -> None:
    """Start the server, print its address, and keep it until Ctrl-C or SIGTERM.

    A server that dies is started again, once.

    Raises:
        ConfigurationError: for another predictor than vLLM, or a server that runs already.
        ServerError: if it does not start, or dies again.
    """
    from dataenvgym.students.predictors.vllm import VllmPredictor
    from dataenvgym.students.predictors.vllm.own_server import OwnServer

    console = Terminal(plain=True)
    keys = {override.key for override in parse_overrides(arguments.overrides)}
    chosen = [] if "predictor" in keys else ["predictor=vllm"]
    config = compose([*chosen, *arguments.overrides], config_dir=arguments.config_dir)
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


def serve_adaptation(arguments: Namespace) -> None:
    """Serve until a shutdown request or a signal; stderr shows the address."""
    from dataenvgym.adaptation.request_queue import opened_queue
    from dataenvgym.adaptation.server import AdaptationServer

    console = Terminal(plain=True)
    token = key_from(arguments.token_variable, option="--token-variable")
    config = compose(arguments.overrides, config_dir=arguments.config_dir)
    task = build_task(config)
    predictor = build_predictor(config, task=task)
    values = decisive_values(config)
    own = {key: value for key, value in values.items() if key.partition(".")[0] in _SECTIONS}
    name = f"server-{task_name(config)}-{digest(own)}"  # of this task, student and trainer
    directory = Path(arguments.adaptations_dir).expanduser() / name

    def show(url: str) -> None:
        print(f"{directory.name} is at {url} (Ctrl-C ends it)", file=sys.stderr, flush=True)

    with console.working(), opened_queue(task, predictor, directory) as queue:
        server = AdaptationServer(
            queue,
            transport=arguments.transport,
            host=arguments.host,
            port=arguments.port,
            token=token,
        )
        ended_by = server.run(show)
    if ended_by is not None:
        os.kill(os.getpid(), ended_by)  # with the exit code of an interrupted command
