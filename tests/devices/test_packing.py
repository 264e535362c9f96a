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
    (sample,) = unpacker.samples(5, data())
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
    (sample,) = unpacker.samples(1, data(power=SENTINEL, margin=127, share=float("nan")))
    gone = {Q.POWER_INSTANT_W, Q.SLOWDOWN_MARGIN_C, Q.GPU_UTILISATION}
    assert sample.values == {Q.MEMORY_USED_BYTES: 2**34}
    assert sample.missing == {**PACKING.missing, **dict.fromkeys(gone, Reason.IMPLAUSIBLE)}
    assert unpacker.rejected == 3
    assert unpacker.samples(2, data())[0].missing == PACKING.missing
    assert unpacker.rejected == 3


def test_a_sentinel_inside_the_range_is_none() -> None:
    assert Q.MEMORY_USED_BYTES not in Unpacker(PACKING).samples(1, data(memory=SENTINEL))[0].values


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_quantity_that_is_there_twice_is_the_sum(first: int, second: int) -> None:
    read = Read(quantity=Q.REMAPPED_ROWS, divisor=1, low=0, high=2**63)
    packing = Packing(
        number=1, card="a", tier=Tier.SLOW, layout="=QQ", reads=(read, read), sentinel=SENTINEL, missing={}
    )
    (sample,) = Unpacker(packing).samples(1, pack("=QQ", first, second))
    if SENTINEL in (first, second):
        assert sample.missing == {Q.REMAPPED_ROWS: Reason.IMPLAUSIBLE}
    else:
        assert sample.values == {Q.REMAPPED_ROWS: first + second}


def test_half_a_sum_is_no_value() -> None:
    read = Read(quantity=Q.REMAPPED_ROWS, divisor=1, low=0, high=2**63)
    packing = Packing(
        number=1, card="a", tier=Tier.SLOW, layout="=QQ", reads=(read, read), sentinel=SENTINEL, missing={}
    )
    (sample,) = Unpacker(packing).samples(1, pack("=QQ", 3, 2**64 - 1))
    assert (sample.values, sample.missing) == ({}, {Q.REMAPPED_ROWS: Reason.IMPLAUSIBLE})


def _meaning(packing: Packing, raw: tuple[float, ...]) -> tuple[dict[Q, float], dict[Q, Reason], int]:
    """What raw numbers mean, told number by number: values, what is missing, and how many are rejected."""
    values: dict[Q, float] = {}
    missing = dict(packing.missing)
    rejected = 0
    for read, number in zip(packing.reads, raw, strict=True):
        if read.low <= number <= read.high and number != packing.sentinel:
            values[read.quantity] = values.get(read.quantity, 0.0) + number / read.divisor
        else:
            rejected += 1
            missing[read.quantity] = Reason.IMPLAUSIBLE
    return {name: value for name, value in values.items() if name not in missing}, missing, rejected


raw_numbers = st.tuples(
    st.integers(0, 2**32 - 1) | st.just(SENTINEL) | st.integers(0, 700_000),
    st.integers(0, 2**64 - 1) | st.integers(0, 2**40) | st.just(SENTINEL),
    st.integers(-(2**31), 2**31 - 1) | st.integers(-130, 130),
    st.floats(allow_nan=True, allow_infinity=True) | st.integers(0, 100).map(float),
)


@given(st.lists(st.tuples(st.integers(0, 2**62), raw_numbers), min_size=1, max_size=8))
def test_a_bundle_means_what_its_readings_mean_one_by_one(read: list[tuple[int, tuple[float, ...]]]) -> None:
    packings = tuple(
        Packing(
            number=place,
            card=f"card-{place}",
            tier=Tier.SLOW,
            layout=PACKING.layout,
            reads=PACKING.reads,
            sentinel=SENTINEL,
            missing=PACKING.missing if place % 2 else {},
        )
        for place in range(len(read))
    )
    unpacker = Unpacker(*packings)
    times = [t_ns for t_ns, _ in read]
    packed = pack(f"={len(times) - 1}q", *times[1:]) + b"".join(pack(PACKING.layout, *raw) for _, raw in read)
    assert unpacker.size == len(packed)
    told = unpacker.samples(times[0], packed)
    meant = [_meaning(packing, raw) for packing, (_, raw) in zip(packings, read, strict=True)]
    assert [(s.card, s.t_ns) for s in told] == [(p.card, t) for p, t in zip(packings, times, strict=True)]
    assert [(s.values, s.missing) for s in told] == [(values, missing) for values, missing, _ in meant]
    assert unpacker.rejected == sum(rejected for _, _, rejected in meant)


def test_samples_of_one_bundle_share_no_dict() -> None:
    unpacker = Unpacker(PACKING, PACKING)
    first, second = unpacker.samples(1, pack("=q", 2) + data() + data())
    first.missing.clear()
    assert second.missing == PACKING.missing == unpacker.samples(1, pack("=q", 2) + data() + data())[0].missing
