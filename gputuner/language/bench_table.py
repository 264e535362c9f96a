"""The figures of a bench run in words: one row each, what held them back, where the published figures come from."""

from collections.abc import Iterable, Sequence

from gputuner.analysis.headlines import benchmark_of, headlines
from gputuner.language.benchmarks import held_back, level
from gputuner.language.numbers import number, value
from gputuner.language.steps import point_unit, point_value, settings
from gputuner.language.tables import Table, bullets, markdown
from gputuner.language.terms import flag
from gputuner.language.words import N_, _, listed
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

SHAPE = ("m", "n", "k")
_TOLD = frozenset({*SHAPE, "transposed", "level", "null"})
NULL = "null_difference"
ENOUGH_FOR_SHARE = 10
"""Published figures from which on the share that is beaten says more than their number."""
_VALUES: dict[str, dict[Scalar, str]] = {
    "direction": {
        "host_to_device": N_("host → card"),
        "device_to_host": N_("card → host"),
        "both": N_("both ways"),
        "forward": N_("forward"),
        "backward": N_("backward"),
        "forward_backward": N_("forward and backward"),
    },
    "pinned": {True: N_("pinned"), False: N_("pageable")},
    "setup_counted": {True: N_("with set-up"), False: N_("without set-up")},
    "fast_accumulate": {True: N_("fast accumulation"), False: ""},
}
"""Settings whose value alone says all."""


def of_words(point: Point) -> str:
    """What a figure is of: shape, level and settings that its benchmark's name does not tell."""
    name = benchmark_of(point).split("-")
    params = {key: entry for key, entry in point.params.items() if key not in _TOLD and str(entry) not in name}
    plain = [_(_VALUES[key][entry]) for key, entry in params.items() if entry in _VALUES.get(key, {})]
    params = {key: entry for key, entry in params.items() if entry not in _VALUES.get(key, {})}
    sides = [str(point.params[side]) for side in SHAPE if side in point.params]
    shape = " × ".join(sides) if len(sides) == len(SHAPE) else ""
    if not shape and "n" in point.params:
        params["n"] = point.params["n"]
    where = level(str(point.params["level"])) if "level" in point.params else ""
    return listed((where, shape, *plain, settings(params)))


def published_words(point: Point) -> str:
    """How many published figures one beats (``2 of 3``, ``62 % of 12``), or their range where they are too few."""
    count = point.extra.get("published_n")
    if not isinstance(count, int):
        return ""
    if words := beaten_words(point):
        return words
    low, high = (point.extra.get(f"published_{name}") for name in ("low", "high"))
    unit = point_unit(point)
    span = value(low, unit) if low == high else f"{value(low, unit)} … {value(high, unit)}"
    return _("{span} (n {n})").format(span=span, n=count)


def beaten_words(point: Point) -> str:
    """How many of the published figures one beats: a share only of enough of them; empty where that is not known."""
    rank, count = point.extra.get("published_percentile"), point.extra.get("published_n")
    if not isinstance(rank, int | float) or not isinstance(count, int):
        return ""
    if count >= ENOUGH_FOR_SHARE:
        return _("{rank} % of {n}").format(rank=round(rank), n=count)
    return _("{beaten} of {n}").format(beaten=int(rank * count / 100.0 + 1e-9), n=count)


def bench_table(points: Sequence[Point]) -> Table:
    """One row for each headline: value with interval, shares, standing, what the card did, remarks."""
    rows = [_row(point) for point in headlines(points)]
    headers = (
        _("benchmark"), _("of"), _("value"), _("of peak at clock"), _("of sheet"), _("beats published"), _("clock"),
        _("power"), _("temperature"), _("remarks"),
    )  # fmt: skip
    return Table(headers=headers, rows=tuple(rows), right=(2, 3, 4, 5, 6, 7, 8)).without_empty()


def _row(point: Point) -> tuple[str, ...]:
    seen = point.conditions
    clock, power, heat = (seen.sm_clock_mhz, seen.power_w, seen.core_temperature_end_c) if seen else (None, None, None)
    in_band = point.extra.get("clock_mhz")
    clock = float(in_band) if clock is None and isinstance(in_band, int | float) else clock
    return (
        benchmark_of(point),
        of_words(point),
        point_value(point),
        _share(point.extra.get("fraction_of_peak_at_clock", point.extra.get("fraction_of_link"))),
        _share(point.extra.get("fraction_of_sheet")),
        published_words(point),
        _known(clock, "MHz"),
        _known(power, "W"),
        _known(heat, "degC"),
        listed(flag(entry) for entry in point.flags),
    )


def _known(figure: float | None, unit: str) -> str:
    return "" if figure is None else value(figure, unit)


def _share(figure: Scalar | None) -> str:
    return f"{number(100.0 * float(figure))} %" if isinstance(figure, int | float) else ""


def held_back_lines(points: Sequence[Point]) -> list[str]:
    """What held each headline back, one sentence a line; benchmarks with the same sentence share a line."""
    by_sentence: dict[str, list[str]] = {}
    for point in headlines(points):
        if sentence := held_back(point):
            cold = {"phase": "burst"} if point.params.get("phase") == "burst" else {}
            name = listed((benchmark_of(point), settings(cold)))
            by_sentence.setdefault(sentence, []).append(name)
    lines: list[str] = []
    for sentence, names in by_sentence.items():
        lines.append(_("{what}: {of}").format(what=listed(dict.fromkeys(names)), of=sentence))
    return lines


def sources(points: Iterable[Point]) -> list[str]:
    """Where the published figures come from, each once, with what they are of."""
    found: dict[str, list[str]] = {}
    for point in headlines(points):
        for source in str(point.extra.get("published_source", "")).split("; "):
            if source:
                found.setdefault(source, []).append(str(point.extra.get("published_mode")))
    return [f"{source} ({', '.join(dict.fromkeys(modes))})" for source, modes in found.items()]


def null_table(points: Iterable[Point]) -> Table:
    """What measuring the same again showed, by benchmark and over all."""
    rows = [
        (
            _("all") if benchmark_of(point) == "all" else benchmark_of(point),
            value(point.extra.get("pairs")),
            _percent(point.value),
            _percent(point.extra.get("largest")),
            _share(point.extra.get("false_difference_rate")),
            _share(point.extra.get("guard_rate")),
        )
        for point in points
        if point.metric == NULL
    ]
    headers = (
        _("benchmark"), _("pairs"), _("median difference"), _("largest"), _("intervals apart"),
        _("called by --against"),
    )  # fmt: skip
    return Table(headers=headers, rows=tuple(rows), right=(1, 2, 3, 4, 5))


def _percent(figure: Scalar | None) -> str:
    """A small share with three decimals at most: ``0.042 %``."""
    return f"{100.0 * float(figure):.3g} %" if isinstance(figure, int | float) else ""


def bench_markdown(points: Sequence[Point], title: str) -> str:
    """All of it as one Markdown text."""
    held, again, published = _("What held it back"), _("The same again"), _("Published figures")
    parts = [f"## {title}\n", markdown(bench_table(points))]
    if lines := held_back_lines(points):
        parts += [f"### {held}\n", bullets(lines)]
    if (null := null_table(points)).rows:
        parts += [f"### {again}\n", markdown(null)]
    if told := sources(points):
        parts += [f"### {published}\n", bullets(told)]
    return "\n".join(parts)
