import itertools
import math
import os
import signal
import sys

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies import loader as module  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError  # noqa: E402
from gputuner.workloads.bodies.loader import Loader  # noqa: E402
from gputuner.workloads.bodies.loader_card import dali_batches  # noqa: E402
from gputuner.workloads.bodies.loader_feed import Feed, Setting  # noqa: E402
from gputuner.workloads.bodies.loader_room import Room  # noqa: E402
from gputuner.workloads.bodies.loader_samples import (  # noqa: E402
    DEVIATION,
    MEAN,
    STAND_IN,
    Images,
    Turns,
    best_decoder,
    decoding,
    encoded,
    pictures,
    prepared,
)

pytestmark = pytest.mark.torch
PICTURES = pictures(1, 3)


def images(size=32):
    return Images(PICTURES, STAND_IN, size)


def survey(**changed):
    return Loader(CpuDevice(None), **{"seed": 1, "consumer_rate": 1e4, "batch": 4, "image": 32, **changed})


class Dies(Images):
    """A data set one of whose processes is killed by the system."""

    def __getitem__(self, place):
        if torch.utils.data.get_worker_info() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(place)


def test_a_process_that_dies_costs_its_setting_alone(monkeypatch, pace):
    monkeypatch.setattr(module, "Images", Dies)
    first, second = survey(workers="0 1", switches=False).parts(pace(1.0))
    assert first.iteration_s
    assert second.notes["gap"] == "user_code"
    assert second.notes["message"].startswith("DataLoader worker")
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        list(survey(workers="1", switches=False).parts(pace(1.0)))


def test_pictures_are_as_large_as_photographs_and_differ():
    assert [tuple(p.shape) for p in PICTURES] == [(3, 375, 500)] * 3
    assert PICTURES[0].dtype == torch.uint8
    assert not torch.equal(PICTURES[0], PICTURES[1])
    assert all(float(p.float().std()) > 30 for p in PICTURES)


def test_a_sample_depends_on_its_place_alone():
    first, again, other = (prepared(PICTURES[0], place, 32) for place in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.shape == (3, 32, 32)
    assert first.dtype == torch.float32


def test_colours_are_normalised_as_for_imagenet():
    grey = torch.full((3, 375, 500), 128, dtype=torch.uint8)
    expected = [(128 / 255 - mean) / deviation for mean, deviation in zip(MEAN, DEVIATION, strict=True)]
    found = prepared(grey, 0, 16).flatten(1)
    torch.testing.assert_close(found, torch.tensor(expected)[:, None].expand_as(found))


@pytest.mark.skipif(best_decoder() == STAND_IN, reason="neither torchvision nor Pillow is installed")
def test_decoding_gives_the_picture_back():
    decoder = best_decoder()
    kept = encoded(PICTURES[0], decoder)
    assert 20e3 < len(kept) < 250e3
    found = decoding(decoder)(kept)
    assert found.shape == PICTURES[0].shape
    assert float((found.float() - PICTURES[0].float()).abs().mean()) < 14.0


def test_places_go_on_without_end_or_to_the_end_of_the_epoch():
    assert list(itertools.islice(Turns(), 5)) == [0, 1, 2, 3, 4]
    assert list(Turns(3)) == [0, 1, 2]


def test_a_feed_gives_the_samples_in_order_and_begins_each_epoch_anew():
    with Feed(images(), 2, Setting(workers=0, epoch=2)) as feed:
        places = [feed.take()[1].tolist() for _ in range(5)]
    assert places == [[0, 1], [2, 3], [0, 1], [2, 3], [0, 1]]


def test_processes_give_the_same_samples():
    expected = torch.stack([images()[place][0] for place in range(4)])
    with Feed(images(), 4, Setting(workers=2)) as feed:
        batch, places = feed.take()
    assert torch.equal(batch, expected)
    assert places.tolist() == [0, 1, 2, 3]


def test_where_nothing_can_be_forked_there_are_no_processes(monkeypatch):
    monkeypatch.setattr("multiprocessing.get_all_start_methods", lambda: ["spawn"])
    with pytest.raises(UnsupportedError):
        Feed(images(), 4, Setting(workers=1))
    with Feed(images(), 4, Setting(workers=0)) as feed:
        assert feed.take()[0].shape == (4, 3, 32, 32)


def test_numbers_of_processes_then_switches_are_parts_with_their_samples(pace, monkeypatch):
    monkeypatch.setattr(module, "room", lambda: Room(cores=2, memory_bytes=None, shared_bytes=None))
    parts = list(survey().parts(pace(0.4)))
    assert [p.params["workers"] for p in parts[:3]] == [0, 1, 2]
    best = min(parts[:3], key=lambda p: sorted(p.iteration_s)[len(p.iteration_s) // 2]).params["workers"]
    if best:
        told = [(p.params["workers"], p.params["prefetch"], p.params["persistent"]) for p in parts[3:]]
        assert told == [(best, 4, True), (best, 2, False)]
        assert parts[4].notes["epoch_samples"] == 4 * 4 * best * 2
    for part in parts:
        assert part.work == {"samples": 4.0}
        assert len(part.iteration_s) >= 3
        assert 0.0 <= part.notes["starvation_fraction"] < 1.0
        assert part.notes["consumer_rate"] == 1e4
        assert part.notes["cores"] == 2


def test_what_there_is_no_room_for_is_a_gap_with_its_figures(pace, monkeypatch):
    small = Room(cores=8, memory_bytes=None, shared_bytes=1000)
    monkeypatch.setattr(module, "room", lambda: small)
    parts = list(survey(workers="0 1 9", switches=False).parts(pace(0.2)))
    assert [p.notes.get("gap") for p in parts] == [None, "shared_memory", "cores"]
    needs = 2 * 4 * (3 * 32 * 32 * 4 + 8)
    assert (parts[1].notes["needs_bytes"], parts[1].notes["free_bytes"]) == (needs, 1000)


class Clock:
    """Time that passes only while something is taken or slept."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("time.perf_counter", lambda: self.now)
        monkeypatch.setattr("time.monotonic_ns", lambda: int(self.now * 1e9))
        monkeypatch.setattr("time.sleep", self.pass_time)

    def pass_time(self, seconds):
        self.now += seconds


@pytest.mark.parametrize(("take_s", "expected"), [(0.0, 0.0), (0.01, 0.5), (0.03, 0.75)])
def test_starvation_is_the_share_of_the_time_waited(pace, monkeypatch, take_s, expected):
    made = survey(consumer_rate=400.0)  # 4 samples take the consumer 10 ms
    clock = Clock(monkeypatch)
    assert made._starvation(lambda: clock.pass_time(take_s), pace(1.0), 2.0) == pytest.approx(expected)


def test_a_window_is_whole_rounds_of_the_processes(pace, monkeypatch):
    made, taken = survey(), []
    clock = Clock(monkeypatch)

    def take():
        taken.append(0)
        clock.pass_time(0.5 if len(taken) % 4 == 1 else 0.0)  # four processes end together

    done, span = made._free(take, Setting(workers=4), pace(1.0), 4.0)
    assert done == (0.125,) * 8
    assert span == (0, 4_000_000_000)


def test_a_loader_that_mixes_up_samples_is_wrong(pace, monkeypatch):
    monkeypatch.setattr(module, "Images", lambda *given: Shifted(*given))
    with pytest.raises(WrongResultError):
        list(survey(workers="0").parts(pace(0.1)))


class Shifted(Images):
    """Gives another sample each time it is asked."""

    asked = 0

    def __getitem__(self, place):
        Shifted.asked += 1
        return super().__getitem__(place + Shifted.asked)


def test_it_stops_when_asked(pace):
    assert list(survey(workers="0 1").parts(pace(0.1, stop_after=0))) == []


def test_without_dali_its_decoding_is_unsupported():
    if module.has("nvidia.dali"):
        pytest.skip("DALI is installed")
    with pytest.raises(UnsupportedError):
        dali_batches([], 4, 32, 1, 0)


def test_it_says_how_samples_are_made():
    notes = survey().notes()
    assert notes["decode"] == best_decoder()
    assert notes["cores"] >= 1
    assert math.isfinite(notes["consumer_rate"])


def test_a_torchvision_built_for_another_torch_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision/__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL/__init__.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] in ("torchvision", "PIL")]:
        monkeypatch.delitem(sys.modules, name)
    assert best_decoder() == STAND_IN
