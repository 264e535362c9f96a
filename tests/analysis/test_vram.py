"""The judgement of the VRAM test's passes: kinds of faults, the modal distance, counts that cannot be believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.vram import Alias, Pass, beyond_donor, counted, judged, modal_distance, pass_of

GIB = 1 << 30


def one(name="random", heat="cold", errors=0, **fields):
    return Pass(name=name, heat=heat, checked_bytes=GIB, errors=errors, **fields)


def spans(*offsets):
    return tuple((offset, 16384) for offset in offsets)


@pytest.mark.parametrize(
    ("passes", "kind"),
    [
        ([one(), one(heat="hot")], "sound"),
        ([one(errors=2, spans=spans(0)), one(errors=1, spans=spans(0))], "stuck"),
        ([one(), one(errors=1, spans=spans(0)), one(errors=1, spans=spans(32768))], "intermittent"),
        ([one(), one(heat="hot", errors=1, spans=spans(0)), one(heat="hot", errors=1, spans=spans(0))], "hot_only"),
        ([one(errors=1, spans=spans(0)), one(heat="hot")], "cold_only"),
        ([one(errors=9, aliased=9, aliases=(Alias(offset=0, source=GIB, bytes=72),))], "aliasing"),
        ([one(errors=2, transient=2)], "read_errors"),
        ([one(errors=3, stale=2, spans=spans(0))], "lost_writes"),
    ],
)
def test_kinds_of_faults(passes, kind):
    found = judged(passes)
    assert found.kind == kind
    assert found.errors == sum(each.errors for each in passes)
    assert (found.failed_passes == 0) == (kind == "sound")


@given(
    st.integers(1, 2**40),
    st.lists(st.integers(0, 2**44), min_size=3, max_size=12),
    st.lists(st.tuples(st.integers(0, 2**44), st.integers(0, 2**44)), max_size=2),
)
def test_the_modal_distance_is_that_of_most_bytes(distance, offsets, others):
    aliases = [Alias(offset=each, source=each + distance, bytes=16384) for each in offsets]
    strays = [Alias(offset=a, source=b, bytes=8) for a, b in others]
    found, share = modal_distance([*strays, *aliases])
    assert found == distance
    assert share > 0.5


def test_scattered_distances_have_no_modal_one():
    aliases = [Alias(offset=0, source=n * GIB, bytes=8) for n in (1, 2, 3)]
    assert modal_distance(aliases)[0] is None
    assert modal_distance([]) == (None, 0.0)


def test_a_repeat_at_the_donors_size_is_named_beyond_it_only():
    assert beyond_donor(24 * GIB, 24 * GIB, 47 * GIB)
    assert not beyond_donor(24 * GIB, 24 * GIB, 23 * GIB)
    assert not beyond_donor(3 * GIB, 24 * GIB, 47 * GIB)
    assert not beyond_donor(None, 24 * GIB, 47 * GIB)


@pytest.mark.parametrize(("told", "count"), [(0, 0), (7, 7), (3770968296, 3770968296), (-533715488, 533715488),
                                             (-1, 1), (None, 1), ("x", 1), (True, 1), (-0.5, 1)])  # fmt: skip
def test_no_count_of_errors_turns_into_none(told, count):
    assert counted(told) == count


def test_a_pass_is_read_back_as_it_crossed_the_wire():
    notes = {"errors": 3, "checked_bytes": 99, "bad_rows": 1, "bits_up": "00000000000000ff", "aliased": 2,
             "spans": "4000+4000 c000+4000", "aliases": "4000<100004000+10"}  # fmt: skip
    found = pass_of({"pass": "address", "heat": "hot"}, notes)
    assert found.spans == ((0x4000, 0x4000), (0xC000, 0x4000))
    assert found.aliases == (Alias(offset=0x4000, source=0x100004000, bytes=16),)
    assert found.aliases[0].distance == 4 * GIB
    assert (found.bits_up, found.errors, found.heat) == (255, 3, "hot")
