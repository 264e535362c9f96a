"""Loaders that really run: rates, beginnings of epochs, processes that die, and what is told of them."""

import os
import sys
from itertools import pairwise
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from gputuner.workloads.bodies import recipe_loading_run  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import WrongResultError  # noqa: E402
from gputuner.workloads.bodies.recipe import RecipeError, load  # noqa: E402
from gputuner.workloads.bodies.recipe_loading import Loading  # noqa: E402
from gputuner.workloads.bodies.recipe_loading_run import Batches, counted  # noqa: E402
from gputuner.workloads.bodies.recipe_loading_source import Photographs, Wanted, own  # noqa: E402
from gputuner.workloads.bodies.recipe_loading_training import Fed  # noqa: E402
from gputuner.workloads.bodies.survey import Pace  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="loader processes are forked"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
EXAMPLES = Path(__file__).resolve().parents[3] / "docs/examples"
HEAD = """
import os, signal
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return {count}
    def __getitem__(self, place):
        {act}
        return torch.full((4,), float(place)), place

seen = []

def make():
    model = torch.nn.Linear(4, 1)
    def loss(model, batch):
        seen.append(batch[1].tolist())
        return model(batch[0]).mean()
    def begin(worker):
        {begin}
    def loader(batch_size, num_workers=2, prefetch_factor=2, persistent_workers=False{more}):
        return DataLoader(Numbers(), batch_size=batch_size, num_workers={workers}, prefetch_factor=prefetch_factor,
                          persistent_workers=persistent_workers, worker_init_fn=begin)
    return {{"model": model, "batch": lambda n: (torch.ones(n, 4), torch.arange(n)), "loss": loss, {given}}}
"""


@pytest.fixture
def written(tmp_path, request):
    """Write a recipe; its module is forgotten afterwards."""
    before = [*sys.path], set(sys.modules)

    def write(*, count=4096, act="pass", begin="pass", more="", workers="num_workers", given='"loader": loader'):
        name = f"loading_{abs(hash(request.node.name))}"
        text = HEAD.format(count=count, act=act, begin=begin, more=more, workers=workers, given=given)
        (tmp_path / f"{name}.py").write_text(text)
        return {"recipe": f"{name}.py:make", "folder": str(tmp_path)}

    yield write
    sys.path[:] = before[0]
    for name in set(sys.modules) - before[1]:
        if name.startswith("loading_"):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """However slow the machine: windows are counted, and none is given up for being late."""
    monkeypatch.setattr(recipe_loading_run, "OVERTIME", 1e6)


def survey(place, part="supply", *, seconds=0.3, left=None, **params):
    loading = Loading(CpuDevice(None), seed=0, precision="fp32", part=part, **{"batch": 8, **place, **params})
    pace = Pace(measure_s=seconds, left_s=left or (lambda: 0.0), stopped=lambda: False)
    return list(loading.parts(pace)), loading.notes()


def children():
    tasks = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return tasks.read_text().split() if tasks.exists() else []


def test_the_demand_is_measured_on_the_loaders_batches_and_tells_what_there_is(written):
    (part,), notes = survey(written(), "demand")
    assert len(part.iteration_s) >= 3
    assert part.work == {"samples": 8.0}
    assert notes["loader_batch_bytes"] == 8 * (4 * 4 + 8)
    assert notes["epoch_batches"] == 4096 // 8
    assert (notes["usual_workers"], notes["usual_prefetch"], notes["usual_persistent"]) == (2, 2, False)
    assert notes["fixed"] == "pin_memory"
    assert notes["source"] == "loader"
    assert notes["cores"] >= 1


def test_the_demand_copies_each_batch_as_a_loader_does(written, monkeypatch):
    """What a loader costs is not to hold the copy to the device: it is in both."""
    done = []
    placed, step = Fed.placed, Fed.step
    monkeypatch.setattr(
        Fed, "placed", lambda self, batch, pinned: [done.append("copy"), placed(self, batch, pinned)][1]
    )
    monkeypatch.setattr(Fed, "step", lambda self, batch: [done.append("step"), step(self, batch)][1])
    survey(written(), "demand")
    assert done[:4] == ["copy", "step", "copy", "step"]
    assert done.count("copy") == done.count("step") > 3


@pytest.mark.parametrize("workers", [0, 2])
def test_a_setting_is_measured_alone_and_with_the_training(written, workers):
    before = children()
    (alone, fed), _ = survey(written(), workers=workers)
    assert [part.params["phase"] for part in (alone, fed)] == ["alone", "fed"]
    assert min(len(alone.iteration_s), len(fed.iteration_s)) >= 3
    assert alone.notes["start_s"] > 0
    assert 0 <= fed.notes["wait_fraction"] <= 1
    assert ("restart_s" in fed.notes) is (workers > 0)
    assert children() == before, "the processes end with the trial"


def test_the_training_gets_every_batch_once_and_in_order(written, monkeypatch):
    monkeypatch.setattr(recipe_loading_run, "LEAST_WINDOWS", 8)
    place = written(count=64)
    survey(place, workers=2)
    seen = sys.modules[place["recipe"].partition(".")[0]].seen
    steps = [batch[0] // 8 for batch in seen]
    assert len(steps) >= 8
    assert all(after == (before + 1) % 8 for before, after in pairwise(steps))


def test_a_recipe_is_made_once_for_all_trials_of_a_worker(written):
    place = written()
    survey(place, workers=0)
    module = sys.modules[place["recipe"].partition(".")[0]]
    survey(place, workers=1)
    assert sys.modules[place["recipe"].partition(".")[0]] is module


def test_c061_a_bus_error_of_a_process_is_shared_memory_and_harms_nothing_else(written):
    before = children()
    place = written(act="os.kill(os.getpid(), signal.SIGBUS) if torch.utils.data.get_worker_info() else None")
    (part,), _ = survey(place, workers=1)
    assert part.iteration_s == ()
    assert part.notes["gap"] == "shared_memory"
    assert "killed by signal: Bus error" in part.notes["message"]
    assert children() == before
    parts, _ = survey(place, workers=0)
    assert all(part.iteration_s for part in parts)


def test_an_error_in_a_process_is_told_with_its_cause(written):
    place = written(act="1 / 0 if torch.utils.data.get_worker_info() else None")
    (part,), _ = survey(place, workers=1)
    assert part.notes["gap"] == "worker_failed"
    assert part.notes["cause"] == "ZeroDivisionError: division by zero"
    with pytest.raises(ZeroDivisionError):
        survey(written(act="1 / 0"), workers=0, batch=4)


def test_a_process_that_never_gives_a_batch_costs_its_setting_only(written, monkeypatch):
    monkeypatch.setattr("gputuner.workloads.bodies.recipe_loading_source.HANGS_S", 0.5)
    before = children()
    place = written(act="signal.pause() if torch.utils.data.get_worker_info() else None")
    (part,), _ = survey(place, workers=1)
    assert part.notes["gap"] == "hung"
    assert children() == before


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux")
def test_c062_the_affinity_of_the_processes_is_told(written):
    (alone, _), notes = survey(written(begin="os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"), workers=2)
    assert alone.notes["worker_cores"] == 1
    assert alone.notes["worker_bytes"] > 1 << 20
    (part,), notes = survey(written(), "demand")
    assert part.iteration_s
    assert notes["cores"] <= len(os.sched_getaffinity(0))


class Clock:
    """Stands still by itself: whoever takes time moves it."""

    def __init__(self):
        self.now_s = 0.0

    def perf_counter(self):
        return self.now_s

    def monotonic_ns(self):
        return int(self.now_s * 1e9)


@pytest.mark.parametrize(("overtime", "windows"), [(3.0, 2), (1e6, 3)])
def test_a_slow_loader_is_waited_for_up_to_a_multiple_of_the_time(monkeypatch, overtime, windows):
    """Batches of 0.8 s, measured for 0.1 s: two are done after 1.6 s, which is more than three times ``LEAST_S``."""
    clock = Clock()
    monkeypatch.setattr(recipe_loading_run, "time", clock)
    monkeypatch.setattr(recipe_loading_run, "OVERTIME", overtime)
    loader = torch.utils.data.DataLoader(torch.zeros(64, 4), batch_size=8)

    def slow(_batch):
        clock.now_s += 0.8

    with Batches(loader, 8) as batches:
        batches.begin()
        measured = batches.windows(slow, lambda: None, Pace(measure_s=0.1, left_s=float, stopped=bool), 0.1)
    assert measured.iteration_s == pytest.approx([0.8] * windows)
    assert not measured.whole_epochs


def test_short_epochs_are_timed_whole(written):
    parts, _ = survey(written(count=32), workers=2)
    assert all(part.notes["whole_epochs"] for part in parts)
    assert all(len(part.iteration_s) >= 3 for part in parts)


def test_c039_a_last_batch_of_one_sample_is_not_trained_on(written):
    place = written(count=33)
    survey(place, workers=0)
    seen = sys.modules[place["recipe"].partition(".")[0]].seen
    assert {len(batch) for batch in seen} == {8}


def test_a_loader_that_does_not_do_as_asked_gives_no_figure(written):
    with pytest.raises(RecipeError, match="asked for num_workers=2 and gave 1"):
        survey(written(workers="1"), workers=2)
    with pytest.raises(RecipeError, match="neither loader"):
        survey(written(given=""), "demand", batch=16)
    with pytest.raises(RecipeError, match="takes no batch_size"):
        survey(written(given='"loader": lambda n: None'), "demand", batch=32)
    with pytest.raises(RecipeError, match="no DataLoader"):
        survey(written(given='"loader": lambda **given: given'), "demand", batch=64)
    with pytest.raises(RecipeError, match="no function"):
        survey(written(given='"collate": 3'), "demand", batch=128)


def test_a_data_set_is_put_into_a_loader_as_people_write_it(written):
    rows = "lambda rows: (torch.stack([r[0] for r in rows]), torch.tensor([r[1] for r in rows]))"
    place = written(count=64, given=f'"data_set": Numbers(), "collate": {rows}')
    _, notes = survey(place, "demand")
    assert (notes["source"], notes["usual_workers"], notes["fixed"]) == ("data_set", 0, "")
    source = own(load(place["recipe"], place["folder"]), place["recipe"])
    with Batches(source.loader(8, Wanted()), 8) as batches:
        batches.begin()
        places = [place for _ in range(8) for place in batches.take()[1].tolist()]
        with pytest.raises(StopIteration):
            batches.take()
    assert sorted(places) == list(range(64))
    assert places != list(range(64)), "it shuffles"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream_without_length_is_timed_too(tmp_path, written, workers):
    """Each process streams 40 samples of its own: an epoch of unknown length, shorter than a window."""
    stream = (
        "type('Stream', (torch.utils.data.IterableDataset,), "
        "{'__iter__': lambda self: iter([(torch.zeros(4), 1)] * 40)})()"
    )
    place = written(given=f'"data_set": {stream}')
    (demand,), notes = survey(place, "demand")
    assert demand.iteration_s
    assert "epoch_batches" not in notes
    parts, _ = survey(place, workers=workers)
    assert all(len(part.iteration_s) >= 3 for part in parts)


def test_batches_of_another_size_are_told():
    assert counted((torch.zeros(8, 3), torch.zeros(8)), 8) == 8
    assert counted({"tokens": torch.zeros(5, 9)}, 8) == 5
    with pytest.raises(RecipeError, match="batches of 8 samples and gave 16"):
        counted(torch.zeros(16, 3), 8)
    with pytest.raises(RecipeError, match="no tensor"):
        counted(["text"], 8)


def test_an_empty_loader_is_told(written):
    with pytest.raises(RecipeError, match="gives no batch"):
        survey(written(count=0), "demand")


@pytest.mark.parametrize(("name", "batch"), [("own_loader.py", 16), ("own_data_set.py", 32)])
def test_the_examples_run(name, batch):
    place = {"recipe": f"{name}:make", "folder": str(EXAMPLES), "batch": batch}
    (demand,), notes = survey(place, "demand", seconds=0.2)
    assert demand.iteration_s
    assert notes["loss_finite"] is True
    parts, _ = survey(place, workers=1, seconds=0.2)
    assert [bool(part.iteration_s) for part in parts] == [True, True]


def test_photographs_feed_resnet50(monkeypatch):
    """The built-in training with its loader, on the smallest images; the first batch is that made here."""
    small = {"workers": 0, "batch": 2, "image": 32, "seconds": 0.1}
    (alone, fed), notes = survey({}, **small)
    assert alone.iteration_s
    assert fed.iteration_s
    assert notes["source"] == "photographs"
    assert notes["loss_finite"] is True
    assert alone.relative_error is not None
    assert alone.relative_error <= 1e-6
    assert fed.relative_error is None
    expected = Photographs.expected
    monkeypatch.setattr(Photographs, "expected", lambda self, batch: expected(self, batch).roll(1, 0))
    with pytest.raises(WrongResultError):
        survey({}, **small)
