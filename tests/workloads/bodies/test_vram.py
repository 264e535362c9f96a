"""The VRAM test through torch on a processor that says it has little memory; faults are put in between two passes."""

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.burn import Burn  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError  # noqa: E402
from gputuner.workloads.bodies.vram import TorchMemory, Vram  # noqa: E402
from gputuner.workloads.bodies.vram_patterns import ROW_BYTES, ROW_WORDS, WORD, Pattern, passes  # noqa: E402

pytestmark = pytest.mark.torch
BLOCK = 1 << 20
ROWS = BLOCK // ROW_BYTES


class SmallDevice(CpuDevice):
    """Free memory shrinks by what was taken last."""

    def __init__(self, room):
        super().__init__(None)
        self.room, self.made = room, None

    def free_bytes(self):
        taken = sum(t.numel() * 8 for t in self.made._tensors) if self.made is not None else 0
        return self.room - taken


def memory_of(room, **fields):
    device = SmallDevice(room)
    made = TorchMemory.__new__(TorchMemory)
    device.made = made
    made.__init__(device, block_bytes=BLOCK, **{"keep_bytes": 0, **fields})
    return made


def test_all_but_the_margin_is_taken_in_whole_blocks():
    made = memory_of(7 * BLOCK, keep_bytes=2 * BLOCK + 9000)
    assert [len(block) for block in made.blocks] == [ROWS] * 4
    assert [block.start for block in made.blocks] == [0, ROWS, 2 * ROWS, 3 * ROWS]
    assert len(memory_of(9 * BLOCK, most_bytes=3 * BLOCK).blocks) == 3


def test_what_is_too_small_for_a_block_is_taken_in_halves(monkeypatch):
    monkeypatch.setattr("gputuner.workloads.bodies.vram.LEAST_BLOCK_BYTES", BLOCK // 4)
    made = memory_of(3 * BLOCK, keep_bytes=BLOCK // 5)
    assert [len(block) for block in made.blocks] == [ROWS, ROWS, ROWS // 2, ROWS // 4]
    tested = sum(map(len, made.blocks)) * ROW_BYTES
    assert tested > 0.9 * (3 * BLOCK - BLOCK // 5)


def test_no_room_is_out_of_memory():
    with pytest.raises(MemoryError):
        memory_of(2 * BLOCK, keep_bytes=2 * BLOCK)


@pytest.mark.parametrize("pattern", [p for _, patterns in passes(1, 3) for p in (*patterns, patterns[0].turned())])
def test_every_pattern_reads_back_as_python_computes_it(pattern):
    made = memory_of(3 * BLOCK)
    made.prepare(pattern)
    for block in range(len(made.blocks)):
        made.fill(block)
        made.check(block)
    assert made.found() == []
    row = made.blocks[-1].stop - 3
    assert made.row(row) == [(t + pattern.key(row)) & WORD for t in pattern.template()]
    assert all(len(seconds) == 1 and seconds[0] > 0 for seconds in made.seconds)


@pytest.mark.parametrize(("row", "column", "bit"), [(0, 0, 0), (70, ROW_WORDS - 1, 63), (ROWS, 5, 31)])
def test_a_single_wrong_bit_is_found_at_its_row(row, column, bit):
    made = memory_of(3 * BLOCK)
    for pattern in (Pattern(seed=4), Pattern(constant=0)):
        made.prepare(pattern)
        for block in range(len(made.blocks)):
            made.fill(block)
        block, place = divmod(row, ROWS)
        made._tensors[block][place, column] ^= 1 << bit if bit < 63 else -(1 << 63)
        for each in range(len(made.blocks)):
            made.check(each)
        assert made.found() == [row]


class Broken(Vram):
    """Between writing and reading, while words are kept, one word loses a bit."""

    def _hold(self, seconds, stopped):
        super()._hold(seconds, stopped)
        self._memory._tensors[1][2, 3] ^= 1 << 40


def test_words_that_are_lost_while_they_are_kept_are_told_by_place_and_bit(pace):
    device = SmallDevice(0)
    device.free_bytes = lambda: 1 << 40
    made = Broken(
        device, block_bytes=BLOCK, keep_bytes=0, heat="cold", hold_s=0.01, most_bytes=3 * BLOCK, seed=7
    )  # fmt: skip
    parts = list(made.parts(pace(0.0)))
    retention = [p for p in parts if p.params["pass"] == "retention"]
    assert [p.notes["errors"] for p in retention] == [1]
    offset = (ROWS + 2) * ROW_BYTES
    assert retention[0].notes["spans"] == f"{offset:x}+{ROW_BYTES:x}"
    assert str(retention[0].notes["examples"]).startswith(f"{offset + 24:x}:")
    masks = int(str(retention[0].notes["bits_up"]), 16) | int(str(retention[0].notes["bits_down"]), 16)
    assert masks == 1 << 40
    assert not any(p.notes.get("errors") for p in parts if p.params["pass"] != "retention")
    assert made.notes()["covered_bytes"] == 3 * BLOCK


def test_hot_keeps_words_under_load_and_rates_are_told_for_each_block(pace):
    device = SmallDevice(0)
    device.free_bytes = lambda: 1 << 40
    made = Vram(device, block_bytes=BLOCK, keep_bytes=0, heat="hot", hold_s=0.01, most_bytes=2 * BLOCK, seed=7)
    parts = list(made.parts(pace(0.0)))
    rates = [p for p in parts if p.params["pass"] == "rate"]
    assert [p.params["offset_bytes"] for p in rates] == [0, BLOCK]
    assert all(p.work == {"bytes": float(BLOCK)} and len(p.iteration_s) > 5 for p in rates)
    assert {p.params["heat"] for p in parts if p.params["pass"] != "rate"} == {"hot"}
    assert all(p.notes["errors"] == 0 for p in parts if p.params["pass"] != "rate")


def test_products_that_are_the_same_are_counted_as_right(pace):
    (part,) = Burn(CpuDevice(None), precisions="fp32", n=64, seed=1).parts(pace(0.02))
    assert part.notes["errors"] == part.notes["wrong_numbers"] == 0
    assert part.notes["products"] >= 1
    assert part.relative_error is not None
    assert part.relative_error < 1e-6
    assert part.work == {"flop": 2.0 * 64**3}


def test_one_wrong_bit_in_one_product_is_counted(pace, monkeypatch):
    calls = iter(range(10**9))

    def multiply(a, b, out):
        torch.mm(a, b, out=out)
        if next(calls) == 1:
            out.view(torch.int32)[5, 6] ^= 1

    made = Burn(CpuDevice(None), precisions="fp32", n=64, seed=1)
    from gputuner.workloads.bodies import burn
    from gputuner.workloads.bodies.product import Product

    product = Product(storage=torch.float32, result=torch.float32, multiply=multiply, tolerance=3e-5)
    monkeypatch.setattr(burn, "product_of", lambda device, name: product)
    (part,) = made.parts(pace(0.02))
    assert (part.notes["errors"], part.notes["wrong_numbers"]) == (1, 1)


def test_a_first_product_that_is_wrong_is_no_golden_one(pace, monkeypatch):
    from gputuner.workloads.bodies import burn
    from gputuner.workloads.bodies.product import Product

    product = Product(
        storage=torch.float32, result=torch.float32, multiply=lambda a, b, out: out.fill_(1.0), tolerance=3e-5
    )
    monkeypatch.setattr(burn, "product_of", lambda device, name: product)
    with pytest.raises(WrongResultError):
        list(Burn(CpuDevice(None), precisions="fp32", n=64, seed=1).parts(pace(0.0)))
    with pytest.raises(UnsupportedError):
        Burn(CpuDevice(None), precisions="", n=64, seed=1)
