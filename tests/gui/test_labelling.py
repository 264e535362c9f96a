"""Words in a picture stand off dots, lines and each other."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.gui.plots.labelling import LEADER, Box, along_level, beside_dot, beside_upright, place

AREA = Box(0, 0, 500, 200)
SPOTS = st.tuples(st.floats(20, 480), st.floats(20, 180))


@pytest.mark.parametrize(
    ("segment", "crossed"),
    [
        (((0, 0), (100, 100)), True),
        (((45, 45), (55, 55)), True),
        (((0, 50), (39, 50)), False),
        (((0, 50), (41, 50)), True),
        (((50, 0), (50, 200)), True),
        (((61, 0), (61, 200)), False),
        (((0, 80), (80, 81)), False),
        (((0, 70), (70, 0)), False),
        (((0, 90), (90, 0)), True),
    ],
)
def test_a_segment_through_a_box_is_found(segment, crossed):
    assert Box(40, 40, 20, 20).crossed(segment) is crossed


def test_a_label_stands_right_of_a_free_dot():
    (box,) = place([beside_dot(100, 100, 60, 16, 200)], [Box(94, 94, 12, 12)], [], AREA)
    assert box.left > 106
    assert box.top < 100 < box.bottom


def test_a_label_gives_way_to_dot_and_line():
    words = beside_dot(100, 100, 60, 16, 200)
    dots = [Box(94, 94, 12, 12), Box(130, 94, 12, 12)]
    line = ((0.0, 60.0), (500.0, 140.0))
    (box,) = place([words], dots, [line], AREA)
    assert not any(box.meets(dot) for dot in dots)
    assert not box.crossed(line)


@given(st.lists(SPOTS, min_size=1, max_size=5))
def test_few_labels_never_meet_and_stay_inside(spots):
    wanted = [beside_dot(x, y, 60, 16, 200) for x, y in spots]
    boxes = place(wanted, [Box(x - 6, y - 6, 12, 12) for x, y in spots], [], AREA)
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))
    assert all(AREA.holds(box) for box in boxes)


def test_a_label_far_from_its_dot_has_a_leader():
    words = beside_dot(20, 190, 60, 16, 200)
    near, far = Box(29, 182, 60, 16), Box(29, 100, 60, 16)
    assert words.leader(near) is None
    leader = words.leader(far)
    assert leader is not None
    assert leader[0] == (20, 190)
    assert far.distance(leader[0]) > LEADER


def test_words_of_neighbouring_upright_lines_do_not_cross_the_other_line():
    lines = [((300.0, 0.0), (300.0, 200.0)), ((308.0, 0.0), (308.0, 200.0))]
    left, right = place([beside_upright(x, 50, 16, AREA) for x in (300, 308)], [], lines, AREA)
    assert left.right <= 300
    assert right.left >= 308


def test_words_of_two_upright_lines_do_not_read_as_one():
    one, other = place([beside_upright(0, 70, 16, AREA), beside_upright(150, 70, 16, AREA)], [], [], AREA)
    apart = other.left - one.right >= 8 or one.left - other.right >= 8
    assert apart or not Box(one.left - 500, one.top, 1500, one.height).meets(other)


def test_words_of_a_level_line_stand_above_it():
    (box,) = place([along_level(100, 60, 16, AREA)], [], [((0.0, 100.0), (500.0, 100.0))], AREA)
    assert box.bottom <= 100
