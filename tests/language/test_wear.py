"""Wear in words: an ageing cooler with its interval, and what is not known."""

from dataclasses import replace

from gputuner.advice.wear import wear_advice
from gputuner.analysis.wear import SessionSeen, Wear
from gputuner.analysis.wear_changes import Changed, Counted
from gputuner.analysis.wear_trend import Basis, Drift, SteadyPoint, Trend
from gputuner.language import sentences, wear
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.quantities import Limiter, Quantity
from gputuner.model.readings import Reading

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
    assert "A thermal test before and one after" in sentences.advice_action(entry)
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
    assert question.command == "gputuner --cli cooling --room C --gpu GPU-12345678"
    assert "read from a thermometer each time (C in °C)" in sentences.question(question)
    quiet = replace(hotter, drift=replace(hotter.drift, verdict=Trend.NOT_SHOWN, low=-0.2))
    assert [q.id for q in wear_advice(quiet)[1]] == ["wear_room"]
    assert wear_advice(quiet)[0] == ()
    assert wear.drift_line(quiet) is None


def test_too_little_names_what_is_missing():
    few = Drift(
        verdict=Trend.TOO_FEW,
        basis=Basis.NONE,
        sessions=3,
        days=2,
        span_days=1.0,
        missing=("sessions", "span"),
        alike=False,
    )
    found = replace(WORN, drift=few)
    line = wear.drift_lines(found)[0]
    assert line == (
        "Too little to judge by yet: sessions with settled work: 3 of 6, time between first and last: 1 of 14 days."
    )
    (question,) = wear_advice(found)[1]
    assert question.command == "gputuner --cli record --gpu GPU-12345678"
    assert "(sessions with settled work: 3; days of them: 2; days from first to last: 1)" in sentences.question(
        question
    )
    alike = replace(found, drift=replace(few, alike=True, missing=("sessions",)))
    assert "sessions at like load and fan speed: 3 of 6" in wear.drift_lines(alike)[0]
    assert [q.id for q in wear_advice(alike)[1]] == ["wear_alike"]


def errors(uncorrected=0.0, remapped=0.0, xids=None, failed=False):
    counted = [
        Counted(quantity=quantity, first=0.0, last=grown, grown=grown)
        for quantity, grown in ((Quantity.ECC_UNCORRECTED, uncorrected), (Quantity.REMAPPED_ROWS, remapped))
    ]
    card = replace(CARD, readings={"row_remap_failed": Reading(value=failed)})
    quiet = replace(RISING, verdict=Trend.NOT_SHOWN)
    return wear_advice(replace(WORN, card=card, drift=quiet, counters=tuple(counted), xids=xids or {}))


def test_replaced_rows_and_contained_errors_are_repairs_and_no_ground_to_replace_the_card():
    advice, questions = errors(remapped=2.0, xids={63: 2, 94: 1})
    assert advice == ()
    assert [q.id for q in questions] == ["wear_remapped", "wear_contained"]
    assert "(2). That is a repair" in sentences.question(questions[0])
    assert "XID 63 (2×), 94" in sentences.question(questions[1])
    assert {q.command for q in questions} == {"gputuner --cli health --gpu GPU-12345678"}


def test_a_row_that_could_not_be_replaced_is_one():
    (entry,), questions = errors(remapped=3.0, failed=True)
    assert questions == ()
    assert entry.id == "wear.remap_failed"
    assert "a replacement" in sentences.advice_action(entry)
    assert entry.evidence == ("wear:row_remap_failed",)


def test_errors_that_were_not_corrected_and_xids_of_the_card_itself_are_advice():
    advice, _questions = errors(uncorrected=3.0, remapped=1.0, xids={79: 1, 63: 1})
    assert {entry.id for entry in advice} == {"wear.errors", "wear.xid"}
    why = {entry.id: sentences.advice_why(entry) for entry in advice}
    assert "could not be corrected: 3 more" in why["wear.errors"]
    assert "replaced by spare ones: 1 more" in why["wear.errors"]
    assert why["wear.xid"] == "XID errors that point at the card itself: 79."


def test_heat_that_held_the_clock_back_is_a_question():
    warm = replace(WORN, drift=replace(RISING, verdict=Trend.NOT_SHOWN), limited_s={Limiter.THERMAL_SOFTWARE: 1800.0})
    (question,) = wear_advice(warm)[1]
    assert sentences.question(question).startswith("Heat held the clock back for 30 min;")
    seldom = replace(warm, limited_s={Limiter.THERMAL_SOFTWARE: 60.0})
    assert wear_advice(seldom)[1] == ()


def test_hours_that_nobody_saw_are_said_to_be_unknown():
    assert "Hours without a session are not known" in " ".join(wear.head_lines(WORN))
    once = replace(WORN.sessions[0], observed_s=60.0)
    assert wear.head_lines(replace(WORN, sessions=(once,)))[0].startswith("1 session, on ")
    later = replace(once, unix_s=T0 + 3 * DAY_S)
    assert wear.head_lines(replace(WORN, sessions=(once, later)))[0].startswith("2 sessions, from ")
    assert wear.head_lines(replace(WORN, sessions=())) == ["No stored session tells readings of this card."]
