"""What a run stands on: a clock, cards that are sampled, and workers. Wall stage here; simulated one beside it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from gputuner.devices.control_client import Control
from gputuner.devices.protocol import Clock, WallClock
from gputuner.engine.commanded import CommandedProcess
from gputuner.engine.inbox import Inbox, Item, TickArrived, WallInbox
from gputuner.engine.mps import Mps
from gputuner.engine.processes import ProcessWorker
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import ClockKind
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.samples import CardProcesses, Sample
from gputuner.model.steps import Runtime, Variables
from gputuner.telemetry.feed import Feed, Tick
from gputuner.workloads.launch import with_peers


class Worker(Protocol):
    """A worker, real or simulated."""

    id: str

    def send(self, message: Mapping[str, object]) -> None:
        """Hand over one request of the wire protocol."""
        ...

    def terminate(self) -> None:
        """Ask it to end."""
        ...

    def kill(self) -> None:
        """End it now."""
        ...

    def close(self) -> None:
        """Release what is left of an ended worker."""
        ...


class Stage(Protocol):
    """Made fresh for each run and closed with it."""

    @property
    def clock(self) -> Clock:
        """Stamps the run's events."""
        ...

    @property
    def clock_kind(self) -> ClockKind:
        """Wall or simulated."""
        ...

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        ...

    def source(self, card: CardInfo) -> str:
        """Who reads the telemetry of ``card`` (``RunStarted.source``)."""
        ...

    @property
    def inbox(self) -> Inbox:
        """Where everything arrives."""
        ...

    @property
    def sampling_hz(self) -> float | None:
        """Rate of the fast tier; None where it is not known."""
        ...

    def cards(self) -> tuple[CardInfo, ...]:
        """All cards that can be chosen."""
        ...

    def host(self) -> HostFingerprint:
        """The machine around the cards."""
        ...

    def processes(self, card: str) -> CardProcesses | None:
        """Who is on the card; None while not yet read."""
        ...

    def latest(self, card: str) -> Sample | None:
        """The last sample of a card; None while not yet read."""
        ...

    def spawn(
        self,
        worker_id: str,
        card: CardInfo,
        memory_cap_bytes: int | None,
        memory_probe: bool = False,
        runtime: Runtime = "torch",
        peers: tuple[str, ...] = (),
        environment: Variables = (),
    ) -> Worker:
        """Start a worker for one card.

        ``memory_probe``: one that is asked for memory, not for rates. ``runtime``: torch, our own kernels, or a command
        of the user's. ``peers``: UUIDs of further cards that it sees behind its own. ``environment``: variables of its
        own.
        """
        ...

    def mps(self, card: CardInfo, data_dir: Path | None) -> Mps | str:
        """MPS of our own for a card, or why it cannot be had (``engine.mps_ground.obstacle``)."""
        ...

    def close(self) -> None:
        """Let go of all that the run used."""
        ...


MpsFor = Callable[[CardInfo, Path | None], Mps | str]
CommandFor = Callable[[CardInfo, int | None], Sequence[str]]
EnvironmentFor = Callable[[CardInfo, bool], Mapping[str, str]]
"""Of a worker on a card; the flag: one that is asked for memory."""


class WallStage:
    """Real cards on the host's clock: the shared feed, and workers as child processes."""

    clock_kind = ClockKind.WALL
    open_control: Callable[[], Control] | None = None
    """The way to the settings of its cards, where there is one."""

    def __init__(
        self,
        feed: Feed,
        host: Callable[[], HostFingerprint],
        command: CommandFor,
        environment: EnvironmentFor,
        sampling_hz: float,
        kernels_command: CommandFor | None = None,
        commanded: tuple[Sequence[str], Callable[[CardInfo], Mapping[str, str]]] | None = None,
        mps: MpsFor | None = None,
    ) -> None:
        """Listen to ``feed`` until closed; ``kernels_command`` starts a worker for our own kernels (None: as torch).

        ``commanded``: what starts our child that runs a command of the user's, and the environment of both. ``mps``
        makes MPS for a card (None: there is none).
        """
        self._mps = mps
        self._commanded = commanded
        self.clock: Clock = WallClock()
        self.inbox: Inbox = WallInbox()
        self.origin = feed.origin
        self.sampling_hz: float | None = sampling_hz
        self._feed = feed
        self._host = host
        self._commands: dict[Runtime, CommandFor] = {"torch": command, "kernels": kernels_command or command}
        self._environment = environment
        self._latest: dict[str, Sample] = {}
        self._unsubscribe = feed.subscribe(self._on_tick)

    def source(self, card: CardInfo) -> str:
        """The host for its own processor, NVML for every other card."""
        return "host" if card.is_cpu else "nvml"

    def cards(self) -> tuple[CardInfo, ...]:
        """All cards of the feed."""
        return self._feed.cards()

    def host(self) -> HostFingerprint:
        """Read now."""
        return self._host()

    def processes(self, card: str) -> CardProcesses | None:
        """The feed's last process table of ``card``."""
        return self._feed.processes(card)

    def latest(self, card: str) -> Sample | None:
        """The last sample of ``card`` since this stage was opened, else the feed's last."""
        tick = self._feed.latest()
        before = next((s for s in tick.samples if s.card == card), None) if tick else None
        return self._latest.get(card, before)

    def spawn(
        self,
        worker_id: str,
        card: CardInfo,
        memory_cap_bytes: int | None,
        memory_probe: bool = False,
        runtime: Runtime = "torch",
        peers: tuple[str, ...] = (),
        environment: Variables = (),
    ) -> Worker:
        """Start a child process that sees this card, and ``peers`` behind it, alone."""
        deliver: Callable[[Item], None] = self.inbox.put
        if runtime == "command":
            assert self._commanded is not None, "this stage runs no commands"
            child, of_card = self._commanded
            return CommandedProcess(worker_id, child, {**of_card(card), **dict(environment)}, deliver)
        command = self._commands[runtime](card, memory_cap_bytes)
        variables = {**with_peers(self._environment(card, memory_probe), peers), **dict(environment)}
        return ProcessWorker(worker_id, command, variables, deliver)

    def mps(self, card: CardInfo, data_dir: Path | None) -> Mps | str:
        """As whoever made this stage says."""
        return "program_missing" if self._mps is None else self._mps(card, data_dir)

    def close(self) -> None:
        """Stop listening."""
        self._unsubscribe()

    def _on_tick(self, tick: Tick) -> None:
        self._latest.update({s.card: s for s in tick.samples})
        self.inbox.put(TickArrived(tick=tick))
