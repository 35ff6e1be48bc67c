import logging

from dataenvgym.studies.executors.in_process import log_to


def test_a_message_with_lone_surrogates_is_kept_escaped(tmp_path, capsys):
    with log_to(tmp_path / "log.txt"):
        logging.getLogger("elsewhere").warning("no file %s", "\ud800")
    assert "no file \\ud800" in (tmp_path / "log.txt").read_text()
    assert capsys.readouterr().err == ""  # logging tells of its own failures there
