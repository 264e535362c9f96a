# pyright: standard
"""From the figures of two runs to paired bars: this one, the other, and whether the difference means anything."""

from collections.abc import Sequence

from gputuner.analysis.headlines import headlines
from gputuner.analysis.regression import Difference, Verdict, compare
from gputuner.gui.bench_words import row_words
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.results import value_words
from gputuner.gui.results_bench import ROOM, bench_hint, by_group, colour_of
from gputuner.gui.theme import Theme
from gputuner.language import benchmarks, sentences
from gputuner.language.words import _
from gputuner.model.points import Flag, Point

CHANGED = frozenset({Verdict.BETTER, Verdict.WORSE})


def paired(these: Sequence[Point], others: Sequence[Point]) -> tuple[Difference, ...]:
    """What both runs measured, whatever their cards; ``after`` is this run's."""
    return compare(others, these)


def telling(differences: Sequence[Difference], these: Sequence[Point]) -> list[Difference]:
    """Those that get bars: the headline figures, and every one that has changed."""
    shown = {point.id for point in headlines(these)}
    return [each for each in differences if each.after.id in shown or each.verdict in CHANGED]


def pair_groups(differences: Sequence[Difference], theme: Theme) -> list[BarGroup]:
    """Two bars for each figure, this run's above the other's (hatched)."""
    by_id = {each.after.id: each for each in differences}
    groups: list[BarGroup] = []
    for name, points in by_group(each.after for each in differences).items():
        rows = [row for point in points for row in _rows(by_id[point.id], name, theme)]
        groups.append(BarGroup(title=benchmarks.group(name), rows=tuple(rows)))
    return groups


def _rows(difference: Difference, group: str, theme: Theme) -> tuple[BarRow, BarRow]:
    this, other = difference.after, difference.before
    top = max(this.value, other.value) * ROOM
    colour = colour_of(this, theme)
    above = _row(this, row_words(this, group), top, colour, verdict_words(difference), hatched=False)
    return above, _row(other, "", top, colour, "", hatched=True)


def _row(point: Point, name: str, top: float, colour: str, note: str, *, hatched: bool) -> BarRow:
    spread = point.spread
    return BarRow(
        name=name,
        text=value_words(point),
        value=point.value,
        top=top,
        colour=colour,
        low=spread.ci95_low if spread else None,
        high=spread.ci95_high if spread else None,
        hatched=hatched,
        note=note,
        point_id="" if hatched else point.id,
        hint=bench_hint(point),
    )


def verdict_words(difference: Difference) -> str:
    """``+3.2 % ▲ better``: the change (positive: better), and what it means."""
    change = f"{difference.change * 100:+.1f} %"
    match difference.verdict:
        case Verdict.BETTER:
            return _("{change} ▲ better").format(change=change)
        case Verdict.WORSE:
            return _("{change} ▼ worse").format(change=change)
        case Verdict.SAME:
            return _("{change} ≈ noise").format(change=change)
        case Verdict.VOID:
            return _("{change} – void").format(change=change)
        case _:
            return _("{change} ? no interval").format(change=change)


def void_words(difference: Difference) -> str:
    """Why a comparison means nothing."""
    if difference.void in set(Flag):
        return sentences.flag(Flag(difference.void))
    return _("one of the two was not measured") if difference.void == "origin" else difference.void
