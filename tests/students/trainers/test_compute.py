import threading

import pytest
import torch

from dataenvgym.students.trainers.compute import global_rng, resolve_device, workers

CPU = torch.device("cpu")


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_pieces_of_work_run_side_by_side_each_on_one_thread(three_threads):
    meeting = threading.Barrier(2, timeout=60)

    def work(i: int) -> tuple[int, int]:
        meeting.wait()  # passes only if two are there at the same time
        return i, torch.get_num_threads()

    with workers(2, CPU) as run:
        assert run(work, [0, 1]) == [(0, 1), (1, 1)]


def test_the_thread_count_is_restored_after_an_error_in_a_piece(three_threads):
    def fail(i: int) -> None:
        raise KeyError(i)

    with pytest.raises(KeyError), workers(2, CPU) as run:
        run(fail, [1])
    assert torch.get_num_threads() == 3


def test_the_global_generator_is_seeded_inside_and_as_before_outside():
    before = torch.random.get_rng_state()
    drawn = []
    for _ in range(2):
        with global_rng(5, CPU):
            drawn.append(torch.rand(3))
    assert torch.equal(*drawn)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_auto_is_the_cpu_where_there_is_no_gpu():
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert resolve_device("auto").type == expected
