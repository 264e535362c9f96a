"""What a numerical check found, as tables: losses, verdicts, operations that stay in FP32, traps, activations."""

from collections.abc import Iterable, Sequence

from gputuner.analysis.reference_runs import reference_runs, two_digits
from gputuner.language import numerics_words as words
from gputuner.language.numbers import MISSING, value
from gputuner.language.steps import PRECISIONS
from gputuner.language.tables import Table
from gputuner.language.terms import flag
from gputuner.language.words import _, listed
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

MANY = frozenset({"train_loss", "train_loss_band", "activation_peak", "autocast_kept"})
"""Metrics with too many points to tell one by one while the check goes on."""
ROWS = 8
"""So many steps of the curves stand in a table."""


def losses(points: Sequence[Point]) -> Table:
    """The smoothed loss of each format at a few steps, beside the FP32 band."""
    band = {int(p.params["step"]): p for p in points if p.metric == "train_loss_band"}
    lines: dict[str, dict[int, Point]] = {}
    for point in points:
        if point.metric == "train_loss" and point.params.get("draw") == 0:
            lines.setdefault(str(point.params["precision"]), {})[int(point.params["step"])] = point
    if band:
        lines.pop("fp32", None)
    steps = sorted(band or {step for line in lines.values() for step in line})
    shown = sorted({steps[round(i * (len(steps) - 1) / (ROWS - 1))] for i in range(ROWS)}) if steps else []
    rows = tuple(
        (str(step), _band(band.get(step)), *(_smoothed(_nearest(line, step)) for line in lines.values()))
        for step in shown
    )
    headers = (_("step"), _("FP32 band"), *(PRECISIONS.get(name, name) for name in lines))
    return Table(headers=headers, rows=rows, right=tuple(range(len(headers)))).without_empty()


def _nearest(line: dict[int, Point], step: int) -> Point | None:
    """The point of a curve at ``step``, or right beside it; None where the curve has ended."""
    near = [each for each in line if abs(each - step) <= max(2, step // 20)]
    return line[min(near, key=lambda each: abs(each - step))] if near else None


def _band(point: Point | None) -> str:
    if point is None:
        return ""
    low, high = value(point.extra.get("low"), "1"), value(point.extra.get("high"), "1")
    return f"{low} … {high}"


def _smoothed(point: Point | None) -> str:
    return MISSING if point is None else value(point.extra.get("smoothed", point.value), "1")


def verdicts(points: Sequence[Point]) -> Table:
    """Each format's verdict, with its end loss, what it is judged with, and its gradient scaler."""
    found = [point for point in points if point.metric == "numerics_verdict"]
    headers = (
        _("format"),
        _("verdict"),
        _("steps"),
        _("end loss"),
        _("FP32"),
        _("gradient scaler"),
        _("time per step"),
        _("remarks"),
    )
    rows = tuple(
        (
            PRECISIONS.get(str(point.params["precision"]), str(point.params["precision"])),
            verdict(point),
            value(point.extra.get("steps")),
            _figure(point, "end_loss"),
            _reference(point),
            scaler(point),
            value(point.extra.get("step_s"), "s") if "step_s" in point.extra else "",
            listed(flag(each) for each in point.flags),
        )
        for point in found
    )
    return Table(headers=headers, rows=rows, right=(2, 3, 4, 6), wraps=(1, 5, 7), least=(6,)).without_empty()


def verdict(point: Point) -> str:
    """A verdict in words, with what it rests on where that is not the comparison."""
    told = str(point.params["verdict"])
    said = _(words.VERDICTS[told]) if told in words.VERDICTS else told
    why, bad = str(point.extra.get("why", "")), point.extra.get("first_bad_step")
    reason = _(words.WHY[why]) if why in words.WHY else ""
    if told == "diverged" and isinstance(bad, int):
        reason = _("{reason}, from step {step} on").format(reason=reason, step=bad)
    share = point.extra.get("seen_share")
    if told in ("kept", "unseen") and share is not None:
        told_share = value(two_digits(float(share)), "fraction")
        reason = _("harm above about {share} of the fall would have been seen").format(share=told_share)
        if runs := reference_runs(point.extra):
            reason = _("{reason} (from {n} FP32 runs)").format(reason=reason, n=runs[1])
    return _("{verdict}: {reason}").format(verdict=said, reason=reason) if reason else said


def scaler(point: Point) -> str:
    """The gradient scaler's trace in a few words; empty where there was none."""
    state = str(point.extra.get("scaler", ""))
    if not state:
        return ""
    said = _(words.SCALERS[state]) if state in words.SCALERS else state
    told = _("{state}; {skipped} of {steps} steps skipped, scale {scale} at the end")
    return told.format(
        state=said,
        skipped=value(point.extra.get("skipped_steps")),
        steps=value(point.extra.get("steps")),
        scale=value(point.extra.get("scale_last")),
    )


def _figure(point: Point, name: str) -> str:
    return value(point.extra[name], "1") if name in point.extra else ""


def _reference(point: Point) -> str:
    if "fp32_end_loss" not in point.extra:
        return ""
    tolerance = point.extra.get("tolerance")
    if tolerance is None:
        return _figure(point, "fp32_end_loss")
    return f"{_figure(point, 'fp32_end_loss')} ± {value(two_digits(float(tolerance)), '1')}"


def operations(points: Sequence[Point]) -> Table:
    """Operations that stay in FP32 under autocast: which, why, how often per step, and where."""
    found = [point for point in points if point.metric == "autocast_kept"]
    headers = (_("operation"), _("stays in FP32"), _("in"), _("calls"), _("where"))
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for point in found:
        kept = str(point.params["kept"])
        said = _(words.KEPT[kept]) if kept in words.KEPT else kept
        key = (str(point.params["operation"]), said, value(point.value), str(point.extra.get("where", "")))
        rows.setdefault(key, []).append(_format(point.params["precision"]))
    told = tuple((name, said, ", ".join(formats), calls, where) for (name, said, calls, where), formats in rows.items())
    return Table(headers=headers, rows=told, right=(3,), wraps=(1, 4), least=(4,)).without_empty()


def traps(points: Sequence[Point]) -> list[str]:
    """One line for each trap, however many formats met it."""
    found = [point for point in points if point.metric == "numerics_trap"]
    lines: list[str] = []
    for point in found:
        kind = str(point.params["trap"])
        said = _(words.TRAPS[kind]) if kind in words.TRAPS else kind
        lines.append(
            _("{trap}: {name} ({where})").format(
                trap=said, name=point.params["name"], where=point.extra.get("where", "")
            )
        )
    return list(dict.fromkeys(lines))


def activations(points: Sequence[Point]) -> Table:
    """The largest activations by place and format."""
    found = [point for point in points if point.metric == "activation_peak"]
    formats = _formats(found)
    places: dict[str, dict[str, Scalar]] = {}
    for point in found:
        places.setdefault(str(point.params["place"]), {})[str(point.params["precision"])] = point.value
    largest = sorted(places, key=lambda place: -max(float(v) for v in places[place].values()))[:ROWS]
    rows = tuple((place, *(_peak(places[place].get(name)) for name in formats)) for place in largest)
    headers = (_("largest activation in"), *(PRECISIONS.get(name, name) for name in formats))
    return Table(headers=headers, rows=rows, right=tuple(range(1, len(headers))), wraps=(0,))


def _peak(figure: Scalar | None) -> str:
    return MISSING if figure is None else value(figure, "1")


def _formats(points: Iterable[Point]) -> list[str]:
    return list(dict.fromkeys(str(point.params["precision"]) for point in points))


def _format(name: Scalar) -> str:
    return PRECISIONS.get(str(name), str(name))
