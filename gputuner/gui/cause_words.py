# pyright: standard
"""Which figures one cause held back, in few words: whole groups and benchmarks where they can be named as such."""

from collections.abc import Sequence

from gputuner.analysis.headlines import HEADLINE, benchmark_of
from gputuner.gui.bench_words import group_of, row_name, row_names, setting_words
from gputuner.language import benchmarks, sentences
from gputuner.language.words import _, listed
from gputuner.model.points import Point

MOST = 4
"""Names in a line; of more the rest is counted."""


def cause_lines(points: Sequence[Point], everything: Sequence[Point]) -> list[str]:
    """Figures that one cause held back, a line for each group: only the group's name where that is all of it.

    Args:
        points: the figures of the cause.
        everything: all figures that are shown, so that those of another cause are told apart.
    """
    lines: list[str] = []
    for group in dict.fromkeys(group_of(benchmark_of(point), point.metric) for point in points):
        beside = [p for p in everything if group_of(benchmark_of(p), p.metric) == group and benchmarks.cause(p)]
        names = _names(points, beside, group)
        words = benchmarks.group(group)
        if len(names) > MOST:
            names = [*names[: MOST - 1], _("{count} more").format(count=len(names) - MOST + 1)]
        lines.append(_("{what}: {of}").format(what=words, of=listed(names)) if names else words)
    return lines


def _names(points: Sequence[Point], beside: Sequence[Point], group: str) -> list[str]:
    """Names of a cause's figures among those of their group; none where it has all of them."""
    ids = {point.id for point in points}
    inside, outside = [p for p in beside if p.id in ids], [p for p in beside if p.id not in ids]
    if not outside:
        return []
    if len({benchmark_of(point) for point in beside}) == 1 and (split := _split(inside, outside)):
        return split
    all_names = row_names(beside, group)
    others = {benchmark_of(point) for point in outside}
    several = len({benchmark_of(point) for point in beside}) > 1
    told = [
        row_name(benchmark_of(p), group) if several and benchmark_of(p) not in others else all_names[p.id]
        for p in inside
    ]
    return list(dict.fromkeys(told))


def _split(inside: Sequence[Point], outside: Sequence[Point]) -> list[str]:
    """The values of the one setting (or the metric) that tells both sides apart, the fewest; none where none does."""
    found: list[list[str]] = []
    if not {p.metric for p in inside} & {p.metric for p in outside}:
        found.append([sentences.metric(name) for name in dict.fromkeys(p.metric for p in inside)])
    for name in HEADLINE:
        values = dict.fromkeys(point.params.get(name, "") for point in inside)
        if not set(values) & {point.params.get(name, "") for point in outside}:
            words = [setting_words({name: value}) for value in values]
            if all(words):
                found.append(words)
    return min(found, key=len, default=[])
