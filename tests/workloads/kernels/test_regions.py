"""Regions of the VRAM: all of it but a margin, slower and shared blocks found."""

import statistics

import pytest

from gputuner.workloads.bodies.failures import WrongResultError
from gputuner.workloads.bodies.survey import Pace
from gputuner.workloads.kernels.regions import Regions
from tests.workloads.kernels.fake_runtime import FakeRuntime, fake_device

BLOCK = 1 << 20
PACE = Pace(measure_s=0.1, left_s=lambda: 0.0, stopped=lambda: False)


def regions(runtime, **more):
    return Regions(fake_device(runtime), block_bytes=BLOCK, keep_bytes=8 << 20, seed=0, **more)


def test_all_but_the_margin_is_read():
    runtime = FakeRuntime(total=24 << 20)
    made = regions(runtime)
    parts = list(made.parts(PACE))
    assert [p.params["offset_bytes"] for p in parts] == [n * BLOCK for n in range(15)]
    assert runtime.memory()[0] >= 8 << 20
    assert made.notes()["covered_bytes"] == 15 * BLOCK
    assert all(p.work == {"bytes": float(BLOCK)} and len(p.iteration_s) >= 3 for p in parts)


def test_a_slower_block_shows():
    runtime = FakeRuntime(total=24 << 20)
    made = regions(runtime)
    runtime.slow[made._blocks[11]] = 1.5
    medians = [statistics.median(p.iteration_s) for p in made.parts(PACE)]
    assert medians.index(max(medians)) == 11
    assert max(medians) == pytest.approx(1.5 * statistics.median(medians))


def test_two_blocks_that_share_their_cells_are_no_figure():
    # allocation 0 holds the checksums; block 2 is allocation 3
    with pytest.raises(WrongResultError, match="offset"):
        list(regions(FakeRuntime(total=24 << 20, alias={9: 3})).parts(PACE))


def test_a_card_without_room_is_out_of_memory():
    with pytest.raises(MemoryError):
        regions(FakeRuntime(total=8 << 20))


def test_rounds_go_through_the_blocks_in_another_order():
    runtime = FakeRuntime(total=24 << 20)
    made = regions(runtime)
    before = len(runtime.launched)
    list(made.parts(PACE))
    reads = [args[0] for name, _, args in runtime.launched[before:] if name.startswith("read")]
    first, second = reads[:15], reads[15:30]
    assert sorted(first) == sorted(second)
    assert first != second


def test_a_stop_gives_no_part():
    made = regions(FakeRuntime(total=24 << 20))
    assert list(made.parts(Pace(measure_s=1.0, left_s=lambda: 1.0, stopped=lambda: True))) == []
