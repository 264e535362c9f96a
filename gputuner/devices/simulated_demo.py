"""A load that lives on a simulated card while nobody runs an experiment: a training as the Monitor would meet one."""

from dataclasses import dataclass

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.samples import ProcessOnCard

WORKER = "demo"
GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Part of a training's day: ``switching`` and ``traffic`` are shares of the card's tensor pipes and memory."""

    duration_s: float
    busy: float
    """Share of the time in which kernels run."""
    switching: float = 0.0
    traffic: float = 0.0
    memory: float = 0.0
    """Share of the card's memory that the process holds; 0: there is no process."""


TRAINING: tuple[Phase, ...] = (
    Phase(duration_s=50, busy=0.97, switching=0.88, traffic=0.45, memory=0.62),
    Phase(duration_s=10, busy=0.55, switching=0.35, traffic=0.60, memory=0.66),
    Phase(duration_s=5, busy=0.04, switching=0.05, traffic=0.05, memory=0.66),
    Phase(duration_s=45, busy=0.97, switching=0.88, traffic=0.45, memory=0.66),
    Phase(duration_s=6, busy=0.08, switching=0.05, traffic=0.10, memory=0.66),
    Phase(duration_s=8, busy=0.0),
    Phase(duration_s=6, busy=0.0, memory=0.02),
)
"""Epoch, validation, checkpoint, epoch, end, pause, start; then again. Whoever looks sees a card at work at once."""


class DemoLoad:
    """Plays phases in a circle on one card and shows the process that would cause them."""

    def __init__(
        self, card: SimulatedCard, phases: tuple[Phase, ...] = TRAINING, command: str = "python train.py"
    ) -> None:
        """Begin with the first phase now; cards of higher index are a quarter of the cycle ahead each."""
        self._card = card
        self._phases = phases
        self._command = f"{command} (simulated)"
        self._index = -1
        self._next_ns = card.now_ns
        self._skip_s = sum(p.duration_s for p in phases) * 0.25 * card.index
        while self._skip_s > 0 or self._index < 0:
            self._begin()

    def _begin(self) -> None:
        self._index = (self._index + 1) % len(self._phases)
        phase = self._phases[self._index]
        skipped = min(self._skip_s, phase.duration_s)
        self._skip_s -= skipped
        self._next_ns += int((phase.duration_s - skipped) * 1e9)
        card = self._card
        if phase.memory <= 0:
            card.set_process(WORKER, None)
            return
        held = card.model.context_bytes + int(phase.memory * card.facts.memory_total_mib * 2**20)
        card.set_process(
            WORKER,
            ProcessOnCard(pid=24000 + card.index, name="python", user="demo", command=self._command, memory_bytes=held),
        )
        card.set_load(WORKER, self._load(phase) if phase.busy > 0 else None)

    def _load(self, phase: Phase) -> Load:
        """A load whose busy time, switching and traffic come out as the phase says, at the highest clock."""
        step_s = 0.05
        compute_s = step_s * phase.busy
        return Load(
            compute_cycles=compute_s * self._card.model.clock_max_mhz * 1e6,
            dram_bytes=min(phase.traffic, 0.8 * phase.busy) * step_s * self._card.physics.bandwidth,
            host_s=step_s,
            activity=phase.switching / max(phase.busy, 1e-3),
        )

    def advance_to(self, t_ns: int) -> None:
        """Play on to ``t_ns``."""
        while self._next_ns <= t_ns:
            self._card.advance_to(self._next_ns)
            self._begin()
