# pyright: standard
"""From the figures of a numerical check to its pictures: losses beside the FP32 band, gradient scale, activations."""

from collections.abc import Sequence
from dataclasses import replace
from math import log10

from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.plots.curves import Area, Dot, Series
from gputuner.gui.results import figure, of_metric
from gputuner.gui.results_curves import CurvePicture
from gputuner.gui.theme import Theme
from gputuner.language import sentences
from gputuner.language.numbers import grouped, number
from gputuner.language.words import _
from gputuner.model.points import Point

REFERENCE = "fp32"
FP16_MOST = 65504.0
"""The largest number of FP16."""
LISTED = ("numerics_verdict", "numerics_trap", "activation_peak", "autocast_kept")
"""What the table has, the judgements first; losses are seen in the picture."""
ROOM = 1.05
PLACES = 8
"""Places whose activations have a bar."""


def loss_picture(points: Sequence[Point], theme: Theme) -> CurvePicture:
    """Smoothed loss over step for each format, the band of the FP32 runs behind them."""
    runs: dict[str, list[Point]] = {}
    for point in of_metric(points, "train_loss"):
        if point.params.get("draw") == 0:
            runs.setdefault(str(point.params.get("precision")), []).append(point)
    series = [
        Series(
            name=" ".join(part for part in (precision.upper(), verdict_words(points, precision)) if part),
            colour=theme.precision(precision),
            dots=tuple(_loss_dot(point) for point in steps),
            dashed=precision == REFERENCE,
            bare=True,
        )
        for precision, steps in runs.items()
    ]
    return CurvePicture(series=tuple(series), areas=_band(points, theme))


def difference_picture(points: Sequence[Point], theme: Theme) -> CurvePicture:
    """The same less the mean of the FP32 runs: where formats lie apart from each other, and from what seeds do."""
    mean = {figure(p.params.get("step")): p.value for p in of_metric(points, "train_loss_band")}
    whole = loss_picture(points, theme)
    if not mean:
        return CurvePicture()
    series = tuple(
        replace(
            each,
            name=each.name.partition(" ")[0],
            dots=tuple(replace(dot, y=dot.y - mean[dot.x]) for dot in each.dots if dot.x in mean),
        )
        for each in whole.series
    )
    areas = tuple(
        replace(
            area,
            low=tuple(low - mean[x] for x, low in zip(area.xs, area.low, strict=True)),
            high=tuple(high - mean[x] for x, high in zip(area.xs, area.high, strict=True)),
        )
        for area in whole.areas
    )
    return CurvePicture(series=tuple(each for each in series if each.dots), areas=areas)


def _loss_dot(point: Point) -> Dot:
    step, line = figure(point.params.get("step")) or 0.0, figure(point.extra.get("smoothed"))
    hint = _("{format}, step {step}: {loss}").format(
        format=str(point.params.get("precision", "")).upper(), step=f"{step:.0f}", loss=number(point.value)
    )
    return Dot(x=step, y=point.value if line is None else line, point_id=point.id, hint=hint)


def _band(points: Sequence[Point], theme: Theme) -> tuple[Area, ...]:
    told = [
        (figure(point.params.get("step")) or 0.0, low, high)
        for point in of_metric(points, "train_loss_band")
        if (low := figure(point.extra.get("low"))) is not None and (high := figure(point.extra.get("high"))) is not None
    ]
    if len(told) < 2:
        return ()
    xs, low, high = zip(*sorted(told), strict=True)
    return (Area(xs=xs, low=low, high=high, colour=theme.precision(REFERENCE)),)


def verdict_words(points: Sequence[Point], precision: str) -> str:
    """How a format was judged; empty before that."""
    judged = next((p for p in of_metric(points, "numerics_verdict") if p.params.get("precision") == precision), None)
    if judged is None or judged.params.get("verdict") == "reference":
        return ""
    return sentences.settings({"verdict": judged.params["verdict"]})


def scale_picture(points: Sequence[Point], theme: Theme) -> CurvePicture:
    """Gradient scale over step; skipped steps are hollow."""
    told = [(p, scale) for p in of_metric(points, "train_loss") if (scale := figure(p.extra.get("scale"))) is not None]
    if not told:
        return CurvePicture()
    dots = [Dot(x=figure(p.params.get("step")) or 0.0, y=scale, point_id=p.id, hint=number(scale)) for p, scale in told]
    skipped = [dot for dot, (p, _scale) in zip(dots, told, strict=True) if p.extra.get("skipped") is True]
    colour = theme.precision(str(told[0][0].params.get("precision")))
    last = _("{scale} at the end").format(scale=grouped(dots[-1].y))
    series = [Series(name=last, colour=colour, dots=tuple(dots), bare=True)]
    if skipped:
        marks = tuple(Dot(x=dot.x, y=dot.y, hollow=True, hint=_("step skipped")) for dot in skipped)
        series.append(Series(name="", colour=theme.vermilion, dots=marks, joined=False))
    return CurvePicture(series=tuple(series))


def activation_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """Largest activations by place on a logarithmic scale up to the largest number of FP16; of FP16 if it was run."""
    found: dict[str, list[Point]] = {}
    for point in of_metric(points, "activation_peak"):
        found.setdefault(str(point.params.get("precision", "")), []).append(point)
    precision = "fp16" if "fp16" in found else next(iter(found), None)
    if precision is None:
        return []
    ranked = sorted(found[precision], key=lambda point: figure(point.extra.get("order")) or 0.0)[:PLACES]
    rows = tuple(_activation_row(point, theme, precision) for point in ranked)
    return [BarGroup(title=precision.upper(), rows=rows, line=_length(FP16_MOST))]


def _length(activation: float) -> float:
    return log10(1.0 + max(0.0, activation))


def _activation_row(point: Point, theme: Theme, precision: str) -> BarRow:
    over = point.extra.get("overflow") is True
    return BarRow(
        name=str(point.params.get("place", "")),
        text=number(point.value),
        value=_length(point.value),
        top=ROOM * _length(FP16_MOST),
        colour=theme.danger if over else theme.precision(precision),
        note=_("too large for FP16") if over else "",
        point_id=point.id,
    )


def listed(points: Sequence[Point]) -> list[Point]:
    """The figures that the table has: judgements, traps, activations, operations."""
    return [point for metric in LISTED for point in of_metric(points, metric)]
