"""The code to paste about loading runs, and does what it says."""

import os

import pytest

from gputuner.advice import loading_snippets as snippets

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Numbers(torch.utils.data.Dataset):
    """Samples that tell how many threads their process computes with, and on how many cores it may run."""

    def __len__(self):
        return 24

    def __getitem__(self, place):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        return torch.tensor([torch.get_num_threads(), cores]), place


def ran(code, **names):
    names = {"torch": torch, "dataset": Numbers(), **names}
    exec(code.replace('"cuda"', '"cpu"'), names)
    return names


@pytest.mark.parametrize("cpu", [True, False])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_of_that_setting(workers, cpu):
    loader = ran(snippets.loader(8, workers, prefetch=4, persistent=True, cpu=cpu))["loader"]
    assert (loader.batch_size, loader.num_workers) == (8, workers)
    assert loader.prefetch_factor == (4 if workers else None)
    assert loader.persistent_workers is (workers > 0)
    assert sorted(place for _, places in loader for place in places.tolist()) == list(range(24))


def test_the_recipes_function_keeps_sampler_collate_and_drop_last():
    def made(batch_size, num_workers=0, prefetch_factor=None):
        return torch.utils.data.DataLoader(
            Numbers(), batch_size, num_workers=num_workers, prefetch_factor=prefetch_factor, drop_last=True,
            sampler=range(3, 24), collate_fn=lambda samples: [place for _, place in samples],
        )  # fmt: skip

    code = snippets.loader(8, 0, pin=True, cpu=True, function=True, fixed=("pin_memory",))
    assert list(ran(code, loader=made)["batches"]) == [list(range(3, 11)), list(range(11, 19))]
    assert "pin_memory" not in snippets.loader(8, 2, pin=True, function=True, fixed=("pin_memory",)).partition(")\n")[0]


@pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning")
def test_pinned_memory_comes_with_the_copy_that_makes_use_of_it():
    names = ran(snippets.loader(8, 0, pin=True))
    assert names["loader"].pin_memory is True
    assert names["inputs"].shape == (8, 2)
    assert "pin_memory" not in snippets.loader(8, 0, pin=True, cpu=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="loader processes are forked")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_compute_with_one_thread():
    loader = ran(snippets.one_thread(8, 1))["loader"]
    assert {facts[0] for batch, _ in loader for facts in batch.tolist()} == {1}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_run_on_all_cores_again():
    names = ran(snippets.all_cores())
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})  # what a library does
        loader = torch.utils.data.DataLoader(Numbers(), 8, num_workers=1, worker_init_fn=names["on_all_cores"])
        assert {facts[1] for batch, _ in loader for facts in batch.tolist()} == {len(before)}
    finally:
        os.sched_setaffinity(0, before)


def test_the_container_gets_a_quarter_more_than_it_needs():
    assert "--shm-size=5g" in snippets.shared_memory(4 << 30)
    assert "--shm-size=1g" in snippets.shared_memory(0)


def test_threads_of_the_training():
    threads = torch.get_num_threads()
    ran(snippets.training_threads(threads))
    assert torch.get_num_threads() == threads
