"""The words of the power sweep: names, steps, warnings, errors, advice, questions and its tables."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from gputuner.language.advice_form import AdviceWords
from gputuner.language.numbers import MISSING, number, value
from gputuner.language.tables import Table
from gputuner.language.words import N_, _, ngettext
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

METRICS: dict[str, str] = {
    "power_rate": N_("rate at a setting"),
    "power_energy": N_("energy at a setting"),
    "power_knee": N_("lowest setting that loses little"),
    "power_fastest": N_("fastest setting"),
    "power_best_energy": N_("setting with the least energy per sample"),
    "power_plateau": N_("above it nothing changes"),
}
STEPS: dict[str, str] = {"power_visit": N_("the load at one setting, until power and heat rest")}
PARAMS: dict[str, str] = {
    "cap_w": "{value:W}",
    "clock_mhz": "{value:MHz}",
    "visit": N_("visit {value}"),
    "loss": N_("at most {value} % slower"),
}
DIALS: dict[str, str] = {"power_limit": N_("power limit"), "sm_clock_lock": N_("highest clock")}
WARNINGS: dict[str, str] = {
    "power_not_set": N_("So nothing was changed: what follows is only what the card shows as it stands."),
    "power_cut": N_("The sweep ended there; what follows rests on the settings visited so far."),
    "power_range_untold": N_("This card does not tell which settings it takes, so none was changed."),
    "power_time_short": N_("Time was up after {visits} visits; with more minutes each setting is visited twice."),
    "power_no_energy": N_(
        "The card tells neither its energy nor its power at each setting: nothing is said of joules."
    ),
}
ERRORS: dict[str, str] = {
    "power_needs_card": N_("A power sweep needs a graphics card; the processor's limits are not changed."),
    "power_price_hours": N_("Money needs both: --price for a kWh and --hours a year that the card works."),
    "power_needs_yes": N_(
        "Settings of the card would be changed (and put back), and there is no terminal to ask at: say --yes, or "
        "--passive to change nothing."
    ),
    "power_nothing": N_(
        "Nothing can be said of this card's power without changing settings, and that was not allowed."
    ),
}

_COST = N_("Against {top:W}: rate {rate_change_pct} % (95 %: {rate_change_low_pct} to {rate_change_high_pct}).")
_SAVES = N_("Energy per sample {energy_change_pct} % (95 %: {energy_change_low_pct} to {energy_change_high_pct}).")
_HEAT = N_("{draw_saved_w:W} less heat in the room.")
_BETWEEN = N_("By the spread of the visits it lies between {low} and {high:W} (95 %).")
_MONEY = N_(
    "For the same work as in {hours_per_year} hours a year at {top:W}, at {price_per_kwh} per kWh: {money_saved} a "
    "year less (95 %: {money_saved_low} to {money_saved_high}), of the card alone."
)
_CLOCK_COST = N_("Against {top:MHz}: rate {rate_change_pct} % (95 %: {rate_change_low_pct} to {rate_change_high_pct}).")
_CLOCK_BETWEEN = N_("By the spread of the visits it lies between {low} and {high:MHz} (95 %).")
_CLOCK_MONEY = N_(
    "For the same work as in {hours_per_year} hours a year without a lock, at {price_per_kwh} per kWh: {money_saved} a "
    "year less (95 %: {money_saved_low} to {money_saved_high}), of the card alone."
)
_FALL = N_("From there to {top:W} the rate changes by {fall_pct} % (95 %: {fall_low_pct} to {fall_high_pct}).")
_CLOCK_FALL = N_("From there to {top:MHz} the rate changes by {fall_pct} % (95 %: {fall_low_pct} to {fall_high_pct}).")
_HOST = N_(
    "That is the card alone: where the rest of the machine draws more than {host_even_w:W} meanwhile, the same work "
    "needs more energy in all."
)
_STORED = N_(
    "Rates at other settings were measured earlier (stored sessions: {stored_sessions}), not now: room and fans may "
    "have differed."
)
_KEEPS = N_("It holds until the machine or the driver is started anew.")

ADVICE: dict[str, AdviceWords] = {
    "power.cap": AdviceWords(
        title=N_("A power limit of {at:W} costs little"),
        action=N_("Set it: it is the lowest at which {workload} loses at most {loss} % of its best rate."),
        why=(_COST, _SAVES, _HOST, _HEAT, _BETWEEN, _MONEY, _KEEPS, _STORED),
    ),
    "power.cap:clock": AdviceWords(
        title=N_("A highest clock of {at:MHz} costs little"),
        action=N_("Lock it: it is the lowest at which {workload} loses at most {loss} % of its best rate."),
        why=(_CLOCK_COST, _SAVES, _HOST, _HEAT, _CLOCK_BETWEEN, _CLOCK_MONEY, _KEEPS, _STORED),
    ),
    "power.best_energy": AdviceWords(
        title=N_("Least energy per sample at {at:W}"),
        action=N_("Set it where time does not matter: the same work takes longer and needs the least energy."),
        why=(_COST, _SAVES, _HOST, _HEAT, _BETWEEN, _MONEY, _STORED),
    ),
    "power.best_energy:clock": AdviceWords(
        title=N_("Least energy per sample at {at:MHz}"),
        action=N_("Lock it where time does not matter: the same work takes longer and needs the least energy."),
        why=(_CLOCK_COST, _SAVES, _HOST, _HEAT, _CLOCK_BETWEEN, _CLOCK_MONEY, _STORED),
    ),
    "power.heat_limited": AdviceWords(
        title=N_("Slower above {above:W}"),
        action=N_("Do not set more than {above:W}; look for what changes there before you do."),
        why=(_FALL, _STORED),
    ),
    "power.heat_limited:by_heat": AdviceWords(
        title=N_("Limited by heat above {above:W}"),
        action=N_("Cap it at {above:W}: with more the card gets slower. Better cooling would move that point up."),
        why=(
            _FALL,
            _STORED,
            N_("It was hot there, or drew less power than with the lower limit."),
        ),
    ),
    "power.heat_limited:clock": AdviceWords(
        title=N_("Slower above {above:MHz}"),
        action=N_("Do not let it clock higher than {above:MHz} with this load."),
        why=(_CLOCK_FALL, _STORED),
    ),
    "power.plateau": AdviceWords(
        title=N_("Above {at:W} nothing changes"),
        action=N_("A limit of {at:W} instead of {top:W} costs this load nothing, and bounds what others may draw."),
        why=(N_("From {at:W} on neither draw nor rate of {workload} differs."), _STORED),
    ),
    "power.plateau:unswept": AdviceWords(
        title=N_("This load does not need {top:W}"),
        action=N_(
            "A limit of {at:W} instead of {top:W} should cost this load nothing, and bounds what others may draw."
        ),
        why=(
            N_("The highest reading under {workload} was {peak_w:W}, and the limit never held it back."),
            N_("No other limit was tried."),
        ),
    ),
    "power.plateau:clock": AdviceWords(
        title=N_("Above {at:MHz} nothing changes"),
        action=N_("No setting is needed: this load does not reach {top:MHz} by itself."),
        why=(N_("From {at:MHz} on neither draw nor rate of {workload} differs."),),
    ),
    "power.leave": AdviceWords(
        title=N_("Leave the power limit as it is"),
        action=N_("No lower limit within a loss of {loss} % surely saves energy with {workload}."),
        why=(_COST, _SAVES, _BETWEEN, _STORED),
    ),
    "power.leave:clock": AdviceWords(
        title=N_("Leave the clocks as they are"),
        action=N_("No lower clock within a loss of {loss} % surely saves energy with {workload}."),
        why=(_CLOCK_COST, _SAVES, _CLOCK_BETWEEN, _STORED),
    ),
}
VARIANTS: dict[str, tuple[str, ...]] = {
    "power.cap": ("clock",),
    "power.best_energy": ("clock",),
    "power.heat_limited": ("clock", "by_heat"),
    "power.plateau": ("clock", "unswept"),
    "power.leave": ("clock",),
}
QUESTIONS: dict[str, str] = {
    "power_allow": N_(
        "What a lower limit would cost and save was not measured, because nothing was set. This asks for rights, "
        "sweeps, and puts back what it found:"
    ),
    "power_anew": N_(
        "All this compares sessions of different hours. Whether it holds today is not known: a sweep asks for rights, "
        "visits the settings in one go, and puts back what it found:"
    ),
    "power_longer": N_("The lowest setting that loses little is not known well: between {low} and {high} {unit}."),
    "power_money": N_("What it saves in money: tell your price and hours, for instance:"),
}
PLATEAU = "power_plateau"
_ANSWERS = ("power_fastest", "power_knee", "power_best_energy", PLATEAU)


def table(points: Sequence[Point]) -> Table:
    """A row for each setting: rate, share of the best, draw, energy, clock and heat, as means over its visits."""
    rates = [p for p in points if p.metric == "power_rate" and p.params.get("null") is not True]
    key = "clock_mhz" if any("clock_mhz" in p.params for p in rates) else "cap_w"
    energy = [p for p in points if p.metric == "power_energy"]
    settings = sorted({float(p.params[key]) for p in rates if key in p.params})
    best = max((_mean([p.value for p in _at(rates, key, each)]) or 0.0 for each in settings), default=0.0)
    rows: list[tuple[str, ...]] = []
    for setting in settings:
        own = _at(rates, key, setting)
        rate = _mean([p.value for p in own]) or 0.0
        seen = [p.conditions for p in own if p.conditions is not None]
        stored = [p for p in own if p.params.get("visit") == 0]
        rows.append(
            (
                value(setting, "MHz" if key == "clock_mhz" else "W"),
                str(len(own)),
                value(rate, "samples/s"),
                value(rate / best if best else None, "fraction"),
                _told([c.power_w for c in seen], "W"),
                value(_mean([p.value for p in _at(energy, key, setting)]), "J/sample"),
                _told([c.sm_clock_mhz for c in seen], "MHz"),
                _told([c.core_temperature_end_c for c in seen], "degC"),
                str(len(stored)) if stored else "",
            )
        )
    headers = (
        *(_("setting"), _("visits"), _("rate"), _("of the best"), _("draw"), _("energy"), _("clock"), _("core")),
        _("of those stored"),
    )
    return Table(headers=headers, rows=tuple(rows), right=(0, 1, 2, 3, 4, 5, 6, 7, 8), least=(1, 6, 7)).without_empty()


def answers_table(points: Sequence[Point]) -> Table:
    """What the sweep answers: setting with interval or range, what it costs and saves against the highest."""
    rows: list[tuple[str, ...]] = []
    for metric in _ANSWERS:
        for point in [p for p in points if p.metric == metric][-1:]:
            extra = point.extra
            rows.append(
                (
                    _(METRICS[metric]),
                    value(point.value, point.unit),
                    "" if metric == PLATEAU else _ends(extra, "low95", "high95"),
                    plateau_range(point) if metric == PLATEAU else "",
                    _change(extra.get("rate_change")),
                    _change(extra.get("energy_change")),
                    _watts(extra.get("draw_change_w")),
                )
            )
    headers = (_("answer"), _("setting"), _("95 %"), _("begins in"), _("rate"), _("energy per sample"), _("draw"))
    return Table(headers=headers, rows=tuple(rows), right=(1, 2, 3, 4, 5, 6), wraps=(0,)).without_empty()


def plateau_range(point: Point) -> str:
    """Where a plateau begins: a range of settings, which no spread of visits makes; "" where that is not told.

    Of stored sweeps, which called it an interval, too.
    """
    return _ends(point.extra, "range_low", "range_high") or _ends(point.extra, "low95", "high95")


def _ends(extra: Mapping[str, Scalar], low: str, high: str) -> str:
    ends = [extra[name] for name in (low, high) if name in extra]
    return " … ".join(number(float(end)) for end in ends) if len(ends) == 2 else ""


def lines(points: Sequence[Point]) -> list[str]:
    """What must be known of the tables: where energy comes from, and what was compared."""
    told: list[str] = []
    if any(p.extra.get("energy_source") == "mean_power" for p in points):
        told.append(_("The card has no energy counter: its energy is mean power times time."))
    if any("session" in p.extra for p in points if p.metric == "power_rate"):
        told.append(_("Rates at other limits are from stored sessions of this card, not of this run."))
    if any(p.metric == "power_knee" for p in points):
        told.append(_("Rate, energy and draw are against the highest setting; the card alone, not the whole machine."))
    plateau = next((p for p in points if p.metric == PLATEAU), None)
    if plateau is not None and "peak_w" in plateau.extra:
        told.append(
            _(
                "The range of that limit is no 95 % interval: it goes from the highest reading to a limit with some "
                "room above it. No other limit was tried."
            )
        )
    elif plateau is not None:
        told.append(
            _(
                "Where nothing changes any more begins between two settings: the last that differed and the first that "
                "did not. That range is no 95 % interval; settings closer together would make it smaller."
            )
        )
    per_k = next((p.extra["heat_per_k"] for p in points if p.metric in _ANSWERS and "heat_per_k" in p.extra), 0.0)
    if isinstance(per_k, int | float) and per_k:
        told.append(
            _(
                "The visits are told as measured. The answers have taken out what heat did to the rate "
                "({per_k} for each K), so the two may differ a little."
            ).format(per_k=f"{100 * per_k:+.2g} %")
        )
    return told


def null_line(points: Sequence[Point]) -> str:
    """What ``--null`` found; empty where it was not asked for."""
    found = next((p for p in points if p.metric == "null_difference"), None)
    if found is None:
        return ""
    return _(
        "Equal visits differ by {median} in the median, at most by {most}; a fall was called in {falls} of the sweeps "
        "made of them."
    ).format(
        median=_percent(found.value),
        most=_percent(float(found.extra["largest"])),
        falls=_percent(float(found.extra["false_difference_rate"])),
    )


def stored_group(what: str, figures: str, *, visits: int, sessions: int) -> str:
    """What stored sessions tell of one setting: the range of their visits, and how many there were."""
    counted = ngettext("{n} visit", "{n} visits", visits).format(n=visits)
    text = ngettext(
        "{what}: {figures} ({visits} in {n} stored session)",
        "{what}: {figures} ({visits} in {n} stored sessions)",
        sessions,
    )
    return text.format(what=what, figures=figures, visits=counted, n=sessions)


def before(setting: str, low: str, high: str, found: str) -> str:
    """What will be set and put back, before anything is."""
    return _(
        "The {setting} will be set to values between {low} and {high}, one after the other, and put back to {found} "
        "when this ends, however it ends."
    ).format(setting=setting, low=low, high=high, found=found)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f} %"


def _change(fraction: object) -> str:
    """A change in tenths of a per cent: what is told as within 0.3 % must be seen to be."""
    return f"{round(100 * float(fraction), 1) + 0.0:+.1f} %" if isinstance(fraction, int | float) else MISSING


def _watts(change: object) -> str:
    return f"{float(change):+.0f} W" if isinstance(change, int | float) else MISSING


def _at(points: Sequence[Point], key: str, setting: float) -> list[Point]:
    return [p for p in points if p.params.get(key) == setting]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _told(values: Sequence[float | None], unit: str) -> str:
    mean = _mean([each for each in values if each is not None])
    return "" if mean is None else value(round(mean), unit)
