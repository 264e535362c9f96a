"""Steps that a plan yields, and the outcomes it receives. Plans are generators: ``Step → StepResult``."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Literal

from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo
from gputuner.model.control import Setting, Value
from gputuner.model.points import Conditions, Point
from gputuner.model.readings import Scalar
from gputuner.model.samples import Sample
from gputuner.model.watched import Observed, TreeUse

Runtime = Literal["torch", "kernels", "command"]
Mode = Literal["processes", "mps", "streams"]
"""How jobs share a card: processes whose contexts alternate (time slicing), processes under MPS, or streams of one
process."""
Variables = tuple[tuple[str, str], ...]
"""Environment variables, name and value."""


PRIVATE = ("recipe", "folder")
"""Params that say where the user's files lie: neither events nor figures hold them."""


def told_params(params: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """What events and figures say of a work's params."""
    return {name: value for name, value in params.items() if name not in PRIVATE}


def told_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a session says of an experiment's spec: without ``folder``, and without the folders of a recipe's path.

    Whoever runs it again does that from the same folder.
    """
    told = {name: value for name, value in spec.items() if name != "folder"}
    recipe, folder = told.get("recipe"), str(spec.get("folder", ""))
    if isinstance(recipe, str) and recipe:
        told["recipe"] = told_recipe(recipe, folder)
    if isinstance(told.get("jobs"), list | tuple):
        told["jobs"] = [told_job(str(text), folder) for text in told["jobs"]]
    if isinstance(told.get("load"), str):
        told["load"] = told_job(told["load"], folder)
    return told


def split_job(text: str) -> tuple[str, str]:
    """A job of several on one card, ``reference[:key=value,…]``: what it runs, and its settings (empty: none)."""
    reference, _, settings = text.rpartition(":")
    return (reference, settings) if reference and "=" in settings else (text, "")


def told_job(text: str, folder: str = "") -> str:
    """A job as it may be told: of a recipe without the folders of its path (as ``told_recipe``)."""
    reference, settings = split_job(text)
    told = told_recipe(reference, folder) if ":" in reference else reference
    return f"{told}:{settings}" if settings else told


def private_folders(spec: object) -> tuple[str, ...]:
    """Where recipes' files lie, absolute, the longest first; none where ``spec`` is of no recipe.

    Its ``recipes``, or the only ``recipe``; ``commands`` name files there too.
    """
    recipe, folder = (str(getattr(spec, name, "")) for name in ("recipe", "folder"))
    recipes: Sequence[str] = getattr(spec, "recipes", (recipe,) if recipe else ())
    kind = PureWindowsPath if PureWindowsPath(folder).drive else PurePosixPath
    own = [kind(folder)] if recipes or getattr(spec, "commands", ()) else []
    own += [kind(folder, source).parent for each in recipes if (source := each.rpartition(":")[0]).endswith(".py")]
    return tuple(sorted({str(path) for path in own if path.is_absolute() and path.name}, key=len, reverse=True))


def without_folders(text: str, folders: Sequence[str]) -> str:
    """``text`` with paths into ``folders`` begun inside of these."""
    for folder in folders:
        text = text.replace(f"{folder}/", "").replace(f"{folder}\\", "")
    return text


def told_recipe(recipe: str, folder: str = "") -> str:
    """A recipe as it may be told: a path from a root or a home on is made relative to ``folder``, else cut to its name.

    A relative path stays as it was typed.
    """
    source, _, function = recipe.rpartition(":")
    path = PureWindowsPath(source) if PureWindowsPath(source).drive else PurePosixPath(source)
    if not path.is_absolute() and not source.startswith("~"):
        return recipe
    inside = folder and path.is_relative_to(folder)
    return f"{path.relative_to(folder).as_posix() if inside else path.name}:{function}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Run one trial of a workload in a worker.

    ``params`` go to the body as they are (see ``workloads/specs.py``). ``measure_s`` is the time to measure after
    warm-up, ``budget_s`` the whole trial's time; a trial over budget comes back with the flag ``too_slow``.
    ``fresh``: needs a fresh process. ``idle_before_s``: wait idle first (burst figures).
    """

    label: str
    """Stable key of the step's words, e.g. ``matmul``, ``train_probe``."""
    workload: str
    params: dict[str, Scalar]
    measure_s: float
    budget_s: float
    fresh: bool = False
    idle_before_s: float = 0.0
    warmup_s: float | None = None
    """None: until steady; 0: none (cold burst)."""
    size_param: str | None = None
    """Name of the parameter that is the size (``batch``): a crash at a size whose half works is a size limit."""
    memory_probe: bool = False
    """It asks for memory, not for a rate: on the card ``cpu`` an allocator that can be counted and capped slows it."""
    runtime: Runtime = "torch"
    """Which worker runs it: ``torch`` (the user's Python), or ``kernels`` (our own kernels, in our own Python)."""
    soak: bool = False
    """Before it is measured also what comes seldom in a training: an evaluation pass, and a last, smaller batch."""
    peers: tuple[str, ...] = ()
    """UUIDs of further cards that the worker must see, after the run's own (copies between cards)."""
    environment: Variables = ()
    """What the worker's process needs from its start, e.g. for the allocator; one that has it is taken or started."""
    traced: bool = False
    """Its outcome brings the card's samples (``Done.samples``)."""
    idle: int = 0
    """So many further processes stay alive beside it, with an open context, and do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Run several trials at once on the same card from a barrier; the common window counts.

    Mode ``processes`` and ``mps``: each in its own worker; ``streams``: all in one. Where a mode cannot be had, the run
    is warned and the jobs run as ``processes``: ``Done.mode`` says which it was.
    """

    label: str
    works: tuple[Work, ...]
    mode: Mode = "processes"
    thread_percentages: tuple[int, ...] = ()
    """Mode ``mps``: share of the card's threads that each job may use at most, in per cent; empty: all of them."""
    priorities: tuple[int, ...] = ()
    """Mode ``streams``: priority of each job's stream, 0 normal, −1 high; empty: all normal."""
    idle: int = 0
    """As ``Work.idle``."""
    partly: bool = False
    """What survives is wanted where some jobs fail (``Done.failed``); otherwise the first failure is that of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """Change a setting of the run's card; when the run ends, however it does, what was found is put back.

    ``may_forget``: go on where what stands there cannot be read (clock locks, fans set by hand) and would be lost.
    The outcome is ``Done`` or ``Refused``.
    """

    setting: Setting
    value: Value
    may_forget: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Idle until the core temperature moves less than 0.5 °C over 5 s, at most ``at_most_s``."""

    label: str
    at_most_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Only watch, for ``duration_s`` or (None) until cancelled."""

    label: str
    duration_s: float | None = None
    traced: bool = False
    """As of ``Work``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """Follow the user's command, which runs already, until it ends."""

    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Tell points (they are stored and shown)."""

    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advise:
    """Tell advice and questions."""

    advice: tuple[Advice, ...]
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Warn:
    """Tell the reader something that is neither a point nor advice."""

    code: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Tell how much is left, in steps and seconds, so that progress can be shown; may be told again when it changes.

    ``known``: the steps are counted, not guessed.
    """

    steps: int
    expected_s: float
    known: bool = True


Step = Work | Together | Set | Settle | Watch | Follow | Report | Advise | Warn | Total


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One setting of a survey (a trial that goes through many): what it was, how long it took, whether it is right.

    ``params`` say which setting (``m``, ``n``, ``k``; ``bytes``; ``workers`` …), ``iteration_s`` seconds per iteration
    of each timed window, ``work`` per iteration as in :class:`Trial`.
    """

    params: dict[str, Scalar]
    iteration_s: tuple[float, ...]
    t0_ns: int
    t1_ns: int
    work: dict[str, float] = field(default_factory=lambda: {})
    relative_error: float | None = None
    notes: dict[str, Scalar] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a worker measured in one trial (all times host monotonic or the run's simulated clock)."""

    iteration_s: tuple[float, ...]
    """Seconds per iteration, one entry per timed batch of iterations."""
    t0_ns: int
    t1_ns: int
    work: dict[str, float] = field(default_factory=lambda: {})
    """Per iteration: ``flop``, ``bytes``, ``samples``."""
    memory: dict[str, int] = field(default_factory=lambda: {})
    """``allocated_peak_bytes``, ``reserved_peak_bytes``, ``allocator_retries``, ``capacity_bytes``, ``free_bytes``."""
    steady: bool = True
    too_slow: bool = False
    relative_error: float | None = None
    notes: dict[str, Scalar] = field(default_factory=lambda: {})
    """Facts of the body: ``kernel``, ``channels_last``, ``emulated``, ``clock_mhz`` (in band), …"""
    parts: tuple[Part, ...] = ()
    """Of a survey: its settings in the order they were measured (``iteration_s`` is then empty)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSeen:
    """What a further card of a trial (``Work.peers``) did in a window."""

    card: CardInfo
    conditions: Conditions
    core_temperature_max_c: float | None = None
    """The highest reading of the window."""
    shared: bool = False
    """Others computed on the card during the trial, as far as the driver's process tables tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The step ran: its trials (one; several for ``Together``; none for steps without work)."""

    trials: tuple[Trial, ...] = ()
    conditions: Conditions | None = None
    part_conditions: tuple[Conditions, ...] = ()
    """Of a survey: one for each part, from its own window; from the whole where no reading fell into it."""
    peers: tuple[PeerSeen, ...] = ()
    """The further cards of the trial, over the whole of it, in the order of ``Work.peers``."""
    part_peers: tuple[tuple[PeerSeen, ...], ...] = ()
    """Of a survey: the same for each part."""
    mode: Mode = "processes"
    """How the trials shared the card."""
    failed: tuple["JobFailed", ...] = ()
    """Of jobs at once (``Together.partly``): those that failed. ``trials`` are those of the others, in their order."""
    samples: tuple[Sample, ...] = ()
    """Of a traced step: the samples of the run's card since the last traced step ended (else since this one began)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A setting was not changed: out of range, not offered, no permission. ``code`` and ``params`` are the error's."""

    code: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The command has ended: what its processes told of their trainings, and what it used."""

    observed: tuple[Observed, ...]
    use: TreeUse


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfMemory:
    """The trial did not fit; the worker is gone."""

    message: str
    free_bytes: int | None = None
    needed_bytes: int | None = None
    """At least so much it needs: what it held, and what it asked for when there was no more."""
    size_limit: bool = False
    """True if half the size works in a fresh process though the error did not name memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCodeFailed:
    """The body raised an error that is not about memory."""

    message: str
    traceback: str
    reason: str = "user_code"
    """``user_code``, ``unsupported`` (this torch or chip cannot), ``extra_missing``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Worker, card or driver is gone (crash, sticky error, hang, XID)."""

    message: str
    hung: bool = False
    """The worker did not answer in time and was ended."""
    killed: bool = False
    """A signal ended it that comes from outside (by a user, or the kernel out of main memory), for the first time at
    this work: the same once more tells whether the work is to blame."""
    mps_fault: bool = False
    """A fatal fault under MPS, which ends all clients of the card: whose it was cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailed:
    """One of several jobs at once failed while others went on."""

    job: int
    """Its place among the works, from 0."""
    result: OutOfMemory | UserCodeFailed | Lost
    at_ns: int | None = None
    """When; None: before the barrier opened, so that the others ran without it from the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """Stopped for safety (methods §13); the run ends after this."""

    trigger: str
    value: float | None = None
    limit: float | None = None
    card: CardInfo | None = None
    """The further card that was in danger; None: the run's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The user cancelled or the time budget of the run is used up; the run ends after this."""


StepResult = Done | Refused | Followed | OutOfMemory | UserCodeFailed | Lost | Stopped | Cancelled
Plan = Generator[Step, StepResult, None]
