"""What a figure of a health or thermal test is of is told in words, in either language, never by the names inside."""

import re

import pytest

from gputuner.cli.progress import point_line
from gputuner.language.health import CHECKS, IDENTITIES, KINDS, OUTCOMES, SOURCES, SURENESS
from gputuner.language.steps import settings
from gputuner.model.points import Point

INSIDE = re.compile(r"\b(check|source|verdict|sureness|outcome|counter|phase|load min|share) \w")


def point(metric, params, value=1.0, unit="1"):
    return Point(id="p", card="GPU-1", metric=metric, workload="health", params=params, value=value, unit=unit)


@pytest.mark.parametrize(
    ("metric", "params", "line"),
    [
        (
            "identity_check",
            {"check": "l2_step", "source": "measured"},
            "agrees with the sheet, L2 cache by latency, measured: yes",
        ),
        (
            "identity_verdict",
            {"verdict": "as_sold", "sureness": "measured", "sheet": "h20"},
            "is the card that was sold, as sold, measured, sheet h20: yes",
        ),
        (
            "counter_change",
            {"counter": "ecc_corrected"},
            "change of an error counter, ECC errors corrected: 1",
        ),
    ],
)
def test_a_line_of_progress(metric, params, line):
    assert point_line(point(metric, params)) == line


def test_a_stage_and_a_rise():
    stage = point("health_stage", {"stage": 1, "name": "memory_cold", "outcome": "done"}, 96.0, "s")
    assert point_line(stage) == "stage of the health test, stage 1, VRAM, cold, done: 1 min 36 s"
    rise = point("rise_time", {"phase": "verdict", "load_min": 8.1, "share": 0.63}, 15.0, "s")
    assert point_line(rise) == "time to a share of the rise, after 8.1 min of load, 63 %: 15 s"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("check", CHECKS), ("source", SOURCES), ("sureness", SURENESS), ("outcome", OUTCOMES), ("name", KINDS),
        ("verdict", IDENTITIES), ("phase", ("look", "verdict")), ("load_min", (8.1,)), ("share", (0.63,)),
    ],
)  # fmt: skip
def test_no_value_is_told_by_its_name_inside(name, values):
    for each in values:
        assert not INSIDE.search(settings({name: each}))
        assert "_" not in settings({name: each})
