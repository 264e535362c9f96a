# pyright: standard
"""From the rates of a training with switches to bars: every setting at one batch, the chosen one marked."""

from collections.abc import Mapping, Sequence

from gputuner.analysis.switches import Decision, Setting, by_setting, decide, memory, rate
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.results import GIB, of_metric, point_hint
from gputuner.gui.theme import Theme
from gputuner.language import numbers, sentences
from gputuner.language.words import _, listed
from gputuner.model.points import Point

CHOSEN = "✓"
"""Before the name of the setting that is advised."""
ROOM = 1.05


def setting_words(setting: Setting) -> str:
    """Format, layout and switches in one line."""
    layout = _("channels-last") if setting.channels_last else ""
    return listed((setting.precision.upper(), layout, sentences.settings(dict(setting.switches))))


def rate_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """Rates of all settings, the fastest first; dashed is the base."""
    measured, decided = by_setting(points), decide(points)
    rates = {setting: rate(found) for setting, found in measured.items()}
    if not rates:
        return []
    top = ROOM * max([*rates.values(), *(high for found in measured.values() for _low, high in _ends(found))])
    rows = tuple(
        _row(setting, measured[setting], rates[setting], top, decided, theme)
        for setting in sorted(rates, key=lambda each: -rates[each])
    )
    title = _("Rate at batch {batch}, samples/s").format(batch=_batch(points))
    base = None if decided is None else rates.get(decided.base)
    return [BarGroup(title=title, rows=rows, line=base)]


def memory_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """Peak memory of all settings, the smallest first; dashed is the base."""
    measured, decided = by_setting(points), decide(points)
    peaks = {s: most / GIB for s, found in measured.items() if (most := _peak(found)) is not None}
    if not peaks:
        return []
    top = ROOM * max(peaks.values())
    rooms = {Setting.of(point): point for point in of_metric(points, "batch_room")}
    rows = tuple(
        BarRow(
            name=_name(setting, decided),
            text=f"{peaks[setting]:.2f} GiB",
            value=peaks[setting],
            top=top,
            colour=theme.precision(setting.precision),
            note=_room_words(rooms, setting),
            point_id=measured[setting][-1].id,
            hint=point_hint(measured[setting][-1]),
        )
        for setting in sorted(peaks, key=lambda each: peaks[each])
    )
    title = _("Memory at peak at batch {batch}").format(batch=_batch(points))
    base = None if decided is None else peaks.get(decided.base)
    return [BarGroup(title=title, rows=rows, line=base)]


def _row(
    setting: Setting,
    found: Sequence[Point],
    value: float,
    top: float,
    decided: Decision | None,
    theme: Theme,
) -> BarRow:
    ends = _ends(found)
    return BarRow(
        name=_name(setting, decided),
        text=numbers.number(value),
        value=value,
        top=top,
        colour=theme.precision(setting.precision),
        low=min((low for low, _high in ends), default=None),
        high=max((high for _low, high in ends), default=None),
        hollow=not setting.in_grid,
        point_id=found[-1].id,
        hint=point_hint(found[-1]),
    )


def _name(setting: Setting, decided: Decision | None) -> str:
    """The whole setting; of one that is the best of format, layout and compiler with further switches only those."""
    if decided is None:
        return setting_words(setting)
    if setting == decided.chosen:
        return f"{CHOSEN} {setting_words(setting)}"
    same = (setting.precision, setting.channels_last) == (decided.grid.precision, decided.grid.channels_last)
    if same and not setting.in_grid and set(decided.grid.switches) <= set(setting.switches):
        further = dict(each for each in setting.switches if each not in decided.grid.switches)
        return f"… + {sentences.settings(further)}"
    return setting_words(setting)


def _ends(found: Sequence[Point]) -> list[tuple[float, float]]:
    """The intervals of the trials of one setting."""
    spreads = [point.spread for point in found if point.spread is not None]
    return [(s.ci95_low, s.ci95_high) for s in spreads if s.ci95_low is not None and s.ci95_high is not None]


def _peak(found: Sequence[Point]) -> float | None:
    return max((peak for point in found if (peak := memory(point)) is not None), default=None)


def _room_words(rooms: Mapping[Setting, Point], setting: Setting) -> str:
    room = rooms.get(setting)
    return "" if room is None else _("lets up to about {batch} fit").format(batch=f"{room.value:.0f}")


def _batch(points: Sequence[Point]) -> str:
    rates = [p for found in by_setting(points).values() for p in found]
    return str(rates[-1].params.get("batch", "")) if rates else ""
