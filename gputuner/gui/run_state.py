# pyright: standard
"""The state of one run as the window shows it: an event goes in, pages read what stands here."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gputuner.gui.history import History
from gputuner.gui.watched_history import WatchedHistory
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import (
    AdviceGiven,
    AlertCleared,
    AlertRaised,
    CommandEnded,
    CommandSampled,
    CommandStarted,
    Event,
    Outcome,
    PointMeasured,
    RunFinished,
    RunStarted,
    StepFinished,
    StepProgressed,
    StepStarted,
    TelemetrySampled,
    TorchFound,
    Warned,
)
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

STEADY_STEPS = 5
"""Steps in a row that must tell the same total before it is said."""


class Phase(StrEnum):
    """Where a run stands: idle → starting → running → (stopping →) over; starting → refused."""

    IDLE = "idle"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    OVER = "over"
    REFUSED = "refused"


@dataclass(slots=True)
class StepSeen:
    """One step with its stretch of time (ns) and result ("" while it runs)."""

    label: str
    params: dict[str, Scalar]
    t0_ns: int
    t1_ns: int | None = None
    result: str = ""
    message: str = ""


@dataclass(slots=True)
class RunFacts:
    """Everything told so far."""

    started: RunStarted | None = None
    torch: TorchFound | None = None
    step: StepStarted | None = None
    progress: StepProgressed | None = None
    """How far ``step`` is; None: nothing was told yet."""
    steps: list[StepSeen] = field(default_factory=lambda: [])
    points: list[Point] = field(default_factory=lambda: [])
    advice: tuple[Advice, ...] = ()
    questions: tuple[Question, ...] = ()
    warnings: list[Warned] = field(default_factory=lambda: [])
    alerts: list[AlertRaised | AlertCleared] = field(default_factory=lambda: [])
    total_wavers: bool = False
    """The number of steps told with each step has changed: what is left of it is a guess."""
    finished: RunFinished | None = None
    traces: dict[str, History] = field(default_factory=lambda: {})
    command: CommandStarted | None = None
    """The user's command that is watched."""
    watched: WatchedHistory = field(default_factory=WatchedHistory)
    ended: CommandEnded | None = None
    output: Path | None = None
    """Where the watched command writes to; None of a stored session."""
    t_ns: int = 0

    @property
    def origin(self) -> Origin:
        """Where the numbers come from."""
        return self.started.origin if self.started else Origin.MEASURED

    @property
    def cards(self) -> tuple[CardInfo, ...]:
        """The cards of the run."""
        return self.started.cards if self.started else ()

    @property
    def remaining_s(self) -> float:
        """Seconds left of the run by the last word on it, less what passed since; 0 before the first step."""
        told = self.progress or self.step
        return 0.0 if told is None else max(0.0, told.remaining_s - self.since_s(told))

    @property
    def steady_total(self) -> int | None:
        """Steps of the run in all, once several in a row told the same and none another."""
        if self.step is None or self.total_wavers or len(self.steps) < STEADY_STEPS:
            return None
        return self.step.total

    @property
    def fraction(self) -> float:
        """Share of the run's time that has passed, 0–1, by the last word on what is left; 0 before the first step."""
        if self.step is None or self.started is None:
            return 0.0
        passed_s = (self.t_ns - self.started.t_ns) / 1e9
        return passed_s / max(1e-9, passed_s + self.remaining_s)

    def since_s(self, told: StepStarted | StepProgressed) -> float:
        """Seconds of the run since an event."""
        return (self.t_ns - told.t_ns) / 1e9

    def take(self, event: Event) -> None:
        """Take one event in."""
        self.t_ns = max(self.t_ns, event.t_ns)
        match event:
            case RunStarted():
                self.started = event
            case TorchFound():
                self.torch = event
            case StepStarted():
                self.total_wavers |= self.step is not None and self.step.total != event.total
                self.step, self.progress = event, None
                self.steps.append(StepSeen(event.label, dict(event.params), event.t_ns))
            case StepProgressed():
                self.progress = event
            case StepFinished():
                self._finish_step(event)
            case TelemetrySampled():
                self._trace(event)
            case PointMeasured():
                self.points.append(event.point)
            case Warned() | AlertRaised() | AlertCleared():
                self._note(event)
            case AdviceGiven():
                self._advise(event)
            case CommandStarted() | CommandSampled() | CommandEnded():
                self._watch(event)
            case RunFinished():
                self.finished = event
            case _:
                pass

    def step_stretch(self, label: str) -> tuple[float, float] | None:
        """Begin and end (s) of the last step with this label; of a running one up to now."""
        for step in reversed(self.steps):
            if step.label == label:
                return step.t0_ns * 1e-9, (self.t_ns if step.t1_ns is None else step.t1_ns) * 1e-9
        return None

    def _note(self, event: Warned | AlertRaised | AlertCleared) -> None:
        if isinstance(event, Warned):
            self.warnings.append(event)
        else:
            self.alerts.append(event)

    def _watch(self, event: CommandStarted | CommandSampled | CommandEnded) -> None:
        match event:
            case CommandStarted():
                self.command = event
            case CommandSampled():
                self.watched.take(event)
            case CommandEnded():
                self.ended = event

    def _finish_step(self, event: StepFinished) -> None:
        for step in reversed(self.steps):
            if step.t1_ns is None and step.label == event.label:
                step.t1_ns, step.result, step.message = event.t_ns, event.result, event.message
                return

    def _advise(self, event: AdviceGiven) -> None:
        told = {(advice.card, advice.id) for advice in event.advice}
        kept = [advice for advice in self.advice if (advice.card, advice.id) not in told]
        self.advice = tuple(sorted([*kept, *event.advice], key=lambda advice: -advice.rank))
        asked = {(question.card, question.id) for question in event.questions}
        others = [question for question in self.questions if (question.card, question.id) not in asked]
        self.questions = (*others, *event.questions)

    def _trace(self, event: TelemetrySampled) -> None:
        for gap in event.gaps:
            for uuid, history in self.traces.items():
                if gap.card in (None, uuid):
                    history.add_gap(gap)
        for sample in event.samples:
            self.traces.setdefault(sample.card, History()).add(sample)


class RunState(QObject):
    """Facts of a run and where it stands.

    ``traced`` after telemetry, ``progressed`` while a step goes on, ``changed`` after every other event.
    """

    changed = Signal()
    traced = Signal()
    progressed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.phase = Phase.IDLE
        self.facts = RunFacts()
        self.error: Exception | None = None
        self._before = self.facts

    @property
    def busy(self) -> bool:
        """True while a run is under way."""
        return self.phase in (Phase.STARTING, Phase.RUNNING, Phase.STOPPING)

    @property
    def outcome(self) -> Outcome | None:
        """How the last run ended."""
        return self.facts.finished.outcome if self.facts.finished else None

    def begin(self) -> None:
        """A run is being started; what was shown before comes back if it never starts."""
        self._before = self.facts
        self.phase, self.facts, self.error = Phase.STARTING, RunFacts(), None
        self.changed.emit()

    def stopping(self) -> None:
        """The user asked it to stop."""
        if self.busy:
            self.phase = Phase.STOPPING
            self.changed.emit()

    def take(self, event: Event) -> None:
        """Take one event in."""
        self.facts.take(event)
        if isinstance(event, TelemetrySampled):
            self.traced.emit()
            return
        if isinstance(event, StepProgressed):
            self.progressed.emit()
            return
        if isinstance(event, RunFinished):
            self.phase = Phase.OVER
        elif self.phase is Phase.STARTING:
            self.phase = Phase.RUNNING
        self.changed.emit()

    def refuse(self, err: Exception | None) -> None:
        """The run could not start, or its stream broke (None: off without a word)."""
        self.error = err
        if self.facts.started is None:
            self.facts = self._before
        self.phase = Phase.REFUSED
        self.changed.emit()

    def ended(self) -> None:
        """The run's thread is over; without a last word it has failed."""
        if self.busy:
            self.refuse(None)
