"""The verdict on health: a card that did no work is not good, and no count of errors is lost (case C-059)."""

import pytest

from gputuner.analysis.health import as_sold, stress_verdict, verdict
from gputuner.model.points import Point

C_059 = (
    ({"init": "ok", "iterations": 18000, "errors": 0}, "pass"),
    ({"init": "CUBLAS_STATUS_NOT_INITIALIZED", "iterations": 0, "errors": 0}, "not_tested"),
    ({"init": "ok", "iterations": 12600, "errors": 3770968296}, "fail"),
    ({"init": "ok", "died": True, "iterations": -1, "errors": -533715488}, "fail"),
)


@pytest.mark.parametrize(("card", "told"), C_059)
def test_what_a_stress_test_counted(card, told):
    found = stress_verdict(
        started=card["init"] == "ok",
        died=card.get("died", False),
        done=card["iterations"],
        errors=card["errors"],
    )
    assert found == told


def point(metric, value, params=None, **extra):
    return Point(
        id=metric,
        card="GPU-1",
        metric=metric,
        workload="health",
        params=params or {},
        value=value,
        unit="1",
        extra=extra,
    )


TESTED = point("vram_errors", 0.0, {"pass": "random"}, checked_bytes=2**30)
BURNED = point("burn_errors", 0.0, products=10)
COVERED = point("vram_coverage", 0.97)
DONE = point("health_stage", 9.0, {"outcome": "done"})


@pytest.mark.parametrize(
    ("points", "told"),
    [
        ([], "not_tested"),
        ([BURNED, DONE], "not_tested"),
        ([point("vram_errors", 0.0, {"pass": "random"}, checked_bytes=0), BURNED, DONE], "not_tested"),
        ([TESTED, BURNED, DONE, COVERED], "pass"),
        ([TESTED, BURNED, DONE], "incomplete"),
        ([TESTED, DONE, COVERED], "incomplete"),
        ([TESTED, BURNED, point("health_stage", 1.0, {"outcome": "out_of_memory"})], "incomplete"),
        ([TESTED, BURNED, point("health_stage", 1.0, {"outcome": "lost"})], "fail"),
        ([TESTED, BURNED, point("health_stage", 1.0, {"outcome": "wrong_result"})], "fail"),
        ([TESTED, BURNED, DONE, point("vram_errors", 1.0, {"pass": "address"}, checked_bytes=1)], "fail"),
        ([TESTED, DONE, point("burn_errors", 1.0, products=5)], "fail"),
        ([TESTED, BURNED, DONE, point("counter_change", 1.0, {"counter": "ecc_uncorrected"})], "fail"),
        ([TESTED, BURNED, DONE, COVERED, point("counter_change", 4.0, {"counter": "pcie_replays"})], "pass"),
    ],
)
def test_the_verdict_on_a_card(points, told):
    assert verdict(points) == told


@pytest.mark.parametrize(
    ("error", "told"), [("safety_xid", "fail"), ("safety_card_lost", "fail"), ("cancelled", "pass"), (None, "pass")]
)
def test_a_card_whose_driver_gave_up_failed(error, told):
    assert verdict([TESTED, BURNED, DONE, COVERED], error) == told
    if error == "safety_xid":
        assert verdict([], error) == "fail"


def test_another_card_is_not_as_sold_and_slower_memory_is_a_question():
    assert as_sold([point("identity_verdict", 0.0, {"verdict": "slower_memory"})])
    assert not as_sold([point("identity_verdict", 0.0, {"verdict": "other_card"})])
    assert not as_sold([point("identity_verdict", 0.0, {"verdict": "less_memory"})])
    unknown_mod = {"verdict": "other_memory"}
    assert as_sold([point("identity_verdict", 0.0, unknown_mod)])
    assert not as_sold([point("identity_verdict", 0.0, {**unknown_mod, "sold_as": "rtx-4090-48g"})])
