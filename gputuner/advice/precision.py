"""Number format and memory layout."""

from collections.abc import Iterator

from gputuner.advice.evidence import Evidence, best_setting
from gputuner.advice.making import change_between, make, scattered
from gputuner.advice.snippets import channels_last as layout_snippet
from gputuner.advice.snippets import precision as precision_snippet
from gputuner.advice.turns import against
from gputuner.analysis.throughput import preferred_precision
from gputuner.model.advice import Advice
from gputuner.model.change import Change
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

LAYOUT_GAIN = 0.02
"""A layout that gains less than this is not worth a word of change."""


def precision_rule(evidence: Evidence) -> list[Advice]:
    """``precision.best``: formats compared at the same batch and layout.

    The base is what PyTorch does by itself: TF32 in convolutions where the chip has it, else FP32. If nothing beats
    the base, the advice is to keep it (``keep`` True) and no gain is told.
    """
    found: list[Advice] = []
    for workload in evidence.workloads():
        compared = _most_compared(evidence, workload)
        if compared is None:
            found += _too_slow(evidence, workload)
            continue
        batch, channels_last, points = compared
        best, base, other = _sides(points)
        keep = best == base
        pair = against(evidence, points[best], points[other])
        params: dict[str, Scalar] = {
            "workload": workload,
            "precision": best,
            "baseline": other,
            "keep": keep,
            "batch": batch,
            "channels_last": channels_last,
            "rate": pair.better,
            "baseline_rate": pair.base,
            "compared": ", ".join(sorted(points)),
            **pair.params,
        }
        params |= _passed_over(best, points)
        change = _memory_change(points[best], points[other])
        if change is not None:
            params["memory_change"] = change
        found.append(
            make(
                "precision.best",
                evidence.card.uuid,
                params,
                [*points.values(), *pair.points],
                gain=None if keep else pair.gain,
                weight=3.0 if keep else 0.0,
                snippet=precision_snippet(best, cpu=evidence.card.is_cpu),
                change=None if keep else change_between(points[base], points[best]),
            )
        )
    return found


def _sides(points: dict[str, Point]) -> tuple[str, str, str]:
    """The format to prefer, what PyTorch does by itself, and what the first is compared with."""
    best = preferred_precision({name: p.value for name, p in points.items()})
    base = next(name for name in ("tf32", "fp32", "bf16", "fp16") if name in points)
    other = base if best != base else max((n for n in points if n != base), key=lambda n: points[n].value)
    return best, base, other


def doubts(evidence: Evidence) -> list[Change]:
    """Comparisons of formats and of layouts whose figures scattered, whichever side looked better."""
    found: list[Change | None] = []
    for workload in evidence.workloads():
        compared = _most_compared(evidence, workload)
        if compared is not None:
            best, _, other = _sides(compared[2])
            if scattered(compared[2][best], compared[2][other]):
                found.append(change_between(compared[2][other], compared[2][best]))
        found += [
            change_between(first, last) for _, last, first in _layouts(evidence, workload) if scattered(last, first)
        ]
    return [change for change in found if change is not None]


def _layouts(evidence: Evidence, workload: str) -> Iterator[tuple[str, Point, Point]]:
    """Formats of which both layouts were measured: with channels-last and without, at the largest common batch."""
    rates = evidence.training_rates(workload)
    for (precision, channels_last), points in rates.items():
        contiguous = rates.get((precision, False), {})
        both = sorted(set(points) & set(contiguous)) if channels_last else []
        if both:
            yield precision, points[both[-1]], contiguous[both[-1]]


def _passed_over(best: str, points: dict[str, Point]) -> dict[str, Scalar]:
    """FP16 where it is faster than what is advised: by what share, for which it would need loss scaling."""
    faster = points.get("fp16")
    if best == "fp16" or faster is None or faster.value <= points[best].value:
        return {}
    share = faster.value / points[best].value - 1.0
    return {"faster": "fp16", "faster_rate": faster.value, "faster_share": share}


def _too_slow(evidence: Evidence, workload: str) -> list[Advice]:
    """Keep what was measured where every other format was given up as too slow."""
    best = best_setting(evidence, workload)
    slow = [p for p in evidence.of("train_throughput", phase="probe") if Flag.TOO_SLOW in p.flags]
    slow = [p for p in slow if p.workload == workload and best and p.params["precision"] != best[0][0]]
    if best is None or not slow:
        return []
    (precision, channels_last), points = best
    batch = max(points, key=lambda b: points[b].value)
    params: dict[str, Scalar] = {
        "workload": workload,
        "precision": precision,
        "baseline": str(slow[-1].params["precision"]),
        "keep": True,
        "batch": batch,
        "channels_last": channels_last,
        "rate": points[batch].value,
        "baseline_rate": slow[-1].value,
        "compared": ", ".join(sorted({precision, *(str(p.params["precision"]) for p in slow)})),
    }
    return [make("precision.best", evidence.card.uuid, params, [points[batch], *slow], weight=3.0)]


def _most_compared(evidence: Evidence, workload: str) -> tuple[int, bool, dict[str, Point]] | None:
    """Batch and layout at which most formats (at least two) were measured; the larger batch if equal."""
    table: dict[tuple[int, bool], dict[str, Point]] = {}
    for (precision, channels_last), points in evidence.training_rates(workload).items():
        for batch, point in points.items():
            table.setdefault((batch, channels_last), {})[precision] = point
    fitting = [(len(points), *key) for key, points in table.items() if len(points) >= 2]
    if not fitting:
        return None
    _, batch, channels_last = max(fitting)
    return batch, channels_last, table[batch, channels_last]


def _memory_change(best: Point, other: Point) -> float | None:
    ours, theirs = best.extra.get("allocated_peak_bytes"), other.extra.get("allocated_peak_bytes")
    if not isinstance(ours, int | float) or not isinstance(theirs, int | float) or theirs <= 0:
        return None
    return ours / theirs - 1.0


def layout_rule(evidence: Evidence) -> list[Advice]:
    """``layout.channels_last``: where both layouts were measured at the same format and batch and one gains ≥ 2 %."""
    found: list[Advice] = []
    for workload in evidence.workloads():
        for precision, last, first in _layouts(evidence, workload):
            use = against(evidence, last, first).gain.value > 0.0
            better, worse = (last, first) if use else (first, last)
            pair = against(evidence, better, worse)
            gain = pair.gain
            if not use and scattered(last, first) and not pair.params:
                continue  # a neighbour that was busy meanwhile makes any layout slow
            if gain.value < LAYOUT_GAIN:
                continue
            params: dict[str, Scalar] = {
                "workload": workload,
                "precision": precision,
                "batch": int(last.params["batch"]),
                "use": use,
                "rate": pair.better,
                "other_rate": pair.base,
                **pair.params,
            }
            found.append(
                make(
                    "layout.channels_last",
                    evidence.card.uuid,
                    params,
                    pair.points,
                    gain=gain if use else None,
                    weight=0.0 if use else 1.0,
                    snippet=layout_snippet() if use else None,
                    change=change_between(worse, better) if use else None,
                )
            )
    return found
