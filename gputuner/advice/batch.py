"""Batch size: the fastest, and the largest that is safe."""

from gputuner.advice.evidence import Evidence, best_setting
from gputuner.advice.making import gain_of, make
from gputuner.advice.snippets import loader
from gputuner.analysis.statistics import spread
from gputuner.analysis.throughput import fastest, knee
from gputuner.model.advice import Advice, Confidence
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

REFERENCE_BATCH = 32
"""What people start from; on a CPU a quarter of it."""


def fastest_rule(evidence: Evidence) -> list[Advice]:
    """``batch.fastest``: the smallest batch within 1.5 % of the best rate, against the batch people start from."""
    found: list[Advice] = []
    for workload in evidence.workloads():
        best = best_setting(evidence, workload)
        if best is None or len(best[1]) < 2:
            continue
        (precision, channels_last), points = best
        choice = fastest({batch: p.spread or spread([p.value]) for batch, p in points.items()})
        rates = {batch: p.value for batch, p in points.items()}
        reference = _reference(evidence, points, choice.batch)
        params: dict[str, Scalar] = {
            "workload": workload,
            "precision": precision,
            "channels_last": channels_last,
            "batch": choice.batch,
            "rate": choice.rate,
            "low": choice.low,
            "high": choice.high,
            "reference_batch": reference,
            "reference_rate": rates[reference],
            "largest_measured": max(rates),
            "largest_rate": rates[max(rates)],
            "still_rising": choice.batch == max(rates) and knee(rates) is None,
        }
        gain = gain_of(points[choice.batch], points[reference]) if reference != choice.batch else None
        found.append(
            make(
                "batch.fastest",
                evidence.card.uuid,
                params,
                [points[choice.batch], points[reference], points[max(rates)]],
                gain=gain,
                weight=2.0,
                snippet=loader(choice.batch),
            )
        )
    return found


def _reference(evidence: Evidence, points: dict[int, Point], chosen: int) -> int:
    """The measured batch nearest below what people start from (the smallest if none is below)."""
    start = REFERENCE_BATCH // 4 if evidence.card.is_cpu else REFERENCE_BATCH
    below = [batch for batch in points if batch <= start]
    reference = max(below) if below else min(points)
    return reference if reference != chosen or len(points) < 2 else min(points)


def safe_rule(evidence: Evidence) -> list[Advice]:
    """``batch.safe_limit``: the largest batch to use without fear of running out of memory, and the limit itself."""
    found: list[Advice] = []
    for limit in evidence.of("batch_limit"):
        precision, channels_last = limit.params["precision"], limit.params["channels_last"]
        safe = evidence.last("batch_safe", precision=precision, channels_last=channels_last)
        if safe is None:
            continue
        verified = limit.params.get("verified") is True
        params: dict[str, Scalar] = {
            "workload": limit.workload,
            "precision": precision,
            "channels_last": channels_last,
            "safe": int(safe.value),
            "limit": int(limit.value),
            "margin": safe.extra.get("margin", 0.0),
            "verified": verified,
        }
        params |= {name: limit.extra[name] for name in ("fails", "predicted", "size_limit") if name in limit.extra}
        points: list[Point | str] = [limit, safe, *evidence.of("memory_per_sample", precision=precision)]
        best = evidence.last("batch_fastest", precision=precision, channels_last=channels_last)
        if "rate" in safe.extra:
            params["safe_rate"] = safe.extra["rate"]
        near = evidence.of("train_throughput", phase="limit", precision=precision, channels_last=channels_last)
        if near:
            params["limit_rate"] = near[-1].value
            points.append(near[-1])
        if best is not None and "rate" in best.extra:
            params |= {"fastest": int(best.value), "fastest_rate": best.extra["rate"]}
            points.append(best)
        found.append(
            make(
                "batch.safe_limit",
                evidence.card.uuid,
                params,
                points,
                confidence=Confidence.MEASURED if verified else Confidence.MODEL,
                weight=5.0 if verified else 2.0,
            )
        )
    return found
