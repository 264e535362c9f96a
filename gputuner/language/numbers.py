"""Figures for people: units, scales, significant digits. Inside the program values stay in SI-like units."""

import re
from math import floor, isfinite, log10

from gputuner.language.words import N_, _
from gputuner.model.readings import Reading, Scalar

MISSING = "—"

_BINARY: tuple[tuple[float, str], ...] = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_RATE = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "bytes": _BINARY,
    "FLOP/s": tuple((factor, f"{prefix}FLOP/s") for factor, prefix in _RATE),
    "OP/s": tuple((factor, f"{prefix}OP/s") for factor, prefix in _RATE),
    "bytes/s": tuple((factor, f"{prefix}B/s") for factor, prefix in _RATE),
    "B": _BINARY,
    "B/s": tuple((factor, f"{prefix}B/s") for factor, prefix in _RATE),
    "J": ((3.6e6, "kWh"), (1e3, "kJ"), (1.0, "J")),
    "J/sample": ((1.0, N_("J/sample")), (1e-3, N_("mJ/sample"))),
    "fraction": ((0.01, "%"),),
    "degC": ((1.0, "°C"),),
    "C": ((1.0, "°C"),),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
}
_LABELS = {
    "samples/s": N_("samples/s"),
    "tokens/s": N_("tokens/s"),
    "samples": N_("samples"),
    "steps/s": N_("steps/s"),
    "": "",
    "1": "",
}
_BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|°C|K/W|K|[KMG]?i?B|[kMGTP]?(?:B|FLOP|OP|T)/s|ms|µs|ns|s|min|h|d|W|kWh?|m?J|kJ|V|A|MHz|GHz|rpm"
    r"|CFM|dB|samples|tokens|steps|秒|分|小时|天)(?![A-Za-z]))"
)


def number(value: float, digits: int = 3) -> str:
    """``value`` with ``digits`` significant digits (whole numbers in full), never in scientific notation.

    What is not finite, as a refused value can be, stays as Python writes it: ``nan``, ``inf``, ``-inf``.
    """
    if not isfinite(value):
        return str(float(value))
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    rounded = float(f"{value:.{digits}g}")
    decimals = max(0, digits - 1 - floor(log10(abs(rounded)))) if rounded else 0
    if not decimals:
        return f"{value:.0f}"
    return f"{rounded:.{decimals}f}".rstrip("0").rstrip(".")


def grouped(value: float) -> str:
    """A whole number with a thin space between thousands."""
    return _apart(f"{value:.0f}") if isfinite(value) else number(value)


def tick(value: float) -> str:
    """A number beside an axis: as ``number``, with a thin space between thousands."""
    return _apart(number(value)) if isfinite(value) else number(value)


def _apart(text: str) -> str:
    whole, point, rest = text.partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    return f"{sign}{int(digits):,}".replace(",", "\u2009") + point + rest


def scale(value: float, unit: str) -> tuple[float, str]:
    """Factor and label that suit ``value`` (in ``unit``): divide by the factor, append the label."""
    steps = _SCALES.get(unit)
    if steps is None:
        return 1.0, _(_LABELS[unit]) if unit in _LABELS else unit
    for factor, label in steps:
        if abs(value) >= factor:
            return factor, _(label)
    return steps[-1][0], _(steps[-1][1])


def value(figure: Scalar | None, unit: str = "") -> str:
    """One figure with its unit, as people read it; a dash where there is none."""
    if figure is None:
        return MISSING
    if isinstance(figure, bool):
        return _("yes") if figure else _("no")
    if isinstance(figure, str):
        return figure
    if unit == "x":
        return f"{figure:.2f}"
    if unit == "change":
        return signed_percent(figure)
    if unit in {"s", "ns", "min"}:
        return duration(figure * {"s": 1.0, "ns": 1e-9, "min": 60.0}[unit])
    factor, label = scale(figure, unit)
    return _joined(number(figure / factor), label)


def interval(figure: float, low: float | None, high: float | None, unit: str = "") -> str:
    """A figure with its interval, all in one scale: ``865 (851 … 880) samples/s``."""
    if low is None or high is None:
        return value(figure, unit)
    factor, label = scale(figure, unit)
    return _joined(f"{number(figure / factor)} ({number(low / factor)} … {number(high / factor)})", label)


def span(low: float, high: float, unit: str = "") -> str:
    """A range, both ends in one scale: ``1693 … 1703 samples/s``; one figure where they are told alike."""
    factor, label = scale(max(low, high, key=abs), unit)
    ends = number(low / factor), number(high / factor)
    return _joined(ends[0] if ends[0] == ends[1] else f"{ends[0]} … {ends[1]}", label)


def signed_percent(fraction: float) -> str:
    """A ratio − 1 as a percentage with its sign: ``+23 %``; what rounds to none is ``+0 %``."""
    return f"{round(fraction * 100) + 0.0:+.0f} %" if isfinite(fraction) else f"{fraction:+} %"


def duration(seconds: float) -> str:
    """A time span: ``310 ns``, ``850 ms``, ``12 s``, ``3 min 05 s``, ``2 h 10 min``, ``3 d 4 h``."""
    if not isfinite(seconds):
        return _("{n} s").format(n=number(seconds))
    if 0 < abs(seconds) < 1:
        for factor, unit in ((1e3, "ms"), (1e6, "µs")):
            if abs(seconds) * factor >= 1:
                return f"{number(seconds * factor)} {unit}"
        return f"{number(seconds * 1e9)} ns"
    if abs(seconds) < 10:
        return _("{n} s").format(n=number(round(seconds, 1)))
    whole = round(seconds)
    minutes, s = divmod(whole, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return _("{d} d {h} h").format(d=days, h=h)
    if hours:
        return _("{h} h {m:02d} min").format(h=hours, m=m)
    if minutes:
        return _("{m} min {s:02d} s").format(m=minutes, s=s) if s else _("{m} min").format(m=minutes)
    return _("{n} s").format(n=whole)


def clock(seconds: float) -> str:
    """A time span for a narrow column: ``0:45``, ``12:05``, ``1:03:20``."""
    if not isfinite(seconds):
        return number(seconds)
    hours, rest = divmod(round(seconds), 3600)
    minutes, second = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{second:02d}" if hours else f"{minutes}:{second:02d}"


def reading(entry: Reading | None) -> str:
    """The value of a reading with its unit, or a dash."""
    return MISSING if entry is None else value(entry.value, entry.unit)


def bound(text: str) -> str:
    """``text`` with no-break spaces between numbers and their units, for where lines are broken."""
    return _BEFORE_UNIT.sub("\u00a0", text)


def _joined(figure: str, label: str) -> str:
    return f"{figure} {label}" if label else figure
