"""Networks for runs: each run gets an unused one.

Making one for every run would take a quarter of the time of a run. So there are two, used in turn,
because there are at most two runs at a time: an active one and a prepared one. The counters of a
network show whether it was used; if it was, a new one replaces it.
"""

from __future__ import annotations

import os

from . import kernel

_COUNTERS = ("dev", "snmp", "snmp6", "netstat", "rt6_stats", "ipv6_route")
"""Of packets, and of look-ups of routes, which need no packet."""
_BUFFERS = {"tcp_rmem": "4096 131072 131072", "tcp_wmem": "4096 16384 131072"}
"""Sizes of TCP's receive and send buffers: smallest, initial, largest."""


class Networks:
    """Network namespaces with only a loopback, entered one after the other."""

    def __init__(self) -> None:
        self._namespaces = [_made(), _made()]
        self._unused = _counted()

    def enter_next(self) -> None:
        """Enter a network that no run has used, for the next fork."""
        self._namespaces.reverse()
        kernel.enter_network(self._namespaces[0])
        if _counted() != self._unused:
            os.close(self._namespaces[0])
            self._namespaces[0] = _made()


def _made() -> int:
    kernel.leave_network()
    kernel.raise_loopback()
    for name, sizes in _BUFFERS.items():
        with open(f"/proc/sys/net/ipv4/{name}", "w") as file:
            file.write(sizes)
    return os.open("/proc/self/ns/net", os.O_RDONLY)


def _counted() -> list[bytes]:
    found = []
    for name in _COUNTERS:
        try:
            fd = os.open(f"/proc/self/net/{name}", os.O_RDONLY)
        except FileNotFoundError:  # a kernel without IPv6
            continue
        try:
            found.append(os.read(fd, 1 << 16))
        finally:
            os.close(fd)
    return found
