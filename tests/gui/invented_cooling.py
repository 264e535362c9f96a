"""Invented thermal tests and power sweeps (loaded by ``conftest.py``)."""

import itertools
import math
from dataclasses import replace

from gui_invented import modded_4090

from gputuner.model.cards import Origin
from gputuner.model.events import (
    ClockKind,
    Event,
    Outcome,
    PointMeasured,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TelemetrySampled,
)
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.points import Flag, Point
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample

S = 1_000_000_000
POWER_W, AIR_C, LIMIT_C, REST_S = 400.0, 25.0, 83.0, 30.0
WIDTHS = (20.0, 9.0, 3.0, 1.2)
"""Half-widths of the forecast's band after each minute of load, K."""


def point(
    metric: str, number: float, unit: str, low: float, high: float, origin: Origin, params: dict, **extra: object
) -> Point:
    tail = "-".join(str(entry) for entry in params.values())
    return Point(
        id=f"{metric}-{tail}", card="GPU-4090", metric=metric, workload="matmul", params=params, value=number,
        unit=unit, origin=origin, flags=(Flag.EXTRAPOLATED,) if params["phase"] == "look" else (),
        extra={**extra, "low90": low, "high90": high},
    )  # fmt: skip


def looks(resistance: float, origin: Origin) -> list[Point]:
    steady = AIR_C + POWER_W * resistance
    return [
        point("steady_temperature", steady, "degC", steady - half, steady + half, origin,
              {"phase": "look", "load_min": float(minute)}, now_c=steady - 3.0 / minute)
        for minute, half in enumerate(WIDTHS, start=1)
    ]  # fmt: skip


def verdict(resistance: float, origin: Origin, *, closed: bool = True, cooler: str = "open") -> list[Point]:
    steady, load_min = AIR_C + POWER_W * resistance, float(len(WIDTHS))
    params = {"phase": "verdict", "load_min": load_min, "cooler": cooler}
    common = {"power_w": POWER_W, "closed": closed, "limit_c": LIMIT_C, "fan_fraction": 0.6}
    if not closed:
        common["missing_min"] = 7

    def told(metric: str, number: float, unit: str, half: float, **more: object) -> Point:
        return point(metric, number, unit, number - half, number + half, origin, {**params, **more}, **common)

    return [
        told("thermal_resistance", resistance, "K/W", 0.04 * resistance),
        told("steady_temperature", steady, "degC", 1.2),
        told("surroundings_temperature", AIR_C, "degC", 2.0),
        told("rise_time", 40.0, "s", 8.0, share=0.63),
        told("rise_time", 150.0, "s", 30.0, share=0.9),
        told("cooler_good_for", (LIMIT_C - AIR_C) / resistance, "W", 12.0),
        told("room_at_limit", LIMIT_C - POWER_W * resistance, "degC", 2.5),
    ]


def cooling_events(
    resistance: float = 0.12,
    *,
    origin: Origin = Origin.MEASURED,
    run: str = "c1",
    closed: bool = True,
    unix_s: float = 1_780_000_000.0,
) -> list[Event]:
    """The stream of a thermal test: rest, four minutes of load in pieces, cool-down."""
    seq, clock = itertools.count(), [1000 * S]
    events: list[Event] = []

    def tell(kind: type, **fields: object) -> None:
        events.append(kind(run_id=run, seq=next(seq), t_ns=clock[0], **fields))

    def step(label: str, seconds: int, begin_c: float, end_c: float) -> float:
        index = sum(1 for each in events if isinstance(each, StepStarted)) + 1
        tell(StepStarted, index=index, total=index + 1, label=label, params={}, expected_s=float(seconds),
             remaining_s=60.0)  # fmt: skip
        core = begin_c
        for second in range(seconds):
            core = end_c + (begin_c - end_c) * math.exp(-second / 40.0)
            values = {Quantity.CORE_TEMPERATURE_C: float(round(core)), Quantity.POWER_AVERAGE_W: POWER_W}
            tell(TelemetrySampled, samples=(Sample(card="GPU-4090", t_ns=clock[0], values=values),))
            clock[0] += S
        tell(StepFinished, index=index, label=label, result="done")
        return core

    tell(
        RunStarted, experiment="cooling", spec={"minutes": 20.0}, fingerprint=Fingerprint(
            host=HostFingerprint(readings={})
        ), cards=(modded_4090(origin=origin),), clock=ClockKind.WALL, origin=origin, unix_s=unix_s, version="0.1.0",
    )  # fmt: skip
    core = step("cooling_rest", int(REST_S), AIR_C + 5, AIR_C + 5)
    for look in looks(resistance, origin):
        for _piece in range(3):
            core = step("cooling_load", 20, core, AIR_C + POWER_W * resistance)
        tell(PointMeasured, point=look)
    step("cooling_down", 40, core, AIR_C + 5)
    for each in verdict(resistance, origin, closed=closed):
        tell(PointMeasured, point=each)
    tell(RunFinished, outcome=Outcome.COMPLETED, exit_code=0)
    return events


VISITS = ((200.0, 900.0, 0.22), (300.0, 1150.0, 0.26), (450.0, 1180.0, 0.31), (300.0, 1155.0, 0.26))
"""Setting (W or MHz), samples/s, J/sample."""


def swept(metric: str, number: float, unit: str, origin: Origin = Origin.MEASURED, **params: object) -> Point:
    tail = "-".join(str(entry) for entry in params.values())
    return Point(
        id=f"{metric}-{tail}", card="GPU-4090", metric=metric, workload="resnet50", params={"batch": 64, **params},
        value=number, unit=unit, origin=origin,
    )  # fmt: skip


def sweep(key: str = "cap_w", origin: Origin = Origin.MEASURED) -> list[Point]:
    """The figures of a power sweep."""
    found: list[Point] = []
    for number, (setting, rate, joules) in enumerate(VISITS):
        told = {key: setting, "visit": 2 if number == 3 else 1}
        found.append(swept("power_rate", rate, "samples/s", origin, **told))
        found.append(swept("power_energy", joules, "J/sample", origin, **told))
    knee = Point(
        id="knee", card="GPU-4090", metric="power_knee", workload="resnet50", params={"batch": 64, "loss": 3.0},
        value=300.0, unit="W", origin=origin, extra={"low95": 290.0, "high95": 310.0},
    )  # fmt: skip
    plateau, least = (
        swept(f"power_{name}", w, "W", origin) for name, w in (("plateau", 300.0), ("best_energy", 200.0))
    )
    return [*found, knee, plateau, least]


def power_events(*, origin: Origin = Origin.MEASURED, run: str = "p1") -> list[Event]:
    """The stream of a power sweep, without its steps."""
    told = cooling_events(origin=origin, run=run)
    begun, over = replace(told[0], experiment="power", spec={"minutes": 9.0}), told[-1]
    points = [PointMeasured(run_id=run, seq=0, t_ns=over.t_ns, point=each) for each in sweep(origin=origin)]
    return [replace(event, seq=number) for number, event in enumerate((begun, *points, over))]
