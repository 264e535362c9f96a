# pyright: standard
"""From an advice that was tried to bars: its trials in the order they ran, and the gain as predicted and as it came."""

from collections.abc import Sequence

from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.results import figure, of_metric, point_hint, value_words
from gputuner.gui.theme import Theme
from gputuner.language import numbers, sentences
from gputuner.language.words import _
from gputuner.model.points import Point

ROOM = 1.05
PHASE = "try"


def trial_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """Rates as before and as advised, in the order measured; below them the gain, predicted and realised."""
    trials = [point for point in of_metric(points, "train_throughput") if point.params.get("phase") == PHASE]
    groups: list[BarGroup] = []
    if trials:
        top = ROOM * max(point.value for point in trials)
        rows = tuple(_trial(point, top, theme) for point in trials)
        groups.append(BarGroup(title=_("Rate of each trial"), rows=rows))
    gains = of_metric(points, "advice_gain")
    return [*groups, _gain(gains[-1], theme)] if gains else groups


def _trial(point: Point, top: float, theme: Theme) -> BarRow:
    side = point.params.get("side")
    return BarRow(
        name=sentences.settings({"side": side}) if isinstance(side, str) else "",
        text=value_words(point),
        value=point.value,
        top=top,
        colour=theme.blue if side == "advised" else theme.muted,
        low=point.spread.ci95_low if point.spread else None,
        high=point.spread.ci95_high if point.spread else None,
        point_id=point.id,
        hint=point_hint(point),
    )


def _gain(point: Point, theme: Theme) -> BarGroup:
    """The newest gain: that of all rounds so far."""
    predicted = figure(point.extra.get("predicted"))
    low, high = (figure(point.extra.get(f"predicted_{side}")) for side in ("low", "high"))
    real_low, real_high = (point.spread.ci95_low, point.spread.ci95_high) if point.spread else (None, None)
    told = [abs(value) for value in (point.value, predicted, high, real_high) if value is not None]
    top = ROOM * max([*told, 0.01])
    rows: list[BarRow] = []
    if predicted is not None:
        rows.append(_gain_row(_("predicted"), predicted, low, high, top, theme.muted, ""))
    rows.append(_gain_row(_("realised"), point.value, real_low, real_high, top, theme.blue, point.id))
    return BarGroup(title=_("Gain"), rows=tuple(rows))


def _gain_row(
    name: str, gain: float, low: float | None, high: float | None, top: float, colour: str, point_id: str
) -> BarRow:
    """A loss has no bar; its figure says it."""
    return BarRow(
        name=name,
        text=f"{gain * 100:+.1f} %".replace("-", "−"),
        value=max(0.0, gain),
        top=top,
        colour=colour,
        low=None if low is None else max(0.0, low),
        high=None if high is None else max(0.0, high),
        hollow=not point_id,
        note="" if low is None or high is None else f"{numbers.number(low * 100)} … {numbers.number(high * 100)} %",
        point_id=point_id,
    )
