"""Wear in words: an ageing cooler with its interval, and what is not known."""

from dataclasses import replace

from gputuner.advice.wear import wear_advice
from gputuner.analysis.wear import SessionSeen, Wear
from gputuner.analysis.wear_changes import Changed
from gputuner.analysis.wear_trend import Basis, Drift, SteadyPoint, Trend
from gputuner.language import sentences, wear
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.quantities import Limiter

CARD = CardInfo(uuid="GPU-12345678-aaaa", index=0, name="a card")
T0, DAY_S = 1_796_000_000.0, 86400.0
RISING = Drift(
    verdict=Trend.RISING,
    basis=Basis.IDLE,
    sessions=14,
    days=12,
    span_days=48.4,
    fan_levels=2,
    pairs=60,
    per_month=0.046,
    low=0.021,
    high=0.103,
    degrees_per_month=2.31,
    power_w=402.0,
    fan_fraction=0.6,
    shown=((T0, 0.12, 0.6), (T0 + 48.4 * DAY_S, 0.13, 0.62)),
)
WORN = Wear(
    card=CARD,
    origin=Origin.MEASURED,
    sessions=(SessionSeen(session_id="a", unix_s=T0, observed_s=7200.0),),
    steady=(SteadyPoint(unix_s=T0, session_id="a", temperature_c=70.0, power_w=400.0),),
    drift=RISING,
    changes=(
        Changed(name="driver", before="580.1", after="595.2", unix_s=T0 + DAY_S, session_id="b"),
        Changed(name="pci_bus_id", before="01", after="21", unix_s=T0 + 2 * DAY_S, session_id="c"),
        Changed(name="vbios", before="1", after="2", unix_s=T0 + 400 * DAY_S, session_id="d"),
    ),
)


def test_a_rise_is_told_with_its_interval_and_where_it_comes_from():
    lines = wear.drift_lines(WORN)
    assert lines[0] == "The resistance rises: +4.6 % a month (95 %: +2.1 % to +10 %)."
    assert lines[1] == "At 402 W that is +2.3 K a month."
    assert lines[2] == "From 14 sessions on 12 days, over 48 days; 60 like pairs."
    assert lines[3] == "The air's temperature is worked out from the card at rest, its fan turning."
    assert "rose by +4.6 % a month" in wear.drift_line(WORN)


def test_its_advice_names_what_else_changed_in_that_time():
    (entry,), questions = wear_advice(WORN)
    why = sentences.advice_why(entry)
    assert "+2.1 % to +10.3 %" in why
    assert "Between these sessions changed: driver, PCI address." in why
    assert "Dust, another case" in why
    assert "the fan at 60 %" in why
    assert "cooling compare" in sentences.advice_action(entry)
    assert questions == ()


def test_a_card_without_a_fan_says_that_air_flow_looks_the_same():
    passive = replace(WORN, drift=replace(RISING, fan_fraction=None))
    why = sentences.advice_why(wear_advice(passive)[0][0])
    assert "a weaker air flow looks the same" in why
    assert "At equal fan" not in why
    assert "air flow is taken as equal" in wear.drift_lines(passive)[-1]


def test_an_unknown_air_is_a_question_and_no_interface():
    hotter = replace(WORN, drift=replace(RISING, basis=Basis.NONE, line_unit="degC"))
    (entry,), (question,) = wear_advice(hotter)
    assert entry.id == "wear.hotter"
    assert question.command == "gputuner --cli cooling --room 25 --gpu GPU-12345678"
    quiet = replace(hotter, drift=replace(hotter.drift, verdict=Trend.NOT_SHOWN, low=-0.2))
    assert [q.id for q in wear_advice(quiet)[1]] == ["wear_room"]
    assert wear_advice(quiet)[0] == ()
    assert wear.drift_line(quiet) is None


def test_too_little_names_what_is_missing():
    few = Drift(
        verdict=Trend.TOO_FEW, basis=Basis.NONE, sessions=3, days=2, span_days=1.0, missing=("sessions", "span")
    )
    found = replace(WORN, drift=few)
    line = wear.drift_lines(found)[0]
    assert line == ("Too little to judge by yet: sessions: 3 of 6, time between first and last: 1 of 14 days.")
    assert [q.command for q in wear_advice(found)[1]] == ["gputuner --cli record --gpu GPU-12345678"]


def test_heat_that_held_the_clock_back_is_a_question():
    warm = replace(WORN, drift=replace(RISING, verdict=Trend.NOT_SHOWN), limited_s={Limiter.THERMAL_SOFTWARE: 1800.0})
    (question,) = wear_advice(warm)[1]
    assert sentences.question(question).startswith("Heat held the clock back for 30 min;")
    seldom = replace(warm, limited_s={Limiter.THERMAL_SOFTWARE: 60.0})
    assert wear_advice(seldom)[1] == ()


def test_hours_that_nobody_saw_are_said_to_be_unknown():
    assert "Hours without a session are not known" in " ".join(wear.head_lines(WORN))
    assert wear.head_lines(replace(WORN, sessions=())) == ["No stored session tells readings of this card."]
