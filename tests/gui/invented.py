"""Invented but plausible cards, readings, runs and sessions, and ports that hand them to the window."""

from __future__ import annotations

import itertools
import math
import random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from gputuner.analysis.regression import Key
from gputuner.analysis.session_spread import SessionSpread
from gputuner.analysis.supply_draw import CardDraw, DrawSource
from gputuner.analysis.wear import Wear
from gputuner.engine.alerts import AlertWatch
from gputuner.experiments.batch import Batch
from gputuner.experiments.cooling import Cooling
from gputuner.experiments.health import Health
from gputuner.experiments.loading import Loading
from gputuner.experiments.numerics import Numerics
from gputuner.experiments.power import Power
from gputuner.experiments.subject import BUILT_IN
from gputuner.experiments.switches import Switching
from gputuner.model.advice import Advice, Confidence, Gain, Question
from gputuner.model.alerts import AlertChange, AlertPlan
from gputuner.model.cards import CardInfo, CatalogMatch, Origin
from gputuner.model.errors import StoreError, UsageError
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
    TelemetrySampled,
    TorchFound,
    Warned,
)
from gputuner.model.fingerprint import Fingerprint, HostFingerprint, TorchFingerprint
from gputuner.model.holders import Holder
from gputuner.model.jobs import Job, JobState, QueueView, Request, RunnerInfo
from gputuner.model.planned import Planned, PlannedStep
from gputuner.model.points import Conditions, Flag, Point, Spread
from gputuner.model.quantities import LimitBit, Limiter, Quantity
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import CardProcesses, Gap, ProcessOnCard, Sample, XidSeen
from gputuner.telemetry.feed import FeedState, FeedStatus, Notice, Tick

GIB = 2**30
S = 1_000_000_000
T0 = 1000 * S
Q = Quantity


def value(v: float | str | bool, unit: str = "") -> Reading:
    return Reading(value=v, unit=unit)


def modded_4090(uuid: str = "GPU-4090", index: int = 0, origin: Origin = Origin.MEASURED) -> CardInfo:
    return CardInfo(
        uuid=uuid,
        index=index,
        name="NVIDIA GeForce RTX 4090",
        origin=origin,
        memory_total_bytes=48 * GIB,
        sm_count=128,
        catalog=CatalogMatch(
            catalog_id="rtx-4090-48g", name="RTX 4090 48G", modded=True, base_name="RTX 4090", architecture="Ada"
        ),
        readings={
            "power_limit_enforced_w": value(450.0, "W"),
            "slowdown_c": value(83.0, "degC"),
            "memory_max_c": value(105.0, "degC"),
            "sm_clock_max_mhz": value(3105.0, "MHz"),
            "pcie_generation": value(4),
            "pcie_width": value(16),
            "pcie_width_max": value(16),
            "driver": value("580.95"),
        },
    )


def rtx_3090(index: int = 1) -> CardInfo:
    return CardInfo(
        uuid="GPU-3090",
        index=index,
        name="NVIDIA GeForce RTX 3090",
        memory_total_bytes=24 * GIB,
        catalog=CatalogMatch(catalog_id="rtx-3090", name="RTX 3090"),
        readings={
            "power_limit_enforced_w": value(350.0, "W"),
            "slowdown_c": value(95.0, "degC"),
            "sm_clock_max_mhz": value(2100.0, "MHz"),
            "pcie_generation": value(4),
            "pcie_width": value(8),
            "pcie_width_max": value(16),
            "driver": value("580.95"),
        },
    )


def cpu_card() -> CardInfo:
    return CardInfo(uuid="cpu", index=0, name="AMD Ryzen 9 7950X", memory_total_bytes=64 * GIB)


def h200s(count: int = 8) -> list[CardInfo]:
    return [
        CardInfo(
            uuid=f"GPU-h200-{index}",
            index=index,
            name="NVIDIA H200",
            memory_total_bytes=141 * GIB,
            catalog=CatalogMatch(catalog_id="h200", name="H200"),
            readings={"power_limit_enforced_w": value(700.0, "W"), "driver": value("580.95")},
        )
        for index in range(count)
    ]


def busy_sample(card: str, t_ns: int, phase_s: float, rng: random.Random) -> Sample:
    """A training with an idle break: warm, held by power, memory hotter than the core."""
    t = phase_s
    idle = t < 15 or 110 < t < 135
    since = (t - 135) if t >= 135 else (t - 15)
    warm = 1 - math.exp(-max(0.0, since) / 35)
    core = 34 if idle and t < 15 else (71 - (71 - 39) * min(1, (t - 110) / 25) if idle else 39 + 32 * warm)
    memory = 40 if idle and t < 15 else (84 - 14 * min(1, (t - 110) / 25) if idle else 60 + 36 * warm)
    instant = 32 + rng.random() if idle else min(450, 449 + rng.gauss(0, 9))
    average = 33 if idle else (446 if since > 3 else 32 + 414 * min(1, since / 2.5))
    clock = 210 if idle else 2566 + rng.gauss(0, 8) + 110 * math.exp(-max(0, since) / 20)
    bits = LimitBit.IDLE if idle else (0 if rng.random() < 0.12 else LimitBit.SW_POWER_CAP)
    values = {
        Q.CORE_TEMPERATURE_C: float(round(core)),
        Q.MEMORY_TEMPERATURE_C: float(round(memory)),
        Q.POWER_INSTANT_W: instant,
        Q.POWER_AVERAGE_W: float(average),
        Q.SM_CLOCK_MHZ: float(round(clock)),
        Q.MEMORY_CLOCK_MHZ: 405.0 if idle else 10501.0,
        Q.MEMORY_USED_BYTES: (0.6 if t < 15 else 38.2) * GIB,
        Q.GPU_UTILISATION: 0.0 if idle else min(1.0, 0.98 + rng.gauss(0, 0.008)),
        Q.LIMIT_BITS: float(bits),
        Q.FAN_FRACTION: 0.3 if idle else 0.72,
        Q.PCIE_GENERATION: 1.0 if idle else 4.0,
        Q.PCIE_WIDTH: 16.0,
    }
    missing = {Q.HOTSPOT_TEMPERATURE_C: Reason.NOT_SUPPORTED, Q.TENSOR_ACTIVE: Reason.NOT_SUPPORTED}
    return Sample(card=card, t_ns=t_ns, values=values, missing=missing)


def idle_sample(card: str, t_ns: int) -> Sample:
    values = {
        Q.CORE_TEMPERATURE_C: 38.0,
        Q.POWER_AVERAGE_W: 24.0,
        Q.SM_CLOCK_MHZ: 210.0,
        Q.MEMORY_CLOCK_MHZ: 405.0,
        Q.MEMORY_USED_BYTES: 0.4 * GIB,
        Q.GPU_UTILISATION: 0.0,
        Q.LIMIT_BITS: float(LimitBit.IDLE),
    }
    missing = {
        Q.MEMORY_TEMPERATURE_C: Reason.NOT_SUPPORTED,
        Q.HOTSPOT_TEMPERATURE_C: Reason.NOT_SUPPORTED,
        Q.POWER_INSTANT_W: Reason.DRIVER_TOO_OLD,
        Q.TENSOR_ACTIVE: Reason.NOT_SUPPORTED,
    }
    return Sample(card=card, t_ns=t_ns, values=values, missing=missing)


def processes(card: str, t_ns: int) -> CardProcesses:
    return CardProcesses(
        card=card,
        t_ns=t_ns,
        processes=(
            ProcessOnCard(
                pid=41822,
                name="python",
                user="li",
                command="python train.py --config edsr_x2.yaml",
                memory_bytes=int(37.4 * GIB),
                started_s=time.time() - 285,
                sm_utilisation=0.97,
            ),
            ProcessOnCard(
                pid=1911,
                name="Xorg",
                user="root",
                command=None,
                memory_bytes=None,
                memory_reason=Reason.NO_PERMISSION,
                compute=False,
                started_s=time.time() - 3 * 86400,
            ),
        ),
    )


def monitor_ticks(seconds: float = 300, hz: float = 2, events: bool = True) -> list[Tick]:
    """Ticks of the modded card under a training and an idle 3090 beside it."""
    rng = random.Random(7)
    result: list[Tick] = []
    for step in range(int(seconds * hz)):
        t = step / hz
        if events and 200 <= t < 212:
            continue
        t_ns = T0 + int(t * S)
        gaps = (Gap(card=None, t0_ns=T0 + 200 * S, t1_ns=t_ns, reason=Reason.NOT_READ),) if events and t == 212 else ()
        xids = (XidSeen(card="GPU-4090", t_ns=t_ns, xid=79),) if events and t == 250 else ()
        result.append(
            Tick(
                t_ns=t_ns,
                samples=(busy_sample("GPU-4090", t_ns, t, rng), idle_sample("GPU-3090", t_ns)),
                processes=(processes("GPU-4090", t_ns),) if step % 10 == 0 else (),
                gaps=gaps,
                xids=xids,
            )
        )
    return result


class InMemoryFeed:
    """A feed that a test pushes by hand."""

    def __init__(
        self, cards: list[CardInfo], origin: Origin = Origin.MEASURED, status: FeedStatus | None = None
    ) -> None:
        self.origin = origin
        self._cards = list(cards)
        self._status = status or FeedStatus(state=FeedState.OK, interval_s=0.5)
        self._callbacks: list[Callable[[Tick], None]] = []
        self._latest: Tick | None = None
        self.closed = False

    def cards(self) -> tuple[CardInfo, ...]:
        return tuple(self._cards)

    def subscribe(self, callback: Callable[[Tick], None]) -> Callable[[], None]:
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    @property
    def listeners(self) -> int:
        return len(self._callbacks)

    def latest(self) -> Tick | None:
        return self._latest

    def processes(self, card: str) -> CardProcesses | None:
        return None

    def status(self) -> FeedStatus:
        return self._status

    def set_status(self, status: FeedStatus) -> None:
        self._status = status

    def push(self, tick: Tick) -> None:
        self._latest = tick
        for callback in list(self._callbacks):
            callback(tick)

    def change(self, card: str, t_ns: int, **changes: object) -> None:
        """Tell a change of a card's identity or state."""
        self._cards = [replace(info, **changes) if info.uuid == card else info for info in self._cards]
        self.push(Tick(t_ns=t_ns, cards=tuple(info for info in self._cards if info.uuid == card)))

    def find(self, card: CardInfo) -> None:
        """A card is there that was not before; nobody is told."""
        self._cards.append(card)

    def close(self) -> None:
        self.closed = True


# --- runs -------------------------------------------------------------------------------------------------------------


def tune_events(
    *, origin: Origin = Origin.MEASURED, telemetry: bool = True, outcome: Outcome = Outcome.COMPLETED, run: str = "r1"
) -> list[Event]:
    """The stream of a tune run on the modded card."""
    card = modded_4090(origin=origin)
    seq = itertools.count()
    events: list[Event] = []
    clock = [T0]

    def tell(kind: type, **fields: object) -> None:
        events.append(kind(run_id=run, seq=next(seq), t_ns=clock[0], **fields))

    def step(label: str, seconds: float, params: dict[str, object], result: str = "done", *points: Point) -> None:
        index = sum(1 for e in events if isinstance(e, StepStarted)) + 1
        tell(
            StepStarted,
            index=index,
            total=19,
            label=label,
            params=params,
            expected_s=seconds,
            remaining_s=260 - index * 12.0,
        )
        clock[0] += int(seconds * S)
        tell(StepFinished, index=index, label=label, result=result)
        for point in points:
            tell(PointMeasured, point=point)

    tell(
        RunStarted,
        experiment="tune",
        spec={"minutes": 5.0},
        fingerprint=Fingerprint(
            host=HostFingerprint(
                readings={
                    "cpu": value("AMD Ryzen 9 7950X"),
                    "os": value("Debian 12"),
                    "kernel": value("6.12"),
                }
            )
        ),
        cards=(card,),
        clock=ClockKind.WALL,
        origin=origin,
        unix_s=1_780_000_000.0,
        version="0.1.0",
    )
    tell(TorchFound, torch=TorchFingerprint(python="3.12.4", version="2.13.0", cuda="13.0"))
    for precision, rate, sheet in (("bf16", 158e12, 165e12), ("tf32", 80e12, 82.6e12), ("fp32", 60e12, 82.6e12)):
        for phase, factor in (("burst", 1.0), ("sustained", 0.91)):
            step(
                "matmul",
                4,
                {"precision": precision, "n": 8192},
                "done",
                matmul_point(precision, phase, rate * factor, sheet, origin),
            )
    step("copy", 3, {"bytes": 2**30}, "done", copy_point(origin))
    for batch, rate in ((16, 640.0), (32, 980.0), (64, 1210.0), (128, 1320.0), (256, 1335.0)):
        step(
            "train_probe",
            5,
            {"batch": batch, "precision": "bf16"},
            "done",
            train_point("bf16", batch, rate, "probe", origin),
        )
    step(
        "train_probe", 5, {"batch": 128, "precision": "fp16"}, "done", train_point("fp16", 128, 1345.0, "probe", origin)
    )
    step(
        "train_probe", 5, {"batch": 128, "precision": "tf32"}, "done", train_point("tf32", 128, 690.0, "probe", origin)
    )
    step(
        "train_limit", 9, {"batch": 496, "precision": "bf16"}, "done", train_point("bf16", 496, 1338.0, "limit", origin)
    )
    step("train_limit", 9, {"batch": 520, "precision": "bf16"}, "out_of_memory", *limit_points(origin))
    step("train_together", 12, {"batch": 128, "precision": "bf16"}, "done", *together_points(origin))
    t0 = clock[0]
    step("sustained", 60, {"batch": 128, "precision": "bf16"}, "done", heat_point(origin))
    if telemetry:
        rng = random.Random(3)
        ticks = [
            TelemetrySampled(
                run_id=run,
                seq=0,
                t_ns=t0 + i * S // 2,
                samples=(busy_sample(card.uuid, t0 + i * S // 2, 136 + i / 2, rng),),
            )
            for i in range(120)
        ]
        place = next(i for i, e in enumerate(events) if isinstance(e, StepFinished) and e.label == "sustained")
        events[place:place] = ticks
    tell(Warned, code="precision_skipped", params={"precision": "fp16", "workload": "matmul", "reason": "unsupported"})
    tell(
        AdviceGiven,
        advice=advices(),
        questions=(Question(id="measure.own_model", card=card.uuid, command="gputuner --cli tune --minutes 20"),),
    )
    tell(RunFinished, outcome=outcome, exit_code=0 if outcome is Outcome.COMPLETED else 130)
    return [replace(event, seq=number) for number, event in enumerate(events)]


def matmul_point(precision: str, phase: str, rate: float, sheet: float, origin: Origin) -> Point:
    return Point(
        id=f"matmul-{precision}-{phase}",
        card="GPU-4090",
        metric="matmul_rate",
        workload="matmul",
        params={"precision": precision, "n": 8192, "phase": phase},
        value=rate,
        unit="FLOP/s",
        origin=origin,
        spread=Spread(n=40, median=rate, iqr=rate * 0.01, ci95_low=rate * 0.99, ci95_high=rate * 1.01, block_length=2),
        flags=(Flag.THROTTLED_POWER,) if phase == "sustained" else (),
        extra={"fraction_of_sheet": rate / sheet, "fraction_of_peak_at_clock": min(0.99, rate / sheet * 1.02)},
    )


def copy_point(origin: Origin) -> Point:
    return Point(
        id="copy-1",
        card="GPU-4090",
        metric="copy_bandwidth",
        workload="copy",
        params={"bytes": 2**30},
        value=924e9,
        unit="B/s",
        origin=origin,
        extra={"fraction_of_sheet": 0.917},
    )


def train_point(precision: str, batch: int, rate: float, phase: str, origin: Origin) -> Point:
    peak = int((1.2 + batch * (0.088 if precision != "tf32" else 0.17)) * GIB)
    return Point(
        id=f"train-{precision}-{batch}-{phase}",
        card="GPU-4090",
        metric="train_throughput",
        workload="resnet50",
        params={"batch": batch, "precision": precision, "channels_last": True, "image": 224, "phase": phase},
        value=rate,
        unit="samples/s",
        origin=origin,
        spread=Spread(n=30, median=rate, iqr=rate * 0.02, ci95_low=rate * 0.98, ci95_high=rate * 1.02, block_length=1),
        conditions=Conditions(
            duration_s=5.0,
            samples=10,
            sm_clock_mhz=2560.0,
            power_w=446.0,
            core_temperature_end_c=71.0,
            limited_s={Limiter.POWER: 3.5},
        ),
        flags=(Flag.THROTTLED_POWER,),
        extra={"allocated_peak_bytes": peak, "capacity_bytes": int(46.7 * GIB)},
    )


def limit_points(origin: Origin) -> tuple[Point, ...]:
    setting = {"precision": "bf16", "channels_last": True}

    def point(metric: str, number: float, unit: str, **extra: object) -> Point:
        return Point(
            id=metric,
            card="GPU-4090",
            metric=metric,
            workload="resnet50",
            params=dict(setting),
            value=number,
            unit=unit,
            origin=origin,
            extra=extra,
        )

    return (
        point("memory_per_sample", 0.088 * GIB, "B", fixed_bytes=1.2 * GIB, is_line=True, residual=0.004, probes=5),
        point("batch_limit", 512.0, "samples", fails=520, runs=496, capacity_bytes=int(46.7 * GIB), predicted=516),
        point("batch_safe", 460.0, "samples", margin=0.1),
        point("batch_fastest", 128.0, "samples", rate=1320.0),
    )


def together_points(origin: Origin) -> tuple[Point, ...]:
    params = {"batch": 128, "precision": "bf16", "jobs": 2}
    slow = tuple(
        Point(
            id=f"slow-{job}",
            card="GPU-4090",
            metric="co_run_slowdown",
            workload="resnet50",
            params={**params, "job": job},
            value=number,
            unit="",
            origin=origin,
            spread=Spread(n=20, median=number, iqr=0.05, ci95_low=number - 0.06, ci95_high=number + 0.05),
        )
        for job, number in ((1, 1.83), (2, 1.79))
    )
    gain = Point(
        id="gain",
        card="GPU-4090",
        metric="co_run_gain",
        workload="resnet50",
        params=params,
        value=1.104,
        unit="",
        origin=origin,
        extra={"alone_tuned": 1.02, "valid": True},
        spread=Spread(n=20, median=1.104, iqr=0.02, ci95_low=1.08, ci95_high=1.13),
    )
    return (*slow, gain)


def heat_point(origin: Origin) -> Point:
    return Point(
        id="heat",
        card="GPU-4090",
        metric="load_temperature",
        workload="resnet50",
        params={"load_s": 60.0},
        value=71.0,
        unit="degC",
        origin=origin,
        flags=(Flag.NOT_STEADY,),
    )


def advices() -> tuple[Advice, ...]:
    return (
        Advice(
            id="precision.best",
            card="GPU-4090",
            params={"precision": "bf16", "base": "fp32", "batch": 128, "rate": 1320.0, "base_rate": 690.0},
            evidence=("train-bf16-128-probe", "train-tf32-128-probe"),
            confidence=Confidence.MEASURED,
            gain=Gain(value=0.91, unit="fraction", low=0.86, high=0.97),
            snippet='with torch.autocast("cuda", dtype=torch.bfloat16):\n    loss = criterion(model(x), y)',
            rank=3.0,
        ),
        Advice(
            id="batch.fastest",
            card="GPU-4090",
            params={"batch": 128},
            evidence=("train-bf16-128-probe",),
            confidence=Confidence.MEASURED,
            gain=Gain(value=0.35, unit="fraction", low=0.31, high=0.38),
            snippet="DataLoader(dataset, batch_size=128)",
            rank=2.0,
        ),
        Advice(
            id="limit.power",
            card="GPU-4090",
            params={"share": 0.7},
            evidence=("matmul-bf16-sustained",),
            confidence=Confidence.MEASURED_OTHER,
            rank=1.0,
            risk=True,
        ),
    )


class ScriptedRun:
    """A run that tells prepared events; waits after ``hold`` events until released, and ends early when cancelled."""

    def __init__(self, events: Sequence[Event], hold: int | None = None, session_path: Path | None = None) -> None:
        self.run_id = "r1"
        self.session_path = session_path
        self.cancelled = threading.Event()
        self.released = threading.Event()
        self._events = list(events)
        self._hold = hold

    def __iter__(self) -> Iterator[Event]:
        for number, event in enumerate(self._events):
            if number == self._hold:
                self.released.wait()
            if self.cancelled.is_set():
                yield RunFinished(run_id="r1", seq=9999, t_ns=event.t_ns, outcome=Outcome.CANCELLED, exit_code=130)
                return
            yield event

    def cancel(self) -> None:
        self.cancelled.set()
        self.released.set()


def gain_of_try(session: str, advice: str, gain: float, half: float = 0.01, predicted: float = 0.91) -> Point:
    """What a try of an advice gained."""
    return Point(
        id=f"gain-{advice}", card="GPU-4090", metric="advice_gain", workload="resnet50",
        params={"session": session, "advice": advice}, value=gain, unit="fraction",
        spread=Spread(n=16, median=gain, iqr=half, ci95_low=gain - half, ci95_high=gain + half),
        extra={
            "confidence": "measured", "predicted": predicted, "predicted_low": predicted - 0.05,
            "predicted_high": predicted + 0.06, "trials": 16, "between_trials": 0.003, "same_card": True,
        },
    )  # fmt: skip


def try_events(session: str, advice: str, gain: float, **more: float) -> list[Event]:
    """The stream of a try: a trial of each side, and what it gained."""
    card, seq = modded_4090(), itertools.count()
    head = {"run_id": "t1", "t_ns": T0}
    events: list[Event] = [
        RunStarted(
            **head, seq=next(seq), experiment="try", spec={"session": session, "advice": advice},
            fingerprint=Fingerprint(host=HostFingerprint(readings={})), cards=(card,), clock=ClockKind.WALL,
            origin=Origin.MEASURED, unix_s=1_780_000_000.0, version="0.1.0",
        ),
    ]  # fmt: skip
    for number, side in enumerate(("base", "advised"), start=1):
        told = {"index": number, "label": f"try_{side}"}
        events.append(
            StepStarted(**head, **told, seq=next(seq), total=2, params={}, expected_s=9.0, remaining_s=30.0 - number)
        )
        events.append(StepFinished(**head, **told, seq=next(seq), result="done"))
    events.append(PointMeasured(**head, seq=next(seq), point=gain_of_try(session, advice, gain, **more)))
    events.append(RunFinished(**head, seq=next(seq), outcome=Outcome.COMPLETED, exit_code=0))
    return events


# --- sessions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    run_id: str
    experiment: str = "tune"
    started_unix_s: float = 1_780_000_000.0
    duration_s: float = 283.0
    outcome: Outcome | None = Outcome.COMPLETED
    running: bool = False
    origin: Origin = Origin.MEASURED
    cards: tuple[CardInfo, ...] = ()
    point_count: int = 20
    size_bytes: int = 412_000


@dataclass(frozen=True)
class Entry:
    path: Path
    summary: Summary | None = None
    error: StoreError | None = None
    outside: bool = False


@dataclass(frozen=True)
class KeptSeries:
    t_ns: np.ndarray
    minimum: np.ndarray
    mean: np.ndarray
    maximum: np.ndarray
    breaks: np.ndarray


class KeptSession:
    """A session held in memory; checks that it is closed and used from one thread."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = list(events)
        self.closed = False

    def cards(self) -> tuple[CardInfo, ...]:
        return self._events[0].cards

    def events(self, kinds: Collection[str] | None = None) -> list[Event]:
        return [event for event in self._events if kinds is None or event.kind in kinds]

    def overview(
        self,
        quantities: Sequence[Quantity],
        cards: Collection[str] | None = None,
        t0_ns: int | None = None,
        t1_ns: int | None = None,
        at_most_points: int = 1000,
    ) -> dict[tuple[str, Quantity], KeptSeries]:
        found: dict[tuple[str, Quantity], list[tuple[int, float]]] = {}
        for event in self._events:
            for sample in getattr(event, "samples", ()):
                for quantity in quantities:
                    if quantity in sample.values:
                        found.setdefault((sample.card, quantity), []).append((sample.t_ns, sample.values[quantity]))
        result = {}
        for key, pairs in found.items():
            t_ns = np.array([t for t, _ in pairs], dtype=np.int64)
            mean = np.array([v for _, v in pairs])
            result[key] = KeptSeries(t_ns, mean * 0.97, mean, mean * 1.03, np.array([len(pairs) // 2], dtype=np.int64))
        return result

    def close(self) -> None:
        self.closed = True


# --- ports ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """Looks like the spec of an experiment."""

    minutes: float = 5.0
    effective_batch: int = 256
    precision: Literal["auto", "bf16", "fp16"] = "auto"
    verify: bool = True
    quick: bool = False

    def __post_init__(self) -> None:
        if self.effective_batch == 13:
            raise UsageError("option_value", option="effective batch", value=13, expected="another number")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContendSpec:
    """Looks like the spec of jobs that share a card."""

    jobs: tuple[str, ...] = ("resnet50",)
    count: int = 0
    max_jobs: int = 8
    modes: tuple[str, ...] = ("processes",)
    causes: bool = False
    matrix: bool = False
    null: bool = False
    fixed_batch: bool = False
    thread_percentages: tuple[int, ...] = ()
    priorities: tuple[int, ...] = ()
    folder: str = "."
    minutes: float = 4.0
    seed: int = 0


class InMemoryQueue:
    """A queue that does what it is asked to, at once."""

    def __init__(self) -> None:
        self.acting = True
        self.view = QueueView()
        self.offered: tuple[CardInfo, ...] = ()
        self.stored: list[Entry] = []
        self.asked: list[tuple[object, ...]] = []
        self.refusal: Exception | None = None

    def read(self) -> QueueView:
        if isinstance(self.refusal, StoreError):
            raise self.refusal
        return self.view

    def cards(self) -> tuple[CardInfo, ...]:
        return self.offered

    def pretend(self) -> None:
        self.view = replace(self.view, pretended=True)

    def sessions(self) -> Sequence[Entry]:
        return self.stored

    def add(self, request: Request, like: str = "") -> tuple[Job, ...]:
        self._take("add", request, *([like] if like else []))
        job = Job(
            id=len(self.view.jobs) + 1, command=request.command, folder=request.folder, needs=request.needs,
            state=JobState.WAITING,
        )  # fmt: skip
        self.view = replace(self.view, jobs=(*self.view.jobs, job), counts={JobState.WAITING: 1})
        return (job,)

    def move(self, job_id: int, before: int | None, after: int | None) -> None:
        self._take("move", job_id, before, after)

    def cancel(self, job_id: int) -> None:
        self._take("cancel", job_id)

    def retry(self, job_id: int) -> None:
        self._take("retry", job_id)

    def start_runner(self) -> None:
        self._take("start")
        self.view = replace(self.view, runner=RunnerInfo(pid=4711, since_unix_s=time.time()))

    def stop_runner(self) -> None:
        self._take("stop")
        self.view = replace(self.view, runner=None)

    def _take(self, *asked: object) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.asked.append(asked)


class InMemoryAlerts:
    """Alerts without a file; what is told is kept."""

    def __init__(self) -> None:
        self.acting = True
        self.plan = AlertPlan()
        self.error: Exception | None = None
        self.told: list[AlertChange] = []
        self.runs_told: list[str] = []
        self.trials = 0
        self.closed = 0

    def listen(self, say: Callable[[str], None], tray: Callable[[str, str], None]) -> None:
        self.say, self.tray = say, tray

    def read(self) -> tuple[AlertPlan, Exception | None]:
        return self.plan, self.error

    def save(self, plan: AlertPlan) -> None:
        if self.error is not None:
            raise self.error
        self.plan = plan

    def watch(self, cards: Iterable[CardInfo]) -> AlertWatch:
        return AlertWatch((), cards)

    def tell(self, changes: Sequence[AlertChange], cards: Sequence[CardInfo]) -> None:
        self.told += changes

    def tell_run(self, text: str) -> None:
        self.runs_told.append(text)

    def try_out(self) -> tuple[str, str]:
        self.trials += 1
        return "desktop", ""

    def close(self) -> None:
        self.closed += 1


class InMemoryPorts:
    """Ports over invented data. ``runs`` are handed out one after the other; an exception among them is raised."""

    def __init__(self, feed: InMemoryFeed, runs: Sequence[object] = ()) -> None:
        self.feed = feed
        self.tune_spec = Spec
        self.batch_spec = Batch
        self.questions: dict[str, type[object]] = {"switches": Switching, "numerics": Numerics, "loading": Loading}
        self.watched: list[tuple[tuple[str, ...], Path | None, bool, tuple[str, ...]]] = []
        self.trainings = tuple(BUILT_IN)
        self.bench_spec = BenchSpec
        self.contend_spec: type[object] = ContendSpec
        self.power_spec: type[object] = Power
        self.cooling_spec: type[object] = Cooling
        self.health_spec: type[object] = Health
        self.sold_names = {"rtx-4090-48g": "GeForce RTX 4090 48GB (modded)", "rtx-3090": "GeForce RTX 3090"}
        self.worn: dict[str, Wear | Exception] = {}
        self.queue = InMemoryQueue()
        self.alerts = InMemoryAlerts()
        self.runs = list(runs)
        self.started: list[tuple[object, tuple[str, ...], bool]] = []
        self.recorded: list[tuple[str, ...]] = []
        self.tried: list[tuple[str, str, str, bool]] = []
        self.known_tries: dict[str, dict[str, tuple[Point, Path]]] = {}
        self.recording = ScriptedRun([], session_path=None)
        self.entries: list[Entry] = []
        self.kept: dict[Path, KeptSession] = {}
        self.summaries: dict[Path, Summary] = {}
        self.deleted: list[Path] = []
        self.exported: list[tuple[Path, str, Path]] = []
        self.replays: list[InMemoryFeed] = []
        self.preferences: dict[str, str] = {}
        self.wrong_preferences: list[Notice] = []
        self.preferences_error: StoreError | None = None
        self.threads: set[str] = set()
        self.plan: object = None
        self.holders: dict[str, tuple[Holder, ...]] = {}
        self.spread: dict[Key, SessionSpread] = {}
        self.compared: list[tuple[Path, str]] = []
        self.draws: dict[str, CardDraw | Exception] = {}

    def wear(self, card: str, told: Callable[[int, int], object], stop: Callable[[], bool]) -> Wear | None:
        self.threads.add(threading.current_thread().name)
        found = self.worn.get(card)
        if isinstance(found, Exception):
            raise found
        told(1, 1)
        return found

    def benchmarks(self, card: str) -> tuple[Offer, ...]:
        return suite(card)

    def start(self, spec: object, cards: tuple[str, ...], share: bool) -> object:
        self.threads.add(threading.current_thread().name)
        self.started.append((spec, cards, share))
        run = self.runs.pop(0)
        if isinstance(run, Exception):
            raise run
        return run

    def dry_run(self, spec: object, cards: tuple[str, ...], share: bool) -> Planned:
        if isinstance(self.plan, Exception):
            raise self.plan
        steps = tuple(
            PlannedStep(label=label, expected_s=10.0) for label in ("matmul", "matmul", "copy", "train_probe")
        )
        return Planned(steps=steps, expected_s=281.0)

    def start_try(self, session: str, name: str, folder: str, share: bool) -> object:
        self.tried.append((session, name, folder, share))
        run = self.runs.pop(0)
        if isinstance(run, Exception):
            raise run
        return run

    def tries(self, session: str) -> dict[str, tuple[Point, Path]]:
        return self.known_tries.get(session, {})

    def start_record(self, cards: tuple[str, ...]) -> object:
        self.recorded.append(cards)
        events = [e for e in tune_events() if isinstance(e, RunStarted | RunFinished)]
        self.recording = ScriptedRun(events, hold=1)
        return self.recording

    def start_watch(
        self, argv: tuple[str, ...], folder: Path | None, hooks: bool, cards: tuple[str, ...] = ()
    ) -> object:
        self.watched.append((argv, folder, hooks, cards))
        run = self.runs.pop(0)
        if isinstance(run, Exception):
            raise run
        return run

    def sessions(self, also: Sequence[Path] = ()) -> list[Entry]:
        listed = [entry.path for entry in self.entries]
        outside = [Entry(p, self.summaries[p], outside=True) for p in also if p in self.summaries and p not in listed]
        return [*outside, *self.entries]

    def open_session(self, path: Path) -> KeptSession:
        if path not in self.kept:
            raise StoreError("session_malformed", path=str(path), message="not a database")
        return self.kept[path]

    def spreads(self, path: Path, but: str) -> dict[Key, SessionSpread]:
        self.compared.append((path, but))
        return self.spread

    def draw(self, card: str) -> CardDraw:
        self.threads.add(threading.current_thread().name)
        found = self.draws.get(card, CardDraw(name="RTX 4090", uuid=card, source=DrawSource.LIMIT,
                                              sustained_w=450.0, peak_w=450.0, limit_w=450.0))  # fmt: skip
        if isinstance(found, Exception):
            raise found
        return found

    def replay(self, path: Path) -> InMemoryFeed:
        self.replays.append(InMemoryFeed([modded_4090(origin=Origin.REPLAYED)], Origin.REPLAYED))
        return self.replays[-1]

    def delete_session(self, path: Path) -> None:
        self.deleted.append(path)
        self.entries = [entry for entry in self.entries if entry.path != path]

    def export_session(self, path: Path, form: str, target: Path) -> tuple[Path, ...]:
        self.exported.append((path, form, target))
        return (target,)

    def elsewhere(self, cards: Sequence[str]) -> dict[str, tuple[Holder, ...]]:
        self.threads.add(threading.current_thread().name)
        return {card: self.holders.get(card, ()) for card in cards}

    def preference(self, name: str) -> str | None:
        return self.preferences.get(name)

    def preference_notices(self) -> Sequence[Notice]:
        return tuple(self.wrong_preferences)

    def set_preference(self, name: str, value: str) -> None:
        if self.preferences_error is not None:
            raise self.preferences_error
        self.preferences[name] = value


def ports(cards: list[CardInfo] | None = None, runs: Sequence[object] = (), **feed: object) -> InMemoryPorts:
    return InMemoryPorts(InMemoryFeed([modded_4090(), rtx_3090()] if cards is None else cards, **feed), runs)


def with_sessions(target: InMemoryPorts) -> InMemoryPorts:
    """Three sessions: a measured one, a simulated one, and a file that cannot be read."""
    for number, (origin, age) in enumerate(((Origin.MEASURED, 3600.0), (Origin.SIMULATED, 90000.0)), start=1):
        path = Path(f"/data/sessions/s{number}.sqlite")
        events = tune_events(origin=origin, run=f"s{number}")
        target.kept[path] = KeptSession(events)
        target.entries.append(
            Entry(path, Summary(f"s{number}", started_unix_s=time.time() - age, origin=origin, cards=events[0].cards))
        )
    broken = Path("/data/sessions/broken.sqlite")
    error = StoreError("session_malformed", path=str(broken), message="not a database")
    target.entries.append(Entry(broken, None, error))
    return target


# --- benchmarks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSpec:
    """Looks like the spec of the suite."""

    names: tuple[str, ...] = ()
    full: bool = False
    minutes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    code: str
    params: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    name: str
    group: str
    in_default: bool = True
    default_s: float = 10.0
    full_s: float = 60.0
    obstacle: Obstacle | None = None


def suite(card: str) -> tuple[Offer, ...]:
    """A small suite; on the processor most of it cannot run."""
    gpu_only = Obstacle(code="gpu_only") if card == "cpu" else None
    kernels = gpu_only or Obstacle(code="extra_missing", params={"extra": "kernels"})
    return (
        Offer(name="gemm-fp64", group="gemm", in_default=False),
        Offer(name="gemm-bf16", group="gemm", default_s=60.0, full_s=300.0),
        Offer(name="gemm-fp8", group="gemm", obstacle=gpu_only),
        Offer(name="memory-copy", group="memory"),
        Offer(name="memory-triad", group="memory", in_default=False),
        Offer(name="latency", group="latency", obstacle=kernels),
        Offer(name="resnet50", group="training", default_s=70.0),
    )


def bench_events(
    *, origin: Origin = Origin.MEASURED, card: CardInfo | None = None, run: str = "b1", faster: float = 1.0,
    outcome: Outcome = Outcome.COMPLETED,
) -> list[Event]:  # fmt: skip
    """The stream of a bench run; ``faster`` scales every rate."""
    chosen = card or modded_4090(origin=origin)
    points = [replace(p, card=chosen.uuid, origin=origin) for p in bench_points(faster)]
    seq = itertools.count()
    events: list[Event] = [
        RunStarted(
            run_id=run, seq=next(seq), t_ns=T0, experiment="bench", spec={"names": []},
            fingerprint=Fingerprint(host=HostFingerprint(readings={"cpu": value("AMD Ryzen 9 7950X")})),
            cards=(chosen,), clock=ClockKind.WALL, origin=origin, unix_s=1_780_000_000.0, version="0.2.0",
        ),
        TorchFound(run_id=run, seq=next(seq), t_ns=T0, torch=TorchFingerprint(python="3.12", version="2.13.0")),
    ]  # fmt: skip
    for number, point in enumerate(points, start=1):
        t_ns = T0 + number * 5 * S
        events.append(
            StepStarted(
                run_id=run, seq=next(seq), t_ns=t_ns, index=number, total=len(points), label=point.workload,
                params={}, expected_s=5.0, remaining_s=(len(points) - number) * 5.0,
            )
        )  # fmt: skip
        events.append(
            StepFinished(run_id=run, seq=next(seq), t_ns=t_ns, index=number, label=point.workload, result="done")
        )
        events.append(PointMeasured(run_id=run, seq=next(seq), t_ns=t_ns, point=point))
    last = T0 + len(points) * 5 * S
    code = 0 if outcome is Outcome.COMPLETED else 130
    events.append(RunFinished(run_id=run, seq=next(seq), t_ns=last, outcome=outcome, exit_code=code))
    return events


def bench_point(
    ident: str, benchmark: str, metric: str, number: float, unit: str, params: dict[str, object], **extra: object
) -> Point:
    flags = (Flag.THROTTLED_POWER,) if params.get("phase") == "sustained" else ()
    return Point(
        id=ident, card="GPU-4090", metric=metric, workload=benchmark, params=params, value=number, unit=unit,
        spread=Spread(n=40, median=number, iqr=number * 0.006, ci95_low=number * 0.995, ci95_high=number * 1.004),
        conditions=Conditions(
            duration_s=4.0, samples=80, sm_clock_mhz=2565.0, power_w=446.0, core_temperature_end_c=68.0,
            limited_s={Limiter.POWER: 3.1} if flags else {},
        ),
        flags=flags, extra={"benchmark": benchmark, "correct": True, **extra},
    )  # fmt: skip


WIDTHS = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 4 / 3}
"""Bytes moved per element; FP8 products give BF16."""


def bench_points(faster: float = 1.0) -> list[Point]:
    """Plausible figures of an RTX 4090 48G."""
    points: list[Point] = []
    peaks = {"fp64": 1.31e12, "fp32": 84e12, "tf32": 83.1e12, "fp16": 166e12, "bf16": 166e12, "fp8": 332e12}
    for name, share in (("fp64", 0.94), ("fp32", 0.79), ("tf32", 0.93), ("fp16", 0.96), ("bf16", 0.953), ("fp8", 0.9)):
        for phase, factor in (("search", 0.9), ("burst", 1.0), ("sustained", 0.94)):
            if phase == "search" or name == "bf16" or phase == "sustained":
                rate = peaks[name] * share * factor * faster
                published = (
                    {"published_percentile": 71, "published_n": 9, "published_low": 0.8 * peaks[name],
                     "published_median": 0.9 * peaks[name], "published_high": 0.97 * peaks[name],
                     "published_source": "stored tables"}
                    if name in ("fp16", "bf16") else {}
                )  # fmt: skip
                held = (
                    {"held_back": "power_cap", "held_back_share": 0.78, "held_back_lost": 0.17}
                    if phase == "sustained"
                    else {}
                )
                points.append(
                    bench_point(
                        f"gemm-{name}-{phase}", f"gemm-{name}", "matmul_rate", rate, "FLOP/s",
                        {"precision": name, "m": 8192, "n": 8192, "k": 8192, "phase": phase},
                        fraction_of_peak_at_clock=share * factor, fraction_of_sheet=share * factor * 1.005,
                        operations=2 * 8192**3, intensity=2 * 8192 / 3 / WIDTHS[name],
                        seconds=2 * 8192**3 / rate, **published, **held,
                    )
                )  # fmt: skip
    for operation, best in (("read", 945e9), ("write", 925e9), ("copy", 920e9), ("scale", 915e9), ("triad", 925e9)):
        for power in range(20, 35):
            count, l2 = 2**power, power <= 25
            rate = (
                best * 4.6 * (0.35 + 0.65 * min(1, (power - 19) / 4)) if l2 else best * min(1, 0.9 + (power - 26) / 60)
            )
            points.append(
                bench_point(
                    f"memory-{operation}-{power}", f"memory-{operation}", "stream_bandwidth", rate * faster, "B/s",
                    {"operation": operation, "bytes": count, "level": "l2" if l2 else "dram"},
                    bytes=count, seconds=count / (rate * faster), l2_bytes=72 * 2**20,
                    **({} if l2 else {"fraction_of_peak_at_clock": rate * faster / 1.008e12}),
                )
            )  # fmt: skip
    for power in range(13, 31):
        level, base = ("l1", 14e-9) if power <= 16 else ("l2", 105e-9) if power <= 26 else ("dram", 260e-9)
        points.append(
            bench_point(
                f"latency-{power}", "latency", "access_latency", base * (1 + 0.02 * (power % 5)), "s",
                {"bytes": 2**power, "level": level},
            )
        )  # fmt: skip
    points += [
        bench_point(
            f"region-{region}", "regions", "region_bandwidth", (905e9 + 9e9 * math.sin(region)) * faster, "B/s",
            {"offset_bytes": region * 2 * GIB, "bytes": 2 * GIB},
        )
        for region in range(24)
    ]  # fmt: skip
    for direction, rate in (("to_device", 25.4e9), ("to_host", 26.1e9), ("both", 44e9)):
        points.append(
            bench_point(
                f"pcie-{direction}", "pcie", "transfer_bandwidth", rate, "B/s", {"direction": direction, "pinned": True}
            )
        )
    for model, rate in (("resnet50", 1320.0), ("bert-large", 98.0), ("gpt", 61.0)):
        for phase, factor in (("burst", 1.04), ("sustained", 1.0)):
            points.append(
                bench_point(
                    f"{model}-{phase}", model, "train_throughput", rate * factor * faster, "samples/s",
                    {"batch": 128, "precision": "bf16", "channels_last": True, "phase": phase},
                    samples=128, seconds=128 / rate,
                    **({"published_percentile": 55, "published_n": 6, "published_low": 1010.0,
                        "published_median": 1290.0, "published_high": 1460.0, "published_source": "stored tables"}
                       if model == "resnet50" else {}),
                )
            )  # fmt: skip
    points.append(bench_point("launch-1", "launch", "launch_time", 4.6e-6, "s", {}))
    points.append(bench_point("launch-2", "launch", "graph_launch_time", 1.4e-6, "s", {}))
    return points


# --- trainings --------------------------------------------------------------------------------------------------------


def batch_events(
    *, origin: Origin = Origin.MEASURED, run: str = "t1", recipe: str = "", limit_only: bool = False
) -> list[Event]:
    """The stream of a batch run: the trainings of ``tune_events`` on their own, under the name of a recipe if any."""
    kept: list[Event] = []
    for event in tune_events(origin=origin, run=run, telemetry=False):
        match event:
            case RunStarted():
                kept.append(replace(event, experiment="batch", spec={"workload": "resnet50", "recipe": recipe}))
            case StepStarted(label=label) | StepFinished(label=label):
                kept += [event] if label.startswith(("train_probe", "train_limit")) else []
            case PointMeasured(point=point) if point.metric.startswith(("train_", "memory_per", "batch_")):
                phase = "memory" if limit_only and point.params.get("phase") == "probe" else point.params.get("phase")
                params = point.params if phase is None else {**point.params, "phase": phase}
                extra = {**point.extra, "knee": 64} if point.metric == "batch_fastest" else point.extra
                workload = recipe.rpartition("/")[2] or point.workload
                if not (limit_only and point.metric == "batch_fastest"):
                    named = replace(point, workload=workload, params=params, extra=extra)
                    kept.append(replace(event, point=named))
            case AdviceGiven():
                kept.append(replace(event, advice=event.advice[:2]))
            case TorchFound() | Warned() | RunFinished():
                kept.append(event)
            case _:
                pass
    return [replace(event, seq=number) for number, event in enumerate(kept)]
