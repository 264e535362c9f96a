"""An invented health test and an invented history of wear (loaded by ``conftest.py``)."""

import itertools
from dataclasses import replace

from gui_invented import modded_4090

from gputuner.analysis.wear import HoursAbove, SessionSeen, Wear
from gputuner.analysis.wear_drift import Basis, Drift, SteadyPoint, Trend
from gputuner.analysis.wear_hours import CycleClass
from gputuner.model.cards import Origin
from gputuner.model.events import (
    AdviceGiven,
    ClockKind,
    Event,
    Outcome,
    PointMeasured,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
)
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.points import Conditions, Point
from gputuner.model.quantities import Limiter

S, GIB = 1_000_000_000, 1 << 30
TOTAL, CHECKED = 48 * GIB, 46 * GIB
WRONG_AT = 20 * GIB + 4096
DAY = 86400.0


def point(metric: str, value: float, unit: str, origin: Origin, params: dict, **fields: object) -> Point:
    tail = "-".join(str(entry) for entry in params.values())
    return Point(
        id=f"{metric}-{tail}", card="GPU-4090", metric=metric, workload="vram", params=params, value=value, unit=unit,
        origin=origin, **fields,
    )  # fmt: skip


def passes(heat: str, stage: int, origin: Origin, wrong: bool, aliases: str = "") -> list[Point]:
    """The kinds of passes of a stage."""
    told = []
    for name in ("address", "random"):
        extra: dict[str, object] = {"checked_bytes": CHECKED, "passes": 3, "failed_passes": 3 * wrong, "rate": 8e11}
        if wrong:
            extra |= {"bad_rows": 1, "spans": f"{WRONG_AT // 16384 * 16384:x}+4000", "bits_up": "20"}
        if aliases:
            extra |= {"aliased": 9, "aliases": aliases}
        told.append(
            point("vram_errors", float(3 * (wrong or bool(aliases))), "1", origin,
                  {"pass": name, "heat": heat, "stage": stage}, extra=extra)
        )  # fmt: skip
    return told


def burns(stage: int, number: int, origin: Origin, wrong: bool) -> list[Point]:
    """One stretch of products in two formats."""
    seen = Conditions(duration_s=10.0, samples=20, sm_clock_mhz=2600.0 - number, core_temperature_end_c=70.0 + number)
    return [
        replace(
            point("burn_errors", float(wrong and name == "bf16"), "1", origin,
                  {"precision": name, "n": 4096, "stage": stage},
                  conditions=seen, extra={"products": 1000, "wrong_numbers": 0, "rate": rate}),
            id=f"burn-{name}-{number}",
        )
        for name, rate in (("bf16", 160e12), ("fp32", 60e12))
    ]  # fmt: skip


def last(origin: Origin, verdict: str) -> list[Point]:
    """What is told at the end."""
    rates = [
        point("vram_block_rate", 8e11 if block != 3 else 4e11, "B/s", origin,
              {"offset_bytes": block * GIB, "bytes": GIB},
              extra={"fraction_of_median": 1.0 if block != 3 else 0.5, "cold": 8.1e11, "hot": 7.9e11})
        for block in range(12)
    ]  # fmt: skip
    covered = {"checked_bytes": CHECKED, "total_bytes": TOTAL, "kind": "sound", "passes": 12, "failed_passes": 0}
    checks = [
        point("identity_check", 1.0, "1", origin, {"check": "sm_count", "source": "driver"},
              extra={"seen": 128, "expected": 128}),
        point("identity_check", float(verdict == "as_sold"), "1", origin,
              {"check": "memory_real", "source": "measured"}),
    ]  # fmt: skip
    return [
        *rates,
        point("vram_coverage", CHECKED / TOTAL, "fraction", origin, {}, extra=covered),
        point("counter_change", 2.0, "1", origin, {"counter": "pcie_replays"}, extra={"before": 3, "after": 5}),
        *checks,
        point("identity_verdict", float(verdict == "as_sold"), "1", origin,
              {"verdict": verdict, "sureness": "measured", "sheet": "rtx-4090-48g"}, extra={"checks": 2, "differ": 0}),
    ]  # fmt: skip


def health_events(
    *,
    origin: Origin = Origin.MEASURED,
    run: str = "h1",
    wrong: bool = False,
    aliases: str = "",
    verdict: str = "as_sold",
    unix_s: float = 1_780_000_000.0,
) -> list[Event]:
    """The stream of a health test: memory cold, two stretches of products, memory hot, verdicts."""
    seq, clock = itertools.count(), [1000 * S]
    events: list[Event] = []

    def tell(kind: type, **fields: object) -> None:
        events.append(kind(run_id=run, seq=next(seq), t_ns=clock[0], **fields))

    def step(label: str, *told: Point) -> None:
        index = sum(1 for each in events if isinstance(each, StepStarted)) + 1
        tell(StepStarted, index=index, total=8, label=label, params={}, expected_s=60.0, remaining_s=60.0)
        clock[0] += 60 * S
        tell(StepFinished, index=index, label=label, result="done")
        for each in told:
            tell(PointMeasured, point=each)

    def stage(number: int, name: str) -> Point:
        return point("health_stage", 60.0, "s", origin, {"stage": number, "name": name, "outcome": "done"})

    card = replace(modded_4090(origin=origin), memory_total_bytes=TOTAL)
    tell(
        RunStarted, experiment="health", spec={"minutes": 10.0, "burn_in": False, "sold_as": ""},
        fingerprint=Fingerprint(host=HostFingerprint(readings={})), cards=(card,), clock=ClockKind.WALL, origin=origin,
        unix_s=unix_s, version="0.1.0",
    )  # fmt: skip
    step("health_memory_cold", *passes("cold", 1, origin, wrong, aliases), stage(1, "memory_cold"))
    step("health_burn", *burns(2, 0, origin, False))
    step("health_burn", *burns(2, 1, origin, wrong), stage(2, "burn"))
    step("health_memory_hot", *passes("hot", 3, origin, wrong, aliases), stage(3, "memory_hot"))
    for each in last(origin, verdict):
        tell(PointMeasured, point=each)
    tell(AdviceGiven, advice=(), questions=())
    tell(RunFinished, outcome=Outcome.COMPLETED, exit_code=0)
    return events


def worn(origin: Origin = Origin.MEASURED) -> Wear:
    """A history of eight sessions over seven weeks, whose resistance rises by 10 % a month."""
    begins = [1_775_000_000.0 + 7 * DAY * week for week in range(8)]
    shown = tuple((t, 0.12 * (1.0 + 0.1 * week * 7 / 30.44), 0.6) for week, t in enumerate(begins))
    line = tuple((t, value, value - 0.004, value + 0.004) for t, value, _fan in shown)
    return Wear(
        card=replace(modded_4090(origin=origin), memory_total_bytes=TOTAL),
        origin=origin,
        sessions=tuple(SessionSeen(session_id=f"s{n}", unix_s=t, observed_s=7200.0) for n, t in enumerate(begins)),
        hours=(
            HoursAbove(sensor="core", above_c=70.0, seconds=30000.0, observed_s=57600.0),
            HoursAbove(sensor="core", above_c=83.0, seconds=600.0, observed_s=57600.0, limit="target_c"),
            HoursAbove(sensor="memory", above_c=90.0, seconds=5000.0, observed_s=57600.0),
        ),
        cycles=(
            CycleClass(low_k=5.0, high_k=10.0, count=40.0, largest_k=9.0),
            CycleClass(low_k=40.0, high_k=60.0, count=8.5, largest_k=52.0),
        ),
        steady=tuple(
            SteadyPoint(unix_s=t, session_id=f"s{n}", temperature_c=72.0, power_w=400.0, fan_fraction=0.6, air_c=24.0,
                        k_per_w=value, basis=Basis.ROOM)
            for n, (t, value, _fan) in enumerate(shown)
        ),
        drift=Drift(
            verdict=Trend.RISING, basis=Basis.ROOM, sessions=8, days=8, span_days=49.0, fan_levels=1, pairs=28,
            per_month=0.1, low=0.07, high=0.13, degrees_per_month=4.8, power_w=400.0, fan_fraction=0.6, shown=shown,
            line=line,
        ),
        limited_s={Limiter.POWER: 9000.0},
        xids={13: 1},
    )  # fmt: skip
