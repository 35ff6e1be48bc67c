"""Watching over a run whose pipes the test holds itself."""

import os

from dataenvgym.sandbox import Limits
from dataenvgym.sandbox.supervision import Streams, supervise


def test_existing_output_is_read_even_late(monkeypatch):
    """The run has ended long ago; another process, beyond our reach, holds its output open."""
    monkeypatch.setattr("dataenvgym.sandbox.supervision._DRAIN", -1.0)
    monkeypatch.setattr("dataenvgym.sandbox.supervision._CHUNK", 10)
    pipes = [os.pipe() for _ in range(4)]
    (_, stdin), (stdout, write), (stderr, _), (ended, end) = pipes
    os.write(write, b"x" * 99)
    os.close(end)
    seen = supervise(
        Streams(stdin, stdout, stderr, ended),
        stdin=b"",
        limits=Limits(),
        kill=lambda: None,
        look=lambda: None,
        at_end=lambda: None,
    )
    for left in (pipes[0][0], write, pipes[2][1], ended):
        os.close(left)
    assert (seen.stdout, seen.cause) == (b"x" * 99, None)
