"""The way of sharing: time slicing, MPS or streams; whose work comes first; what shares and processors are to blame."""

from collections.abc import Collection, Sequence
from math import hypot

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import gain_of, make
from gputuner.analysis.contention_figures import Mix, newest
from gputuner.model.advice import Advice, Gain
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

WORTH = 0.05
"""Gain, over the better baseline or over time slicing, from which on something is advised."""
FIXED = "fixed"
"""Of a batch that its owner fixed."""
AS_GOOD = 0.02
"""So close to the best gain fewer jobs, and a way of sharing with fewer risks, are as good."""
MPS_DAEMON = "nvidia-cuda-mps-control -d"
"""What switches MPS on."""
FAVOURED = 0.05
"""High priority must take this share off the step time beside others to be advised."""
HOST, VERDICT = "host", "verdict"
IMPORTANT = 12.0
"""Importance, in per cent, of a cause that is outside of the card."""


def better_baseline(mix: Mix) -> float | None:
    """The work per second that a mix must beat: one after the other, each at its tuned batch, or as it is.

    None where the batch may be changed and the tuned one is not known.
    """
    if mix.gain is None:
        return None
    tuned = mix.gain.extra.get("alone_tuned")
    if mix.gain.extra.get("tuned_by") == FIXED:
        return 1.0
    return max(1.0, float(tuned)) if isinstance(tuned, int | float) else None


def gain_over(mix: Mix, baseline: float) -> Gain:
    """The work per second at once over ``baseline``, minus 1, with the interval of the measured gain and of the rate
    at the tuned batch, where that is the baseline.

    Raises:
        ValueError: the mix has no gain.
    """
    if mix.gain is None:
        raise ValueError("no gain")
    value, spread = mix.gain.value / baseline - 1.0, mix.gain.spread
    if spread is None or spread.ci95_low is None or spread.ci95_high is None:
        return Gain(value=value, unit="fraction")
    apart = mix.gain.extra.get("alone_tuned_apart") if baseline == mix.gain.extra.get("alone_tuned") else None
    off = (1.0 + value) * apart if isinstance(apart, int | float) else 0.0
    low = value - hypot((mix.gain.value - spread.ci95_low) / baseline, off)
    high = value + hypot((spread.ci95_high - mix.gain.value) / baseline, off)
    return Gain(value=value, unit="fraction", low=low, high=high)


def pays(gain: Gain) -> bool:
    """Whether it is worth it, and known to be a gain."""
    return gain.value >= WORTH and (gain.low is None or gain.low > 0.0)


def mix_pays(mix: Mix) -> bool | None:
    """Whether a mix is worth it against the work that it must beat; None: not known, or its measurement is in doubt."""
    baseline = better_baseline(mix)
    if baseline is None or not mix.valid:
        return None
    return pays(gain_over(mix, baseline))


def way_rules(evidence: Evidence, known: Sequence[Mix]) -> list[Advice]:
    """Advice on how jobs share a card."""
    valid = [mix for mix in known if mix.valid]
    found: list[Advice] = []
    for label in dict.fromkeys(mix.label for mix in valid):
        own = [mix for mix in valid if mix.label == label]
        found += _mode(evidence, [mix for mix in own if not mix.shares])
        for mix in own:
            plain = next((each for each in own if each.mode == mix.mode and not each.shares), None)
            if mix.shares and plain is not None:
                found += _shares(evidence, mix, plain) if mix.mode == "mps" else _first_come(evidence, mix, plain)
    return [*found, *_host(evidence, {(mix.label, mix.mode) for mix in valid})]


def fewest_risks(own: Sequence[Mix]) -> Mix:
    """The mix that does most; one without MPS, where one fault ends all, if it does about as much."""

    def gain(mix: Mix) -> float:
        return mix.gain.value if mix.gain is not None else 0.0

    near = [mix for mix in own if gain(mix) >= max(map(gain, own)) * (1.0 - AS_GOOD)]
    return max([mix for mix in near if mix.mode != "mps"] or near, key=gain)


def _mode(evidence: Evidence, own: Sequence[Mix]) -> list[Advice]:
    """The way in which the same mix does most, against the usual one; none where even that does not pay."""
    usual = next((mix.gain for mix in own if mix.mode == "processes"), None)
    others = [mix for mix in own if mix.mode != "processes" and mix.gain is not None]
    if usual is None or not others:
        return []
    best = fewest_risks(others)
    baseline = better_baseline(best)
    if best.gain is None or (baseline is not None and not pays(gain_over(best, baseline))):
        return []
    gain = gain_of(best.gain, usual)
    params: dict[str, Scalar] = {
        "mix": best.label,
        "mode": best.mode,
        "jobs": best.jobs,
        "together": best.gain.value,
        "usual": usual.value,
        "mps": best.mode == "mps",
        "host_serialised": best.gain.extra.get("host_serialised", False),
    }
    if gain.value < WORTH or (gain.low is not None and gain.low <= 0.0):
        return []
    points = [best.gain, usual]
    return [make("contend.mode", evidence.card.uuid, params, points, gain=gain, risk=best.mode == "mps")]


def _shares(evidence: Evidence, mix: Mix, plain: Mix) -> list[Advice]:
    """What shares of the threads changed of the same mix."""
    if mix.gain is None or plain.gain is None:
        return []
    gain = gain_of(mix.gain, plain.gain)
    params: dict[str, Scalar] = {
        "mix": mix.label,
        "shares": mix.shares,
        "together": mix.gain.value,
        "usual": plain.gain.value,
        "mps_daemon": MPS_DAEMON,
    }
    points = [mix.gain, plain.gain]
    if gain.value >= WORTH and (gain.low is None or gain.low > 0.0):
        return [make("contend.shares", evidence.card.uuid, params, points, gain=gain)]
    return [make("contend.shares_none", evidence.card.uuid, params, points, weight=2.0)]


def _first_come(evidence: Evidence, mix: Mix, plain: Mix) -> list[Advice]:
    """What the jobs of high priority lost, with it and without it."""
    high = [point for point in mix.slowdowns if _priority(point) < 0]
    low = [point for point in mix.slowdowns if _priority(point) >= 0]
    if not high or not low:
        return []
    favoured = {point.params.get("job") for point in high}
    before = [point for point in plain.slowdowns if point.params.get("job") in favoured]
    if not before:
        return []
    first, usual = max(p.value for p in high), max(p.value for p in before)
    params: dict[str, Scalar] = {
        "mix": mix.label,
        "workload": high[0].workload,
        "slowdown": first,
        "usual": usual,
        "others": max(p.value for p in low),
    }
    rule = "contend.priority" if first < usual * (1.0 - FAVOURED) else "contend.priority_idle"
    return [make(rule, evidence.card.uuid, params, [*high, *before, *low], weight=5.0)]


def _priority(point: Point) -> int:
    value = point.extra.get("priority", 0)
    return int(value) if isinstance(value, int | float) else 0


def _host(evidence: Evidence, valid: Collection[tuple[str, str]]) -> list[Advice]:
    """Jobs that wait for the processor, not for the card: each gets its share of threads and workers.

    ``valid``: label and mode of the mixes whose figures hold.
    """
    blamed = [
        point
        for point in newest(evidence.of("co_run_cause"))
        if point.params.get("cause") == HOST
        and point.extra.get(VERDICT) == HOST
        and (str(point.params.get("mix")), str(point.params.get("mode"))) in valid
    ]
    if not blamed:
        return []
    jobs = str(blamed[0].params.get("mix", "")).count("+") + 1
    cores = evidence.host_number("cgroup_quota_cores") or evidence.host_number("cores_physical")
    slowdowns = [v for p in blamed if isinstance(v := p.extra.get("slowdown"), int | float)]
    params: dict[str, Scalar] = {"jobs": jobs, "mix": str(blamed[0].params.get("mix", ""))}
    if slowdowns:
        params["slowdown"] = max(slowdowns)
    snippet = None
    if cores is not None:
        share = max(1, int(cores) // jobs)
        params |= {"cores": int(cores), "threads": share}
        snippet = f"torch.set_num_threads({share})  # and num_workers so that all jobs together have {int(cores)}"
    return [make("contend.host", evidence.card.uuid, params, blamed, weight=IMPORTANT, snippet=snippet)]
