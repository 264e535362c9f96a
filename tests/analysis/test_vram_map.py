"""The map of a VRAM by address: every planted place has its sign, and nothing is called sound that was not tested."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis.vram_map import LEAST_BYTES, MOST_STRETCHES, State, stretch_bytes, vram_map
from gputuner.model.cards import Origin
from gputuner.model.points import Point

MIB, GIB = 1 << 20, 1 << 30
ROW = 16384


def told(name="random", heat="cold", errors=0, checked=GIB, **extra):
    return Point(
        id=f"{name}-{heat}", card="GPU-x", metric="vram_errors", workload="vram", value=float(errors), unit="1",
        params={"pass": name, "heat": heat, "stage": 1}, origin=Origin.MEASURED,
        extra={"checked_bytes": checked, **extra},
    )  # fmt: skip


def rate(offset, size, value, fraction):
    return Point(
        id=f"rate-{offset}", card="GPU-x", metric="vram_block_rate", workload="vram", value=value, unit="B/s",
        params={"offset_bytes": offset, "bytes": size}, origin=Origin.MEASURED,
        extra={"fraction_of_median": fraction},
    )  # fmt: skip


def states(found):
    return [stretch.state for stretch in found.stretches]


@given(st.integers(min_value=1, max_value=300 * GIB))
def test_stretches_cover_the_memory_without_gap_and_are_few(total):
    found = vram_map([], total)
    assert len(found.stretches) <= MOST_STRETCHES
    assert sum(stretch.bytes for stretch in found.stretches) == total
    assert [s.offset for s in found.stretches] == [n * found.stretch_bytes for n in range(len(found.stretches))]
    size = stretch_bytes(total)
    assert size % LEAST_BYTES == 0
    assert size.bit_count() == 1
    assert set(states(found)) == {State.UNTESTED}


@settings(max_examples=60)
@given(
    st.integers(min_value=GIB // 2, max_value=2 * GIB),
    st.lists(st.integers(min_value=0, max_value=GIB // ROW - 1), min_size=1, max_size=48, unique=True),
    st.sampled_from(["cold", "hot"]),
)
def test_every_planted_row_is_marked_and_no_other(total, rows, heat):
    planted = [row * ROW for row in rows if (row + 1) * ROW <= total]
    spans = " ".join(f"{offset:x}+{ROW:x}" for offset in planted)
    points = [told(checked=total), told("address", heat, errors=max(1, len(planted)), checked=total, spans=spans)]
    found = vram_map(points, total)
    wrong = {offset // found.stretch_bytes for offset in planted}
    assert {n for n, state in enumerate(states(found)) if state is State.ERRORS} == wrong
    for number in wrong:
        assert found.stretches[number].failed == (("address", heat),)
        assert found.stretches[number].points == (f"address-{heat}",)
    assert found.unplaced == (0 if planted else 1), "an error without a place is not lost"


@given(st.integers(min_value=0, max_value=2 * GIB))
def test_only_what_a_whole_pass_has_seen_is_called_sound(checked):
    found = vram_map([told(checked=checked), told("random", "hot", checked=GIB // 2)], GIB)
    for stretch in found.stretches:
        end = stretch.offset + stretch.bytes
        cold, hot = end <= checked, end <= GIB // 2
        assert stretch.state is (State.SOUND if cold and hot else State.COLD if cold or hot else State.UNTESTED)


def test_memory_that_repeats_itself_is_marked_at_both_ends():
    half = GIB // 2
    points = [told("address", errors=9, aliases=f"0<{half:x}+{half // 2:x}", spans=f"0+{half // 2:x}")]
    found = vram_map(points, GIB)
    shared = [stretch.offset for stretch in found.stretches if stretch.state is State.ALIASED]
    assert len(shared) * found.stretch_bytes == half, "what stands twice and where it stands"
    assert min(shared) == 0
    assert max(shared) == half + half // 2 - found.stretch_bytes
    assert found.unplaced == 0


def test_a_slow_block_has_its_sign_and_its_rate():
    rates = [rate(n * 64 * MIB, 64 * MIB, 400e9 if n == 5 else 800e9 + n, 0.5 if n == 5 else 1.0) for n in range(16)]
    found = vram_map([told(), told("random", "hot"), *rates], GIB)
    slow = [stretch for stretch in found.stretches if stretch.state is State.SLOW]
    assert {stretch.offset // (64 * MIB) for stretch in slow} == {5}
    assert {(stretch.rate, stretch.fraction) for stretch in slow} == {(400e9, 0.5)}
    assert {stretch.state for stretch in found.stretches} == {State.SLOW, State.SOUND}


def test_a_count_that_wrapped_is_an_error():
    assert vram_map([told(errors=-3)], GIB).unplaced == 3
