"""Single modules: those that half precision slows down, and sizes that are worth padding."""

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make
from gputuner.advice.numerics_snippets import kept_in_fp32
from gputuner.analysis.switches import Setting, by_setting, rate
from gputuner.model.advice import Advice
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

HALF = ("fp16", "bf16")
WORTH = 0.01
"""A module's loss of less than this share of the step is not worth a word."""
MODULES_AT_MOST, SIZES_AT_MOST = 3, 4


def modules_rule(evidence: Evidence) -> list[Advice]:
    """``switches.module``: a module that is slower in half precision; ``switches.pad``: a size that 8 does not divide.

    Both come from timing modules alone; the verdict on the format is the whole step's (``switches.best``).
    """
    times = evidence.of("module_time")
    if not times:
        return []
    plain = {(str(p.params["module"]), str(p.params["precision"])): p for p in times if "size" not in p.params}
    slower = [found for p in times if (found := _slower(evidence, p, plain)) is not None]
    slower.sort(key=lambda each: -each.rank)
    odd = [_odd(evidence, p, plain) for p in times if "size" in p.params]
    odd = [found for found in odd if found is not None]
    odd.sort(key=lambda each: -each.rank)
    return [*slower[:MODULES_AT_MOST], *odd[:SIZES_AT_MOST]]


def _slower(evidence: Evidence, point: Point, plain: dict[tuple[str, str], Point]) -> Advice | None:
    name, precision = str(point.params["module"]), str(point.params["precision"])
    wide = plain.get((name, "fp32"))
    if precision not in HALF or "size" in point.params or wide is None or point.value <= wide.value:
        return None
    lost_s = (point.value - wide.value) * int(point.params.get("count", 1))
    steps = _step_s(evidence, precision)
    if not steps or lost_s < WORTH * steps["step_s"]:
        return None
    params: dict[str, Scalar] = {
        "workload": point.workload, "module": _named(point), "precision": precision, "time_s": point.value,
        "base_s": wide.value, **steps,
    }  # fmt: skip
    weight = 100.0 * lost_s / steps["step_s"]
    snippet = kept_in_fp32(name, cpu=evidence.card.is_cpu)
    return make("switches.module", evidence.card.uuid, params, [point, wide], weight=0.1 * weight, snippet=snippet)


def _odd(evidence: Evidence, point: Point, plain: dict[tuple[str, str], Point]) -> Advice | None:
    precision = str(point.params["precision"])
    before = plain.get((str(point.params["module"]), precision))
    if before is None:
        return None
    params: dict[str, Scalar] = {
        "workload": point.workload, "module": _named(point), "precision": precision,
        "size": int(point.params["size"]), "padded": int(point.params["padded"]),
        "time_s": before.value, "padded_s": point.value,
    }  # fmt: skip
    gained = max(0.0, 1.0 - point.value / before.value)
    return make("switches.pad", evidence.card.uuid, params, [before, point], weight=0.1 + gained)


def _named(point: Point) -> str:
    """The module's place and kind; of several alike also how many."""
    count = int(point.params.get("count", 1))
    name = f"{point.params['module']} ({point.params['kind']})"
    return f"{name} × {count}" if count > 1 else name


def _step_s(evidence: Evidence, precision: str) -> dict[str, float]:
    """Seconds of the whole step, plain, in the half format and in FP32."""
    measured = by_setting(evidence.points)
    half, wide = measured.get(Setting(precision=precision)), measured.get(Setting(precision="fp32"))
    if not half or not wide:
        return {}
    return {
        "step_s": int(half[-1].params["batch"]) / rate(half),
        "base_step_s": int(wide[-1].params["batch"]) / rate(wide),
    }
