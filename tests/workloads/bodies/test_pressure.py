"""Pressure probes on the processor, for real; their kernels for a card are only made there."""

import threading
import time

import pytest

from gputuner.workloads.bodies import pressure
from gputuner.workloads.bodies.cpu import CpuDevice
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.pressure_kernels import BEYOND_CACHE, KERNELS, Product, Stream, Sweep
from gputuner.workloads.bodies.pressure_threads import Spinning, cores
from gputuner.workloads.bodies.shelf import make_body
from gputuner.workloads.specs_pressure import ON_PROCESSOR, PROBES, PressureSpec

pytestmark = pytest.mark.torch


@pytest.fixture
def device():
    """With a last cache of 8 MiB, whatever the machine has: streams of four times 300 MiB are no unit test."""
    made = CpuDevice(None)
    made.cache_bytes = 8 << 20
    return made


@pytest.mark.parametrize("probe", ON_PROCESSOR)
def test_probes_of_a_processor_run(device, probe):
    spec = PressureSpec(probe=probe, dial=1.0, burst_s=0.002, passes=2)
    body = make_body(spec.workload, device, dict(spec.params()), 0)
    body.iterate()
    body.mark()
    assert body.relative_error() is None
    assert body.probe(1.0) is None
    notes = body.notes()
    assert (notes["passes"], notes["dial"], notes["burst_s"]) == (2, 1.0, 0.002)
    assert all(amount > 0 for amount in body.work.values())


def test_the_kernels_of_a_burst_are_found_where_none_are_given(device):
    few, many = (
        make_body("pressure", device, {"probe": "host", "dial": 0.5, "burst_s": burst_s}, 0).notes()["passes"]
        for burst_s in (0.001, 0.05)
    )
    assert 1 <= few < many


def test_below_dial_one_the_host_pauses(device, monkeypatch):
    pauses = []
    monkeypatch.setattr(pressure, "_pause", pauses.append)
    body = make_body("pressure", device, {"probe": "dram", "dial": 0.25, "burst_s": 0.004, "passes": 1}, 0)
    body.iterate()
    assert pauses == [pytest.approx(0.012)]
    make_body("pressure", device, {"probe": "dram", "dial": 1.0, "burst_s": 0.004, "passes": 1}, 0).iterate()
    assert len(pauses) == 1


def test_a_pause_is_not_shorter_than_asked():
    start = time.perf_counter()
    pressure._pause(0.002)
    assert time.perf_counter() - start >= 0.002


def test_threads_of_the_host_follow_the_dial():
    for dial, threads in ((0.5, cores()), (1.0, 2 * cores())):
        body = Spinning(dial=dial, burst_s=0.001, passes=3)
        assert body.notes()["spin_threads"] == threads
        assert body.work == {"digests": 3.0 * threads}


def test_threads_of_the_host_are_those_of_the_quota(monkeypatch):
    monkeypatch.setattr("gputuner.workloads.bodies.pressure_threads.allowed_cores", lambda: 1.5)
    assert Spinning(dial=1.0, burst_s=0.001, passes=1).notes()["spin_threads"] == 4


def test_all_threads_work_in_an_iteration(monkeypatch):
    seen = set()
    body = Spinning(dial=1.0, burst_s=0.001, passes=1)
    together = threading.Barrier(2 * cores(), timeout=600)
    monkeypatch.setattr(
        "gputuner.workloads.bodies.pressure_threads.digests",
        lambda count: (together.wait(), seen.add(threading.get_ident())),
    )
    body.iterate()
    assert len(seen) == 2 * cores()


def test_a_stream_comes_back_only_after_all_of_it(device):
    stream = Stream(device, 0)
    for _ in range(stream._count):
        assert float(stream._target[stream._at].sum()) == 0.0
        stream.run()
    assert stream._at == 0
    assert float(stream._target.min()) == 1.0
    assert stream.notes()["footprint_over_cache"] >= 4


def test_kernels_for_a_card_reach_what_they_press_on():
    class Card:
        name, cache_bytes, bf16_native = "cpu", 50 << 20, True

    assert Product(Card(), 32, __import__("torch").float32, 0).work == {"flop": 2.0 * 32**3}
    sweep = Sweep(Card(), 0)
    sweep.run()
    assert 4 * sweep._kept.numel() == Card.cache_bytes // 2
    assert BEYOND_CACHE == 4


class Sized(CpuDevice):
    """A processor with a last cache of a size, and memory that is free."""

    def __init__(self, cache_mib: int, free_mib: int) -> None:
        super().__init__(None)
        self.cache_bytes, self._free_bytes = cache_mib << 20, free_mib << 20

    def free_bytes(self) -> int | None:
        return self._free_bytes


@pytest.mark.parametrize("cache_mib", [1, 3, 33, 50])
def test_a_stream_never_stays_in_the_cache(cache_mib):
    """Its size is rounded up: 4 caches of 33 MiB are no multiple of two pieces."""
    told = Stream(Sized(cache_mib, free_mib=64 << 10), 0).notes()["footprint_over_cache"]
    assert told >= 4.0


def test_pieces_of_a_card_are_rounded_up_too(monkeypatch):
    """An RTX 4090 has 72 MiB: 288 MiB are 4.5 times two pieces of 32 MiB."""
    made = []
    monkeypatch.setattr("torch.ones", lambda count, width, **_: made.append(count) or __import__("torch").zeros(1))

    class Card:
        name, cache_bytes = "cuda", 72 << 20

    assert Stream(Card(), 0).notes()["footprint_over_cache"] == pytest.approx(320 / 72, abs=0.01)
    assert made == [5]


def test_a_stream_that_does_not_fit_is_no_probe_of_memory():
    with pytest.raises(UnsupportedError, match="last-level cache"):
        Stream(Sized(256, free_mib=1500), 0)


@pytest.mark.parametrize("probe", [probe for probe in PROBES if probe not in ON_PROCESSOR])
def test_a_processor_has_no_other_probes(device, probe):
    with pytest.raises(UnsupportedError):
        make_body("pressure", device, dict(PressureSpec(probe=probe).params()), 0)


def test_a_probe_in_a_thread_leaves_the_settings_of_other_jobs_alone(monkeypatch):
    switched = []
    monkeypatch.setattr("gputuner.workloads.bodies.pressure_kernels.switch_tf32", switched.append)

    class Card:
        name, cache_bytes, bf16_native = "cpu", 50 << 20, True

    beside = threading.Thread(target=lambda: KERNELS["sm"](Card(), 0))
    beside.start()
    beside.join()
    assert switched == []
    KERNELS["sm"](Card(), 0)
    assert switched == [False]
