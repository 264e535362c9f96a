"""Streams through memory: what is counted, and results that are checked."""

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError  # noqa: E402
from gputuner.workloads.bodies.stream import Stream, StreamSweep  # noqa: E402
from gputuner.workloads.bodies.survey import Pace  # noqa: E402

pytestmark = pytest.mark.torch
BYTES = 1 << 20


@pytest.fixture
def device():
    return CpuDevice(None)


@pytest.mark.parametrize(("operation", "arrays"), [("read", 1), ("write", 1), ("copy", 2), ("scale", 2), ("triad", 3)])
def test_each_array_that_is_touched_counts_once(device, operation, arrays):
    body = Stream(device, operation=operation, bytes=BYTES, seed=0)
    assert body.work == {"bytes": float(arrays * BYTES)}
    body.iterate()
    assert body.relative_error() <= 1e-5


@pytest.mark.parametrize("operation", ["read", "write", "copy", "scale", "triad"])
def test_a_wrong_number_is_no_figure(device, operation):
    body = Stream(device, operation=operation, bytes=BYTES, seed=0)
    body.iterate()
    if operation == "read":
        body._sum += 1000.0
    else:
        body._out[7] += 1.0
    with pytest.raises(WrongResultError):
        body.relative_error()


def test_an_unknown_operation_is_refused(device):
    with pytest.raises(UnsupportedError):
        Stream(device, operation="daxpy", bytes=BYTES, seed=0)


def test_writes_alternate_so_that_none_can_be_left_out(device):
    body = Stream(device, operation="write", bytes=BYTES, seed=0)
    seen = []
    for _ in range(3):
        body.iterate()
        seen.append(float(body._out[0]))
    assert seen == [1.0, 0.0, 1.0]


def test_a_sweep_goes_from_a_quarter_mebibyte_to_its_largest_in_half_octaves(device):
    sweep = StreamSweep(device, operation="triad", largest_bytes=12 << 20, seed=0)
    parts = list(sweep.parts(Pace(measure_s=0.1, left_s=lambda: 0.05, stopped=lambda: False)))
    footprints = [part.params["bytes"] for part in parts]
    assert footprints[0] == 3 * (256 << 10)
    assert footprints[-1] == 12 << 20
    assert len(footprints) == 9
    assert all(part.work["bytes"] == part.params["bytes"] for part in parts)
    assert all(part.t0_ns < part.t1_ns and part.iteration_s for part in parts)


def test_a_sweep_that_is_stopped_keeps_what_it_has(device):
    sweep = StreamSweep(device, operation="copy", largest_bytes=8 << 20, seed=0)
    stops = iter([False, True])
    assert len(list(sweep.parts(Pace(measure_s=1.0, left_s=lambda: 0.01, stopped=lambda: next(stops))))) == 1
