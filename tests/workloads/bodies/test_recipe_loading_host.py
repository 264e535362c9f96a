"""What a loader's processes take, read from a made-up /proc."""

import os

import pytest

from gputuner.workloads.bodies.recipe_loading_failures import reason_of
from gputuner.workloads.bodies.recipe_loading_host import Used, between, fewest_cores, largest_bytes, used


@pytest.fixture
def proc(tmp_path):
    for pid, threads, pss in ((11, ((2e9, 1e9), (1e9, 0)), 300), (12, ((1e9, 3e9),), None)):
        folder = tmp_path / str(pid)
        for place, (run, waited) in enumerate(threads):
            task = folder / "task" / str(pid + place)
            task.mkdir(parents=True)
            (task / "schedstat").write_text(f"{int(run)} {int(waited)} 77\n")
        if pss:
            (folder / "smaps_rollup").write_text(f"55d-7ff ---p 00000000 [rollup]\nRss: 900 kB\nPss:  {pss} kB\n")
        (folder / "statm").write_text("1000 50 20 1 0 40 0\n")
    return tmp_path


def test_all_threads_count(proc):
    assert used([11, 12], proc) == Used(run_s=4.0, waited_s=4.0)
    assert used([99], proc) is None


def test_what_happened_between_two_looks():
    told = between(Used(run_s=1.0, waited_s=0.0), Used(run_s=7.0, waited_s=2.0), 4.0)
    assert told == {"workers_cores_busy": 1.5, "workers_core_wait_fraction": 0.25}
    assert between(None, Used(run_s=1.0, waited_s=0.0), 1.0) == {}
    assert between(Used(run_s=5.0, waited_s=0.0), Used(run_s=1.0, waited_s=0.0), 1.0) == {}, "other processes by then"


def test_the_share_of_a_process_counts_before_all_that_it_has_resident(proc):
    assert largest_bytes([11], proc) == 300 * 1024
    assert largest_bytes([11, 12], proc) == max(300 * 1024, 50 * os.sysconf("SC_PAGE_SIZE"))
    assert largest_bytes([], proc) is None


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux")
def test_cores_of_a_living_process():
    assert fewest_cores([os.getpid()]) == len(os.sched_getaffinity(0))
    assert fewest_cores([2**30]) is None


BUS = (
    "DataLoader worker (pid 4242) is killed by signal: Bus error. It is possible that dataloader's workers are out of "
    "shared memory. Please try to raise your shared memory limit."
)


class OutOfMemoryError(RuntimeError):
    """As torch's own."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError(BUS), "shared_memory"),
        (RuntimeError("unable to open shared memory object </torch_42_1_0> in read-write mode: No such file"),
         "shared_memory"),
        (RuntimeError("Caught OSError in DataLoader worker process 0.\nOSError: [Errno 28] No space left on device: "
                      "'/torch_9'"), "shared_memory"),
        (RuntimeError("unable to open shared memory object </torch_7> in read-write mode: Too many open files (24)"),
         "open_files"),
        (OSError(24, "Too many open files"), "open_files"),
        (RuntimeError("received 0 items of ancdata"), "open_files"),
        (RuntimeError("DataLoader worker (pid 17) is killed by signal: Killed. "), "host_memory"),
        (RuntimeError("DataLoader worker (pid(s) 4, 5) exited unexpectedly"), "worker_died"),
        (RuntimeError("Caught RuntimeError in DataLoader worker process 0.\nCannot re-initialize CUDA in forked "
                      "subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method"),
         "card_in_worker"),
        (KeyError("Caught KeyError in DataLoader worker process 3.\nOriginal Traceback …"), "worker_failed"),
        (AttributeError("Can't pickle local object 'make.<locals>.Data'"), "not_sent"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), None),
        (OSError(28, "No space left on device", "/data/cache"), None),
    ],
)  # fmt: skip
def test_why_processes_failed(error, reason):
    assert reason_of(error, 4) == reason
    assert reason_of(error, 0) is None


def test_the_cards_memory_is_not_the_loaders():
    assert reason_of(OutOfMemoryError("CUDA out of memory"), 4) is None
