"""Watching over a run whose pipes the test holds itself."""

import os

import pytest

from dataenvgym.sandbox import Limits
from dataenvgym.sandbox.supervision import Streams, Supervision


def test_existing_output_is_read_even_late(monkeypatch):
    """The run has ended long ago; another process, beyond our reach, holds its output open."""
    monkeypatch.setattr("dataenvgym.sandbox.supervision._DRAIN", -1.0)
    monkeypatch.setattr("dataenvgym.sandbox.supervision._CHUNK", 10)
    pipes = [os.pipe() for _ in range(4)]
    (_, stdin), (stdout, write), (stderr, _), (ended, end) = pipes
    os.write(write, b"x" * 99)
    os.close(end)
    watch = Supervision(
        Streams(stdin, stdout, stderr, ended),
        stdin=b"",
        limits=Limits(),
        kill=lambda: None,
        look=lambda: None,
        at_end=lambda: None,
    )
    watch.run()
    for left in (pipes[0][0], write, pipes[2][1], ended):
        os.close(left)
    assert watch.result(wait_status=0, memory=0).stdout == b"x" * 99


@pytest.mark.parametrize(("exceeded", "cause"), [("killed", "killed"), (None, "timeout")])
def test_a_limit_exceeded_at_the_deadline_is_the_cause(monkeypatch, exceeded, cause):
    """A fork bomb may keep the machine so busy that the first look comes after the deadline."""
    monkeypatch.setattr("dataenvgym.sandbox.supervision._FIRST_LOOK", 60.0)
    (_, stdin), (stdout, write), (stderr, wrote), (ended, end) = (os.pipe() for _ in range(4))

    def kill():
        for fd in (write, wrote, end):
            os.close(fd)

    watch = Supervision(
        Streams(stdin, stdout, stderr, ended),
        stdin=b"",
        limits=Limits(seconds=0.01),
        kill=kill,
        look=lambda: exceeded,
        at_end=lambda: None,
    )
    watch.run()
    os.close(ended)
    assert watch.cause == cause
