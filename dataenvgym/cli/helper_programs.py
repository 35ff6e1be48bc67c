"""Checks programs that some tasks and stores need, by starting them.

bubblewrap confines the student's code; a Redis server can store replies and scenes.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from dataenvgym.cli.finding import Finding
from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.external.ports import free_port

_PATIENCE = 10.0
"""Seconds for a server to answer, and to end."""


def sandbox_finding() -> Finding:
    """Check that bubblewrap is installed and runs a program, which code tasks need."""
    from dataenvgym.sandbox import open_sandbox

    name = "bubblewrap"
    try:
        with open_sandbox("bubblewrap", workers=1) as sandbox:
            result = sandbox.run("print(6 * 7)")
    except (ConfigurationError, SandboxError) as error:
        way_out = "apt-get install bubblewrap, or see docs/sandbox.md; code tasks need it"
        return Finding(name, "missing", str(error), way_out)
    if result.text.strip() != "42":
        way_out = "see docs/sandbox.md; code tasks need it"
        return Finding(name, "missing", f"a first program ended as {result!r}", way_out)
    version = _first_line("bwrap", "--version").removeprefix("bubblewrap ")
    return Finding(name, "ok", f"{version}, ran a program")


def redis_finding() -> Finding:
    """Check that redis-server is installed and answers, which `redis://` stores and caches need."""
    name, way_out = "redis-server", "apt-get install redis-server; only redis:// stores need it"
    if (program := shutil.which(name)) is None:
        return Finding(name, "missing", "not installed", way_out)
    with tempfile.TemporaryDirectory(prefix="dataenvgym-doctor-") as folder:
        log = Path(folder) / "log.txt"
        port = free_port()
        options = f"--port {port} --bind 127.0.0.1 --appendonly no --dir {folder} --save".split()
        try:
            with log.open("wb") as stream:
                server = subprocess.Popen([program, *options, ""], stdout=stream, stderr=stream)
        except OSError as error:
            return Finding(name, "missing", f"{program} cannot be started: {error}", way_out)
        try:
            answers = _answers(server, port)
        finally:
            _end(server)
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if not answers:
        last = said[-1] if said else "it wrote nothing"
        return Finding(name, "missing", f"starts, but does not answer: {last}", way_out)
    return Finding(name, "ok", f"{_version(program)}, started and answered")


def _answers(server: subprocess.Popen[bytes], port: int) -> bool:
    """True if the server answers a ping before it ends or the time is over."""
    deadline = time.monotonic() + _PATIENCE
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            time.sleep(0.02)
    return False


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait(_PATIENCE)


def _version(program: str) -> str:
    """`7.0.15`, of "Redis server v=7.0.15 sha=..."."""
    words = _first_line(program, "--version").split()
    return next((word.removeprefix("v=") for word in words if word.startswith("v=")), program)


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.SubprocessError):
        return command[0]
    return done.stdout.partition("\n")[0].strip()
