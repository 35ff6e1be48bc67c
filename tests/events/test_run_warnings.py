import logging

from dataenvgym.events import hearing_warnings, warn_run


def test_warnings_reach_the_listener_until_its_block_ends(caplog):
    heard = []
    with hearing_warnings(heard.append):
        warn_run("the agent returned no records")
    warn_run("after the block")
    assert heard == ["the agent returned no records"]
    assert [r.levelno for r in caplog.records] == [logging.WARNING] * 2
