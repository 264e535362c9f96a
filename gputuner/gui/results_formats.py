# pyright: standard
"""From the figures of a training to bars: the number formats and layouts that ran at the same batch."""

from gputuner.analysis.turns import is_turn, with_turns
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.results import GIB, figure, of_metric, point_hint, value_words
from gputuner.gui.results_batch import advised_format, setting_of, setting_words, ticked, usual_layout
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _
from gputuner.model.points import Point

BASE = "fp32"
"""What the other formats are compared with, where it was measured."""


def format_groups(facts: RunFacts, theme: Theme) -> list[BarGroup]:
    """Rate and peak memory at the batch that most formats ran at; nothing where only one did."""
    trainings = with_turns(of_metric(facts.points, "train_throughput"))
    probes = [p for p in trainings if p.params.get("phase") == "probe" or is_turn(p)]
    by_batch: dict[float, list[Point]] = {}
    for point in probes:
        by_batch.setdefault(figure(point.params.get("batch")) or 0.0, []).append(point)
    batch, points = max(by_batch.items(), key=lambda item: len(item[1]), default=(0.0, []))
    if len(points) < 2:
        return []
    usual = usual_layout(setting_of(point.params) for point in points)
    advised = advised_format(facts)
    names = {
        point.id: ticked(setting_words(key, usual), key, advised, usual)
        for point in points
        for key in (setting_of(point.params),)
    }
    peaks = [(point, peak / GIB) for point in points if (peak := figure(point.extra.get("allocated_peak_bytes")))]
    told = f"{batch:.0f}"
    groups = [_group(_("Rate at batch {batch}").format(batch=told), [(p, p.value) for p in points], names, theme)]
    if peaks:
        words = _("Memory at peak at batch {batch}").format(batch=told)
        groups.append(_group(words, peaks, names, theme, memory=True))
    return groups


def _group(
    title: str, rows: list[tuple[Point, float]], names: dict[str, str], theme: Theme, *, memory: bool = False
) -> BarGroup:
    """Rates from the highest down, memory from the lowest up: the best stands first."""
    top = 1.05 * max(value for _point, value in rows)
    ordered = sorted(rows, key=lambda row: row[1], reverse=not memory)
    base = next((value for point, value in ordered if setting_of(point.params)[0] == BASE), None)
    bars = tuple(
        BarRow(
            name=names[point.id],
            text=f"{value:.2f} GiB" if memory else value_words(point),
            value=value,
            top=top,
            colour=theme.precision(setting_of(point.params)[0]),
            low=point.spread.ci95_low if point.spread and not memory else None,
            high=point.spread.ci95_high if point.spread and not memory else None,
            point_id=point.id,
            hint=point_hint(point),
        )
        for point, value in ordered
    )
    return BarGroup(title=title, rows=bars, line=base)
