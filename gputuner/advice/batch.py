"""Batch size: the fastest, and the largest that is safe."""

from dataclasses import replace

from gputuner.advice.data_set import data_set
from gputuner.advice.evidence import Evidence, best_setting
from gputuner.advice.making import change_between, make, scattered
from gputuner.advice.snippets import loader
from gputuner.advice.turns import against
from gputuner.analysis.statistics import spread
from gputuner.analysis.throughput import fastest, knee
from gputuner.model.advice import Advice, Confidence, Gain
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

REFERENCE_BATCH = 32
"""What people start from; on a CPU a quarter of it."""
CLIFF = 0.9
"""A batch below this share of the best rate is not recommended, even where it fits."""
WHOLE = ("asked_most", "data_set_limit", "size_most")
"""What a limit that memory does not set is called by what sets it."""
TELLS_NOTHING = 3.0
"""A gain whose interval ends lie this many times apart (as ratios of rates) is a question."""
LOOKED_FASTER = 1.03
"""A check too short for a rate is told where even the lower end of its rate is this many times the best."""
LOOKS = ("memory", "limit")
"""Phases of such checks."""
FIRST_PEAK = 1.2
"""From this ratio on the peak of the first step is told beside that of later ones."""


def fastest_rule(evidence: Evidence) -> list[Advice]:
    """``batch.fastest``: the smallest batch within 1.5 % of the best rate, against the batch people start from.

    A batch above the owner's effective batch changes the training (``beyond``): it needs care, and the largest batch
    that does not (``within``) is told with what it loses.
    """
    found: list[Advice] = []
    for workload in evidence.workloads():
        best = best_setting(evidence, workload)
        if best is None or len(best[1]) < 2:
            continue
        (precision, channels_last), points = best
        choice = fastest({batch: p.spread or spread([p.value]) for batch, p in points.items()})
        rates = {batch: p.value for batch, p in points.items()}
        reference = _reference(evidence, points)
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
            "still_rising": choice.batch == max(rates)
            and knee(rates) is None
            and not _is_whole(evidence, choice.batch),
            "effective": evidence.effective,
        }
        own = data_set(evidence, workload)
        params |= own.told(choice.batch)
        used: list[Point | str] = [points[choice.batch], points[reference], points[max(rates)]]
        looked = _looked_faster(evidence, workload, best[0], max(p.value for p in points.values()), choice.batch)
        if looked is not None:
            params |= {"still_rising": True, "looked": looked.params["batch"], "looked_rate": looked.value}
            used.append(looked.id)  # such a check never settles: that says nothing of the rates
        faster = rates[reference] < choice.rate
        pair = against(evidence, points[choice.batch], points[reference])
        gain = pair.gain if faster else None
        if gain is not None:
            if pair.params:
                params |= {**pair.params, "rate": pair.better, "reference_rate": pair.base}
                params |= {"largest_rate": pair.better} if choice.batch == max(rates) else {}
                used += pair.points
            params["gain_over" if _tells(gain) else "gain_unclear"] = reference
            if not _tells(gain):  # beside figures that scattered it is a question (``rules``)
                restless = scattered(points[choice.batch], points[reference], points[max(rates)])
                gain = replace(gain, low=None, high=None) if restless else None
        beyond = choice.batch > evidence.effective
        if beyond:
            params["beyond"] = evidence.effective
            within = max((batch for batch in rates if batch <= evidence.effective), default=None)
            if within is not None:
                params |= {
                    "within": within,
                    "within_rate": rates[within],
                    "within_loss": 1.0 - rates[within] / choice.rate,
                }
                used.append(points[within])
        found.append(
            make(
                "batch.fastest",
                evidence.card.uuid,
                params,
                used,
                gain=gain,
                weight=2.0,
                snippet=loader(choice.batch, effective=evidence.effective, lonely=own.lonely(choice.batch)),
                risk=beyond,
                change=change_between(points[reference], points[choice.batch]) if faster else None,
            )
        )
    return found


def _tells(gain: Gain) -> bool:
    """Whether a gain is more than a question: its interval leaves out 0 and spans no more than threefold."""
    if gain.low is None or gain.high is None:
        return True
    return gain.low > 0 and 1.0 + gain.high <= TELLS_NOTHING * (1.0 + gain.low)


def _looked_faster(
    evidence: Evidence, workload: str, setting: tuple[str, bool], best: float, above: int
) -> Point | None:
    """The fastest check of a larger batch, too short for a rate, that is clearly above the best rate measured."""
    looks = [
        point
        for phase in LOOKS
        for point in evidence.of("train_throughput", phase=phase, precision=setting[0])
        if point.workload == workload
        and point.params.get("channels_last", False) == setting[1]
        and int(point.params["batch"]) > above
        and Flag.TOO_SLOW not in point.flags
    ]
    clear = [p for p in looks if p.spread and (p.spread.ci95_low or 0.0) > LOOKED_FASTER * best]
    return max(clear, key=lambda p: p.value, default=None)


def _is_whole(evidence: Evidence, batch: int) -> bool:
    """Whether there is no larger batch, however much memory there is."""
    return any(limit.extra.get(name) == batch for limit in evidence.of("batch_limit") for name in WHOLE)


def _reference(evidence: Evidence, points: dict[int, Point]) -> int:
    """The batch people start from, as it was measured.

    The smallest measured batch from there on whose figures settled; where none did, or all are smaller, the nearest
    below (the advice then says that its figures scattered).
    """
    start = REFERENCE_BATCH // 4 if evidence.card.is_cpu else REFERENCE_BATCH
    settled = [batch for batch, point in points.items() if batch >= start and not scattered(point)]
    if settled:
        return min(settled)
    below = [batch for batch in points if batch <= start]
    return max(below) if below else min(points)


def safe_rule(evidence: Evidence) -> list[Advice]:
    """``batch.safe_limit``: the largest batch to use without fear of running out of memory, and the limit itself.

    Measured only where that very batch ran. Where it ran slower than 0.9 of the best rate (``slower``), the advice is
    to stay at the largest batch that does not.
    """
    found: list[Advice] = []
    for limit in evidence.of("batch_limit"):
        precision, channels_last = limit.params["precision"], limit.params["channels_last"]
        safe = evidence.last("batch_safe", precision=precision, channels_last=channels_last)
        if safe is None or safe.value < 1:
            continue
        rates = evidence.training_rates(limit.workload).get((str(precision), channels_last is True), {})
        params, points = _safe_params(limit, safe, evidence)
        params |= _stay(rates, int(safe.value), safe)
        near = evidence.of("train_throughput", phase="limit", precision=precision, channels_last=channels_last)
        if near and not scattered(near[-1]):
            params["limit_rate"] = near[-1].value
            points.append(near[-1])
        own = data_set(evidence, limit.workload)
        if own.lonely(int(safe.value)):
            params |= own.told(int(safe.value))
        if own.shape:
            params["sample_shape"] = own.shape
        params |= _first_peak(evidence, limit)
        named = {int(params[name]) for name in ("safe", "stay", "fastest") if name in params}
        points += [point for batch, point in rates.items() if batch in named]
        ran = params["verified"] is True
        found.append(
            make(
                "batch.safe_limit",
                evidence.card.uuid,
                params,
                points,
                confidence=Confidence.MEASURED if ran else Confidence.MODEL,
                weight=5.0 if ran else 2.0,
            )
        )
    return found


def _safe_params(limit: Point, safe: Point, evidence: Evidence) -> tuple[dict[str, Scalar], list[Point | str]]:
    """What is known of both sizes; a value is there only where the sentence that needs it would be true."""
    named = {name: limit.params[name] for name in ("precision", "channels_last")}
    ran, found = safe.params.get("verified") is True, limit.params.get("verified") is True
    lines = evidence.of("memory_per_sample", **named)
    params: dict[str, Scalar] = {
        "workload": limit.workload,
        **named,
        "safe": int(safe.value),
        "limit": int(limit.value),
        "verified": ran,
        "limit_verified": found,
    }
    params |= {name: limit.extra[name] for name in ("fails", "predicted", "size_limit") if name in limit.extra}
    margin = safe.extra.get("margin", 0.0)
    if isinstance(margin, int | float) and margin > 0:
        params["margin"] = margin
    whole = [name for name in WHOLE if name in limit.extra]
    if whole:
        params |= {name: limit.extra[name] for name in whole}
        if found:
            params["ran"] = int(limit.value)
    elif "fails" in limit.extra:
        params["ran"] = int(limit.value)
        params["size_fails" if limit.extra.get("size_limit") is True else "memory_fails"] = limit.extra["fails"]
        if not found:
            params |= {"untried_from": int(limit.value), "untried_to": limit.extra["fails"]}
    elif lines and lines[-1].extra.get("is_line") is False:
        params["rough_limit"] = int(limit.value)
    else:
        params["predicted_limit"] = int(limit.value)
    if not ran:
        params["untried"] = int(safe.value)
    return params, [limit, safe, *lines]


def _first_peak(evidence: Evidence, limit: Point) -> dict[str, Scalar]:
    """Both peaks of the largest size that ran, where the first step takes far more than later ones (autotuning)."""
    setting = {name: limit.params[name] for name in ("precision", "channels_last")}
    ran = [p for p in evidence.of("train_throughput", **setting) if p.workload == limit.workload]
    told = [p for p in ran if isinstance(p.extra.get("first_peak_bytes"), int)]
    if not told or evidence.card.is_cpu:
        return {}
    largest = max(told, key=lambda p: int(p.params["batch"]))
    first, later = int(largest.extra["first_peak_bytes"]), int(largest.extra.get("allocated_peak_bytes", 0))
    if not later or first < FIRST_PEAK * later or largest.extra.get("autotune") is not True:
        return {}
    params: dict[str, Scalar] = {
        "peak_batch": int(largest.params["batch"]),
        "first_peak_bytes": first,
        "later_peak_bytes": later,
    }
    capacity = largest.extra.get("capacity_bytes")
    return {**params, "headroom_bytes": max(0, int(capacity) - first)} if isinstance(capacity, int) else params


def _stay(rates: dict[int, Point], safe: int, point: Point) -> dict[str, Scalar]:
    """The rate at the safe batch, and where it lies behind a cliff the largest batch that does not."""
    told: dict[str, Scalar] = {}
    extra = point.extra.get("rate")
    rate = float(extra) if isinstance(extra, int | float) else None
    if rate is not None:
        told["safe_rate"] = rate
    if not rates:
        return told
    best = max(p.value for p in rates.values())
    quickest = fastest({batch: p.spread or spread([p.value]) for batch, p in rates.items()})
    told |= {"fastest": quickest.batch, "fastest_rate": quickest.rate}
    if rate is None:
        told |= {"rate_unknown": safe, "largest_measured": max(rates), "largest_rate": rates[max(rates)].value}
    stay = max((batch for batch, p in rates.items() if batch <= safe and p.value >= CLIFF * best), default=None)
    if stay is None:
        return told
    if rate is None:
        told["proven"] = stay
    elif rate < CLIFF * best:
        told |= {"slower": True, "stay": stay, "stay_rate": rates[stay].value, "safe_loss": 1.0 - rate / best}
    return told


def usable_batch(evidence: Evidence, workload: str, setting: tuple[str, bool]) -> tuple[int, bool] | None:
    """The largest batch to recommend: safe, and measured not to lie behind a cliff; and whether there is a cliff.

    None where no safe batch is known.
    """
    precision, channels_last = setting
    safe = evidence.last("batch_safe", precision=precision, channels_last=channels_last)
    if safe is None or safe.value < 1:
        return None
    told = _stay(evidence.training_rates(workload).get(setting, {}), int(safe.value), safe)
    largest = told.get("stay") or told.get("proven") or safe.value
    return int(largest), told.get("slower") is True
