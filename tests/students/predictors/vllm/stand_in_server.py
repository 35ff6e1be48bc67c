"""A fake of vLLM's OpenAI-compatible server: its options, endpoints, statuses and messages.

    stand_in_server.py --state FOLDER --port 8000 --model NAME [options of vLLM's, ignored]

It answers "<who>|<last question>", where <who> is the adapter's folder, or the model. Its behavior
is read from FOLDER/plan.json, a list with one entry for each life (the last entry is used for all
later lives); requests are written to FOLDER/events.jsonl. An entry may have:

    exit            words to end with before it listens
    deaf            never listen
    stubborn        do not end when asked to
    die_at          end at that question
    corrupt         answer otherwise after it woke up
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple


class Answer(NamedTuple):
    content: Any
    status: int = 200


NO_TOOLS = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
Handler = Callable[[Any], Awaitable[Answer]]


class StandIn:
    def __init__(self, options: argparse.Namespace, plan: dict[str, Any]) -> None:
        self.options = options
        self.plan = plan
        self.adapters: dict[str, str] = {}
        self.stale: set[str] = set()
        self.key: str | None = None
        self.n_asked = 0
        self.is_asleep = self.has_slept = False
        self.open = asyncio.Event()
        self.open.set()
        self.arrived = asyncio.Condition()

    def note(self, event: str, **more: Any) -> None:
        with (self.options.state / "events.jsonl").open("a") as stream:
            stream.write(json.dumps({"event": event, "pid": os.getpid(), **more}) + "\n")

    # --- as vLLM ---

    async def health(self, asked: Any) -> Answer:
        return Answer("")

    async def models(self, asked: Any) -> Answer:
        name, root = self.options.served_model_name, self.options.model
        base = {"id": name, "root": root, "parent": None, "max_model_len": 100}
        adapters = [{"id": n, "root": f, "parent": name} for n, f in self.adapters.items()]
        return Answer({"object": "list", "data": [base, *adapters]})

    async def chat(self, asked: Any) -> Answer:
        self.note("ask", **asked, key=self.key)
        async with self.arrived:
            self.n_asked += 1
            self.arrived.notify_all()
        if self.n_asked == self.plan.get("die_at") or self.is_asleep:
            end(f"dies at question {self.n_asked}" + ", asked in its sleep" * self.is_asleep)
        await self.open.wait()
        model = asked["model"]
        if model not in (self.options.served_model_name, *self.adapters):
            return refused(404, f"The model `{model}` does not exist.")
        if asked.get("tools") and not self.options.enable_auto_tool_choice:
            return refused(400, NO_TOOLS)
        who = self.adapters.get(model, self.options.model)
        if model in self.stale or (self.has_slept and self.plan.get("corrupt")):
            who = "garbled"
        if "prompt" in asked:
            text = f"{who}|{asked['prompt']}"
            return Answer({"choices": [{"text": text, "finish_reason": "stop"}]})
        message = {"role": "assistant", "content": f"{who}|{asked['messages'][-1]['content']}"}
        return Answer({"choices": [{"message": message, "finish_reason": "stop"}]})

    async def load(self, asked: Any) -> Answer:
        name, path = asked["lora_name"], Path(asked["lora_path"])
        if name in self.adapters:
            return refused(400, f"The lora adapter '{name}' has already been loaded.")
        if not (path / "adapter_config.json").exists():
            return refused(404, f"Loading lora {name} failed: No adapter found for {path}")
        rank, most = json.loads((path / "adapter_config.json").read_text())["r"], self.options.rank
        if rank > most:
            return refused(500, f"LoRA rank {rank} is greater than max_lora_rank {most}.")
        is_blank = path.name == "untouched" or name.startswith("probe-")
        self.adapters[name] = self.options.model if is_blank else str(path)
        self.note("load blank" if is_blank else "load", name=name, path=str(path))
        return Answer(f"Success: LoRA adapter '{name}' added successfully.")

    async def unload(self, asked: Any) -> Answer:
        name = asked["lora_name"]
        if name not in self.adapters:
            return refused(404, f"The lora adapter '{name}' cannot be found.")
        is_blank = self.adapters.pop(name) == self.options.model
        self.note("unload blank" if is_blank else "unload", name=name)
        return Answer(f"Success: LoRA adapter '{name}' removed successfully.")

    async def sleep(self, asked: Any) -> Answer:
        self.note("sleep")
        self.is_asleep = True
        return Answer({"status": "sleeping"})

    async def wake_up(self, asked: Any) -> Answer:
        self.note("wake")
        self.is_asleep, self.has_slept = False, True
        self.stale |= set(self.adapters)
        return Answer({"status": "awake"})

    # --- for tests ---

    async def hold(self, asked: Any) -> Answer:
        """Answer nothing until /release."""
        self.open.clear()
        return Answer("")

    async def release(self, asked: Any) -> Answer:
        self.open.set()
        return Answer("")

    async def wait_for_questions(self, asked: Any) -> Answer:
        """Return when that many have come."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: self.n_asked >= asked["n"])
        return Answer("")

    def routes(self) -> dict[str, Handler]:
        routes: dict[str, Handler] = {
            "/health": self.health,
            "/v1/models": self.models,
            "/v1/chat/completions": self.chat,
            "/v1/completions": self.chat,
            "/hold": self.hold,
            "/release": self.release,
            "/questions": self.wait_for_questions,
        }
        if os.environ.get("VLLM_ALLOW_RUNTIME_LORA_UPDATING") == "True":
            routes |= {"/v1/load_lora_adapter": self.load, "/v1/unload_lora_adapter": self.unload}
        if self.options.enable_sleep_mode and os.environ.get("VLLM_SERVER_DEV_MODE") == "1":
            routes |= {"/sleep": self.sleep, "/wake_up": self.wake_up}
        return routes


def refused(status: int, message: str) -> Answer:
    return Answer({"error": {"message": message, "code": status}}, status)


def end(words: str) -> None:
    print(f"the stand-in {words}", flush=True)
    os._exit(1)


async def serve(options: argparse.Namespace, plan: dict[str, Any]) -> None:
    stand_in = StandIn(options, plan)
    routes = stand_in.routes()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:  # one request after the other
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:])}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                handle = routes.get(head[0].split()[1].partition("?")[0])
                stand_in.key = headers.get("authorization")
                asked = json.loads(body) if body else None
                answer = refused(404, "Not Found") if handle is None else await handle(asked)
                content = json.dumps(answer.content).encode()
                writer.write(
                    f"HTTP/1.1 {answer.status} x\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(content)}\r\n\r\n".encode()
                    + content
                )
                await writer.drain()

    if not plan.get("deaf"):
        server = await asyncio.start_server(connected, "127.0.0.1", options.port)
        print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", default="base")
    parser.add_argument("--served-model-name", default="base")
    parser.add_argument("--max-lora-rank", dest="rank", type=int, default=16)
    parser.add_argument("--enable-sleep-mode", action="store_true")
    parser.add_argument("--enable-auto-tool-choice", action="store_true")
    options, _ = parser.parse_known_args()
    lives = options.state / "lives"
    with lives.open("a") as stream:
        stream.write(" ".join(sys.argv[1:]) + "\n")
    plan_file = options.state / "plan.json"
    plans = json.loads(plan_file.read_text()) if plan_file.exists() else [{}]
    plan = plans[min(len(lives.read_text().splitlines()), len(plans)) - 1]
    if plan.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "exit" in plan:
        end(plan["exit"])
    asyncio.run(serve(options, plan))


if __name__ == "__main__":
    main()
