"""Advice on number formats from their numbers: which train as FP32 does, and what stands in the way."""

from collections.abc import Sequence

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make
from gputuner.advice.numerics_snippets import (
    bare_function,
    clamped,
    half_loss,
    half_operation,
    half_weights,
    kept_in_fp32,
)
from gputuner.advice.questions import OWN, command
from gputuner.advice.snippets import precision as precision_snippet
from gputuner.analysis.headlines import NUMERICAL
from gputuner.analysis.reference_runs import reference_runs, two_digits
from gputuner.analysis.trajectory import Verdict
from gputuner.analysis.trajectory_range import FP16_MAX, Peak, first_overflow, nearest
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import Origin
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

VERDICT = "numerics_verdict"
UNHARMED = (Verdict.KEPT, Verdict.UNSEEN)
"""Verdicts of formats that may be trained in, the better first."""
PREFERRED = ("bf16", "fp16", "tf32")
"""Of formats that all train as FP32 does: halves the memory of activations and needs no scaler; needs one; neither."""
WRONG, CARE, SMALL = 30.0, 10.0, 3.0
"""Importance in per cent: it does not train; it may not; good to know."""
BOUNDS = ("tolerance", "paired_early_tolerance", "paired_end_tolerance", "seen_share")
"""What rests on the scatter of a few runs, and is told to two digits."""
NOT_ENOUGH = ("short", "slow")
TRAPS = {
    "half_weights": ("numerics.half_weights", WRONG, half_weights),
    "half_norm": ("numerics.half_weights", WRONG, half_weights),
    "half_buffers": ("numerics.half_weights", CARE, half_weights),
    "own_autocast": ("numerics.own_autocast", WRONG, None),
    "half_loss": ("numerics.half_loss", CARE, half_loss),
    "half_operation": ("numerics.half_operation", CARE, half_operation),
    "hand_cast": ("numerics.hand_cast", SMALL, None),
    "custom_function": ("numerics.custom_function", CARE, bare_function),
}
"""Trap → advice, importance, and code to paste."""


def is_numerics(evidence: Evidence) -> bool:
    """Whether the figures are those of a numerical check."""
    if not evidence.points:
        return evidence.command.endswith("--numerics")
    return all(point.metric in NUMERICAL for point in evidence.points)


def numerics_rules(evidence: Evidence) -> list[Advice]:
    """All advice that the figures of a numerical check give."""
    verdicts = {str(point.params["precision"]): point for point in evidence.of(VERDICT)}
    found = [*_kept(evidence, verdicts), *_traps(evidence)]
    overflow = _overflow(evidence, verdicts)
    found += overflow
    for precision, point in verdicts.items():
        match point.params["verdict"]:
            case Verdict.APART:
                found.append(_against(evidence, "numerics.apart", precision, point, verdicts))
            case Verdict.DIVERGED if precision == "fp32":
                found.append(_against(evidence, "numerics.fp32", precision, point, verdicts))
            case Verdict.DIVERGED if not any(a.params["precision"] == precision for a in overflow):
                collapsed = point.extra.get("why") == "scaler"
                name = "numerics.collapse" if collapsed else "numerics.diverged"
                found.append(_against(evidence, name, precision, point, verdicts))
            case _:
                pass
    return found


def numerics_questions(evidence: Evidence) -> tuple[Question, ...]:
    """What the check left open."""
    card, verdicts = evidence.card, evidence.of(VERDICT)
    found: list[Question] = []

    def ask(identity: str, words: str, **params: Scalar) -> None:
        found.append(Question(id=identity, card=card.uuid, command=command(card, words), params=params))

    if not verdicts or any(point.extra.get("why") in NOT_ENOUGH for point in verdicts):
        ask("numerics_short", f"{evidence.command} --minutes 15")
    elif any(point.extra.get("why") == "flat" for point in verdicts):
        ask("numerics_flat", f"{evidence.command} --minutes 15")
    names = {point.workload for point in evidence.points}
    if names and not any(":" in name for name in names):
        own = f"{OWN} --numerics"  # a recipe does not run on a simulated card
        line = f"gputuner --cli {own}" if card.origin is Origin.SIMULATED else command(card, own)
        found.append(Question(id="numerics_own", card=card.uuid, command=line, params={"workload": next(iter(names))}))
    if _chosen({str(p.params["precision"]): p for p in verdicts}):
        ask("numerics_rate", evidence.command.removesuffix(" --numerics"))
    return tuple(found)


def _chosen(verdicts: dict[str, Point]) -> str | None:
    """The format to recommend among those that train as FP32 does; emulated ones come last."""
    kept = [name for name in PREFERRED if name in verdicts and verdicts[name].params["verdict"] in UNHARMED]
    kept.sort(
        key=lambda name: (Flag.EMULATED in verdicts[name].flags, verdicts[name].params["verdict"] != Verdict.KEPT)
    )
    return kept[0] if kept else None


def _kept(evidence: Evidence, verdicts: dict[str, Point]) -> list[Advice]:
    chosen = _chosen(verdicts)
    if chosen is None:
        return []
    point = verdicts[chosen]
    params = _told(point)
    others = [name for name in PREFERRED if name in verdicts and name != chosen]
    alike = [name for name in others if verdicts[name].params["verdict"] == point.params["verdict"]]
    if alike:
        params["alike"] = ", ".join(name.upper() for name in alike)
    if Flag.EMULATED in point.flags:
        params["emulated"] = True
    near = nearest(_peaks(evidence, chosen)) if chosen == "fp16" else None
    if near is not None:
        params |= {"near_place": near.place, "near_value": near.value}
    snippet = precision_snippet(chosen, cpu=evidence.card.is_cpu)
    name = "numerics.kept" if point.params["verdict"] == Verdict.KEPT else "numerics.unseen"
    return [make(name, evidence.card.uuid, params, [point], weight=SMALL, snippet=snippet)]


def _against(evidence: Evidence, name: str, precision: str, point: Point, verdicts: dict[str, Point]) -> Advice:
    params = _told(point) | {"instead": _instead(precision, verdicts)}
    snippet = None if precision == "fp32" else precision_snippet(str(params["instead"]), cpu=evidence.card.is_cpu)
    return make(name, evidence.card.uuid, params, [point], weight=WRONG, snippet=snippet)


def _instead(precision: str, verdicts: dict[str, Point]) -> str:
    """What to train in where ``precision`` fails."""
    chosen = _chosen({name: point for name, point in verdicts.items() if name != precision})
    return chosen or "fp32"


def _overflow(evidence: Evidence, verdicts: dict[str, Point]) -> list[Advice]:
    """``numerics.overflow``: the first place whose activations FP16 cannot hold, seen in FP16 or foreseen in BF16."""
    ran = verdicts.get("fp16")
    if ran is not None and ran.params["verdict"] in UNHARMED:
        return []
    place = _first_place(evidence, ran)
    if place is None:
        return []
    instead = _instead("fp16", verdicts)
    params: dict[str, Scalar] = {
        "workload": evidence.points[0].workload,
        "precision": "fp16",
        "place": place,
        "limit": FP16_MAX,
        "instead": instead,
    }
    sizes = [point.value for point in evidence.of("activation_peak", place=place) if point.value > FP16_MAX]
    if sizes:
        params["largest"] = max(sizes)
    cpu = evidence.card.is_cpu
    alone = "" if " " in place else kept_in_fp32(place, cpu=cpu) + "\n\n"
    snippet = precision_snippet("bf16", cpu=cpu) if instead == "bf16" else alone + clamped()
    rests = evidence.of("activation_peak", place=place) + ([ran] if ran else [])
    return [make("numerics.overflow", evidence.card.uuid, params, rests, weight=WRONG, snippet=snippet)]


def _first_place(evidence: Evidence, ran: Point | None) -> str | None:
    bad = ran.extra.get("first_bad_place") if ran else None
    if isinstance(bad, str):
        return bad
    found = (first_overflow(_peaks(evidence, precision)) for precision in ("fp16", "bf16"))
    return next((peak.place for peak in found if peak is not None), None)


def _peaks(evidence: Evidence, precision: str) -> list[Peak]:
    points = evidence.of("activation_peak", precision=precision)
    points.sort(key=lambda point: float(point.extra.get("order", 0)))
    return [
        Peak(
            place=str(point.params["place"]),
            value=point.value,
            finite=point.extra.get("finite") is not False,
            half=point.extra.get("half") is not False,
        )
        for point in points
    ]


def _traps(evidence: Evidence) -> list[Advice]:
    """One advice for each kind of trap, however many formats met it."""
    groups: dict[str, list[Point]] = {}
    for point in evidence.of("numerics_trap"):
        identity = TRAPS[str(point.params["trap"])][0]
        groups.setdefault(identity, []).append(point)
    return [_trap(evidence, identity, points) for identity, points in groups.items()]


def _trap(evidence: Evidence, identity: str, points: Sequence[Point]) -> Advice:
    first = points[0]
    _, weight, snippet = TRAPS[str(first.params["trap"])]
    places = list(dict.fromkeys(str(point.extra.get("where", "")) for point in points if point.extra.get("where")))
    params: dict[str, Scalar] = {
        "workload": first.workload,
        "names": ", ".join(dict.fromkeys(str(point.params["name"]) for point in points)),
        "where": "; ".join(places[:3]),
        "count": max(point.value for point in points),
    }
    code = snippet(evidence.card.is_cpu) if snippet else None
    return make(identity, evidence.card.uuid, params, points, weight=weight, snippet=code)


def _told(point: Point) -> dict[str, Scalar]:
    """What the sentences need of a verdict."""
    params: dict[str, Scalar] = {
        "workload": point.workload,
        "precision": point.params["precision"],
        "batch": point.params["batch"],
        "difference": point.value,
    }
    names = (
        "steps", "tolerance", "same_start", "end_loss", "fp32_end_loss", "first_bad_step", "skipped_steps",
        "skips_in_a_row", "scale_last", "why", "stand_in", "fall", "seen_share", "early_steps", "paired_early",
        "paired_early_tolerance", "paired_end", "paired_end_tolerance",
    )  # fmt: skip
    params |= {name: point.extra[name] for name in names if name in point.extra}
    params |= {name: two_digits(float(params[name])) for name in BOUNDS if name in params}
    if runs := reference_runs(point.extra):
        params["seeds"], params["twins"] = runs
    if params.get("skipped_steps") == 0:
        del params["skipped_steps"]
    return params
