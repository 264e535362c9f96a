"""Packed readings, unpacked: ranges, units and sentinels."""

from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from gputuner.devices.packing import Packing, Read, Unpacker
from gputuner.model.quantities import Quantity as Q
from gputuner.model.quantities import Tier
from gputuner.model.readings import Reason

SENTINEL = 0xFFFFFFFF
PACKING = Packing(
    number=1,
    card="a",
    tier=Tier.SLOW,
    layout="=I4xQid",
    reads=(
        Read(quantity=Q.POWER_INSTANT_W, divisor=1000, low=0, high=0x7FFFFFFE),
        Read(quantity=Q.MEMORY_USED_BYTES, divisor=1, low=0, high=2**52),
        Read(quantity=Q.SLOWDOWN_MARGIN_C, divisor=1, low=-126, high=126),
        Read(quantity=Q.GPU_UTILISATION, divisor=100, low=0, high=100),
    ),
    sentinel=SENTINEL,
    missing={Q.HOTSPOT_TEMPERATURE_C: Reason.NOT_SUPPORTED},
)


def data(power: int = 81_259, memory: int = 2**34, margin: int = -3, share: float = 41.0) -> bytes:
    return pack(PACKING.layout, power, memory, margin, share)


def test_numbers_become_values_in_gputuners_units_and_what_is_missing_keeps_its_reason() -> None:
    unpacker = Unpacker(PACKING)
    sample = unpacker.sample(5, data())
    assert (sample.card, sample.t_ns) == ("a", 5)
    assert sample.values == {
        Q.POWER_INSTANT_W: 81.259,
        Q.MEMORY_USED_BYTES: 2**34,
        Q.SLOWDOWN_MARGIN_C: -3,
        Q.GPU_UTILISATION: 0.41,
    }
    assert sample.missing == PACKING.missing
    assert (unpacker.rejected, unpacker.size) == (0, len(data()))


def test_what_cannot_be_is_missing_counted_and_forgotten_at_the_next_reading() -> None:
    unpacker = Unpacker(PACKING)
    sample = unpacker.sample(1, data(power=SENTINEL, margin=127, share=float("nan")))
    gone = {Q.POWER_INSTANT_W, Q.SLOWDOWN_MARGIN_C, Q.GPU_UTILISATION}
    assert sample.values == {Q.MEMORY_USED_BYTES: 2**34}
    assert sample.missing == {**PACKING.missing, **dict.fromkeys(gone, Reason.IMPLAUSIBLE)}
    assert unpacker.rejected == 3
    assert unpacker.sample(2, data()).missing == PACKING.missing
    assert unpacker.rejected == 3


def test_a_sentinel_inside_the_range_is_none() -> None:
    assert Q.MEMORY_USED_BYTES not in Unpacker(PACKING).sample(1, data(memory=SENTINEL)).values


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_quantity_that_is_there_twice_is_the_sum(first: int, second: int) -> None:
    read = Read(quantity=Q.REMAPPED_ROWS, divisor=1, low=0, high=2**63)
    packing = Packing(
        number=1, card="a", tier=Tier.SLOW, layout="=QQ", reads=(read, read), sentinel=SENTINEL, missing={}
    )
    sample = Unpacker(packing).sample(1, pack("=QQ", first, second))
    if SENTINEL in (first, second):
        assert sample.missing == {Q.REMAPPED_ROWS: Reason.IMPLAUSIBLE}
    else:
        assert sample.values == {Q.REMAPPED_ROWS: first + second}


def test_half_a_sum_is_no_value() -> None:
    read = Read(quantity=Q.REMAPPED_ROWS, divisor=1, low=0, high=2**63)
    packing = Packing(
        number=1, card="a", tier=Tier.SLOW, layout="=QQ", reads=(read, read), sentinel=SENTINEL, missing={}
    )
    sample = Unpacker(packing).sample(1, pack("=QQ", 3, 2**64 - 1))
    assert (sample.values, sample.missing) == ({}, {Q.REMAPPED_ROWS: Reason.IMPLAUSIBLE})
