# pyright: standard
"""From the figures of two runs to paired bars: this one, the other, and whether the difference means anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gputuner.analysis.headlines import HEADLINE, PASSING, benchmark_of, headlines
from gputuner.analysis.regression import Difference, Key, Verdict, compare
from gputuner.analysis.session_spread import SessionSpread
from gputuner.gui.bench_words import benchmark_words, brief_words, row_names, shape_words, shared_words
from gputuner.gui.plots.bar_marks import signs_of
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.ports import SessionSummary
from gputuner.gui.results import value_words
from gputuner.gui.results_bench import ROOM, bench_hint, by_group, colour_of, sections
from gputuner.gui.session_words import card_words, outcome_mark, outcome_words, started_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.tables import Cell
from gputuner.language import benchmarks, sentences
from gputuner.language.comparisons import changed_words, comparison_table
from gputuner.language.words import _
from gputuner.model.cards import Origin
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

CHANGED = frozenset({Verdict.BETTER, Verdict.WORSE})
MARKS = {Verdict.BETTER: "▲", Verdict.WORSE: "▼", Verdict.SAME: "≈", Verdict.VOID: "–", Verdict.UNCERTAIN: "?"}
SETTLED = "steady"
"""The phase that those on the way to a figure are counted with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A difference that stands for those of all sizes and shapes of its setting, with how many of them changed."""

    difference: Difference
    sizes: int = 1
    changed: int = 0


def paired(
    these: Sequence[Point], others: Sequence[Point], spreads: Mapping[Key, SessionSpread] | None = None
) -> tuple[Difference, ...]:
    """What both runs measured, whatever their cards; ``after`` is this run's, ``spreads`` that of stored sessions."""
    return compare(others, these, spreads)


def telling(differences: Sequence[Difference], these: Sequence[Point]) -> list[Pair]:
    """Those that get bars, one for each setting: its headline figure, else the one that changed most."""
    shown = {point.id for point in headlines(these)}
    settings: dict[tuple[Scalar, ...], list[Difference]] = {}
    for each in differences:
        settings.setdefault(_setting(each.after), []).append(each)
    pairs: list[Pair] = []
    for found in settings.values():
        changed = [each for each in found if each.verdict in CHANGED]
        candidates = [each for each in found if each.after.id in shown] or changed
        if candidates:
            lead = max(candidates, key=lambda each: abs(each.change))
            pairs.append(Pair(difference=lead, sizes=len(found), changed=len(changed)))
    return pairs


def _setting(point: Point) -> tuple[Scalar, ...]:
    """What a figure is of but for size and shape; one of a search or sweep belongs to the settled one."""
    told = {name: point.params.get(name, "") for name in HEADLINE}
    if told["phase"] in PASSING:
        told["phase"] = SETTLED
    return benchmark_of(point), point.metric, *told.values()


def pair_groups(pairs: Sequence[Pair], theme: Theme) -> list[BarGroup]:
    """Two bars for each pair, this run's above the other's (hatched); in a group the largest change first."""
    by_id = {pair.difference.after.id: pair for pair in pairs}
    groups: list[BarGroup] = []
    for name, points in by_group(pair.difference.after for pair in pairs).items():
        for section in sections(points):
            names, shared = row_names(section, name), shared_words(section)
            ranked = sorted((by_id[point.id] for point in section), key=_rank)
            rows = [row for pair in ranked for row in _rows(pair, names[pair.difference.after.id], theme)]
            title = " · ".join(part for part in (benchmarks.group(name), shared) if part)
            groups.append(BarGroup(title=title, rows=tuple(rows)))
    return groups


def _rank(pair: Pair) -> tuple[int, float]:
    """Changed ones first, void ones last, the largest change first."""
    verdict = pair.difference.verdict
    return (0 if verdict in CHANGED else 2 if verdict is Verdict.VOID else 1, -abs(pair.difference.change))


def _rows(pair: Pair, name: str, theme: Theme) -> tuple[BarRow, BarRow]:
    this, other = pair.difference.after, pair.difference.before
    top = max(this.value, other.value) * ROOM
    colour = colour_of(this, theme)
    several = pair.sizes > 1
    counted = _("{n} of {count} changed").format(n=pair.changed, count=pair.sizes) if several else ""
    size = shape_words(this) if several and "bytes" in this.params else ""
    above = _row(this, name, top, colour, verdict_words(pair.difference), hatched=False)
    return above, _row(other, size, top, colour, counted, hatched=True)


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
        signs=signs_of(point.flags),
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
        case _ if difference.p is None:
            return _("{change} ? no interval").format(change=change)
        case _:
            return _("{change} ? uncertain").format(change=change)


def void_words(difference: Difference) -> str:
    """Why a comparison means nothing."""
    if difference.void in set(Flag):
        return sentences.flag(Flag(difference.void))
    return _("one of the two was not measured") if difference.void == "origin" else difference.void


def headline(differences: Sequence[Difference]) -> str:
    """What came of the comparison, in one sentence; empty where nothing was compared."""
    count = len(differences)
    kinds = [each.verdict for each in differences]
    better, worse = kinds.count(Verdict.BETTER), kinds.count(Verdict.WORSE)
    if not count:
        return ""
    if better or worse:
        return _("{better} of {count} figures better, {worse} worse").format(better=better, worse=worse, count=count)
    if kinds.count(Verdict.SAME) == count:
        return _("Nothing changed: all {count} figures are within noise").format(count=count)
    known = kinds.count(Verdict.SAME)
    return _("No change shown: {known} of {count} figures are within noise, the others are open").format(
        known=known, count=count
    )


def session_choice(summary: SessionSummary) -> str:
    """A session to compare with: when, on which cards, how it ended."""
    mark = "" if summary.origin is Origin.MEASURED else "▨ "
    parts = [f"{mark}{started_words(summary)}", card_words(card.title for card in summary.cards)]
    if ended := outcome_mark(summary):
        parts.append(f"{ended} {outcome_words(summary)}")
    return " · ".join(parts)


def comparison_cells(differences: Sequence[Difference], *, signs: bool = False) -> list[tuple[str, list[Cell]]]:
    """A row of the table for each: the names, values and verdicts that ``sessions compare`` writes.

    ``signs``: of the verdict only its sign is shown.
    """
    rows = comparison_table(differences, "", "").rows
    return [
        (each.after.id, _cells(each, of, verdict, signs))
        for each, (_figure, of, *_values, verdict) in zip(differences, rows, strict=True)
    ]


def _cells(each: Difference, of: str, verdict: str, signs: bool) -> list[Cell]:
    first = each.before
    known = "benchmark" in first.extra
    name = benchmark_words(benchmark_of(first), first.metric) if known else sentences.metric(first.metric)
    whole = _("{name}, {of}").format(name=name, of=of) if of else name
    sides = ((_("before"), first), (_("after"), each.after))
    before, after = (f"{side}: {sentences.point_value(point)}" for side, point in sides)
    hint = f"{whole}\n{before}\n{after}\n{verdict}"
    told = MARKS[each.verdict] if signs else f"{MARKS[each.verdict]} {verdict}"
    return [
        Cell(brief_words(first) if known else whole, hint),
        Cell(value_words(each.before), hint, True),
        Cell(value_words(each.after), hint),
        Cell(changed_words(each).replace("-", "\u2212"), hint),
        Cell(told, hint, each.verdict not in CHANGED),
    ]
