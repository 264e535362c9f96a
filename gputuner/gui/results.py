# pyright: standard
"""From the figures of a run to what its pictures and tables show: chosen and scaled, never computed."""

from collections.abc import Iterable

from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language import cooling, numbers, sentences
from gputuner.language.steps import RATIOS
from gputuner.language.words import _
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

GIB = 2**30
RATE_PHASES = ("probe", "safe", "limit", "memory")
"""Phases of a training that belong on the curves over batch; a rate of a memory probe is none."""


def of_metric(points: Iterable[Point], metric: str) -> list[Point]:
    """The points of one metric, in the order they were measured."""
    return [point for point in points if point.metric == metric]


def figure(entry: Scalar | None) -> float | None:
    """A parameter or extra as a number."""
    return float(entry) if isinstance(entry, (int, float)) and not isinstance(entry, bool) else None


def value_words(point: Point) -> str:
    """Value and unit for people; ratios with a times sign."""
    if point.metric in RATIOS:
        return f"{point.value:.2f} ×"
    return cooling.bound(point) + numbers.value(point.value, sentences.point_unit(point))


def interval_words(point: Point) -> str:
    """The 95 % interval in the value's own scale, or a dash."""
    spread = point.spread
    if spread is None or spread.ci95_low is None or spread.ci95_high is None:
        return numbers.MISSING
    if point.metric in RATIOS:
        return f"{spread.ci95_low:.2f} … {spread.ci95_high:.2f}"
    factor, _label = numbers.scale(point.value, sentences.point_unit(point))
    return f"{numbers.number(spread.ci95_low / factor)} … {numbers.number(spread.ci95_high / factor)}"


def point_hint(point: Point) -> str:
    """Settings and conditions of a figure as several lines."""
    lines = [f"{sentences.metric(point.metric)}: {value_words(point)}", sentences.point_title(point)]
    spread, conditions = point.spread, point.conditions
    if spread is not None:
        lines.append(
            _("n = {n}, IQR {iqr}").format(n=spread.n, iqr=numbers.value(spread.iqr, sentences.point_unit(point)))
        )
    if conditions is not None:
        told = [
            ("MHz", conditions.sm_clock_mhz),
            ("W", conditions.power_w),
            ("°C", conditions.core_temperature_end_c),
        ]
        parts = [f"{value:.0f} {unit}" for unit, value in told if value is not None]
        parts += [
            _("{limit} for {time}").format(limit=sentences.limiter(limiter), time=numbers.duration(seconds))
            for limiter, seconds in conditions.limited_s.items()
            if seconds >= 0.1
        ]
        lines.append(" · ".join(parts))
    lines += [sentences.flag(flag) for flag in point.flags]
    return "\n".join(line for line in lines if line)


def peak_groups(facts: RunFacts, theme: Theme) -> list[BarGroup]:
    """Measured rates against the sheet: matmul per number format (from cold and sustained), then copy."""
    matmul = of_metric(facts.points, "matmul_rate")
    copy = of_metric(facts.points, "copy_bandwidth")
    groups: list[BarGroup] = []
    if matmul:
        top = max(max(p.value, _sheet(p) or 0.0) for p in matmul)
        rows = [_peak_row(p, top, theme.precision(str(p.params.get("precision", "")))) for p in matmul]
        known = any(row.reference is not None for row in rows)
        title = _("Matrix multiplication against the sheet's peak") if known else _("Matrix multiplication")
        groups.append(BarGroup(title=title, rows=tuple(rows)))
    if copy:
        top = max(max(p.value, _sheet(p) or 0.0) for p in copy)
        rows = [_peak_row(p, top, theme.sky) for p in copy]
        groups.append(BarGroup(title=_("Memory copy, read and written"), rows=tuple(rows)))
    return groups


def _sheet(point: Point) -> float | None:
    fraction = figure(point.extra.get("fraction_of_sheet"))
    return point.value / fraction if fraction else None


def _peak_row(point: Point, top: float, colour: str) -> BarRow:
    phase = point.params.get("phase")
    burst = phase == "burst"
    name = str(point.params.get("precision", "")).upper() or _("copy")
    if phase is not None:
        name += " · " + (_("from cold") if burst else _("sustained"))
    share = figure(point.extra.get("fraction_of_sheet"))
    at_clock = figure(point.extra.get("fraction_of_peak_at_clock"))
    notes: list[str] = []
    if share is not None:
        notes.append(f"{share * 100:.0f} %")
    if at_clock is not None:
        notes.append(_("({share} % at clock)").format(share=f"{at_clock * 100:.0f}"))
    spread = point.spread
    return BarRow(
        name=name,
        text=value_words(point),
        value=point.value,
        top=top * 1.02,
        colour=colour,
        reference=_sheet(point),
        low=spread.ci95_low if spread else None,
        high=spread.ci95_high if spread else None,
        hollow=burst,
        note=" ".join(notes),
        point_id=point.id,
    )


def together_groups(facts: RunFacts, theme: Theme) -> list[BarGroup]:
    """What two at once gain against one after the other and against one tuned job, and what each of them loses."""
    groups: list[BarGroup] = []
    gains = of_metric(facts.points, "co_run_gain")
    top = 1.05 * max((v for p in gains for v in (p.value, figure(p.extra.get("alone_tuned")), 1.0) if v), default=1.0)
    for point in gains:
        tuned = figure(point.extra.get("alone_tuned"))
        rows = [
            BarRow(name=_("one after the other"), text="1.00 ×", value=1.0, top=top, colour=theme.muted),
            _gain_row(point, top, theme),
        ]
        if tuned is not None:
            rows.append(
                BarRow(
                    name=_("one, at its best batch"), text=f"{tuned:.2f} ×", value=tuned, top=top, colour=theme.green
                )
            )
        words = _("Work done in the same time")
        title = f"{words} · {_batch_words(point)}"
        groups.append(BarGroup(title=title, rows=tuple(rows), line=1.0))
    slow = of_metric(facts.points, "co_run_slowdown")
    if slow:
        top = max([2.0, *(p.value for p in slow)]) * 1.05
        rows = [
            BarRow(
                name=" · ".join((_("job {number}").format(number=p.params.get("job", number)), _batch_words(p))),
                text=f"{p.value:.2f} ×",
                value=p.value,
                top=top,
                colour=theme.orange,
                low=p.spread.ci95_low if p.spread else None,
                high=p.spread.ci95_high if p.spread else None,
                point_id=p.id,
            )
            for number, p in enumerate(slow, start=1)
        ]
        groups.append(BarGroup(title=_("Time of a step, together against alone"), rows=tuple(rows), line=1.0))
    return groups


def _batch_words(point: Point) -> str:
    return sentences.settings({name: point.params[name] for name in ("batch",) if name in point.params})


def _gain_row(point: Point, top: float, theme: Theme) -> BarRow:
    jobs = figure(point.params.get("jobs")) or 2
    spread = point.spread
    return BarRow(
        name=_("{jobs} at once").format(jobs=f"{jobs:.0f}"),
        text=f"{point.value:.2f} ×",
        value=point.value,
        top=top,
        colour=theme.blue,
        low=spread.ci95_low if spread else None,
        high=spread.ci95_high if spread else None,
        note="" if point.extra.get("valid", True) is True else _("alone changed meanwhile"),
        point_id=point.id,
    )
