"""Invented but plausible cards, readings, runs and sessions, and ports that hand them to the window."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import replace

from gputuner.model.cards import CardInfo, CatalogMatch, Origin
from gputuner.model.quantities import LimitBit, Quantity
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import CardProcesses, Gap, ProcessOnCard, Sample, XidSeen
from gputuner.telemetry.feed import FeedState, FeedStatus, Tick

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

    def close(self) -> None:
        self.closed = True
