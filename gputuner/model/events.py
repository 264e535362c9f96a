"""The one stream: what the engine tells, what a session file keeps, what window and command line render."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from gputuner.model.advice import Advice, Question
from gputuner.model.alerts import AlertKind
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.fingerprint import Fingerprint, TorchFingerprint
from gputuner.model.followed import CardHeld, FollowedProcess, TrainingNow, TreeNow
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.model.samples import CardProcesses, Gap, Sample, XidSeen
from gputuner.model.watched import Observed, TreeUse

JsonValue = Scalar | None | list["JsonValue"] | dict[str, "JsonValue"]


class Outcome(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    STOPPED_FOR_SAFETY = "stopped_for_safety"


class ClockKind(StrEnum):
    """Which clock stamps ``t_ns``."""

    WALL = "wall"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run begins.

    ``spec`` is the experiment's spec as JSON; ``unix_s`` ties ``t_ns`` to the calendar. ``source`` names who read the
    telemetry: ``nvml``, ``host``, ``simulated``, or the program whose log this was; a replay keeps the recorded one.
    """

    kind: Literal["run_started"] = "run_started"
    run_id: str
    seq: int
    t_ns: int
    experiment: str
    spec: dict[str, object]
    fingerprint: Fingerprint
    cards: tuple[CardInfo, ...]
    clock: ClockKind
    origin: Origin
    unix_s: float
    version: str
    source: str = "nvml"
    settings_found: dict[str, Scalar] = field(default_factory=lambda: {})
    memory_cap_bytes: int | None = None
    """The cap that trials were held to; None: the card's memory (sessions before it was told: not known)."""
    memory_cap_given: bool = True
    """Whether the user gave it; else it is a share of what was free (sessions before it was told: true)."""

    @property
    def given_cap_bytes(self) -> int | None:
        """The cap that a command which goes on from here must name."""
        return self.memory_cap_bytes if self.memory_cap_given else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchFound:
    """The worker answered: this torch is measured."""

    kind: Literal["torch_found"] = "torch_found"
    run_id: str
    seq: int
    t_ns: int
    torch: TorchFingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A step begins: ``index`` of ``total`` (from 1), seconds it should take and seconds left for the whole run.

    ``total_known``: the total is counted, not guessed from the steps so far.
    """

    kind: Literal["step_started"] = "step_started"
    run_id: str
    seq: int
    t_ns: int
    index: int
    total: int
    label: str
    params: dict[str, Scalar]
    expected_s: float
    remaining_s: float
    total_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgressed:
    """A step goes on. Told at most twice a second and never stored: it says nothing once the step is over.

    ``phase``: ``setup``, ``idle``, ``warmup``, ``measure`` or ``settle``; ``done_s`` seconds of it so far. ``left_s``:
    seconds that the step still takes (None: not known), ``remaining_s`` the whole run. Of a survey ``done``: settings
    tried so far, ``of``: how many there are (None: not known).
    """

    kind: Literal["step_progressed"] = "step_progressed"
    run_id: str
    seq: int
    t_ns: int
    index: int
    label: str
    phase: str
    done_s: float
    left_s: float | None
    remaining_s: float
    done: int | None = None
    of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished:
    """A step ended; ``result`` is the outcome's kind (done, out_of_memory, user_code_failed, lost, …)."""

    kind: Literal["step_finished"] = "step_finished"
    run_id: str
    seq: int
    t_ns: int
    index: int
    label: str
    result: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySampled:
    """One tick of all watched cards, and what else the collector saw since the last."""

    kind: Literal["telemetry_sampled"] = "telemetry_sampled"
    run_id: str
    seq: int
    t_ns: int
    samples: tuple[Sample, ...]
    processes: tuple[CardProcesses, ...] = ()
    gaps: tuple[Gap, ...] = ()
    xids: tuple[XidSeen, ...] = ()
    cards: tuple[CardInfo, ...] = ()
    """Set when a card's identity or state changed (lost, found again, asleep)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMeasured:
    """A figure."""

    kind: Literal["point_measured"] = "point_measured"
    run_id: str
    seq: int
    t_ns: int
    point: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerExited:
    """A worker process ended; ``why``: finished, out_of_memory, cancelled, terminated, killed, crashed."""

    kind: Literal["worker_exited"] = "worker_exited"
    run_id: str
    seq: int
    t_ns: int
    worker: str
    why: str
    exit_code: int | None = None
    stderr_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChanged:
    """A setting of a card was changed or put back."""

    kind: Literal["setting_changed"] = "setting_changed"
    run_id: str
    seq: int
    t_ns: int
    card: str
    setting: str
    old: Scalar | None
    new: Scalar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something a reader must know; ``code`` and ``params`` become a sentence in ``language``."""

    kind: Literal["warned"] = "warned"
    run_id: str
    seq: int
    t_ns: int
    code: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceGiven:
    """Advice and open questions, best first."""

    kind: Literal["advice_given"] = "advice_given"
    run_id: str
    seq: int
    t_ns: int
    advice: tuple[Advice, ...]
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandStarted:
    """A command of the user's is followed; ``hooks``: hooks in its Python tell of its trainings.

    ``command``: as it may be told, without secrets and folders.
    """

    kind: Literal["command_started"] = "command_started"
    run_id: str
    seq: int
    t_ns: int
    command: str
    pid: int
    hooks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSampled:
    """The followed command's processes since the last look, and its memory on cards.

    ``trainings``: the newest figures of its trainings; None: not read this time.
    """

    kind: Literal["command_sampled"] = "command_sampled"
    run_id: str
    seq: int
    t_ns: int
    tree: TreeNow
    cards: tuple[CardHeld, ...] = ()
    trainings: tuple[TrainingNow, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnded:
    """The followed command has ended, and all that was seen of it.

    ``exit_code``: 128 + n after ``signal`` n. ``left_running``: processes of its tree that live on. ``own_cpu_s``:
    processor time that watching took, with its collector.
    """

    kind: Literal["command_ended"] = "command_ended"
    run_id: str
    seq: int
    t_ns: int
    exit_code: int | None
    signal: int | None
    duration_s: float
    hooks: bool
    use: TreeUse
    observed: tuple[Observed, ...] = ()
    processes: tuple[FollowedProcess, ...] = ()
    left_running: int = 0
    own_cpu_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRaised:
    """An alert of the user's was raised on a card at ``t_ns``.

    ``rule``: its name. ``threshold`` and ``value`` in the unit of the kind (``model.alerts.KINDS``), None: it has none.
    ``detail``: the limit of ``limit``, the fan's reading of ``fan``. ``quiet``: raised before within its quiet time.
    """

    kind: Literal["alert_raised"] = "alert_raised"
    run_id: str
    seq: int
    t_ns: int
    card: str
    rule: str
    alert: AlertKind
    value: float | None = None
    threshold: float | None = None
    detail: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertCleared:
    """What ``AlertRaised`` told of is over; ``value``: the reading that shows it, ``lasted_s``: how long it was."""

    kind: Literal["alert_cleared"] = "alert_cleared"
    run_id: str
    seq: int
    t_ns: int
    card: str
    rule: str
    alert: AlertKind
    value: float | None = None
    threshold: float | None = None
    detail: str = ""
    lasted_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The run ended; always the last event.

    ``error_code``/``error_params`` name the error for ``language`` (None when completed); ``exit_code`` is what the
    command line ends with; ``settings_restored`` None when nothing was changed.
    """

    kind: Literal["run_finished"] = "run_finished"
    run_id: str
    seq: int
    t_ns: int
    outcome: Outcome
    exit_code: int
    error_code: str | None = None
    error_params: dict[str, Scalar] = field(default_factory=lambda: {})
    error_text: str = ""
    settings_restored: bool | None = None


Event = (
    RunStarted
    | TorchFound
    | StepStarted
    | StepProgressed
    | StepFinished
    | TelemetrySampled
    | PointMeasured
    | WorkerExited
    | SettingChanged
    | Warned
    | AdviceGiven
    | CommandStarted
    | CommandSampled
    | CommandEnded
    | AlertRaised
    | AlertCleared
    | RunFinished
)
