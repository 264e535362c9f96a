"""Streams by our own kernels on a card without kernels: what is counted, tried, checked and refused."""

import numpy as np
import pytest

from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.bodies.survey import Pace
from gputuner.workloads.bodies.trial import Control, Request, Trial
from gputuner.workloads.kernels.shelf import make_body
from gputuner.workloads.kernels.source import numbers
from gputuner.workloads.kernels.stream import Stream
from gputuner.workloads.kernels.stream_source import ARRAYS
from gputuner.workloads.kernels.stream_sweep import StreamSweep
from tests.workloads.kernels.fake_runtime import BEST, CACHE_BYTES, DRAM, L2, FakeRuntime, fake_device

BYTES = 1 << 20
PACE = Pace(measure_s=0.1, left_s=lambda: 0.01, stopped=lambda: False)


def test_the_numbers_are_nearly_normal_and_those_of_their_place():
    drawn = numbers(0, 200_000, 7)
    assert abs(float(drawn.mean())) < 0.01
    assert float(drawn.std()) == pytest.approx(1.0, abs=0.01)
    # the sum of four uniforms has a kurtosis of 3 − 1.2/4
    assert float(((drawn - drawn.mean()) ** 4).mean()) == pytest.approx(2.7, abs=0.05)
    assert np.array_equal(numbers(1000, 50, 7), drawn[1000:1050])
    assert not np.array_equal(numbers(0, 50, 8), drawn[:50])
    assert len(np.unique(numbers((1 << 32) - 5, 10, 7))) == 10


@pytest.mark.parametrize("operation", list(ARRAYS))
def test_each_array_that_is_touched_counts_once(operation):
    body = Stream(fake_device(), operation=operation, bytes=BYTES, seed=0)
    assert body.work == {"bytes": float(ARRAYS[operation] * BYTES)}
    body.iterate()
    assert body.relative_error() == 0.0


@pytest.mark.parametrize("operation", list(ARRAYS))
def test_a_wrong_number_is_no_figure(operation):
    runtime = FakeRuntime()
    body = Stream(fake_device(runtime), operation=operation, bytes=BYTES, seed=0)
    runtime.skip.add(operation)
    body.iterate()
    with pytest.raises(WrongResultError, match=operation):
        body.relative_error()


def test_an_input_that_fades_is_found_even_if_the_copy_is_faithful():
    runtime = FakeRuntime()
    body = Stream(fake_device(runtime), operation="copy", bytes=BYTES, seed=0)
    next(iter(runtime.held.values()))[:] = 1
    body.iterate()
    with pytest.raises(WrongResultError, match="input"):
        body.relative_error()


def test_the_fastest_of_the_ways_is_measured():
    body = Stream(fake_device(), operation="copy", bytes=BYTES, seed=0)
    assert str(body.notes()["kernel"]).startswith(f"nvrtc {BEST[0]} tiles x{BEST[1]} ")
    assert body.notes()["footprint_over_cache"] == 2.0


def test_what_a_way_leaves_to_the_next_pass_is_no_gain():
    body = Stream(fake_device(FakeRuntime(late=("cached", 1))), operation="copy", bytes=BYTES, seed=0)
    assert str(body.notes()["kernel"]).startswith(f"nvrtc {BEST[0]} tiles x{BEST[1]} ")


def test_a_trial_of_it_gives_the_rate_of_the_memory():
    device = fake_device()
    request = Request(id="t", workload="stream", params={}, measure_s=0.05, budget_s=5.0, warmup_s=0.0)
    control = Control(send=lambda _: None, stopped=lambda: False, wait_for_go=lambda: True)
    params = {"operation": "copy", "bytes": BYTES}
    result = Trial(request, device, control).perform(lambda: make_body("stream", device, params, 0))
    assert {round(result["work"]["bytes"] / s) for s in result["iteration_s"]} == {round(DRAM)}
    assert result["notes"]["clock_mhz"] == 1500.0
    assert result["relative_error"] == 0.0


def test_an_unknown_operation_or_workload_is_refused():
    with pytest.raises(UnsupportedError):
        Stream(fake_device(), operation="daxpy", bytes=BYTES, seed=0)
    with pytest.raises(UnsupportedError):
        make_body("matmul", fake_device(), {}, 0)


def test_a_sweep_shows_the_cache_and_flushes_it_beyond():
    runtime = FakeRuntime()
    sweep = StreamSweep(fake_device(runtime), operation="copy", largest_bytes=8 << 20, seed=0)
    parts = list(sweep.parts(PACE))
    assert [p.params["bytes"] for p in parts][0::2] == [2 * (256 << 10) << k for k in range(5)]
    assert all(p.work["bytes"] == p.params["bytes"] for p in parts)
    rates = {int(p.params["bytes"]): p.work["bytes"] / min(p.iteration_s) for p in parts}
    assert rates[512 << 10] == pytest.approx(L2)
    assert rates[8 << 20] == pytest.approx(DRAM)
    assert [p.notes["flushed"] for p in parts] == [int(p.params["bytes"]) >= 4 * CACHE_BYTES for p in parts]
    assert all(p.notes["passes"] == 1 for p in parts if p.notes["flushed"])
    assert all(len(p.iteration_s) >= 19 and p.t0_ns < p.t1_ns for p in parts)


def test_what_flushes_the_cache_is_the_operation_itself_over_other_memory():
    runtime = FakeRuntime()
    device = fake_device(runtime)
    size = 4 << 20
    sweep = StreamSweep(device, operation="copy", largest_bytes=2 * size, seed=0)
    part = list(sweep.parts(PACE))[-1]
    assert part.params["bytes"] == 2 * size
    passes = [(args[0], args[4] * 16) for name, _, args in runtime.launched if name.startswith("copy")]
    base = passes[0][0]
    *timed, checking = passes[-21:]
    assert checking == (base, size)
    assert timed == [(base + size, CACHE_BYTES), (base, size)] * 10


def test_a_sweep_that_is_stopped_keeps_what_it_has():
    stops = iter([False, True])
    pace = Pace(measure_s=1.0, left_s=lambda: 0.01, stopped=lambda: next(stops))
    sweep = StreamSweep(fake_device(), operation="read", largest_bytes=8 << 20, seed=0)
    assert len(list(sweep.parts(pace))) == 1


def test_a_footprint_gone_through_many_times_is_swept_as_a_whole():
    """A block that strides re-reads a part of its own: it shows a cache however large the footprint is."""
    runtime = FakeRuntime()
    sweep = StreamSweep(fake_device(runtime), operation="read", largest_bytes=4 << 20, seed=0)
    assert {way.variant.order for way in sweep._ways} == {"tiles", "strides"}
    assert {way.variant.order for way in sweep._repeated} == {"tiles"}
    list(sweep.parts(PACE))
    repeated = {name for name, _, args in runtime.launched if name.startswith("read") and args[5] > 1}
    assert repeated
    assert not any("strides" in name for name in repeated)
