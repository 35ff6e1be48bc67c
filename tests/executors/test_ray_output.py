"""What Ray prints by itself."""

from __future__ import annotations

import logging

import pytest

from dataenvgym.executors.ray_output import raylet_messages_logged

REPORT = {"lines": ["A worker died or was killed"], "pid": "raylet", "is_err": False}


def test_reports_of_rays_processes_go_to_the_log_and_not_to_the_screen(capsys, caplog):
    worker = pytest.importorskip("ray._private.worker", reason="needs the extra [ray]")
    with caplog.at_level(logging.WARNING), raylet_messages_logged():
        worker.print_to_stdstream({**REPORT, "lines": ["it is full"]}, ignore_prefix=False)
    assert capsys.readouterr() == ("", "")
    assert caplog.messages == ["raylet: it is full"]
    worker.print_to_stdstream(REPORT, ignore_prefix=False)
    assert "A worker died" in capsys.readouterr().out  # a user's own Ray does as it always did
