"""The figures of a bench run in words: one row each, what held them back, where the published figures come from."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gputuner.analysis.headlines import BESIDE, WORST_TOO, benchmark_of, headlines
from gputuner.language.benchmarks import cause, held_back, level, limit_share
from gputuner.language.names import metric
from gputuner.language.numbers import number, value
from gputuner.language.steps import point_unit, point_value, settings
from gputuner.language.tables import Table, bullets, markdown
from gputuner.language.terms import flag
from gputuner.language.words import N_, _, listed
from gputuner.model.cards import CPU_CARD
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

SHAPE = ("m", "n", "k")
_TOLD = frozenset({*SHAPE, "transposed", "level", "null"})
NULL, REPEAT = "null_difference", "null"
"""Metric of the null check, and the parameter that numbers its repeats."""
ENOUGH_FOR_SHARE = 10
"""Published figures from which on the share that is beaten says more than their number."""
RIGHT, WRAPS, LEAST = (2, 3, 4, 5, 6, 7, 8), (1, 2, 5, 9), (8, 7, 6, 4, 5)
"""Of the columns of ``bench_table``: aligned to the right, of text, and those that say least."""
_IN_SENTENCE = (
    "held_back_share", "held_back_lost", "held_back_beside_share", "fraction_of_peak_at_clock", "fraction_of_link",
)  # fmt: skip
"""Shares that the sentence on what held a figure back tells."""
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
    where = _level(point)
    return listed((where, shape, *plain, settings(params, point.card)))


def _level(point: Point) -> str:
    """The level of the memory; of a processor's caches only that it is one of them is known."""
    if "level" not in point.params:
        return ""
    named = str(point.params["level"])
    return level(named, cpu=point.card == CPU_CARD)


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
    if "published_unlike" in point.extra:  # ours is before the power cap, theirs are means of a card that is warm
        return _("{span} (n {n}, once warm)").format(span=span, n=count)
    return _("{span} (n {n})").format(span=span, n=count)


def beaten_words(point: Point) -> str:
    """How many of the published figures one beats: a share only of enough of them; empty where that is not known."""
    rank, count, worse = (point.extra.get(f"published_{name}") for name in ("percentile", "n", "worse"))
    if not isinstance(count, int):
        return ""
    if isinstance(rank, int | float) and count >= ENOUGH_FOR_SHARE:
        return _("{rank} % of {n}").format(rank=round(rank), n=count)
    if not isinstance(worse, int) and isinstance(rank, int | float):
        worse = int(rank * count / 100.0 + 1e-9)
    return _("{beaten} of {n}").format(beaten=worse, n=count) if isinstance(worse, int) else ""


def bench_table(points: Sequence[Point]) -> Table:
    """One row for each headline: value with interval, shares, standing, what the card did, remarks."""
    rows = [_row(point, of) for point, of in titled(headlines(points))]
    headers = (
        _("benchmark"), _("of"), _("value"), _("of peak at clock"), _("of sheet"), _("beats published"), _("clock"),
        _("power"), _("temperature"), _("remarks"),
    )  # fmt: skip
    return Table(headers=headers, rows=tuple(rows), right=RIGHT, wraps=WRAPS, least=LEAST).without_empty()


def titled(points: Sequence[Point]) -> list[tuple[Point, str]]:
    """Each headline with what it is of: its name where the benchmark has several figures, slowest and fastest place."""
    kinds: dict[str, set[str]] = {}
    ends: dict[tuple[str, str], list[float]] = {}
    for point in points:
        kinds.setdefault(benchmark_of(point), set()).add(point.metric)
        ends.setdefault((point.card, point.metric), []).append(point.value)
    result: list[tuple[Point, str]] = []
    for point in points:
        kind = metric(point.metric) if "benchmark" in point.extra and len(kinds[benchmark_of(point)]) > 1 else ""
        values = ends[point.card, point.metric]
        end = ""
        if point.metric in WORST_TOO and "region" not in point.params and min(values) < max(values):
            end = _("slowest") if point.value == min(values) else _("fastest") if point.value == max(values) else ""
        result.append((point, listed((end, kind, of_words(point)))))
    return result


def best_line(points: Iterable[Point]) -> str:
    """That of several shapes, sizes and batches the best stands in the table; empty where all stand there."""
    told = [point for point in points if point.metric not in BESIDE]
    shown = len(headlines(told))
    if shown == len(told):
        return ""
    return _(
        "Shown are {shown} of {n} figures: of several shapes, sizes and batches the best. --json and the stored "
        "session have all."
    ).format(shown=shown, n=len(told))


def interval_note(points: Iterable[Point]) -> str:
    """What the intervals of figures are good for; empty where none has one."""
    if not any(point.spread is not None and point.spread.ci95_low is not None for point in points):
        return ""
    return _(
        "Intervals (95 %) hold within this run. Runs of the same card lie further apart: those of two runs that do not "
        "overlap are no difference yet."
    )


def _row(point: Point, of: str) -> tuple[str, ...]:
    seen = point.conditions
    clock, power, heat = (seen.sm_clock_mhz, seen.power_w, seen.core_temperature_end_c) if seen else (None, None, None)
    in_band = point.extra.get("clock_mhz")
    clock = float(in_band) if clock is None and isinstance(in_band, int | float) else clock
    return (
        benchmark_of(point),
        of,
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
    """What held the headlines back: a line for each benchmark and cause, with the range of its figures.

    Settings are named where a benchmark's figures were held back by different causes; benchmarks with the same sentence
    share a line.
    """
    shown = [(point, of) for point, of in titled(headlines(points)) if held_back(point)]
    groups: dict[tuple[str, ...], list[tuple[Point, str]]] = {}
    for point, of in shown:
        groups.setdefault((benchmark_of(point), *_kind(point)), []).append((point, of))
    by_sentence: dict[str, list[str]] = {}
    for group in groups.values():
        name = benchmark_of(group[0][0])
        others = [of for point, of in shown if benchmark_of(point) == name and (point, of) not in group]
        of = _apart([of for _point, of in group], others)
        what = _("{benchmark} ({settings})").format(benchmark=name, settings=of) if of else name
        by_sentence.setdefault(held_back(_ranged([point for point, _of in group])), []).append(what)
    return [
        _("{what}: {of}").format(what=listed(dict.fromkeys(names)), of=sentence)
        for sentence, names in by_sentence.items()
    ]


def _apart(group: Sequence[str], others: Sequence[str]) -> str:
    """What tells the settings of a group from the others: the fewest words that they alone have, else each in short."""
    if not others:
        return ""
    comma = _(", ")
    inner, outer = [of.split(comma) for of in group], [of.split(comma) for of in others]
    left = list(range(len(inner)))
    named: list[str] = []
    own = [part for part in dict.fromkeys(part for of in inner for part in of) if not any(part in of for of in outer)]
    while left and own:
        best = max(own, key=lambda part: sum(part in inner[i] for i in left))
        if not any(best in inner[i] for i in left):
            break
        named.append(best)
        left = [i for i in left if best not in inner[i]]
    short = [comma.join(part for part in inner[i] if not all(part in of for of in (*inner, *outer))) for i in left]
    return "; ".join(dict.fromkeys((*named, *(few or group[i] for few, i in zip(short, left, strict=True)))))


def _kind(point: Point) -> tuple[str, ...]:
    """What makes two sentences say the same but for their figures."""
    extra = point.extra
    open_ = [str(extra.get(name)) for name in ("held_back_most", "held_back_beside")]
    known = [str(name in extra) for name in ("held_back_lost", "fraction_of_link", "fraction_of_peak_at_clock")]
    return cause(point), str(extra.get("bound_by")), *open_, *known


def _ranged(points: Sequence[Point]) -> Point:
    """The first, with the range over all of each figure that its sentence tells."""
    points = [_with_share(point) for point in points]
    extra = dict(points[0].extra)
    for name in _IN_SENTENCE:
        figures = [float(f) for point in points if isinstance(f := point.extra.get(name), int | float)]
        low, high = _percents(min(figures, default=0.0)), _percents(max(figures, default=0.0))
        if figures and low != high:
            extra[name] = _("{low} … {high} %").format(low=low, high=high)
    loads = [float(f) for point in points if isinstance(f := point.extra.get("intensity"), int | float)]
    if loads and f"{min(loads):.3g}" != f"{max(loads):.3g}":
        extra["intensity"] = _("{low} … {high}").format(low=number(min(loads)), high=number(max(loads)))
    return replace(points[0], extra=extra)


def _with_share(point: Point) -> Point:
    """With the share of the time in the limit that its sentence names, where only its conditions tell it."""
    share = limit_share(point)
    return point if share is None else replace(point, extra={**point.extra, "held_back_share": share})


def _percents(share: float) -> str:
    return number(100.0 * share)


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
    told = list(points)
    figures = [point for point in told if point.metric != NULL]
    repeated = {benchmark_of(point): of for point, of in titled(figures) if REPEAT in point.params}
    rows = [
        (
            null_name(point),
            repeated.get(benchmark_of(point), ""),
            value(point.extra.get("pairs")),
            _percent(point.value),
            _percent(point.extra.get("largest")),
            _share(point.extra.get("false_difference_rate")),
            _share(point.extra.get("guard_rate")),
        )
        for point in told
        if point.metric == NULL
    ]
    headers = (
        _("benchmark"), _("of"), _("pairs"), _("median difference"), _("largest"), _("intervals apart"),
        _("beyond the limit of --against"),
    )  # fmt: skip
    return Table(headers=headers, rows=tuple(rows), right=(2, 3, 4, 5, 6), wraps=(1,))


def null_name(point: Point) -> str:
    """The benchmark whose repeats a figure of the null check compares, or that it is of all of them."""
    return _("all") if benchmark_of(point) == "all" else benchmark_of(point)


def null_missing(points: Sequence[Point]) -> str:
    """Benchmarks that have figures and no repeats, in one line; empty without such."""
    checked = {benchmark_of(point) for point in points if point.metric == NULL}
    missing = dict.fromkeys(name for point in headlines(points) if (name := benchmark_of(point)) not in checked)
    return _("Not measured again: {benchmarks}.").format(benchmarks=listed(missing)) if missing else ""


def null_note() -> str:
    """What the check can say, and what not."""
    return _(
        "Pairs are of the repeats, not of the first measurement: within one run, every second time in a fresh process; "
        "between runs equal measurements lie further apart."
    )


def _percent(figure: Scalar | None) -> str:
    """A small share with three decimals at most: ``0.042 %``."""
    return f"{100.0 * float(figure):.3g} %" if isinstance(figure, int | float) else ""


def bench_markdown(points: Sequence[Point], title: str) -> str:
    """All of it as one Markdown text."""
    held, again, published = _("What held it back"), _("The same again"), _("Published figures")
    parts = [f"## {title}\n", markdown(bench_table(points))]
    parts += [f"{told}\n" for told in (best_line(points), interval_note(headlines(points))) if told]
    if lines := held_back_lines(points):
        parts += [f"### {held}\n", bullets(lines)]
    if (null := null_table(points)).rows:
        parts += [
            f"### {again}\n",
            markdown(null),
            *(f"{line}\n" for line in (null_note(), null_missing(points)) if line),
        ]
    if told := sources(points):
        parts += [f"### {published}\n", bullets(told)]
    return "\n".join(parts)
