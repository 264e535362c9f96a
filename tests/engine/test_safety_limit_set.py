"""A power limit that the run itself sets: what was read before it does not stop the run, and what exceeds it does."""

import pytest

from gputuner.engine.safety import SafetyLimits, SafetyWatch
from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reading
from gputuner.model.samples import Sample
from gputuner.telemetry.feed import Tick

CARD = CardInfo(
    uuid="GPU-test", index=0, name="Card", readings={"power_limit_enforced_w": Reading(value=450.0, unit="W")}
)
S = 1_000_000_000


def stops(watch: SafetyWatch, power_w: float, told_w: float | None, since_s: float, until_s: float) -> str | None:
    """What stops a load of ``power_w`` from one time to another, at 2 Hz, while the card tells ``told_w``."""
    t_ns = int(since_s * S)
    while t_ns < until_s * S:
        values = {Quantity.POWER_AVERAGE_W: power_w, Quantity.CORE_TEMPERATURE_C: 60.0}
        if told_w is not None:
            values[Quantity.POWER_LIMIT_ENFORCED_W] = told_w
        stopped = watch.check(Tick(t_ns=t_ns, samples=(Sample(card="GPU-test", t_ns=t_ns, values=values),)))
        if stopped is not None:
            return stopped.trigger
        t_ns += S // 2
    return None


@pytest.fixture
def watch() -> SafetyWatch:
    found = SafetyWatch(CARD, SafetyLimits())
    found.work_starts()
    found.load_starts(0)
    return found


def test_a_raised_limit_counts_at_once_though_the_old_one_is_still_told(watch: SafetyWatch):
    watch.limit_changes(200.0, 0)
    assert stops(watch, 198.0, 200.0, 0, 10) is None
    watch.limit_changes(400.0, 10 * S)
    assert stops(watch, 395.0, 200.0, 10, 20) is None  # limits are read each 5 s, or slower
    assert stops(watch, 395.0, 400.0, 20, 25) is None


def test_a_lowered_limit_gives_mean_power_time_to_follow_and_then_holds(watch: SafetyWatch):
    watch.limit_changes(200.0, 0)
    assert stops(watch, 440.0, 450.0, 0, 3) is None
    assert stops(watch, 440.0, 450.0, 3, 10) == "power_above_limit"


def test_what_the_card_tells_later_counts_again(watch: SafetyWatch):
    watch.limit_changes(300.0, 0)
    assert stops(watch, 290.0, 300.0, 0, 6) is None
    assert stops(watch, 290.0, 200.0, 6, 10) == "power_above_limit"  # somebody else has lowered it


def test_without_a_reading_the_limit_that_was_set_counts(watch: SafetyWatch):
    watch.limit_changes(300.0, 0)
    assert stops(watch, 290.0, None, 0, 5) is None
    assert stops(watch, 400.0, None, 5, 10) == "power_above_limit"
