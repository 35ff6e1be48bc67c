"""A headless Chromium that types, clicks and reads, over its debugging protocol."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


class Tab:
    """A page of the browser."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = count(1)

    async def call(self, method: str, **parameters: Any) -> Any:
        """Send a command of the protocol; its result, or None while another page is loaded."""
        sent = next(self._ids)
        await self._socket.send_json({"id": sent, "method": method, "params": parameters})
        while (said := await self._socket.receive_json()).get("id") != sent:
            pass
        return said.get("result")

    async def value(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return found and found["result"].get("value")

    async def wait_for(self, script: str, seconds: float = 30) -> Any:
        """The value of the expression, as soon as it is true."""
        async with asyncio.timeout(seconds):
            while not (value := await self.value(script)):
                await asyncio.sleep(0.05)
        return value


@asynccontextmanager
async def opened(program: str, site: Path, page: str = "") -> AsyncIterator[Tab]:
    """A page of a built site, served and shown by Chromium."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    with TemporaryDirectory() as profile:
        browser = await asyncio.create_subprocess_exec(
            *(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *(f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"),
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            assert browser.stderr is not None
            while not (
                port := re.search(rb"ws://127.0.0.1:(\d+)/", await browser.stderr.readline())
            ):
                pass
            async with ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{int(port[1])}/json/list") as listed:
                    (tab, *_) = [t for t in await listed.json() if t["type"] == "page"]
                async with session.ws_connect(
                    tab["webSocketDebuggerUrl"], max_msg_size=0
                ) as socket:
                    shown = Tab(socket)
                    await shown.call("Page.enable")
                    url = f"http://127.0.0.1:{server.server_address[1]}/{page}"
                    await shown.call("Page.navigate", url=url)
                    await shown.wait_for("document.readyState == 'complete'")
                    yield shown
        finally:
            browser.terminate()
            await browser.wait()
            server.shutdown()
