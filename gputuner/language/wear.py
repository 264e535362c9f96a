"""The words of wear: its tables and sentences, errors, advice and questions."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from gputuner.analysis.wear_changes import HOST, MEMORY, NAME, SLOT, Changed
from gputuner.analysis.wear_trend import LEAST_DAYS, LEAST_SESSIONS, LEAST_SPAN_DAYS, Basis, Drift, Trend
from gputuner.language.advice_form import AdviceWords
from gputuner.language.numbers import duration, grouped, number, signed_percent, value
from gputuner.language.tables import Table
from gputuner.language.words import N_, _, listed, ngettext
from gputuner.model.readings import Scalar

if TYPE_CHECKING:
    from gputuner.analysis.wear import Wear

ERRORS: dict[str, str] = {
    "wear_needs_card": N_("Wear is told of graphics cards; the processor's is not."),
    "wear_no_such_card": N_("No stored session is of a card {card}; there are: {known}."),
    "above_out_of_range": N_("--above takes temperatures from {low} to {high} °C; {value} is none."),
}
_DRIFTED = N_(
    "At equal fan, power and load the resistance from core to air rose by {percent} a month (95 %: {low} to {high}): "
    "{degrees} K a month at {power_w:W}, the fan at {fan:fraction}."
)
_DRIFTED_FANLESS = N_(
    "At equal power and load the resistance from core to air rose by {fanless_percent} a month (95 %: {low} to "
    "{high}): {degrees} K a month at {power_w:W}; the card tells no fan, so a weaker air flow looks the same."
)
_SEEN = N_("Seen in {sessions} sessions on {days} days, over {span_days} days.")
_NOT_ALONE = N_("Dust, another case or slot, and a pump or fan that moves less air look the same from here.")
ADVICE: dict[str, AdviceWords] = {
    "wear.resistance": AdviceWords(
        title=N_("The cooler has become worse"),
        action=N_(
            "Clean fins and filters and see whether it stays; if so renew the interface (phase-change sheet or fresh "
            "paste, pads). A thermal test before and one after, held against each other, show what it did."
        ),
        why=(_DRIFTED, _DRIFTED_FANLESS, _SEEN, _NOT_ALONE, N_("Between these sessions changed: {changed}.")),
    ),
    "wear.hotter": AdviceWords(
        title=N_("The card has become hotter at equal work"),
        action=N_(
            "Clean fins and filters; then do thermal tests with the room's temperature, and open the cooler only if "
            "they show it too."
        ),
        why=(
            N_(
                "At equal power, brought to one fan speed, the rise over the air grew by {percent} a month (95 %: "
                "{low} to {high}), even if the room became 8 °C warmer meanwhile."
            ),
            _SEEN,
            _NOT_ALONE,
            N_("Between these sessions changed: {changed}."),
        ),
    ),
    "wear.errors": AdviceWords(
        title=N_("The card counts memory errors over its sessions"),
        action=N_(
            "Take memory clocks back, do a health test and keep copies of results; if such errors go on, have the card "
            "replaced while it has a warranty."
        ),
        why=(
            N_("ECC errors that could not be corrected: {uncorrected} more since the first session."),
            N_("Rows of memory replaced by spare ones: {remapped} more since the first session."),
        ),
    ),
    "wear.remap_failed": AdviceWords(
        title=N_("The card could not replace a faulty row of its memory"),
        action=N_(
            "Keep copies of results, do a health test and ask the seller or maker for a replacement while there is a "
            "warranty."
        ),
        why=(
            N_(
                "The driver reports that replacing a row failed, as where a place has no spare ones left. NVIDIA takes "
                "this as a ground for replacement once its own diagnosis confirms it."
            ),
        ),
    ),
    "wear.xid": AdviceWords(
        title=N_("The driver reported hardware errors of this card"),
        action=N_(
            "Take clocks and undervolts back, check the supply, its cables and the seat in the slot, and do a "
            "health test; if it stays, have the card replaced."
        ),
        why=(N_("XID errors that point at the card itself: {xids}."),),
    ),
}
QUESTIONS: dict[str, str] = {
    "wear_room": N_(
        "Whether the cooler ages or the room grew warmer cannot be told from these sessions; a thermal test with the "
        "room's temperature, read from a thermometer each time (C in °C), can, repeated after some weeks."
    ),
    "wear_more": N_(
        "Too little is stored to judge ageing by (sessions with settled work: {sessions}; days of them: {days}; days "
        "from first to last: {span_days}). Record ordinary work for some weeks, each time with a quarter of an hour of "
        "rest before it, which shows the air."
    ),
    "wear_alike": N_(
        "Too few sessions are alike in load and fan speed to judge ageing by (sessions: {sessions}; days of them: "
        "{days}; days from first to last: {span_days}). Record the same work now and then, each time with a quarter of "
        "an hour of rest before it, which shows the air."
    ),
    "wear_heat": N_("Heat held the clock back for {seconds:s}; how much cooling is missing, a thermal test tells."),
    "wear_memory": N_(
        "The card corrected memory errors by itself ({corrected}); whether the memory is sound, a test tells."
    ),
    "wear_remapped": N_(
        "The card replaced rows of its memory by spare ones ({remapped}). That is a repair, in effect from the card's "
        "next reset on; whether the memory is sound, a test tells."
    ),
    "wear_contained": N_(
        "The card dealt with memory errors by itself (XID {xids}); at most the program that ran then was hit. Whether "
        "the memory is sound, a test tells."
    ),
}
_SENSORS: dict[str, str] = {"core": N_("core"), "memory": N_("memory"), "hotspot": N_("hotspot")}
_OWN: dict[str, str] = {
    "target_c": N_("{degrees} (its target)"),
    "slowdown_c": N_("{degrees} (it slows down)"),
    "memory_max_c": N_("{degrees} (its own limit)"),
}
"""The card's own limits among the temperatures."""
_READINGS: dict[str, str] = {
    NAME: N_("name"),
    MEMORY: N_("memory"),
    SLOT: N_("PCI address"),
    HOST: N_("processor of the computer"),
}
_UNITS: dict[str, str] = {MEMORY: "bytes"}
_BASES: dict[Basis, str] = {
    Basis.ROOM: N_("The air's temperature was told by you; the interval also holds a thermometer that is off by 1 °C."),
    Basis.IDLE: N_("The air's temperature is worked out from the card at rest, its fan turning."),
    Basis.IDLE_STILL: N_(
        "The air is taken out by the card at rest; its fan stands then, so the change holds and the K/W are rough."
    ),
    Basis.NONE: N_(
        "The air's temperature is not known, or was told as the same each time; so this is the drift of the "
        "temperature at equal power, brought to one fan speed, and the interval also holds a room that changes by 8 °C."
    ),
}
_MISSING: dict[str, str] = {
    "sessions": N_("sessions with settled work: {sessions} of {least_sessions}"),
    "days": N_("days of them: {days} of {least_days}"),
    "span": N_("time between first and last: {span_days} of {least_span_days} days"),
    "pairs": N_("like pairs: {pairs}"),
    "fan": N_("no fan speed that three sessions share"),
}
_ALIKE: dict[str, str] = {
    "sessions": N_("sessions at like load and fan speed: {sessions} of {least_sessions}"),
}
"""Words of what is missing where there are enough settled sessions."""
_FOLLOWS = ("pairs", "fan")
"""What is missing where sessions or days are; told where only they are."""


def day(unix_s: float) -> str:
    """A date in local time, ``2026-11-30``."""
    return datetime.fromtimestamp(unix_s).strftime("%Y-%m-%d")


def head_lines(wear: "Wear") -> list[str]:
    """How much of the card's life was observed, and what is not known."""
    if not wear.sessions:
        return [_("No stored session tells readings of this card.")]
    lines = [
        _sessions_line(wear),
        _("Observed: {time}. Hours without a session are not known, and are in none of these figures.").format(
            time=duration(wear.observed_s)
        ),
    ]
    unseen = listed(_(name) for sensor, name in _SENSORS.items() if sensor not in wear.histograms)
    if wear.histograms and unseen:
        lines.append(_("The card tells no temperature of: {sensors}.").format(sensors=unseen))
    if wear.skipped:
        text = ngettext("{n} session of it cannot be read.", "{n} sessions of it cannot be read.", wear.skipped)
        lines.append(text.format(n=wear.skipped))
    return lines


def _sessions_line(wear: "Wear") -> str:
    count = len(wear.sessions)
    first = day(min(s.unix_s for s in wear.sessions))
    last = day(max(s.unix_s + s.observed_s for s in wear.sessions))
    if first == last:
        return ngettext("{n} session, on {day}.", "{n} sessions, on {day}.", count).format(n=count, day=first)
    told = ngettext("{n} session, from {first} to {last}.", "{n} sessions, from {first} to {last}.", count)
    return told.format(n=count, first=first, last=last)


def hours_table(wear: "Wear") -> Table:
    """Time at or above temperatures, by sensor."""
    rows = [
        (
            _(_SENSORS[entry.sensor]),
            _(_OWN[entry.limit]).format(degrees=degrees) if entry.limit in _OWN else degrees,
            duration(entry.seconds),
            value(entry.seconds / entry.observed_s, "fraction") if entry.observed_s else "",
        )
        for entry in wear.hours
        for degrees in (value(entry.above_c, "degC"),)
    ]
    headers = (_("temperature of"), _("at or above"), _("time"), _("share of observed"))
    return Table(headers=headers, rows=tuple(rows), right=(2, 3))


def cycles_table(wear: "Wear") -> Table:
    """Thermal cycles of the core by size, as many as are certain; classes without one are left out."""
    rows = [
        (
            _("{low} K and more").format(low=number(entry.low_k))
            if entry.high_k is None
            else _("{low} to {high} K").format(low=number(entry.low_k), high=number(entry.high_k)),
            number(entry.count, 4),
            value(round(entry.largest_k), "K"),
        )
        for entry in wear.cycles
        if entry.count
    ]
    headers = (_("thermal cycles of"), _("at least (one way: half)"), _("largest"))
    return Table(headers=headers, rows=tuple(rows), right=(1, 2))


def drift_lines(wear: "Wear") -> list[str]:
    """What the history shows of the resistance, in sentences."""
    drift = wear.drift
    if not wear.steady:
        return [_("No session shows the card at work with power, temperature and fan settled for three minutes.")]
    if drift.per_month is None or drift.low is None or drift.high is None:
        return [_("Too little to judge by yet: {missing}.").format(missing=missing(drift))]
    told = {
        Trend.RISING: _("The resistance rises: {change} a month (95 %: {low} to {high})."),
        Trend.FALLING: _("The resistance falls: {change} a month (95 %: {low} to {high})."),
        Trend.NOT_SHOWN: _("No drift of the resistance is shown: {change} a month (95 %: {low} to {high})."),
        Trend.TOO_FEW: "",
    }[drift.verdict]
    lines = [told.format(change=percent(drift.per_month), low=percent(drift.low), high=percent(drift.high))]
    if drift.degrees_per_month is not None and drift.power_w is not None and drift.verdict is not Trend.NOT_SHOWN:
        degrees = f"{drift.degrees_per_month:+.1f}"
        told = _("At {power} that is {degrees} K a month.")
        lines.append(told.format(power=value(round(drift.power_w), "W"), degrees=degrees))
    lines.append(
        _("From {sessions} sessions on {days} days, over {span} days; {pairs} like pairs.").format(
            sessions=drift.sessions, days=drift.days, span=round(drift.span_days), pairs=drift.pairs
        )
    )
    if drift.basis is Basis.IDLE and drift.fan_fraction is None:
        told = _(
            "The air's temperature is worked out from the card at rest; it tells no fan, so air flow is taken as equal."
        )
        return [*lines, told]
    return [*lines, _(_BASES[drift.basis])]


def drift_line(wear: "Wear") -> str | None:
    """One sentence where the resistance rises, for other results; None where it is not shown to."""
    drift = wear.drift
    if drift.verdict is not Trend.RISING or drift.per_month is None or drift.low is None or drift.high is None:
        return None
    told = _(
        "Over {span} days the resistance of this card rose by {change} a month (95 %: {low} to {high}): health wear."
    )
    figures = {"change": percent(drift.per_month), "low": percent(drift.low), "high": percent(drift.high)}
    return told.format(span=round(drift.span_days), **figures)


def missing(drift: Drift) -> str:
    """What there is too little of, with commas."""
    figures = {
        "sessions": drift.sessions,
        "days": drift.days,
        "span_days": round(drift.span_days),
        "pairs": drift.pairs,
        "least_sessions": LEAST_SESSIONS,
        "least_days": LEAST_DAYS,
        "least_span_days": round(LEAST_SPAN_DAYS),
    }
    names = [name for name in drift.missing if name not in _FOLLOWS] or drift.missing
    told = _MISSING | _ALIKE if drift.alike else _MISSING
    return listed(_(told[name]).format(**figures) for name in names)


def percent(fraction: float) -> str:
    """A change as per cent with its sign, one decimal where it is small: ``+4.3 %``, ``+15 %``."""
    return signed_percent(fraction) if abs(fraction) >= 0.1 else f"{fraction * 100 + 0.0:+.1f} %"


def steady_table(wear: "Wear") -> Table:
    """The settled stretches, the newest first."""
    rows = [
        (
            day(point.unix_s),
            value(round(point.temperature_c, 1), "degC"),
            value(round(point.power_w), "W"),
            value(point.fan_fraction, "fraction"),
            value(None if point.air_c is None else round(point.air_c, 1), "degC"),
            value(point.k_per_w, "K/W"),
        )
        for point in sorted(wear.steady, key=lambda each: -each.unix_s)
    ]
    headers = (_("day"), _("core"), _("power"), _("fan"), _("air"), _("resistance"))
    return Table(headers=headers, rows=tuple(rows), right=(1, 2, 3, 4, 5))


def changes_table(wear: "Wear") -> Table:
    """What changed between sessions: when it was first seen, what, before, after."""
    rows = [(day(c.unix_s), reading(c.name), shown(c, c.before), shown(c, c.after)) for c in wear.changes]
    return Table(headers=(_("seen"), _("reading"), _("before"), _("after")), rows=tuple(rows), wraps=(2, 3))


def counters_table(wear: "Wear") -> Table:
    """Error counters: first, last, growth; and the XID errors that were seen."""
    from gputuner.language.names import quantity  # which has the names of other tables

    rows = [(quantity(c.quantity), grouped(c.first), grouped(c.last), grouped(c.grown)) for c in wear.counters]
    rows += [(_("XID {number}").format(number=xid), "", "", str(count)) for xid, count in wear.xids.items()]
    headers = (_("counter"), _("first reading"), _("last reading"), _("grew by"))
    return Table(headers=headers, rows=tuple(rows), right=(1, 2, 3))


def limited_table(wear: "Wear") -> Table:
    """How long each limit held the clock back."""
    from gputuner.language.terms import limiter

    rows = [
        (limiter(name), duration(seconds), value(seconds / wear.observed_s, "fraction") if wear.observed_s else "")
        for name, seconds in wear.limited_s.items()
        if seconds > 0
    ]
    return Table(headers=(_("held back by"), _("time"), _("share of observed")), rows=tuple(rows), right=(1, 2))


def reading(name: str) -> str:
    """The name of a reading that changed."""
    from gputuner.language.names import reading_name

    return _(_READINGS[name]) if name in _READINGS else reading_name(name)


def shown(change: Changed, figure: Scalar) -> str:
    """One side of a change, with its unit."""
    unit = _UNITS.get(change.name, "W" if change.name.endswith("_w") else "")
    return value(figure, unit)


def changes_named(params: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The readings that an advice says have changed, by their names; empty where it says nothing of changes."""
    told = params.get("changed")
    return {"changed": listed(map(reading, told.split(", ")))} if isinstance(told, str) else {}


def titled(wear: "Wear") -> Mapping[str, Table]:
    """All tables that have a row, by their title."""
    tables = {
        _("How hot, how long"): hours_table(wear),
        _("Thermal cycles"): cycles_table(wear),
        _("Held back"): limited_table(wear),
        _("Changes between sessions"): changes_table(wear),
        _("Error counters"): counters_table(wear),
    }
    return {title: table for title, table in tables.items() if table.rows}
