"""The words of the thermal test: names, steps, warnings, errors, advice, questions and its table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputuner.language.advice_form import AdviceWords
from gputuner.language.numbers import value
from gputuner.language.tables import Table
from gputuner.language.terms import flag
from gputuner.language.words import N_, _
from gputuner.model.points import Flag, Point

if TYPE_CHECKING:
    from gputuner.analysis.cooling_compare import CoolingCompared

METRICS: dict[str, str] = {
    "thermal_resistance": N_("thermal resistance, core to air"),
    "steady_temperature": N_("steady core temperature"),
    "surroundings_temperature": N_("air at the card"),
    "room_at_limit": N_("air at which this load reaches the limit"),
    "rise_time": N_("time to a share of the rise"),
    "leakage": N_("power that heat adds"),
    "cooler_good_for": N_("power at which the limit is just reached"),
    "minutes_to_limit": N_("time until the limit"),
    "full_fan_gain": N_("what the fan at full speed would gain"),
}
COOLERS: dict[str, str] = {
    "blower": N_("blower"),
    "open": N_("fans over open fins"),
    "hybrid": N_("closed loop"),
    "water": N_("full water block"),
}
STEPS: dict[str, str] = {
    "cooling_rest": N_("the card at rest"),
    "cooling_load": N_("one load, until the steady temperature is known"),
    "cooling_down": N_("cooling down, watched"),
}
WARNINGS: dict[str, str] = {
    "cooling_load_failed": N_("The load of the thermal test ended early. {message}"),
    "cooling_nothing_read": N_(
        "The card tells no temperature or no power, or the load was too short: nothing can be said of its cooler."
    ),
    "cooling_misfit": N_(
        "No model of the cooler that was tried follows the readings to within their noise: they differ by {times} "
        "times as much. The bands are wider by that; what they say beyond the test is less sure than they show."
    ),
    "cooling_rise_unknown": N_(
        "The time to {share:fraction} of the rise is left out: it lies anywhere between {low_s:s} and {high_s:s}, and "
        "a longer load would tell it."
    ),
}
ERRORS: dict[str, str] = {
    "cooling_needs_card": N_("A thermal test needs a graphics card; the processor's cooler is not measured."),
    "cooling_does_not_fit": N_(
        "Nothing was measured: the load {workload} does not fit into the memory. Choose a smaller batch "
        "(NAME:batch=N) or another load, or end what else holds memory."
    ),
    "cooling_lost": N_(
        "Nothing was measured: the process of the load {workload} was lost ({reason}). Run it again; if it happens "
        "again, look at the driver's messages in the system's log."
    ),
    "room_out_of_range": N_("The room's temperature must lie between {low:degC} and {high:degC}; {value} does not."),
    "cooler_unknown": N_("There is no cooler {cooler}; there are {known}."),
    "compare_not_cooling": N_("{session} is no thermal test; see sessions list."),
    "compare_other_cards": N_("The two thermal tests are of different cards."),
}

_STEADY = N_("Under this load ({power_w:W}) the core ends at {steady_c:degC} (90 %: {low_c} to {high_c}).")

ADVICE: dict[str, AdviceWords] = {
    "cooling.too_hot": AdviceWords(
        title=N_("The cooler does not carry this load"),
        action=N_("Cap the card at {cap_w:W}, or cool it better: clean it, more air, fan curve, new interface."),
        why=(
            _STEADY,
            N_("It slows down at {limit_c:degC}."),
            N_("It gets there after about {minutes} minutes."),
            N_("With {cap_w:W} it stays {margin_c:degC} below, in the same air."),
        ),
    ),
    "cooling.fan_curve": AdviceWords(
        title=N_("The fan has room"),
        action=N_("Raise the fan curve: at full speed the core would be {gain_k:degC} cooler."),
        why=(
            _STEADY,
            N_("The fan runs at {fan_fraction:fraction} then."),
            N_("90 % band of the gain: {gain_low_k} to {gain_high_k} °C; it costs noise."),
        ),
    ),
    "cooling.worse_than_kind": AdviceWords(
        title=N_("Worse than coolers of its kind"),
        action=N_(
            "Take the cooler off and look: dust, pad heights, contact; then a phase-change sheet or fresh paste, and "
            "measure again."
        ),
        why=(
            N_("{resistance} K/W (90 %: {resistance_low} to {resistance_high}); coolers of this kind reach {usual}."),
            N_("At {power_w:W} that is {degrees_low} to {degrees_high} °C more than need be."),
        ),
    ),
    "cooling.warm_air": AdviceWords(
        title=N_("The card breathes warm air"),
        action=N_("Give the case more air: a fan in front of the card, a free slot beside it, an open side."),
        why=(
            N_(
                "The air at the card is {warmer_low_k} to {warmer_high_k} °C warmer than the room ({room_c:degC}); the "
                "core is hotter by as much."
            ),
        ),
    ),
    "cooling.enough": AdviceWords(
        title=N_("The cooler is enough"),
        action=N_("Change nothing: in this air it is good for {good_for_w:W}."),
        why=(
            _STEADY,
            N_("It would slow down at {limit_c:degC}, which takes at least {good_for_low_w:W}."),
        ),
    ),
    "cooling.enough:beyond": AdviceWords(
        title=N_("The cooler is enough"),
        action=N_(
            "Change nothing: by calculation it carries the card's highest power limit too, {most_w:W}, in this air."
        ),
        why=(
            _STEADY,
            N_(
                "It would slow down at {limit_c:degC}, by calculation at {good_for_w:W} ({good_for_low_w:W} or more): "
                "above what the card can be set to, so that cannot be tried."
            ),
        ),
    ),
}
QUESTIONS: dict[str, str] = {
    "cooling_nothing": N_("How well the card is cooled has not been measured."),
    "cooling_longer": N_("The steady temperature is not known well yet; the card takes longer to show it."),
    "cooling_longer:known": N_(
        "The steady temperature is not known well yet; about {missing_min} minutes of load are missing."
    ),
    "cooling_room": N_(
        "How warm the air at the card was is an estimate; with the room's temperature it is told apart from the cooler."
    ),
    "cooling_room:known": N_(
        "The thermal resistance stays open (90 %: ±{percent} %), though the steady temperature is known: how warm the "
        "air at the card was is an estimate. The room's temperature (--room) narrows it."
    ),
    "cooling_resistance": N_(
        "The thermal resistance is still open (90 %: ±{percent} %); a longer load tells it better."
    ),
    "cooling_cooler": N_("Whether the cooler is as good as its kind is not judged: say what kind it is."),
}
_ORDER = (
    "steady_temperature",
    "thermal_resistance",
    "surroundings_temperature",
    "rise_time",
    "cooler_good_for",
    "minutes_to_limit",
    "room_at_limit",
    "full_fan_gain",
    "leakage",
)


def cooler(name: str) -> str:
    """A kind of cooler."""
    return _(COOLERS[name]) if name in COOLERS else name


def table(points: Sequence[Point]) -> Table:
    """What a thermal test found: figure, median, 90 % band."""
    verdict = [p for p in points if p.params.get("phase") == "verdict" and p.metric in _ORDER]
    rows = [*map(_row, sorted(verdict, key=lambda p: _ORDER.index(p.metric))), *_misfit(verdict)]
    return Table(headers=(_("figure"), _("median"), _("90 % band")), rows=tuple(rows), right=(1,), wraps=(0, 2))


def _misfit(verdict: Sequence[Point]) -> list[tuple[str, str, str]]:
    """How far the readings are from every model, where that is more than their noise."""
    misfit = next((p.extra["misfit"] for p in verdict if p.extra.get("misfits") is True), None)
    if misfit is None:
        return []
    return [(_("residuals of the fit"), _("{times} × the noise of the readings").format(times=value(misfit)), "")]


def looks_table(points: Sequence[Point]) -> Table:
    """The steady temperature as it was foreseen after each minute of load."""
    looks = [p for p in points if p.params.get("phase") == "look"]
    rows = [
        (
            f"{float(p.params['load_min']):.0f}",
            value(float(p.extra["now_c"]), "degC"),
            value(round(p.value, 1), "degC"),
            _band(p),
        )
        for p in looks
    ]
    headers = (_("minute"), _("now"), _("steady"), _("90 % band"))
    return Table(headers=headers, rows=tuple(rows), right=(0, 1, 2))


def _row(point: Point) -> tuple[str, str, str]:
    name = _(METRICS[point.metric])
    if "share" in point.params:
        name = f"{name} ({value(point.params['share'], 'fraction')})"
    if Flag.EXTRAPOLATED in point.flags:
        name = f"{name} [{flag(Flag.EXTRAPOLATED)}]"
    if point.metric == "thermal_resistance" and point.extra.get("closed") is False:
        name = _("{figure} [open: not yet sure to 5 %]").format(figure=name)
    return name, not_reached(point) or f"{bound(point)}{value(point.value, point.unit)}", _band(point)


def not_reached(point: Point) -> str:
    """Of watts at which the limit is reached: that the card never takes them; "" where it may, and of other figures."""
    most_w = point.extra.get("most_w")
    if point.metric != "cooler_good_for" or not isinstance(most_w, int | float) or point.value <= most_w:
        return ""
    most = value(most_w, "W")
    if float(point.extra["low90"]) > most_w:
        return _("not reached: the card takes {most} at most").format(most=most)
    return _("probably not reached: the card takes {most} at most").format(most=most)


def bound(point: Point, name: str = "") -> str:
    """The sign before a figure that is a least or a most; ``high_`` or ``low_``: before an end of its band."""
    if point.extra.get(f"{name}at_least") is True:
        return "≥ "
    return "≤ " if point.extra.get(f"{name}at_most") is True else ""


def _band(point: Point) -> str:
    low, high = float(point.extra["low90"]), float(point.extra["high90"])
    ends = [value(each, point.unit) for each in (low, high)]
    if point.extra.get("at_least") is True and low >= point.value:
        ends[0] = f"≥ {ends[0]}"
    if point.extra.get("at_most") is True:
        ends[0] = f"≤ {ends[0]}"
    ends[1] = f"{bound(point, 'high_')}{ends[1]}"
    told = ends[1] if low == high else _("{low} to {high}").format(low=ends[0], high=ends[1])
    return _("{band} by calculation").format(band=told) if not_reached(point) else told


def compared_table(found: "CoolingCompared") -> Table:
    """Two thermal tests side by side."""
    rows = [
        (_("thermal resistance"), value(found.before_k_per_w, "K/W"), value(found.after_k_per_w, "K/W")),
        (_("fan"), *(value(fan, "fraction") for fan in found.fans)),
        (_("load"), *found.loads),
    ]
    return Table(headers=("", _("before"), _("after")), rows=tuple(rows))


def compared_lines(found: "CoolingCompared") -> list[str]:
    """The verdict on two thermal tests, and what to mind."""
    change = {
        "degrees": value(round(abs(found.degrees), 1), "degC"),
        "low": value(round(found.degrees_low, 1), "degC"),
        "high": value(round(found.degrees_high, 1), "degC"),
        "power": value(round(found.power_w), "W"),
    }
    verdicts = {
        "better": _("Cooler by {degrees} at {power} (95 %: {low} to {high}), room and power taken out."),
        "worse": _("Hotter by {degrees} at {power} (95 %: {low} to {high}), room and power taken out."),
        "not_shown": _("No difference is shown: {low} to {high} at {power} (95 %), room and power taken out."),
    }
    lines = [verdicts[found.verdict].format(**change)]
    if found.fans_apart:
        lines.append(_("The fans ran at different speeds; a part of the difference is theirs."))
    if found.loads[0] != found.loads[1]:
        lines.append(_("The loads differ; heat arises in other places of the chip, so compare with care."))
    if not all(found.closed):
        lines.append(_("In one of the tests the resistance stayed open; run it longer, or tell the room (--room)."))
    return lines
