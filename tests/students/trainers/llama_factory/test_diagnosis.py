import pytest

from dataenvgym.students.trainers.llama_factory.launching import explain_failure

CASES = {
    "OSError: [Errno 28] No space left on device": "No space left",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB": "OutOfMemoryError: CUDA",
    "x\npkg.errors.SomeError: what is wrong\nepilogue": r"\(pkg.errors.SomeError: what is wrong\)",
    "no word of it": "exit code 1",
}


@pytest.mark.parametrize("said", CASES)
def test_the_cause_is_read_from_the_output(tmp_path, said):
    log = tmp_path / "log.txt"
    log.write_text(f"start\n{said}\n")
    message = explain_failure(1, log)
    with pytest.raises(RuntimeError, match=CASES[said]):
        raise RuntimeError(message)
    assert str(log) in message
    assert message.endswith(f"start\n{said}")


def test_a_signal_is_named(tmp_path):
    log = tmp_path / "log.txt"
    assert explain_failure(-9, log).endswith(f"It wrote no log to {log}.")
    log.touch()
    assert explain_failure(-9, log).endswith(f"Its log, {log}, is empty.")
    assert "SIGKILL" in explain_failure(-9, log)
    assert "SIGTERM" in explain_failure(-15, log)
