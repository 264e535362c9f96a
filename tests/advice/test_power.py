"""Advice of a power sweep: what is said, what is only asked, and the command that does it."""

from dataclasses import replace

import pytest

from gputuner.advice import power
from gputuner.advice.evidence import Evidence
from gputuner.advice.rules import advise
from gputuner.language import sentences
from gputuner.model.advice import Advice
from gputuner.model.cards import CardInfo, CatalogMatch, Origin
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

CARD = CardInfo(uuid="GPU-12345678-aaaa", index=0, name="Card")
BASE: dict[str, Scalar] = {
    "low95": 280.0, "high95": 300.0, "floor": 100.0, "top": 450.0, "how": "sweep", "rate": 970.0,
    "rate_change": -0.03, "rate_change_low": -0.034, "rate_change_high": -0.026, "joules": 0.3,
    "energy_change": -0.2, "energy_change_low": -0.22, "energy_change_high": -0.18, "draw_w": 290.0,
    "draw_change_w": -110.0,
}  # fmt: skip


def answer(metric: str, value: float, dial: str = "power_limit", **extra: Scalar) -> Point:
    unit = "MHz" if dial == "sm_clock_lock" else "W"
    params: dict[str, Scalar] = {"batch": 64, "dial": dial, "loss": 3.0}
    return Point(
        id=metric, card=CARD.uuid, metric=metric, workload="resnet50", params=params, value=value, unit=unit,
        extra={**BASE, **extra},
    )  # fmt: skip


def given(*points: Point) -> tuple[dict[str, Advice], dict[str, str]]:
    advice, asked = advise(Evidence(card=CARD, points=points, command="power"))
    return {each.id: each for each in advice}, {each.id: each.command for each in asked}


def test_a_cap_that_saves_is_advised_with_its_command_and_intervals():
    advice, asked = given(answer("power_knee", 290.0))
    entry = advice["power.cap"]
    assert entry.snippet == "gputuner --cli control set power-limit 290 --with sudo --gpu GPU-12345678"
    why = sentences.advice_why(entry)
    assert "-3 % (95 %: -3.4 to -2.6)" in why
    assert "-20 % (95 %: -22 to -18)" in why
    assert "110 W less heat" in why
    assert "between 280 and 300 W" in why
    assert "year" not in why  # no price was told
    assert asked.keys() == {"power_money"}


def test_money_is_told_with_hours_and_price():
    money = {"money_saved": 80.0, "money_saved_low": 72.0, "money_saved_high": 88.0}
    advice, asked = given(answer("power_knee", 290.0, price_per_kwh=0.3, hours_per_year=4000.0, **money))
    why = sentences.advice_why(advice["power.cap"])
    assert "in 4000 hours a year at 450 W, at 0.3 per kWh: 80 a year less (95 %: 72 to 88)" in why
    assert not asked


def test_the_watts_around_the_card_above_which_a_cap_saves_nothing_are_told():
    extra = answer("power_knee", 290.0).extra
    even = power.host_even_w(extra)
    assert even is not None
    before, rate, energy = 400.0, 1.0 + float(extra["rate_change_low"]), 1.0 + float(extra["energy_change_high"])
    capped = before * energy * rate  # watts: energy per sample times rate
    assert (capped + even) / rate == pytest.approx(before + even)  # per unit of work, in all
    advice, _ = given(answer("power_knee", 290.0))
    assert f"draws more than {even:.0f} W meanwhile" in sentences.advice_why(advice["power.cap"])


def test_a_cap_that_costs_no_rate_saves_in_any_machine():
    point = answer("power_knee", 290.0, rate_change=0.0, rate_change_low=0.0, rate_change_high=0.01)
    assert power.host_even_w(point.extra) is None
    assert "rest of the machine" not in sentences.advice_why(given(point)[0]["power.cap"])


def test_the_limit_that_costs_nothing_comes_first():
    best = answer("power_best_energy", 200.0, energy_change=-0.3, energy_change_high=-0.28)
    advice, _ = given(answer("power_knee", 290.0), best, answer("power_plateau", 312.0))
    ranked = sorted(advice.values(), key=lambda each: -each.rank)
    assert [each.id for each in ranked] == ["power.plateau", "power.cap", "power.best_energy"]


def test_answers_from_stored_sessions_say_so_and_ask_for_a_sweep_of_today():
    knee = answer("power_knee", 290.0, how="passive", stored_sessions=3)
    plateau = answer("power_plateau", 312.0, how="passive", stored_sessions=3)
    advice, asked = given(knee, plateau)
    for name in ("power.cap", "power.plateau"):
        assert "stored sessions: 3" in sentences.advice_why(advice[name])
    assert asked == {"power_anew": "gputuner --cli power --with sudo --gpu GPU-12345678"}
    assert "stored" not in sentences.advice_why(given(answer("power_knee", 290.0))[0]["power.cap"])


def test_a_simulated_card_needs_no_rights():
    card = replace(CARD, origin=Origin.SIMULATED, catalog=CatalogMatch(catalog_id="rtx-4090", name="RTX 4090"))
    advice, _ = advise(Evidence(card=card, points=(answer("power_knee", 290.0),), command="power"))
    assert [each.snippet for each in advice] == ["gputuner --cli control set power-limit 290 --simulate rtx-4090"]


def test_a_saving_that_is_not_sure_is_no_cap():
    advice, _ = given(answer("power_knee", 290.0, energy_change=-0.03, energy_change_high=0.01))
    assert advice.keys() == {"power.leave"}
    assert "Leave the power limit" in sentences.advice_title(advice["power.leave"])


def test_a_knee_at_the_top_leaves_the_card_as_it_is():
    assert given(answer("power_knee", 450.0, energy_change=0.0))[0].keys() == {"power.leave"}


def test_heat_is_named_only_where_it_was_seen():
    fall = {"falls_above": 320.0, "fall": -0.08, "fall_low": -0.1, "fall_high": -0.06}
    hot, _ = given(answer("power_knee", 290.0, by_heat=True, **fall), answer("power_fastest", 320.0))
    assert sentences.advice_title(hot["power.heat_limited"]) == "Limited by heat above 320 W"
    assert "set power-limit 320" in str(hot["power.heat_limited"].snippet)
    assert "-8 % (95 %: -10 to -6)" in sentences.advice_why(hot["power.heat_limited"])
    cool, _ = given(answer("power_knee", 290.0, by_heat=False, **fall))
    assert sentences.advice_title(cool["power.heat_limited"]) == "Slower above 320 W"


def test_locked_clocks_have_words_and_a_command_of_their_own():
    advice, _ = given(answer("power_knee", 1770.0, dial="sm_clock_lock", top=2130.0, floor=300.0))
    entry = advice["power.cap"]
    assert sentences.advice_title(entry) == "A highest clock of 1770 MHz costs little"
    assert "control set lock-clocks 300,1770" in str(entry.snippet)


def test_without_a_sweep_a_cap_above_the_highest_reading_and_the_way_to_rights():
    plateau = answer("power_plateau", 319.0, top=350.0, how="passive", peak_w=303.0)
    advice, asked = given(plateau)
    assert advice.keys() == {"power.plateau"}
    assert "highest reading under ResNet-50 was 303 W" in sentences.advice_why(advice["power.plateau"])
    assert asked == {"power_allow": "gputuner --cli power --with sudo --gpu GPU-12345678"}


@pytest.mark.parametrize("restless", [False, True])
def test_a_cap_says_that_the_rates_it_rests_on_scattered(restless):
    flags = (Flag.SPREAD,) if restless else ()
    top = Point(
        id="top", card=CARD.uuid, metric="power_rate", workload="resnet50", params={"visit": 1, "cap_w": 450.0},
        value=1000.0, unit="samples/s", flags=flags,
    )  # fmt: skip
    advice, _ = given(top, answer("power_knee", 290.0))
    assert advice["power.cap"].evidence == ("power_knee", "top")
    assert ("scattered" in advice["power.cap"].params) is restless
