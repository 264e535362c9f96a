"""A program in memory: real records and events, no card, no process, no file. The command line is what is tested."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gputuner.analysis.telemetry_quality import QualityNote
from gputuner.cli.app import main
from gputuner.experiments.protocol import Experiment
from gputuner.language.words import set_language
from gputuner.model.advice import Advice, Confidence, Gain, Question
from gputuner.model.cards import CardInfo, CatalogMatch, Origin, Support
from gputuner.model.errors import GputunerError, NoCard, StoreError
from gputuner.model.events import (
    AdviceGiven,
    AlertCleared,
    AlertRaised,
    ClockKind,
    Event,
    Outcome,
    PointMeasured,
    RunFinished,
    RunStarted,
    StepStarted,
    TelemetrySampled,
    TorchFound,
    Warned,
)
from gputuner.model.findings import Finding, Level
from gputuner.model.fingerprint import Fingerprint, HostFingerprint, TorchFingerprint
from gputuner.model.planned import PlannedStep, Rehearsed
from gputuner.model.points import Conditions, Flag, Point, Spread
from gputuner.model.quantities import LimitBit, Limiter, Quantity
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import CardProcesses, Sample
from gputuner.telemetry.feed import Callback, FeedState, FeedStatus, Notice, Tick, Unsubscribe

RUN_ID = "20261130-142233-tune-a1b2"
CARD = CardInfo(
    uuid="GPU-5a1e0c6e-0000-4000-8000-000000004090",
    index=0,
    name="NVIDIA GeForce RTX 4090",
    pci_bus_id="00000000:01:00.0",
    origin=Origin.SIMULATED,
    memory_total_bytes=48 * 2**30,
    sm_count=128,
    compute_capability="8.9",
    catalog=CatalogMatch(
        catalog_id="rtx-4090-48g",
        name="RTX 4090 48G",
        modded=True,
        base_name="GeForce RTX 4090",
        architecture="Ada",
        features={"bf16": Support.NATIVE, "fp8": Support.NATIVE, "nvlink": Support.ABSENT},
    ),
    readings={
        "power_limit_enforced_w": Reading(value=450.0, unit="W"),
        "slowdown_c": Reading(value=90, unit="degC"),
        "memory_max_c": Reading(unit="degC", reason=Reason.NOT_SUPPORTED),
    },
)
SAMPLE = Sample(
    card=CARD.uuid,
    t_ns=2_000_000_000,
    values={
        Quantity.CORE_TEMPERATURE_C: 61.0,
        Quantity.POWER_AVERAGE_W: 312.4,
        Quantity.SM_CLOCK_MHZ: 2610.0,
        Quantity.GPU_UTILISATION: 0.98,
        Quantity.MEMORY_USED_BYTES: 38.2 * 2**30,
        Quantity.LIMIT_BITS: float(LimitBit.SW_POWER_CAP),
        Quantity.FAN_FRACTION: 0.6,
    },
    missing={Quantity.MEMORY_TEMPERATURE_C: Reason.NOT_SUPPORTED},
)
POINTS = (
    Point(
        id="train_throughput-1",
        card=CARD.uuid,
        metric="train_throughput",
        workload="resnet50",
        params={"batch": 64, "precision": "bf16", "channels_last": True},
        value=865.0,
        unit="samples/s",
        origin=Origin.SIMULATED,
        spread=Spread(n=60, median=865.0, iqr=12.0, ci95_low=851.0, ci95_high=880.0, block_length=3),
        conditions=Conditions(duration_s=4.0, samples=8, power_w=441.0, limited_s={Limiter.POWER: 1.0}),
        flags=(Flag.THROTTLED_POWER,),
    ),
    Point(
        id="sustained_rate-2",
        card=CARD.uuid,
        metric="sustained_rate",
        workload="matmul",
        params={"precision": "bf16", "phase": "sustained"},
        value=152.0e12,
        unit="FLOP/s",
        origin=Origin.SIMULATED,
        conditions=Conditions(duration_s=60.0, samples=120, power_w=449.0, limited_s={Limiter.POWER: 42.6}),
    ),
)
ADVICE = tuple(
    Advice(
        id=rule,
        card=CARD.uuid,
        params={"batch": 64},
        evidence=("train_throughput-1",),
        confidence=Confidence.MEASURED_OTHER,
        gain=Gain(value=gain, unit="fraction", low=gain - 0.05, high=gain + 0.04),
        snippet="loader = DataLoader(data, batch_size=64)" if rule == "first" else None,
        rank=gain,
    )
    for rule, gain in (("first", 0.41), ("second", 0.23), ("third", 0.11), ("fourth", 0.06))
)
QUESTION = Question(id="own_model", card=CARD.uuid, command="gputuner --cli record")


def happenings() -> tuple[Event, ...]:
    """A whole run as the engine tells it."""
    head = {"run_id": RUN_ID, "t_ns": 0}
    fingerprint = Fingerprint(host=HOST)
    told: list[Event] = [
        RunStarted(
            **head,
            seq=0,
            experiment="tune",
            spec={},
            fingerprint=fingerprint,
            cards=(CARD,),
            clock=ClockKind.SIMULATED,
            origin=Origin.SIMULATED,
            unix_s=1.8e9,
            version="0.1.0",
        ),
        TorchFound(**head, seq=1, torch=TorchFingerprint(python="3.11.9", version="2.13.0")),
        StepStarted(
            **head,
            seq=2,
            index=1,
            total=14,
            label="train_probe",
            params={"batch": 64, "precision": "bf16"},
            expected_s=6.0,
            remaining_s=100.0,
        ),
        TelemetrySampled(**head, seq=3, samples=(SAMPLE,)),
        Warned(**head, seq=4, code="something_odd", params={"count": 3}),
        *(PointMeasured(**head, seq=5, point=point) for point in POINTS),
        AdviceGiven(**head, seq=6, advice=ADVICE, questions=(QUESTION,)),
    ]
    return tuple(told)


HOST = HostFingerprint(readings={"cpu": Reading(value="Ryzen 9"), "governor": Reading(reason=Reason.NOT_SUPPORTED)})


def finished(outcome: Outcome = Outcome.COMPLETED, exit_code: int = 0, **fields: object) -> RunFinished:
    return RunFinished(run_id=RUN_ID, seq=99, t_ns=1, outcome=outcome, exit_code=exit_code, **fields)


@dataclass
class RunInMemory:
    events: Sequence[Event]
    end: RunFinished
    on_event: Callable[[Event], None] = lambda _event: None
    run_id: str = RUN_ID
    session_path: Path | None = Path("/data/sessions") / f"{RUN_ID}.sqlite"
    cancelled: bool = False
    forced: bool = False

    def __iter__(self) -> Iterator[Event]:
        for event in self.events:
            if self.cancelled:
                yield finished(Outcome.CANCELLED, 130, error_code="cancelled")
                return
            self.on_event(event)
            yield event
        yield self.end

    def cancel(self, *, force: bool = False) -> None:
        self.cancelled, self.forced = True, self.forced or force


@dataclass
class FeedInMemory:
    known: tuple[CardInfo, ...]
    ticks: Sequence[Tick]
    origin: Origin = Origin.SIMULATED
    subscribers: int = 0
    state: FeedState = FeedState.OK

    def cards(self) -> tuple[CardInfo, ...]:
        return self.known

    def subscribe(self, callback: Callback) -> Unsubscribe:
        self.subscribers += 1
        for tick in self.ticks:
            callback(tick)

        def stop() -> None:
            self.subscribers -= 1

        return stop

    def latest(self) -> Tick | None:
        return None

    def processes(self, card: str) -> CardProcesses | None:
        return None

    def status(self) -> FeedStatus:
        return FeedStatus(state=self.state)

    def close(self) -> None:
        self.ticks = ()


@dataclass(frozen=True, kw_only=True)
class SummaryInMemory:
    path: Path
    run_id: str = RUN_ID
    experiment: str = "tune"
    started_unix_s: float = 1.8e9
    duration_s: float | None = 284.0
    outcome: Outcome | None = Outcome.COMPLETED
    running: bool = False
    origin: Origin = Origin.SIMULATED
    source: str = "simulated"
    cards: tuple[CardInfo, ...] = (CARD,)
    point_count: int = 2
    size_bytes: int = 90_112


@dataclass
class StoredInMemory:
    path: Path
    closed: bool = False

    def summary(self) -> SummaryInMemory:
        return SummaryInMemory(path=self.path)

    @property
    def started(self) -> RunStarted:
        return next(event for event in happenings() if isinstance(event, RunStarted))

    def torch(self) -> TorchFingerprint | None:
        return next(event.torch for event in happenings() if isinstance(event, TorchFound))

    def points(self) -> Sequence[Point]:
        return POINTS

    def advice(self) -> tuple[Sequence[Advice], Sequence[Question]]:
        return ADVICE, (QUESTION,)

    def warnings(self) -> Sequence[Warned]:
        return [event for event in happenings() if isinstance(event, Warned)]

    def alerts(self) -> Sequence[AlertRaised | AlertCleared]:
        return [event for event in happenings() if isinstance(event, (AlertRaised, AlertCleared))]

    def close(self) -> None:
        self.closed = True


@dataclass(frozen=True)
class EntryInMemory:
    path: Path
    summary: SummaryInMemory | None = None
    error: StoreError | None = None


@dataclass
class LibraryInMemory:
    folder: Path
    damaged: dict[Path, StoreError] = field(default_factory=dict)
    names: list[str] = field(default_factory=lambda: [RUN_ID, "20261129-080000-record-c3d4"])
    disputed: tuple[QualityNote, ...] = ()

    def entries(self) -> Sequence[EntryInMemory]:
        found = [self.folder / f"{name}.sqlite" for name in self.names]
        damaged = [EntryInMemory(path, None, error) for path, error in self.damaged.items()]
        return [*(EntryInMemory(path, SummaryInMemory(path=path, run_id=path.stem)) for path in found), *damaged]

    def find(self, which: str | None) -> Path:
        fitting = [name for name in self.names if which is None or name.startswith(which)]
        if not fitting:
            raise StoreError("session_unknown", f"no session {which}", session=which)
        return self.folder / f"{fitting[0]}.sqlite"

    def open(self, path: Path) -> StoredInMemory:
        return StoredInMemory(path)

    def disagreements(self, path: Path) -> Sequence[QualityNote]:
        return self.disputed

    def export(self, path: Path, form: str, target: Path) -> Sequence[Path]:
        target.write_text(form)
        return (target,)

    def delete(self, path: Path) -> None:
        self.names.remove(path.stem)


@dataclass
class SetupInMemory:
    """The program as a test wants it."""

    data_dir: Path
    known: tuple[CardInfo, ...] = (CARD,)
    origin: Origin = Origin.SIMULATED
    events: Sequence[Event] = field(default_factory=happenings)
    end: RunFinished = field(default_factory=finished)
    refuse: GputunerError | None = None
    on_event: Callable[[Event], None] = lambda _event: None
    findings: Sequence[Finding] = (Finding(code="host_fine", level=Level.FINE),)
    ticks: Sequence[Tick] = field(default_factory=lambda: [Tick(t_ns=SAMPLE.t_ns, samples=(SAMPLE,))] * 3)
    started: list[tuple[Experiment, tuple[str, ...], bool]] = field(default_factory=list)
    runs: list[RunInMemory] = field(default_factory=list)
    closed: int = 0
    asked: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.feed = FeedInMemory(self.known, self.ticks)
        self.sessions = LibraryInMemory(self.data_dir)

    def __call__(self, **asked: object) -> "SetupInMemory":
        self.asked = asked
        return self

    def cards(self) -> tuple[CardInfo, ...]:
        return self.known

    def notices(self) -> Sequence[Notice]:
        return self.feed.status().notices

    def host(self) -> HostFingerprint:
        return HOST

    def select(self, selection: str | None, *, for_experiment: bool) -> tuple[CardInfo, ...]:
        if selection in (None, "all"):
            return self.known[:1] if for_experiment and selection is None else self.known
        found = tuple(card for card in self.known if card.uuid.startswith(selection))
        if not found:
            raise NoCard("no_such_card", f"no card {selection}", card=selection)
        return found

    def start(self, spec: Experiment, cards: Sequence[CardInfo], *, share: bool) -> RunInMemory:
        if self.refuse is not None:
            raise self.refuse
        self.started.append((spec, tuple(card.uuid for card in cards), share))
        run = RunInMemory(self.events, self.end, self.on_event)
        self.runs.append(run)
        return run

    def rehearse(self, spec: Experiment, card: CardInfo) -> Rehearsed:
        step = PlannedStep(label="matmul", params={"precision": "bf16", "n": 8192}, expected_s=3.0)
        return Rehearsed(steps=(step, step))

    def doctor(self) -> Sequence[Finding]:
        return self.findings

    def close(self) -> None:
        self.closed += 1


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@dataclass
class Program:
    """Runs command lines against a set-up in memory."""

    setup: SetupInMemory
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *argv: str) -> Result:
        code = main(argv, open_setup=self.setup)
        captured = self.capsys.readouterr()
        return Result(code, captured.out, captured.err)


@pytest.fixture
def program(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.setenv(name, "C.UTF-8")
    yield Program(SetupInMemory(tmp_path), capsys)
    set_language("en")


@pytest.fixture
def whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """Runs a command line on the whole program below, on a simulated card; returns exit code, stdout and stderr."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.setenv(name, "C.UTF-8")

    def run(*argv: str, card: str | None = "rtx-4090-48g") -> tuple[int, str, str]:
        where = ["--simulate", card] if card else []
        code = main([*argv, *where, "--data-dir", str(tmp_path)])
        told = capsys.readouterr()
        return code, told.out, told.err

    yield run
    set_language("en")


@pytest.fixture
def ending() -> Callable[..., RunFinished]:
    """Makes the last event of a run."""
    return finished
