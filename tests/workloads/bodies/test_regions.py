"""Regions through torch, on a processor that says it has little memory."""

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import WrongResultError  # noqa: E402
from gputuner.workloads.bodies.regions import Regions  # noqa: E402

pytestmark = pytest.mark.torch
BLOCK = 1 << 20


class SmallDevice(CpuDevice):
    """Free memory shrinks by a block each time it is asked for."""

    left = 7 * BLOCK

    def free_bytes(self):
        self.left -= BLOCK
        return self.left + BLOCK


def test_all_but_the_margin_is_read(pace):
    made = Regions(SmallDevice(None), block_bytes=BLOCK, keep_bytes=2 * BLOCK, seed=0)
    parts = list(made.parts(pace(0.0)))
    assert [p.params["offset_bytes"] for p in parts] == [n * BLOCK for n in range(5)]
    assert all(p.work == {"bytes": float(BLOCK)} and len(p.iteration_s) >= 6 for p in parts)
    assert made.notes()["covered_bytes"] == 5 * BLOCK


def test_a_block_that_changed_is_no_figure(pace):
    made = Regions(SmallDevice(None), block_bytes=BLOCK, keep_bytes=2 * BLOCK, seed=0)
    made._blocks[3][5] += 1.0
    with pytest.raises(WrongResultError, match=f"offset {3 * BLOCK}"):
        list(made.parts(pace(0.0)))


def test_no_room_is_out_of_memory():
    with pytest.raises(MemoryError):
        Regions(SmallDevice(None), block_bytes=BLOCK, keep_bytes=9 * BLOCK, seed=0)
