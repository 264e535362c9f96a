# pyright: standard
"""From the wear of a card to its pictures: hours by temperature, thermal cycles, the resistance over weeks."""

from gputuner.advice.wear import wear_advice
from gputuner.analysis.wear import Wear
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.plots.curves import Area, Dot, Series
from gputuner.gui.results_text import table
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.hatch_strip import origin_sentence
from gputuner.language import numbers, sentences
from gputuner.language import wear as words
from gputuner.language.words import _
from gputuner.model.cards import Origin
from gputuner.model.quantities import Quantity

WEEK_S = 7 * 86_400.0
_SENSORS = {"core": Quantity.CORE_TEMPERATURE_C, "memory": Quantity.MEMORY_TEMPERATURE_C}


def hour_groups(wear: Wear, theme: Theme) -> list[BarGroup]:
    """Time at or above temperatures, a group per sensor; the full width is all that was observed of it."""
    rows: dict[str, list[BarRow]] = {}
    for entry, told in zip(wear.hours, words.hours_table(wear).rows, strict=True):
        quantity = _SENSORS.get(entry.sensor)
        rows.setdefault(told[0], []).append(
            BarRow(
                name=told[1],
                text=told[2],
                value=entry.seconds,
                top=max(1.0, entry.observed_s),
                colour=theme.vermilion if quantity is None else theme.quantity(quantity),
                note=told[3],
            )
        )
    return [BarGroup(title=title, rows=tuple(found)) for title, found in rows.items()]


def cycle_groups(wear: Wear, theme: Theme) -> list[BarGroup]:
    """Thermal cycles by size."""
    classes = [entry for entry in wear.cycles if entry.count]
    top = max((entry.count for entry in classes), default=1.0)
    colour = theme.quantity(Quantity.CORE_TEMPERATURE_C)
    rows = tuple(
        BarRow(name=told[0], text=told[1], value=entry.count, top=1.05 * top, colour=colour, note=told[2])
        for entry, told in zip(classes, words.cycles_table(wear).rows, strict=True)
    )
    title = _("swing of the core's temperature · at least (one way: half) · largest")
    return [BarGroup(title=title, rows=rows)] if rows else []


def drift_series(wear: Wear, theme: Theme) -> list[Series]:
    """What was compared, and the trend."""
    drift, colour = wear.drift, theme.purple
    dots = tuple(
        Dot(x=unix_s, y=value, hint=f"{words.day(unix_s)}: {numbers.value(value, drift.line_unit)}")
        for unix_s, value, _fan in drift.shown
    )
    found = [Series(name="", colour=colour, dots=dots, joined=False, size=5.0, open=True)] if dots else []
    if drift.line and dots:
        path = tuple((unix_s, value) for unix_s, value, _low, _high in drift.line)
        found.append(Series(name=_("trend, 95 % band"), colour=colour, path=path, bare=True, joined=False))
    return found


def drift_areas(wear: Wear, theme: Theme) -> list[Area]:
    """The band of the trend."""
    line = wear.drift.line
    if len(line) < 2 or not wear.drift.shown:
        return []
    xs, _values, low, high = zip(*line, strict=True)
    return [Area(xs=xs, low=low, high=high, colour=theme.purple)]


def drift_reach(wear: Wear) -> tuple[float, ...]:
    """Days that the picture shows at least, whatever was compared: a fortnight (seconds since 1970)."""
    days = [unix_s for unix_s, _value, _fan in wear.drift.shown]
    if not days:
        return ()
    middle = (min(days) + max(days)) / 2
    return middle - WEEK_S, middle + WEEK_S


def wear_markdown(wear: Wear) -> str:
    """All that is known, in Markdown."""
    parts: list[str] = [] if wear.origin is Origin.MEASURED else [f"> {origin_sentence(wear.origin)}", ""]
    parts += words.head_lines(wear)
    for title, each in words.titled(wear).items():
        head = [(name, number in each.right) for number, name in enumerate(each.headers)]
        parts += ["", f"**{title}**", "", *table(head, [list(row) for row in each.rows])]
    parts += ["", *words.drift_lines(wear)]
    for entry in wear_advice(wear)[0]:
        told = sentences.advice_action(entry), sentences.advice_why(entry)
        parts += ["", f"**{sentences.advice_title(entry)}**", "", *(each for each in told if each)]
    return "\n".join(parts) + "\n"
