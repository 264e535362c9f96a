"""What to train with: the fastest setting that was measured, what saves memory, and where only the chip is known."""

from collections.abc import Sequence
from dataclasses import replace

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make
from gputuner.advice.switches_modules import modules_rule
from gputuner.advice.switches_snippet import training
from gputuner.analysis.roofline import lacks_tensor_cores
from gputuner.analysis.switches import (
    BY_SPEED_ALONE,
    PHASE,
    WORTH,
    Decision,
    Setting,
    by_setting,
    can_save,
    decide,
    gain,
    memory,
    rate,
    reserved,
)
from gputuner.model.advice import Advice, Confidence, Gain
from gputuner.model.cards import Support
from gputuner.model.change import Change, TrainingSetting
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

SAVES = 0.03
FREE_WITHIN = 0.01
"""A saver that costs less time than this costs none that single trials could show."""
SAVERS_AT_MOST = 3
LADDER = "switch_batch"

Measured = dict[Setting, list[Point]]


def switches_rule(evidence: Evidence) -> list[Advice]:
    """``switches.best``: the chosen setting against the base, which it names; ``keep`` where nothing gains."""
    measured = by_setting(evidence.points)
    decided = decide(evidence.points)
    if decided is None or len(measured) < 2:
        return _by_chip(evidence, measured)
    chosen, base = measured[decided.chosen], measured[decided.base]
    if decided.chosen == decided.base:
        return [_keep(evidence, measured, decided)]
    params: dict[str, Scalar] = {
        **_told(measured, decided.chosen),
        **{f"base_{name}": value for name, value in decided.base.named().items()},
        "base_rate": rate(base),
        **({} if evidence.card.is_cpu else _memory_change(chosen[-1], base[-1])),
        **_emulated(measured),
        **_scaler_free(measured, decided.chosen),
    }
    seconds = [p.extra["compile_s"] for p in chosen if isinstance(p.extra.get("compile_s"), int | float)]
    if seconds:
        params["compile_s"] = max(seconds)
    found = decided.gain
    told = Gain(value=found.value, unit="fraction", low=found.low, high=found.high) if found else None
    change = Change(
        workload=chosen[-1].workload, base=_setting(decided.base, base), advised=_setting(decided.chosen, chosen)
    )
    return [
        make(
            "switches.best",
            evidence.card.uuid,
            params,
            [*chosen, *base],
            gain=told,
            snippet=training(decided.chosen, cpu=evidence.card.is_cpu),
            change=change,
        )
    ]


def _keep(evidence: Evidence, measured: Measured, decided: Decision) -> Advice:
    rates = {s: rate(points) for s, points in measured.items() if s != decided.base and not _by_speed_alone(s)}
    if not rates:
        rates = {s: rate(points) for s, points in measured.items() if s != decided.base}
    following = max(rates, key=lambda s: rates[s])
    params: dict[str, Scalar] = {
        **_told(measured, decided.base),
        "keep": True,
        **{f"next_{name}": value for name, value in following.named().items()},
        "next_rate": rates[following],
        **_emulated(measured),
        **_without_tensor(evidence),
    }
    return make(
        "switches.best",
        evidence.card.uuid,
        params,
        [*measured[decided.base], *measured[following]],
        weight=3.0,
        snippet=training(decided.base, cpu=evidence.card.is_cpu),
    )


def accumulate_rule(evidence: Evidence) -> list[Advice]:
    """``switches.accumulate``: what only changes how products are rounded, and is faster than the chosen setting.

    It is asked, not advised: nothing here checks whether the training then comes out as before.
    """
    measured = by_setting(evidence.points)
    decided = decide(evidence.points)
    asked = {s: rate(points) for s, points in measured.items() if _by_speed_alone(s)}
    if decided is None or not asked:
        return []
    setting, chosen = max(asked, key=lambda s: asked[s]), decided.chosen
    if asked[setting] < (1.0 + WORTH) * rate(measured[chosen]):
        return []
    params: dict[str, Scalar] = {
        **_told(measured, setting),
        **{f"base_{name}": value for name, value in chosen.named().items()},
        "base_rate": rate(measured[chosen]),
    }
    evident = [*measured[setting], *measured[chosen]]
    return [make("switches.accumulate", evidence.card.uuid, params, evident, weight=0.5, risk=True)]


def _by_speed_alone(setting: Setting) -> bool:
    return bool(BY_SPEED_ALONE & dict(setting.switches).keys())


def memory_rule(evidence: Evidence) -> list[Advice]:
    """``switches.memory``: settings with less peak memory than the chosen one at the same batch, and what they cost."""
    measured = by_setting(evidence.points)
    decided = decide(evidence.points)
    if decided is None:
        return []
    chosen = decided.chosen
    peaks = _peaks(evidence, measured, chosen)
    if chosen not in peaks:
        return []
    found = [s for s in peaks if s != chosen and peaks[s] < (1.0 - SAVES) * peaks[chosen] and _alone(s, chosen)]
    found.sort(key=lambda setting: (peaks[setting], setting.effort))
    savers = [_saver(evidence, measured, chosen, setting, peaks) for setting in found[:SAVERS_AT_MOST]]
    return [*savers, *_reserved(evidence, measured)]


def _reserved(evidence: Evidence, measured: Measured) -> list[Advice]:
    """Expandable segments: what the allocator holds beyond the tensors, against the same setting without."""
    found: list[Advice] = []
    for setting, points in measured.items():
        item = ("expandable_segments", True)
        plain = replace(setting, switches=tuple(each for each in setting.switches if each != item))
        ours, theirs = reserved(points[-1]), reserved(measured[plain][-1]) if plain in measured else None
        if item in setting.switches and ours and theirs and ours < (1.0 - SAVES) * theirs:
            saver = _saver(evidence, measured, plain, setting, {setting: ours, plain: theirs})
            found.append(replace(saver, params={**saver.params, "reserved": True}))
    return found


def _peaks(evidence: Evidence, measured: Measured, chosen: Setting) -> dict[Setting, float]:
    """Peak memory at the batch compared of the chosen setting and of what may save some, bytes.

    On a processor only that of memory probes: what a process for rates holds follows its allocator's habits.
    """
    able = [s for s in measured if s == chosen or can_save(s)]
    probed = {_key(p): float(p.extra["peak_bytes"]) for p in evidence.of("batch_room") if "peak_bytes" in p.extra}
    if evidence.card.is_cpu:
        return {setting: peak for setting, peak in probed.items() if setting in able}
    return {s: peak for s in able if (peak := memory(measured[s][-1])) is not None}


def _alone(setting: Setting, chosen: Setting) -> bool:
    """Whether it differs from the chosen one in one thing."""
    apart = (setting.precision != chosen.precision) + (setting.channels_last != chosen.channels_last)
    one, other = set(setting.switches), set(chosen.switches)
    return apart + len({name for name, _ in one ^ other}) == 1


def _saver(
    evidence: Evidence, measured: Measured, chosen: Setting, setting: Setting, peaks: dict[Setting, float]
) -> Advice:
    ours, theirs = measured[setting], measured[chosen]
    cost = rate(theirs) / rate(ours) - 1.0
    params: dict[str, Scalar] = {
        **_told(measured, setting),
        "cost": cost,
        "peak_bytes": peaks[setting],
        "chosen_peak_bytes": peaks[chosen],
        "memory_change": peaks[setting] / peaks[chosen] - 1.0,
    }
    rooms = {_key(p): int(p.value) for p in evidence.of("batch_room")}
    if setting in rooms and chosen in rooms:
        params |= {"room": rooms[setting], "chosen_room": rooms[chosen]}
    if setting.precision in ("fp16", "bf16"):
        params |= _without_tensor(evidence)
    if cost < FREE_WITHIN:
        params["free"] = True
    saved = 1.0 - peaks[setting] / peaks[chosen]
    return make(
        "switches.memory",
        evidence.card.uuid,
        params,
        [ours[-1], theirs[-1]],
        weight=2.0 * saved,
        snippet=training(setting, cpu=evidence.card.is_cpu),
        change=Change(
            workload=ours[-1].workload,
            base=_setting(chosen, theirs),
            advised=_setting(setting, ours),
            aim="memory",
        ),
    )


def _by_chip(evidence: Evidence, measured: Measured) -> list[Advice]:
    """Formats by generation of the chip, only where they were to be compared and the comparison is missing."""
    ladder = [p for p in evidence.of("train_throughput") if p.params.get("phase") in (LADDER, PHASE)]
    if not ladder or len(measured) > 1 or evidence.card.is_cpu:
        return []
    card = evidence.card
    half = _support(evidence, "bf16", since=8.0)
    precision = "bf16" if half else "fp32" if _lacks_tensor(evidence) else "fp16"
    params: dict[str, Scalar] = {"workload": ladder[-1].workload, "precision": precision, "chip": card.name}
    return [
        make(
            "switches.by_chip",
            card.uuid,
            params,
            [ladder[-1]],
            confidence=Confidence.MODEL,
            weight=1.0,
            snippet=training(Setting(precision=precision), cpu=False),
        )
    ]


def _support(evidence: Evidence, feature: str, since: float) -> bool:
    """Whether the chip has it natively: by the catalogue, else from a compute capability on."""
    card = evidence.card
    if card.catalog and feature in card.catalog.features:
        return card.catalog.features[feature] is Support.NATIVE
    return _capability(evidence) >= since


def _capability(evidence: Evidence) -> float:
    said = evidence.card.compute_capability or "0"
    return float(said) if said.replace(".", "", 1).isdigit() else 0.0


def _lacks_tensor(evidence: Evidence) -> bool:
    card = evidence.card
    return not _support(evidence, "fp16_tensor", since=7.0) or lacks_tensor_cores(card.name, card.compute_capability)


def _without_tensor(evidence: Evidence) -> dict[str, Scalar]:
    return {"chip": evidence.card.name} if not evidence.card.is_cpu and _lacks_tensor(evidence) else {}


def _told(measured: Measured, setting: Setting) -> dict[str, Scalar]:
    last = measured[setting][-1]
    return {
        "workload": last.workload,
        "batch": int(last.params["batch"]),
        **setting.named(),
        "rate": rate(measured[setting]),
    }


def _memory_change(ours: Point, theirs: Point) -> dict[str, Scalar]:
    one, other = memory(ours), memory(theirs)
    return {"memory_change": one / other - 1.0} if one and other else {}


def _emulated(measured: Measured) -> dict[str, Scalar]:
    """The rate of BF16 where the chip only emulates it."""
    found = [points for setting, points in measured.items() if setting == Setting(precision="bf16")]
    told = [points for points in found if any(Flag.EMULATED in point.flags for point in points)]
    return {"emulated_rate": rate(told[0])} if told else {}


def _scaler_free(measured: Measured, chosen: Setting) -> dict[str, Scalar]:
    """Where FP16 is chosen: the best that needs no loss scaling, if it is slower at all."""
    others = {s: rate(points) for s, points in measured.items() if s.precision != "fp16"}
    if chosen.precision != "fp16" or not others:
        return {}
    best = max(others, key=lambda s: others[s])
    loss = -gain(measured[best], measured[chosen]).value
    return {**{f"free_{name}": value for name, value in best.named().items()}, "free_loss": loss} if loss > 0 else {}


def _key(point: Point) -> Setting:
    return Setting.of(point)


def _setting(setting: Setting, points: Sequence[Point]) -> TrainingSetting:
    return TrainingSetting(
        batch=int(points[-1].params["batch"]),
        precision=setting.precision,
        channels_last=setting.channels_last,
        switches=dict(setting.switches),
    )


RULES = (switches_rule, accumulate_rule, memory_rule, modules_rule)
