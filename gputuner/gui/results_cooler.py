# pyright: standard
"""From the figures of thermal tests to bars: one cooler with its 90 % bands, and two tests beside each other."""

from collections.abc import Sequence

from gputuner.analysis.cooling_compare import CoolingCompared
from gputuner.gui.plots.bar_marks import Band
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.results import figure, point_hint, value_words
from gputuner.gui.results_cooling import band_words, ends, usual_of, verdict
from gputuner.gui.results_text import origin_lines
from gputuner.gui.theme import Theme
from gputuner.language import cooling as words
from gputuner.language import numbers, sentences
from gputuner.language.tables import Table, bullets, markdown
from gputuner.language.words import _
from gputuner.model.points import Point

ROOM = 1.05
MINUTE_S = 60.0


def figure_words(point: Point) -> str:
    """What a figure of a thermal test is."""
    name = sentences.metric(point.metric)
    share = figure(point.params.get("share"))
    return name if share is None else f"{name} ({numbers.value(share, 'fraction')})"


def hint(point: Point) -> str:
    """A figure with its band and conditions, as several lines."""
    band = band_words(point)
    beyond = words.not_reached(point)
    return "\n".join(
        [*([beyond] if beyond else []), *([_("90 %: {band}").format(band=band)] if band else []), point_hint(point)]
    )


def cooler_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """Temperatures, watts, resistance and times of a test; intervals are 90 % bands."""
    made = (_temperatures(points, theme), _watts(points, theme), _resistance(points, theme), _times(points, theme))
    alone = (
        _alone(points, "full_fan_gain", _("cooler by"), theme.muted),
        _alone(points, "leakage", _("per degree"), theme.muted),
    )
    return [group for group in (*made, *alone) if group is not None]


def closed_words(points: Sequence[Point]) -> str:
    """How far the figures of a test are to be trusted."""
    steady = verdict(points, "steady_temperature")
    if steady is None or steady.extra.get("closed") is True:
        return _("each with its 90 % band")
    return _("each with its 90 % band; the test ended too early for a narrow one")


def _found(points: Sequence[Point], *metrics: str) -> list[Point]:
    return [point for point in (verdict(points, metric) for metric in metrics) if point is not None]


def _row(point: Point, top: float, colour: str, name: str, usual: Band | None = None) -> BarRow:
    low, high = ends(point)
    return BarRow(
        name=name,
        text=_value(point),
        value=point.value,
        top=top,
        colour=colour,
        low=low,
        high=high,
        band=usual,
        note=band_words(point, unit=False),
        point_id=point.id,
        hint=hint(point),
    )


def _value(point: Point) -> str:
    """The figure; of watts that the card never takes, that it is more than these."""
    beyond = words.not_reached(point)
    return f"> {numbers.value(figure(point.extra.get('most_w')) or 0.0, 'W')}" if beyond else value_words(point)


def _temperatures(points: Sequence[Point], theme: Theme) -> BarGroup | None:
    found = _found(points, "steady_temperature", "surroundings_temperature", "room_at_limit")
    if not found:
        return None
    limit = figure(found[0].extra.get("limit_c"))
    top = ROOM * max(limit or 0.0, *(ends(point)[1] for point in found))
    title = _("Temperature") if limit is None else _("Temperature · dashed = the limit, {limit} °C")
    looks = {
        "steady_temperature": (theme.vermilion, _("core, steady")),
        "surroundings_temperature": (theme.green, _("air at the card")),
        "room_at_limit": (theme.muted, _("air at which it is reached")),
    }
    return BarGroup(
        title=title.format(limit=f"{limit or 0:.0f}"),
        rows=tuple(_row(point, top, *looks[point.metric]) for point in found),
        line=limit,
    )


def _watts(points: Sequence[Point], theme: Theme) -> BarGroup | None:
    (good_for,) = _found(points, "cooler_good_for") or (None,)
    power = None if good_for is None else figure(good_for.extra.get("power_w"))
    if good_for is None or power is None:
        return None
    top = ROOM * max(power, ends(good_for)[1])
    load = BarRow(name=_("this load"), text=numbers.value(power, "W"), value=power, top=top, colour=theme.sky)
    return BarGroup(
        title=_("Power · dashed = this load"),
        rows=(load, _row(good_for, top, theme.blue, _("the cooler is good for"))),
        line=power,
    )


def _resistance(points: Sequence[Point], theme: Theme) -> BarGroup | None:
    (point,) = _found(points, "thermal_resistance") or (None,)
    if point is None:
        return None
    usual = usual_of(point)
    title = _("Thermal resistance")
    if usual is not None:
        title = _("Thermal resistance · bracket = usual for {kind}, {low} to {high} K/W").format(
            kind=words.cooler(str(point.params["cooler"])), low=numbers.number(usual[0]), high=numbers.number(usual[1])
        )
    band = None if usual is None else Band(low=usual[0], high=usual[1])
    top = ROOM * max(ends(point)[1], *(usual or (0.0, 0.0)))
    return BarGroup(title=title, rows=(_row(point, top, theme.purple, _("core to air"), band),))


def _times(points: Sequence[Point], theme: Theme) -> BarGroup | None:
    rises = [p for p in points if p.metric == "rise_time" and p.params.get("phase") == "verdict"][-2:]
    (limit,) = _found(points, "minutes_to_limit") or (None,)
    longest = [ends(point)[1] for point in rises] + ([] if limit is None else [ends(limit)[1] * MINUTE_S])
    if not longest:
        return None
    rows = [_row(point, ROOM * max(longest), theme.orange, _share_words(point)) for point in rises]
    if limit is not None:
        rows.append(_row(limit, ROOM * max(longest) / MINUTE_S, theme.vermilion, _("until the limit")))
    return BarGroup(title=_("Time under load"), rows=tuple(rows))


def _share_words(point: Point) -> str:
    share = figure(point.params.get("share"))
    return figure_words(point) if share is None else _("{share} % of the rise").format(share=f"{100 * share:.0f}")


def _alone(points: Sequence[Point], metric: str, name: str, colour: str) -> BarGroup | None:
    (point,) = _found(points, metric) or (None,)
    if point is None or ends(point)[1] <= 0:
        return None
    title = sentences.metric(metric)
    row = _row(point, ROOM * ends(point)[1], colour, name)
    return BarGroup(title=f"{title[:1].upper()}{title[1:]}", rows=(row,))


def compared_groups(before: Point, after: Point, theme: Theme) -> list[BarGroup]:
    """The resistances of two tests, from the same zero; hatched is the earlier one."""
    top = ROOM * max(ends(before)[1], ends(after)[1])
    named = ((before, _("before"), True), (after, _("after"), False))
    rows = tuple(
        BarRow(
            name=name,
            text=value_words(point),
            value=point.value,
            top=top,
            colour=theme.purple,
            low=ends(point)[0],
            high=ends(point)[1],
            hatched=hatched,
            note=band_words(point, unit=False),
            point_id=point.id,
            hint=hint(point),
        )
        for point, name, hatched in named
    )
    return [BarGroup(title=_("Thermal resistance with its 90 % band; less is better"), rows=rows)]


def looks_markdown(points: Sequence[Point]) -> str:
    """How the forecast closed."""
    return _told(points, words.looks_table(points))


def cooler_markdown(points: Sequence[Point]) -> str:
    """What the test found."""
    return _told(points, words.table(points))


def compared_markdown(found: CoolingCompared, points: Sequence[Point]) -> str:
    """Two tests beside each other, and the verdict."""
    return f"{_told(points, words.compared_table(found))}\n{bullets(words.compared_lines(found))}"


def _told(points: Sequence[Point], table: Table) -> str:
    return "\n".join([*origin_lines(points), markdown(table)])
