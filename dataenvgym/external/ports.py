"""TCP ports of the loopback interface."""

from __future__ import annotations

import socket

import psutil


def free_port() -> int:
    """A TCP port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether the port is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def by_whom(port: int) -> str:
    """` by process 12 (nginx)`, or an empty string if the process is unknown."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and tuple(connection.laddr)[1:] == (port,):
                name = psutil.Process(connection.pid).name() if connection.pid else "?"
                return f" by process {connection.pid} ({name})"
    except psutil.Error:
        pass
    return ""
