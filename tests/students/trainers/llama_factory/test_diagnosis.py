import pytest

from dataenvgym.students.trainers.llama_factory.launching import explain_failure

CASES = {
    "OSError: [Errno 28] No space left on device": "the disk is full",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB": "it ran out of memory",
    "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory": "ran out of memory",
    "RuntimeError: No CUDA GPUs are available": "it found no GPU. See `dataenvgym doctor`",
    "x\npkg.errors.SomeError: what is wrong\nepilogue": r"\(pkg.errors.SomeError: what is wrong\)",
    "no word of it": "it ended with exit code 1. Fix the error in the log",
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
    assert "it was killed, most often" in explain_failure(-9, log)
    assert "it was ended by SIGTERM. Start the same command again" in explain_failure(-15, log)
    log.write_text("No space left on device\n")  # which the signal followed
    assert "the disk is full" in explain_failure(-9, log)
