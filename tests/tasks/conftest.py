"""A fake of the Hugging Face hub, at the network level."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class _Hub(BaseHTTPRequestHandler):
    """Serves the datasets of `server.repositories`: {name: {path: bytes}}."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        for name, files in self.server.repositories.items():
            if path.startswith(f"/datasets/{name}/resolve/"):
                return self._file(files, path.removeprefix(f"/datasets/{name}/resolve/"))
            if path.startswith(f"/api/datasets/{name}"):
                return self._told(name, files, path.removeprefix(f"/api/datasets/{name}"))
        return self._send(404, b"{}", error="RepoNotFound")

    do_HEAD = do_POST = do_GET

    def _file(self, files, place):
        _, _, path = place.partition("/")
        if path not in files:
            return self._send(404, b"", error="EntryNotFound")
        return self._send(200, files[path], etag=str(hash(path)))

    def _told(self, name, files, rest):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind, _, folder = rest.removeprefix("/").partition(f"/{COMMIT}")
        if kind == "tree":
            told = _entries(files, folder.strip("/"))
        else:
            siblings = [{"rfilename": path} for path in files]
            told = {"id": name, "sha": COMMIT, "siblings": siblings, "private": False, "tags": []}
        return self._send(200, json.dumps(told).encode())

    def _send(self, status, body, *, etag=None, error=None):
        self.send_response(status)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(body)))
        if etag is not None:
            self.send_header("ETag", f'"{etag}"')
        if error is not None:
            self.send_header("X-Error-Code", error)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def _entries(files, folder):
    """The files and folders in that folder."""
    found = {}
    for path, data in files.items():
        if path.startswith(f"{folder}/" if folder else ""):
            rest = path.removeprefix(folder).removeprefix("/")
            place = path.removesuffix(rest) + rest.partition("/")[0]
            kind = "file" if place == path else "directory"
            size = len(data) if kind == "file" else 0
            found[place] = {"type": kind, "path": place, "size": size, "oid": "0" * 40}
    return list(found.values())


@pytest.fixture
def hub(tmp_path):
    """`hub.repositories[name] = {path: bytes}` fills it, `hub.stop()` ends it.

    `hub.run(code, *arguments)` asks it from a process of its own, whose cache is empty at first.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    server.repositories, server.asked = {}, []
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    environment = {name: value for name, value in os.environ.items() if "PROXY" not in name.upper()}
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_TOKEN"):
        environment.pop(name, None)
    environment |= {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }

    def run(code, *arguments):
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def stop():
        server.shutdown()
        server.server_close()
        thread.join()

    yield SimpleNamespace(repositories=server.repositories, asked=server.asked, run=run, stop=stop)
    if thread.is_alive():
        stop()
