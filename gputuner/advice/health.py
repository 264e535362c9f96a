"""What a health test gives advice on: memory that errs or repeats itself, wrong products, a card that is another."""

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make
from gputuner.advice.questions import command
from gputuner.analysis.health import ALARMING, verdict
from gputuner.analysis.health_heat import HeldByHeat, held_by_heat
from gputuner.analysis.region_rates import SlowArea, slow_areas
from gputuner.analysis.vram import beyond_donor
from gputuner.model.advice import Advice, Confidence, Question
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

HEALTH = "health"
GRAVE, WORTH, KNOWN = 60.0, 20.0, 1.0
"""Importance, in per cent, of what has no gain in rate."""
ENOUGH = 0.9
"""Share of the VRAM below which a test says too little of it."""
MOSTLY = 0.5
"""Share of the time in the thermal limit from which on it is a finding also where no pass was free to compare with."""
LONGER_MINUTES = 20
"""What a test takes whose passes under heat were too few to tell what the heat takes."""


def is_health(evidence: Evidence) -> bool:
    """Whether the figures are those of a health test."""
    return evidence.command.split(" ")[0] == HEALTH or bool(evidence.of("health_stage"))


def health_rules(evidence: Evidence) -> list[Advice]:
    """All advice of a health test."""
    heat = _heat(evidence)
    found = [*_memory(evidence), *_compute(evidence), *_counters(evidence), *_identity(evidence)]
    found += _memory_heat(evidence, heat)
    sound = verdict(evidence.points) == "pass" and not _slow_areas(evidence) and heat is None
    return found if found or not sound else _sound(evidence)


def health_questions(evidence: Evidence) -> tuple[Question, ...]:
    """What would make the verdict surer."""
    card = evidence.card
    words = evidence.command if evidence.command.startswith(HEALTH) else HEALTH
    coverage = evidence.last("vram_coverage")
    told = verdict(evidence.points)
    if told == "not_tested":
        return (Question(id="health_nothing", card=card.uuid, command=command(card, words)),)
    found: list[Question] = []
    if told == "incomplete":
        found.append(Question(id="health_again", card=card.uuid, command=command(card, words)))
    params: dict[str, Scalar]
    if coverage is not None and coverage.value < ENOUGH and not card.is_cpu:
        params = {"coverage": coverage.value}
        found.append(Question(id="health_coverage", card=card.uuid, command=command(card, words), params=params))
    slow = _slow_areas(evidence)
    if told == "pass" and slow and not card.is_cpu:
        params = {"bytes": sum(area.bytes for area in slow), "offset": slow[0].offset_bytes}
        found.append(Question(id="health_slow", card=card.uuid, command=command(card, words), params=params))
    heat = _heat(evidence)
    if heat is not None and not _memory_heat(evidence, heat):
        params = {"seconds": heat.seconds}
        if heat.core_c is not None:
            params["core_c"] = heat.core_c
        identity = "health_memory_heat" if heat.cause == "memory" else "health_heat"
        again = command(card, f"{HEALTH} --minutes {LONGER_MINUTES}" if heat.cause == "memory" else "cooling")
        found.append(Question(id=identity, card=card.uuid, command=again, params=params))
    if told == "pass" and "--burn-in" not in words and not card.is_cpu:
        longer = command(card, words.replace(HEALTH, f"{HEALTH} --burn-in", 1))
        found.append(Question(id="health_longer", card=card.uuid, command=longer))
    return tuple(found)


def _slow_areas(evidence: Evidence) -> tuple[SlowArea, ...]:
    """Parts of the VRAM that were read slower than the rest."""
    blocks = evidence.of("vram_block_rate")
    rates = sorted((int(block.params["offset_bytes"]), block.value) for block in blocks)
    return slow_areas(rates, max((int(block.params["bytes"]) for block in blocks), default=0))


def _heat(evidence: Evidence) -> HeldByHeat | None:
    """What heat held back; None also where a processor was tested."""
    card = evidence.card
    if card.is_cpu:
        return None
    return held_by_heat(
        evidence.points,
        target_c=card.number("target_c"),
        slowdown_c=card.number("slowdown_c"),
        memory_limit_c=card.number("memory_max_c"),
    )


def _memory_heat(evidence: Evidence, heat: HeldByHeat | None) -> list[Advice]:
    """``health.memory_heat``: heat holds the memory's passes back while the core is cool.

    A degree is told only where the memory has a sensor of its own; without one the cause is a conclusion (methods §7).
    """
    shares = heat.shares if heat is not None and heat.cause == "memory" else None
    if heat is None or shares is None or shares.low is None or shares.high is None:
        return []
    params: dict[str, Scalar] = {"seconds": heat.seconds, "passes": len(heat.points)}
    params |= {"share": shares.value, "share_low": shares.low, "share_high": shares.high}
    lost = heat.lost
    slower = lost is not None and lost.low is not None and lost.low > 0.0
    if lost is not None and lost.low is not None and lost.high is not None and slower:
        params |= {"lost": lost.value, "lost_low": lost.low, "lost_high": lost.high}
    if not slower and shares.low < MOSTLY:
        return []
    card = evidence.card
    told = (("core_c", heat.core_c), ("memory_c", heat.memory_c), ("target_c", card.number("target_c")))
    params |= {name: value for name, value in told if value is not None}
    sure = Confidence.MODEL if heat.memory_c is None else Confidence.MEASURED
    return [make("health.memory_heat", card.uuid, params, heat.points[:6], confidence=sure, weight=WORTH)]


def _memory(evidence: Evidence) -> list[Advice]:
    coverage = evidence.last("vram_coverage")
    wrong = [point for point in evidence.of("vram_errors") if point.value]
    if not wrong:
        return []
    kind = str(coverage.extra["kind"]) if coverage else "intermittent"
    params: dict[str, Scalar] = {"errors": sum(int(point.value) for point in wrong)}
    proof: list[Point] = [*wrong[:6], *([coverage] if coverage else [])]
    card = evidence.card.uuid
    if kind == "aliasing":
        return [make("health.aliasing", card, {**params, **_repeats(evidence, coverage)}, proof, weight=GRAVE)]
    if kind == "read_errors":
        return [make("health.vram_read", card, params, proof, weight=GRAVE)]
    if kind == "hot_only":
        return [make("health.vram_hot", card, params, proof, weight=GRAVE)]
    if coverage is not None:
        params |= {"failed": coverage.extra["failed_passes"], "passes": coverage.extra["passes"]}
        params |= {name: coverage.extra[name] for name in ("bits_up", "bits_down") if name in coverage.extra}
        if coverage.extra.get("repeated"):
            params["repeated"] = coverage.extra["repeated"]
    return [make("health.vram", card, params, proof, weight=GRAVE)]


def _repeats(evidence: Evidence, coverage: Point | None) -> dict[str, Scalar]:
    """At which distance the memory repeats itself, and whether that is the size of the card it was made from."""
    distance = evidence.last("vram_alias_distance")
    if distance is None:
        return {}
    found: dict[str, Scalar] = {"distance": int(distance.value)}
    total = evidence.card.memory_total_bytes
    donor = distance.extra.get("donor_bytes")
    tested = int(coverage.extra["checked_bytes"]) if coverage else 0
    if isinstance(donor, int) and total and beyond_donor(int(distance.value), donor, tested):
        found |= {"donor": donor, "total": total}
    return found


def _compute(evidence: Evidence) -> list[Advice]:
    points = evidence.of("burn_errors")
    wrong = [point for point in points if point.value]
    broken = list(evidence.of("health_stage", outcome="wrong_result"))
    if not wrong and not broken:
        return []
    params: dict[str, Scalar] = {
        "errors": sum(int(point.value) for point in wrong) or 1,
        "products": sum(int(point.extra.get("products", 0)) for point in points) or 1,
    }
    return [make("health.compute", evidence.card.uuid, params, [*wrong[:6], *broken], weight=GRAVE)]


def _counters(evidence: Evidence) -> list[Advice]:
    moved = {p.params["counter"]: p for p in evidence.of("counter_change") if p.value > 0}
    proof = [point for name, point in moved.items() if name in ALARMING]
    if not proof:
        return []
    params: dict[str, Scalar] = {
        "uncorrected": int(moved["ecc_uncorrected"].value) if "ecc_uncorrected" in moved else 0,
        "remapped": int(moved["remapped_rows"].value) if "remapped_rows" in moved else 0,
    }
    return [make("health.counters", evidence.card.uuid, params, proof, weight=GRAVE)]


def _identity(evidence: Evidence) -> list[Advice]:
    found = evidence.last("identity_verdict")
    if found is None:
        return []
    verdict_, sheet = str(found.params["verdict"]), found.params["sheet"]
    sure = Confidence.MEASURED if found.params["sureness"] == "measured" else Confidence.MODEL
    differing = [p for p in evidence.of("identity_check") if p.value == 0.0]
    if verdict_ == "other_card" or (verdict_ == "other_memory" and "sold_as" in found.params):
        params: dict[str, Scalar] = {
            "sheet": sheet,
            "differ": len(differing),
            "checks": found.extra["checks"],
        }
        if "candidates" in found.extra:
            params["candidates"] = found.extra["candidates"]
        return [
            make("health.other_card", evidence.card.uuid, params, [found, *differing], confidence=sure, weight=GRAVE)
        ]
    if verdict_ == "slower_memory":
        bus = next(p for p in differing if p.params["check"] == "bus_width")
        params = {"sheet": sheet, "bandwidth": bus.extra["seen"], "expected": bus.extra["expected"]}
        if "bus_bits" in found.extra:
            params["bus_bits"] = found.extra["bus_bits"]
        proof = [found, *differing]
        return [make("health.slower_memory", evidence.card.uuid, params, proof, confidence=sure, weight=WORTH)]
    return []


def _sound(evidence: Evidence) -> list[Advice]:
    coverage = evidence.last("vram_coverage")
    if coverage is None or evidence.card.is_cpu:
        return []
    burned = evidence.of("burn_errors")
    params: dict[str, Scalar] = {
        "coverage": coverage.value,
        "passes": coverage.extra["passes"],
        "products": sum(int(point.extra["products"]) for point in burned),
    }
    return [make("health.sound", evidence.card.uuid, params, [coverage, *burned[:2]], weight=KNOWN)]
