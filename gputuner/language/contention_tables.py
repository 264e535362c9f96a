"""The figures of a contention experiment as tables in words: alone, at once, whether it pays, causes, predictions."""

from collections.abc import Sequence
from statistics import mean

from gputuner.analysis.contention_baselines import mean_power_w
from gputuner.analysis.contention_figures import Mix, mixes, newest, slow_steps
from gputuner.language.contention import cause, job, job_label, mix, mode, ratio
from gputuner.language.numbers import interval, number, signed_percent, value
from gputuner.language.tables import Table
from gputuner.language.terms import flag
from gputuner.language.words import _, listed
from gputuner.model.cards import CPU_CARD
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

SOLO = ("alone", "alone_between", "alone_after")
RATES = ("train_throughput", "train_step_rate")
"""In samples; of a command whose samples are not seen, in steps."""
LEAST_SHARE = 0.01
"""Smaller shares of a slowdown are not told."""
UNTOLD = frozenset({Flag.FEW_SAMPLES})
"""Flags that the missing interval tells already."""


def alone_table(points: Sequence[Point]) -> Table:
    """Each job alone: rate over all of its solo runs, how far these differ, step times, memory, power."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        if point.metric in RATES and point.params.get("phase") in SOLO:
            groups.setdefault(job(point.workload, point.params), []).append(point)
    rows = [(name, *_alone(found)) for name, found in groups.items()]
    headers = (_("job"), _("rate alone"), _("solo runs"), _("they differ by"), _("memory"), _("power"))
    return Table(headers=headers, rows=tuple(rows), right=(1, 2, 3, 4, 5), wraps=(0,), least=(5, 4, 2))


def _alone(found: Sequence[Point]) -> tuple[str, ...]:
    rates = [point.value for point in found]
    peaks = [v for point in found if isinstance(v := point.extra.get("allocated_peak_bytes"), int)]
    watts = [w for point in found if (w := mean_power_w(point.conditions)) is not None]
    apart = max(rates) / min(rates) - 1.0
    return (
        value(mean(rates), found[0].unit),
        str(len(rates)),
        f"{100 * apart:.1f} %" if len(rates) > 1 else "",
        value(max(peaks), "bytes") if peaks else "",
        value(mean(watts), "W") if watts else "",
    )


def together_table(points: Sequence[Point]) -> Table:
    """Each job of each mix: its rate, slowdown, spread of step times and memory."""
    rows: list[tuple[str, ...]] = []
    for each in mixes(points):
        for place, point in enumerate(each.slowdowns):
            name = _numbered(each, point)
            rows.append((mix(each.label) if place == 0 else "", way(each) if place == 0 else "", name, *_beside(point)))
    headers = (
        _("jobs at once"), _("shared by"), _("job"), _("rate"), _("slowdown"), _("slow steps"), _("memory"),
        _("remarks"),
    )  # fmt: skip
    return Table(headers=headers, rows=tuple(rows), right=(3, 4, 5, 6), wraps=(0, 1, 2, 7), least=(6, 5, 3))


def _numbered(each: Mix, point: Point) -> str:
    """A job of a mix by its place and label."""
    place = int(point.params.get("job", 1))
    return f"{place}. {job_label(each.label.split('+')[place - 1])}"


def _beside(point: Point) -> tuple[str, ...]:
    extra, spread = point.extra, point.spread
    low, high = (spread.ci95_low, spread.ci95_high) if spread else (None, None)
    rate, step_s = extra.get("rate_together"), extra.get("step_median_s")
    steps = _told(1.0 / step_s, "steps/s") if isinstance(step_s, float) and step_s > 0 else ""
    return (
        _told(rate, "samples/s") if rate is not None else steps,
        ratio(point.value, low, high),
        _slow_steps(point),
        _memory(point),
        _flags(point),
    )


def _memory(point: Point) -> str:
    """The most that the job held; where only that of one process for all is known, it says so."""
    own, whole = (point.extra.get(name) for name in ("allocated_peak_bytes", "process_peak_bytes"))
    if own is None and whole is not None:
        return _("{size} for all").format(size=_told(whole, "bytes"))
    return _("not per job") if own is None and point.params.get("mode") == "streams" else _told(own, "bytes")


def _slow_steps(point: Point) -> str:
    """The 95 % step time over the median; of means of several steps it says so: these hide slow ones."""
    found = slow_steps(point)
    if found is None:
        return ""
    if found.steps > 1:
        return _("{spread} × (means of {n} steps)").format(spread=number(found.over_median), n=found.steps)
    return f"{number(found.over_median)} ×"


def gain_table(points: Sequence[Point]) -> Table:
    """Each mix against its three baselines, and what the card did meanwhile."""
    shown = [each for each in mixes(points) if each.gain is not None]
    rows = tuple(_gain(each, each.gain) for each in shown if each.gain is not None)
    clock = _("clock") if all(each.card == CPU_CARD for each in shown) else _("SM clock")
    headers = (
        _("jobs at once"), _("shared by"), _("in turn"), _("each at its best batch"), _("at once"), _("fairness"),
        _("power"), clock, _("energy for the same work"), _("rounds"), _("remarks"),
    )  # fmt: skip
    table = Table(headers=headers, rows=rows, right=(2, 3, 4, 5, 6, 7, 8, 9), wraps=(0, 1, 10), least=(9, 7, 6, 5, 8))
    return table.without_empty()


def _gain(each: Mix, gain: Point) -> tuple[str, ...]:
    extra, spread, conditions = gain.extra, gain.spread, gain.conditions
    low, high = (spread.ci95_low, spread.ci95_high) if spread else (None, None)
    tuned = extra.get("alone_tuned")
    clock = conditions.sm_clock_mhz if conditions is not None else None
    return (
        mix(each.label),
        way(each),
        "1.00 ×",
        f"{tuned:.2f} ×" if isinstance(tuned, float) else _("not allowed") if extra.get("tuned_by") == "fixed" else "",
        ratio(gain.value, low, high),
        f"{fair:.2f}" if isinstance(fair := extra.get("fairness"), float) else "",
        _told(mean_power_w(conditions), "W"),
        _told(clock, "MHz"),
        f"{energy:.2f} ×" if isinstance(energy := extra.get("energy_ratio"), float) else "",
        str(extra.get("rounds", "")),
        _flags(gain),
    )


def way(each: Mix) -> str:
    """How a mix shared the card."""
    return listed((mode(each.mode, each.card), each.shares.replace(",", " : ")))


def cause_table(points: Sequence[Point]) -> Table:
    """What each job of each mix loses time at: shares of its slowdown."""
    groups: dict[tuple[str, str, Scalar], list[Point]] = {}
    for point in newest(point for point in points if point.metric == "co_run_cause"):
        key = (str(point.params.get("mix")), str(point.params.get("mode")), point.params.get("job", ""))
        groups.setdefault(key, []).append(point)
    rows: list[tuple[str, ...]] = []
    for (label, how, number_of), found in groups.items():
        shares = sorted((point for point in found if point.value >= LEAST_SHARE), key=lambda point: -point.value)
        told = listed(f"{cause(str(p.params.get('cause')))} {signed_percent(p.value).lstrip('+')}" for p in shares)
        verdict = next((str(v) for p in found if (v := p.extra.get("verdict"))), "")
        name = f"{number_of}. {job(found[0].workload, {})}"
        rows.append((mix(label), mode(how, found[0].card), name, cause(verdict) if verdict else "", told))
    headers = (_("jobs at once"), _("shared by"), _("job"), _("loses time at"), _("shares of the slowdown"))
    return Table(headers=headers, rows=tuple(rows), wraps=(0, 1, 2, 4))


def predicted_table(points: Sequence[Point]) -> Table:
    """Slowdowns as predicted, without the job in question, beside those measured."""
    rows: list[tuple[str, ...]] = []
    for point in newest(point for point in points if point.metric == "co_run_predicted"):
        if point.params.get("model", "pressure") != "pressure":
            continue
        measured, error = point.extra.get("measured"), point.extra.get("relative_error")
        rows.append(
            (
                mix(str(point.params.get("mix", ""))),
                str(point.params.get("job", "")),
                f"{point.value:.2f} ×",
                f"{measured:.2f} ×" if isinstance(measured, float) else "",
                signed_percent(error) if isinstance(error, float) else "",
            )
        )
    headers = (_("jobs at once"), _("job"), _("predicted"), _("measured"), _("error"))
    return Table(headers=headers, rows=tuple(rows), right=(1, 2, 3, 4), wraps=(0,)).without_empty()


def null_lines(points: Sequence[Point]) -> list[str]:
    """What a null check showed, a sentence for each job."""
    told: list[str] = []
    for point in points:
        if point.metric != "null_difference" or "false_difference_rate" not in point.extra:
            continue
        told.append(
            _(
                "{job} beside an idle partner: {n} rounds differ from 1 by {middle} in the middle, {largest} at most; "
                "{share} of their intervals call that a difference."
            ).format(
                job=_in_mode(point),
                n=point.extra.get("pairs", ""),
                middle=_percent(point.value),
                largest=_percent(point.extra.get("largest")),
                share=_percent(point.extra.get("false_difference_rate")),
            )
        )
    return told


def _in_mode(point: Point) -> str:
    """The job, with the way of sharing where it is not the usual one."""
    way = point.params.get("mode", "processes")
    return mix(point.workload) if way == "processes" else f"{mix(point.workload)} ({mode(str(way), point.card)})"


def _percent(figure: Scalar | None) -> str:
    return f"{100 * figure:.1f} %" if isinstance(figure, float) else "—"


def _told(figure: Scalar | None, unit: str) -> str:
    return interval(float(figure), None, None, unit) if isinstance(figure, int | float) else ""


def _flags(point: Point) -> str:
    return listed(flag(each) for each in point.flags if each not in UNTOLD)
