# pyright: standard
"""From the figures of pairs to the matrix, and from those of probes to curves: chosen, never computed."""

from collections.abc import Sequence
from dataclasses import dataclass

from gputuner.analysis.contention_figures import Mix, mixes, newest
from gputuner.gui.plots.curves import Dot, Series
from gputuner.gui.plots.pair_matrix import PairCell, PairTable
from gputuner.gui.results import figure, of_metric, point_hint
from gputuner.gui.results_contention import cause_colour, slow_hint
from gputuner.gui.results_text import origin_lines, table
from gputuner.gui.theme import Theme
from gputuner.language import contention as words
from gputuner.language import numbers
from gputuner.language.words import _
from gputuner.model.points import Point

PAIR = 2
MODEL = "pressure"
"""The model of the predicted cells; others are printed beside it in the report only."""
SLICES = "slices"
"""The probe whose curves are told apart by the length of their bursts."""
SYMBOLS = ("o", "s", "t1", "d", "star")

Pair = tuple[str, str]
"""Labels of a job and of its partner."""


@dataclass(frozen=True, slots=True)
class Probed:
    """A job whose curves are known, in one way of sharing."""

    label: str
    mode: str
    card: str = ""

    @property
    def words(self) -> str:
        """Its name."""
        return f"{words.mix(self.label)} · {words.mode(self.mode, self.card)}"


def pair_modes(points: Sequence[Point]) -> list[str]:
    """The ways of sharing that pairs were run or predicted in."""
    ran = [mix.mode for mix in _pairs(points)]
    return list(dict.fromkeys([*ran, *(str(p.params.get("mode", "")) for p in _predicted(points))]))


def pair_table(points: Sequence[Point], mode: str) -> PairTable:
    """The matrix of one way of sharing: what was run, and predictions where nothing was."""
    cells: dict[Pair, PairCell] = {}
    causes = _leading_causes(points)
    forecast = {_place(point): point for point in _predicted(points) if point.params.get("mode") == mode}
    for mix in _pairs(points):
        if mix.mode == mode:
            for point in mix.slowdowns:
                place, cell = _place(point), _cell(mix, point, forecast.get(_place(point)), causes)
                if place not in cells or cell.value > cells[place].value:  # a job beside itself: the slower of the two
                    cells[place] = cell
    for place, point in forecast.items():
        if place not in cells:
            cells[place] = PairCell(
                value=point.value, predicted=True, point_id=point.id, hint=_forecast_hint(place, point)
            )
    labels = list(dict.fromkeys(label for place in cells for label in place))
    at = {label: number for number, label in enumerate(labels)}
    return PairTable(
        names=tuple(words.mix(label) for label in labels),
        cells={(at[one], at[other]): cell for (one, other), cell in cells.items()},
    )


def _pairs(points: Sequence[Point]) -> list[Mix]:
    return [mix for mix in mixes(points) if mix.jobs == PAIR and not mix.shares]


def _predicted(points: Sequence[Point]) -> list[Point]:
    """Predictions of pairs by the model that the program uses."""
    return [
        point
        for point in newest(of_metric(points, "co_run_predicted"))
        if point.params.get("model", MODEL) == MODEL and len(str(point.params.get("mix", "")).split("+")) == PAIR
    ]


def _place(point: Point) -> Pair:
    one, other = str(point.params["mix"]).split("+")
    return (one, other) if point.params.get("job", 1) == 1 else (other, one)


def _cell(mix: Mix, point: Point, forecast: Point | None, causes: dict[tuple[str, str, int], str]) -> PairCell:
    lines = [slow_hint(point)]
    cause = causes.get((mix.label, mix.mode, int(figure(point.params.get("job")) or 1)))
    if cause is not None:
        lines.append(_("mostly: {cause}").format(cause=words.cause(cause)))
    if forecast is not None:
        lines.append(_("predicted without it: {value} ×").format(value=f"{forecast.value:.2f}"))
    spread = point.spread
    return PairCell(
        value=point.value,
        low=spread.ci95_low if spread else None,
        high=spread.ci95_high if spread else None,
        doubtful=mix.gain is not None and not mix.valid,
        point_id=point.id,
        hint="\n".join(lines),
    )


def _forecast_hint(place: Pair, point: Point) -> str:
    one, other = map(words.mix, place)
    told = _("{job} beside {partner}: {value}").format(job=one, partner=other, value=f"≈ {point.value:.2f} ×")
    return f"{told}\n" + _("Predicted from how each of the two presses on the card and suffers from pressure; not run.")


def _leading_causes(points: Sequence[Point]) -> dict[tuple[str, str, int], str]:
    """The cause with the largest share by mix, mode and job."""
    best: dict[tuple[str, str, int], Point] = {}
    for point in newest(of_metric(points, "co_run_cause")):
        key = (
            str(point.params.get("mix", "")),
            str(point.params.get("mode", "")),
            int(figure(point.params.get("job")) or 1),
        )
        if key not in best or point.value > best[key].value:
            best[key] = point
    return {key: str(point.params.get("cause", "")) for key, point in best.items()}


def pair_markdown(points: Sequence[Point], mode: str) -> str:
    """The matrix as a Markdown table: row = job, column = partner."""
    shown = pair_table(points, mode)
    head = [(_("slowdown of ↓ beside →"), False), *((name, True) for name in shown.names)]
    rows = [
        [
            name,
            *(_cell_words(shown.cells.get((row, column))) for column in range(len(shown.names))),
        ]
        for row, name in enumerate(shown.names)
    ]
    note = [_("≈ predicted, not run")] if any(cell.predicted for cell in shown.cells.values()) else []
    way = words.mode(mode, points[0].card if points else "")
    return "\n".join([*origin_lines(points), *table(head, rows), "", way, *note]) + "\n"


def _cell_words(cell: PairCell | None) -> str:
    if cell is None:
        return numbers.MISSING
    return f"{'≈ ' if cell.predicted else ''}{cell.value:.2f}{' ?' if cell.doubtful else ''}"


def probed(points: Sequence[Point]) -> list[Probed]:
    """The jobs with curves, in the order they were measured."""
    found = [
        Probed(str(point.params.get("job_label", point.workload)), str(point.params.get("mode", "")), point.card)
        for metric in ("pressure_sensitivity", "pressure_exerted")
        for point in of_metric(points, metric)
    ]
    return list(dict.fromkeys(found))


def pressure_series(points: Sequence[Point], metric: str, of: Probed, theme: Theme) -> list[Series]:
    """A curve for each probe over its dial: slowdown of the job (or of the probe beside it)."""
    curves: dict[tuple[str, float | None], list[Point]] = {}
    for point in newest(of_metric(points, metric)):
        here = point.params.get("job_label", point.workload), point.params.get("mode", "")
        if here == (of.label, of.mode):
            key = str(point.params.get("probe", "")), figure(point.params.get("burst_ms"))
            curves.setdefault(key, []).append(point)
    whole = curves.get((SLICES, None), [])
    bursts = [found for (probe, burst), found in curves.items() if probe == SLICES and burst is not None]
    longest = max((burst for (_probe, burst) in curves if burst is not None), default=None)
    for found in bursts:  # what never pauses is the end of each of them, however long its bursts are
        found += whole
    if bursts:
        curves.pop((SLICES, None), None)
    return [
        Series(
            name=words.probe(probe) if burst is None else f"{words.probe(probe)} {numbers.number(burst)} ms",
            colour=cause_colour(probe, theme),
            dashed=burst is not None and burst == longest,
            symbol=SYMBOLS[number % len(SYMBOLS)],
            dots=tuple(_dot(point) for point in sorted(found, key=lambda p: figure(p.params.get("dial")) or 0.0)),
        )
        for number, ((probe, burst), found) in enumerate(curves.items())
    ]


def _dot(point: Point) -> Dot:
    spread = point.spread
    return Dot(
        x=figure(point.params.get("dial")) or 0.0,
        y=point.value,
        low=spread.ci95_low if spread else None,
        high=spread.ci95_high if spread else None,
        point_id=point.id,
        hint=point_hint(point),
    )
