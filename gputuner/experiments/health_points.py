"""The figures of a health test."""

from collections.abc import Sequence
from statistics import median

from gputuner.analysis.identity import Check, Identity
from gputuner.analysis.region_rates import SlowArea, slow_areas
from gputuner.analysis.vram import VramFound, counted
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions, Point
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Scalar
from gputuner.model.samples import Sample
from gputuner.model.steps import Part, Trial
from gputuner.workloads.specs_vram import Heat

VRAM, BURN = "vram", "burn"
COUNTERS = (
    Quantity.ECC_CORRECTED,
    Quantity.ECC_UNCORRECTED,
    Quantity.REMAPPED_ROWS,
    Quantity.PCIE_REPLAYS,
)
KEPT = (
    "bad_rows",
    "unseen_rows",
    "transient",
    "stale",
    "aliased",
    "bits_up",
    "bits_down",
    "spans",
    "aliases",
    "examples",
)


def pass_points(course: Course, stage: int, trial: Trial, conditions: Sequence[Conditions]) -> tuple[Point, ...]:
    """``vram_errors`` of each kind of pass in a trial: wrong words over its cycles, with places and bits.

    Extra ``checked_bytes``: what the shortest of them tested; ``rate``: bytes/s written and read, their median;
    ``moved_bytes`` written and read by all of them, in ``moving_s`` seconds without the time that words were kept.
    """
    named: dict[tuple[str, str], list[tuple[Part, Conditions]]] = {}
    for part, seen in zip(trial.parts, conditions, strict=True):
        if part.params.get("pass") != "rate":
            named.setdefault((str(part.params["pass"]), str(part.params["heat"])), []).append((part, seen))
    return tuple(_pass_point(course, stage, name, heat, parts) for (name, heat), parts in named.items())


def _pass_point(course: Course, stage: int, name: str, heat: str, parts: list[tuple[Part, Conditions]]) -> Point:
    errors = [counted(part.notes.get("errors")) for part, _ in parts]
    worst, seen = parts[max(range(len(parts)), key=lambda i: errors[i])]
    seconds = [(part.work.get("bytes", 0.0), sum(part.iteration_s) / len(part.iteration_s)) for part, _ in parts]
    extra: dict[str, Scalar] = {
        "checked_bytes": min(max(0, int(part.notes.get("checked_bytes", 0))) for part, _ in parts),
        "passes": len(parts),
        "failed_passes": sum(count > 0 for count in errors),
        "rate": median(moved / each for moved, each in seconds if each > 0),
        "moved_bytes": sum(moved for moved, _ in seconds),
        "moving_s": sum(each for _, each in seconds),
    }
    extra.update({key: worst.notes[key] for key in KEPT if worst.notes.get(key) not in (None, "")})
    params: dict[str, Scalar] = {"pass": name, "heat": heat, "stage": stage}
    return course.make.figure("vram_errors", VRAM, float(sum(errors)), "1", params, conditions=seen, extra=extra)


def rate_points(course: Course, parts: Sequence[tuple[Heat, Part]]) -> tuple[tuple[Point, ...], tuple[SlowArea, ...]]:
    """``vram_block_rate`` of each block over the whole test, and areas that are slower.

    Extra ``cold`` and ``hot``: the rate, bytes/s, while the card was so.
    """
    rates: dict[tuple[int, int], dict[Heat, list[float]]] = {}
    for heat, part in parts:
        if part.params.get("pass") == "rate" and part.iteration_s:
            key = int(part.params["offset_bytes"]), int(part.params["bytes"])
            found = [part.work["bytes"] / seconds for seconds in part.iteration_s]
            rates.setdefault(key, {}).setdefault(heat, []).extend(found)
    if not rates:
        return (), ()
    usual = max(size for _, size in rates)
    own = {offset: found for (offset, size), found in sorted(rates.items()) if size == usual}
    told = {offset: median(rate for each in found.values() for rate in each) for offset, found in own.items()}
    middle = median(told.values())
    points: list[Point] = []
    for offset, rate in told.items():
        extra: dict[str, Scalar] = {"fraction_of_median": rate / middle}
        extra |= {heat: median(each) for heat, each in own[offset].items()}
        params: dict[str, Scalar] = {"offset_bytes": offset, "bytes": usual}
        points.append(course.make.figure("vram_block_rate", VRAM, rate, "B/s", params, extra=extra))
    return tuple(points), slow_areas(sorted(told.items()), usual)


def memory_points(
    course: Course,
    found: VramFound,
    points: Sequence[Point],
    total: int,
    *,
    copied: float | None,
    donor: int | None,
    of_free: float | None = None,
) -> tuple[Point, ...]:
    """``vram_coverage`` (fraction of the card), ``vram_test_rate`` (B/s, all passes), ``vram_alias_distance`` (bytes).

    Args:
        course: the run's course.
        found: the judgement of all passes.
        points: what was told of them.
        total: the card's memory, bytes.
        copied: a copy's rate, bytes/s; None: not measured.
        donor: memory of the card that a mod was made from, bytes.
        of_free: share of what was free that the blocks took.
    """
    own = [p for p in points if p.metric == "vram_errors"]
    if not own:
        return ()
    rate = sum(float(p.extra["moved_bytes"]) for p in own) / sum(float(p.extra["moving_s"]) for p in own)
    extra: dict[str, Scalar] = {"kind": found.kind, "passes": found.passes, "failed_passes": found.failed_passes}
    if of_free is not None:
        extra["of_free"] = of_free
    if found.first_offset is not None:
        extra |= {"first_offset": found.first_offset, "repeated": found.repeated}
        extra |= {"bits_up": f"{found.bits_up:016x}", "bits_down": f"{found.bits_down:016x}"}
    told = [
        course.make.figure(
            "vram_coverage", VRAM, min(1.0, found.checked_bytes / total), "fraction", {},
            extra={"checked_bytes": found.checked_bytes, "total_bytes": total, **extra},
        ),
        course.make.figure(
            "vram_test_rate", VRAM, rate, "B/s", {}, extra={"of_copy": rate / copied} if copied else {}
        ),
    ]  # fmt: skip
    if found.distance is not None:
        share: dict[str, Scalar] = {"share": found.distance_share}
        if donor:
            share["donor_bytes"] = donor
        told.append(course.make.figure("vram_alias_distance", VRAM, float(found.distance), "bytes", {}, extra=share))
    return tuple(told)


def burn_points(course: Course, stage: int, trial: Trial, conditions: Sequence[Conditions]) -> tuple[Point, ...]:
    """``burn_errors`` (products that differ in any bit) with the rate as extra, one for each number format."""
    told: list[Point] = []
    for part, seen in zip(trial.parts, conditions, strict=True):
        params: dict[str, Scalar] = {"precision": part.params["precision"], "n": part.params["n"], "stage": stage}
        products = int(part.notes.get("products", 0))
        extra: dict[str, Scalar] = {"products": products, "wrong_numbers": counted(part.notes.get("wrong_numbers", 0))}
        if part.iteration_s:
            extra["rate"] = part.work["flop"] / median(part.iteration_s)
        if part.relative_error is not None:
            extra["relative_error"] = part.relative_error
        errors = float(counted(part.notes.get("errors")))
        told.append(course.make.figure("burn_errors", BURN, errors, "1", params, conditions=seen, extra=extra))
    return tuple(told)


def stage_point(course: Course, stage: int, name: str, seconds: float, outcome: str) -> Point:
    """``health_stage``: seconds of a stage, and how it ended."""
    params: dict[str, Scalar] = {"stage": stage, "name": name, "outcome": outcome}
    return course.make.figure("health_stage", "health", seconds, "s", params)


def counter_points(course: Course, samples: Sequence[Sample]) -> tuple[Point, ...]:
    """``counter_change`` of each counter that the card has: its last reading less its first."""
    told: list[Point] = []
    for quantity in COUNTERS:
        seen = [sample.values[quantity] for sample in samples if quantity in sample.values]
        if len(seen) > 1:
            extra: dict[str, Scalar] = {"before": seen[0], "after": seen[-1]}
            change = max(0.0, seen[-1] - seen[0])
            params: dict[str, Scalar] = {"counter": quantity.value}
            told.append(course.make.figure("counter_change", "health", change, "1", params, extra=extra))
    return tuple(told)


def identity_points(course: Course, found: Identity, *, sold_as: str, sheet_name: str) -> tuple[Point, ...]:
    """``identity_check`` (1 agrees, 0 differs) of each check that could be made, and ``identity_verdict``.

    The verdict's ``unknown`` names those that could not, with the reason: ``l2_step:short_time,power:not_reported``.
    """
    told = [_check_point(course, check) for check in found.checks if check.outcome != "unknown"]
    if found.sheet is None:
        return ()
    differ = sum(point.value == 0.0 for point in told)
    extra: dict[str, Scalar] = {"checks": len(told), "differ": differ, "sheet_name": sheet_name}
    if found.candidates:
        extra["candidates"] = ", ".join(found.candidates)
    if left := [f"{check.name}:{check.missing}" for check in found.checks if check.outcome == "unknown"]:
        extra["unknown"] = ",".join(left)
    if found.bus_bits is not None:
        extra["bus_bits"] = found.bus_bits
    params: dict[str, Scalar] = {"verdict": found.verdict, "sureness": found.sureness, "sheet": found.sheet}
    if sold_as:
        params["sold_as"] = sold_as
    good = 1.0 if found.verdict == "as_sold" else 0.0
    return (*told, course.make.figure("identity_verdict", "health", good, "1", params, extra=extra))


def _tested(points: Sequence[Point]) -> dict[str, Scalar]:
    """Bytes that were tested and do not repeat themselves, and those that the card says it has."""
    told = {point.metric: point for point in points}
    coverage, distance = told.get("vram_coverage"), told.get("vram_alias_distance")
    if coverage is None:
        return {}
    seen = int(coverage.extra["checked_bytes"])
    return {
        "seen": seen if distance is None else min(seen, int(distance.value)),
        "expected": coverage.extra["total_bytes"],
    }


def _check_point(course: Course, check: Check) -> Point:
    params: dict[str, Scalar] = {"check": check.name, "source": check.source}
    extra: dict[str, Scalar] = {
        name: value for name, value in (("seen", check.seen), ("expected", check.expected)) if value is not None
    }
    if check.name == "memory_real":
        extra |= _tested(course.points)
    value = 1.0 if check.outcome == "agrees" else 0.0
    return course.make.figure("identity_check", "health", value, "1", params, extra=extra)
