"""A performer of plans without a card: trials from formulas and from an H200's recorded lines."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from gputuner.experiments.protocol import PlanContext
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.points import Conditions, Point
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Reading
from gputuner.model.steps import (
    Advise,
    Cancelled,
    Done,
    OutOfMemory,
    Plan,
    Report,
    Settle,
    Step,
    StepResult,
    Together,
    Total,
    Trial,
    Warn,
    Watch,
    Work,
)

RECORDED = json.loads((Path(__file__).parents[1] / "data/experiments/resnet50-h200.json").read_text())
GIB = 1 << 30
Script = Callable[[Work | Together], StepResult | None]


@dataclass
class FakeCard:
    """What a fake card answers: rates in FLOP/s, bytes/s and samples/s, memory lines in bytes."""

    matmul: dict[str, float]
    bandwidth: float
    rates: dict[str, list[tuple[int, float]]]
    """Per precision: (batch, samples/s), interpolated in the logarithm of the batch, flat beyond."""
    memory: dict[str, tuple[float, float]]
    capacity: float
    slowdown: float = 1.9
    layout_factor: float = 1.2
    usable: float = 0.99
    noise: float = 0.002
    setup_s: float = 0.5
    autotune_s: float = 0.004
    """Per sample of the batch, on top of the first step."""
    restart_s: float = 8.0
    power_share: float = 0.0
    probe_slows: float = 1.0
    """A processor's memory probe runs this much slower, in a process of its own kind …"""
    rate_bloats: float = 1.0
    """… and its worker for rates shows peaks this much too high."""
    pace: Callable[[float], float] = lambda now_s: 1.0
    """How many times slower everything is at a time (s), because of what else runs there."""

    def rate(self, params: dict) -> float:
        table = self.rates[params["precision"]]
        rate = float(np.interp(np.log(params["batch"]), [np.log(b) for b, _ in table], [r for _, r in table]))
        return rate * (self.layout_factor if params.get("channels_last") else 1.0)

    def need(self, params: dict) -> float:
        fixed, per_sample = self.memory[params["precision"]]
        return fixed + per_sample * params["batch"]


@dataclass
class Performed:
    steps: list[Step] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    warned: list[Warn] = field(default_factory=list)
    advised: Advise | None = None
    seconds: float = 0.0

    def works(self, label: str) -> list[Work]:
        return [s for s in self.steps if isinstance(s, Work) and s.label == label]

    def of(self, metric: str, **params) -> list[Point]:
        return [p for p in self.points if p.metric == metric and all(p.params.get(k) == v for k, v in params.items())]

    def codes(self) -> list[str]:
        return [w.code for w in self.warned]


class Performer:
    """Performs a plan: answers from the card, or from ``script`` where it returns a result."""

    def __init__(self, card: FakeCard, script: Script | None = None, seed: int = 1) -> None:
        self.card, self.script = card, script
        self.random = np.random.default_rng(seed)
        self.now_s = 8.0
        self.probing = False

    def perform(self, plan: Plan) -> Performed:
        told = Performed()
        result: StepResult | None = None
        while True:
            try:
                step = next(plan) if result is None else plan.send(result)
            except StopIteration:
                told.seconds = self.now_s
                return told
            told.steps.append(step)
            result = self.answer(step, told)
            if isinstance(result, Cancelled):
                plan.close()
                told.seconds = self.now_s
                return told

    def answer(self, step: Step, told: Performed) -> StepResult:
        match step:
            case Report(points=points):
                told.points.extend(points)
            case Warn():
                told.warned.append(step)
            case Advise():
                told.advised = step
            case Settle(at_most_s=seconds):
                self.now_s += seconds
            case Work() | Together():
                scripted = self.script(step) if self.script else None
                return scripted if scripted is not None else self.run(step)
            case Total() | Watch():
                pass
        return Done()

    def run(self, step: Work | Together) -> StepResult:
        works = step.works if isinstance(step, Together) else (step,)
        need = sum(self.card.need(w.params) for w in works if w.workload not in ("matmul", "copy"))
        if need > self.card.usable * self.card.capacity:
            self.now_s += 6.0
            return OutOfMemory(message="CUDA out of memory", free_bytes=1 << 20, needed_bytes=int(need))
        other_kind = self.card.probe_slows > 1.0 and works[0].memory_probe != self.probing
        self.probing = works[0].memory_probe
        restarts = len(works) > 1 or works[0].fresh or other_kind
        self.now_s += works[0].idle_before_s + (self.card.restart_s if restarts else 0.0)
        trials = tuple(self.trial(w, self.card.slowdown if len(works) > 1 else 1.0) for w in works)
        duration = max(t.t1_ns - t.t0_ns for t in trials) / 1e9
        self.now_s = max(t.t1_ns for t in trials) / 1e9
        conditions = Conditions(
            duration_s=duration,
            samples=max(1, int(2 * duration)),
            sm_clock_mhz=1485.0,
            power_w=690.0,
            energy_j=690.0 * duration,
            core_temperature_start_c=34.0,
            core_temperature_end_c=57.0,
            limited_s={Limiter.POWER: self.card.power_share * duration},
        )
        return Done(trials=trials, conditions=conditions)

    def trial(self, work: Work, slowdown: float) -> Trial:
        card, params = self.card, work.params
        memory: dict[str, int] = {}
        match work.workload:
            case "matmul":
                done = {"flop": 2.0 * params["n"] ** 3}
                seconds = done["flop"] / card.matmul[params["precision"]]
            case "copy":
                done = {"bytes": 2.0 * params["bytes"]}
                seconds = done["bytes"] / card.bandwidth
            case _:
                done = {"samples": float(params["batch"])}
                seconds = params["batch"] / card.rate(params) * (card.probe_slows if work.memory_probe else 1.0)
                allocated = card.need(params) * (1.0 if work.memory_probe else card.rate_bloats)
                memory = {
                    "allocated_peak_bytes": int(allocated),
                    "reserved_peak_bytes": int(1.2 * allocated),
                    "capacity_bytes": int(card.capacity),
                }
        seconds *= slowdown * card.pace(self.now_s)
        if seconds > work.budget_s:
            return self.given_up(work)
        first = seconds + (card.autotune_s * params["batch"] if work.workload == "resnet50" else 0.0)
        warm = 1.0 if work.warmup_s is None else work.warmup_s
        spent = card.setup_s + first + seconds + warm
        too_slow = spent + 3 * seconds > work.budget_s
        count = 1 if too_slow else max(3, min(200, int(work.measure_s / seconds)))
        iterations = seconds * (1.0 + card.noise * self.random.standard_normal(count))
        start = int((self.now_s + spent - (seconds if too_slow else 0.0)) * 1e9)
        measured = seconds if too_slow else max(work.measure_s, float(iterations.sum()))
        return Trial(
            iteration_s=tuple(iterations.tolist()),
            t0_ns=start,
            t1_ns=start + int(1e9 * measured),
            work=done,
            memory=memory,
            steady=not too_slow,
            too_slow=too_slow,
            notes={"first_iteration_s": first, "iterations_per_window": 1},
        )

    def given_up(self, work: Work) -> Trial:
        """One product or step of a smaller size, as the worker's own probe would measure it."""
        small = ("measured_n", 64) if work.workload == "matmul" else ("measured_batch", 1)
        start = int((self.now_s + 0.5) * 1e9)
        return Trial(
            iteration_s=(0.01,),
            t0_ns=start,
            t1_ns=start + 10_000_000,
            work={"flop": 2.0 * 64**3} if work.workload == "matmul" else {"samples": 1.0},
            steady=False,
            too_slow=True,
            notes={small[0]: small[1]},
        )


def h200(capacity_gib: float = 139.0) -> FakeCard:
    """The recorded H200 (contiguous layout), TF32 taken as half-way between FP32 and BF16."""
    rates = {name: [(row[0], row[3]) for row in RECORDED[name]] for name in ("fp32", "fp16", "bf16")}
    rates["tf32"] = [(b, 0.5 * (r + q)) for (b, r), (_, q) in zip(rates["fp32"], rates["bf16"], strict=True)]
    mib = float(1 << 20)
    amp = (335 * mib, 42.7 * mib)
    return FakeCard(
        matmul={"fp32": 51e12, "tf32": 360e12, "fp16": 670e12, "bf16": 667e12},
        bandwidth=4.2e12,
        rates=rates,
        memory={"fp32": (420 * mib, 82.7 * mib), "tf32": (420 * mib, 82.7 * mib), "fp16": amp, "bf16": amp},
        capacity=capacity_gib * GIB,
    )


def two_cores() -> FakeCard:
    """Two CPU cores: ResNet-50 at 64 px."""
    mib = float(1 << 20)
    rates = [(4, 18.0), (8, 24.0), (16, 28.0), (32, 29.0)]
    return FakeCard(
        matmul={"fp32": 1.2e11, "bf16": 4e10, "fp16": 1e8},
        bandwidth=1.5e10,
        rates={"fp32": rates, "bf16": [(b, 0.7 * r) for b, r in rates]},
        memory={"fp32": (300 * mib, 6.8 * mib), "bf16": (300 * mib, 4.0 * mib)},
        capacity=4.0 * GIB,
        layout_factor=1.1,
        autotune_s=0.0,
        restart_s=4.0,
        probe_slows=1.4,
        rate_bloats=1.15,
    )


def context_of(card: FakeCard, *, cpu: bool = False, minutes: float = 5.0, **changes) -> PlanContext:
    info = (
        CardInfo(uuid=CPU_CARD, index=0, name="CPU")
        if cpu
        else CardInfo(
            uuid="GPU-11111111-2222-3333-4444-555555555555",
            index=0,
            name="NVIDIA H200",
            memory_total_bytes=int(card.capacity),
            sm_count=132,
            compute_capability="9.0",
            readings={"l2_bytes": Reading(value=60 << 20, unit="bytes")},
        )
    )
    context = PlanContext(
        card=info,
        torch=None,
        fingerprint=Fingerprint(host=HostFingerprint(readings={})),
        processes=None,
        budget_s=60.0 * minutes,
        free_bytes=int(card.capacity),
        published={} if cpu else {"peak_bf16": 989e12, "peak_bandwidth": 4.8e12},
    )
    return replace(context, **changes)


@pytest.fixture
def lab():
    """The module's names for tests (test modules cannot import their neighbours)."""
    import types

    return types.SimpleNamespace(**{k: v for k, v in globals().items() if not k.startswith("_")})
