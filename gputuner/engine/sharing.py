"""How jobs share the card in a run: which mode a step can have here, and MPS for as long as steps want it.

MPS is *untried* → *running* (a step of that mode) ⇄ *ended* (a step of another) → *given up* (it could not be had, its
clients could not connect, or it no longer answered: told once; from then on such steps run as processes).
"""

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gputuner.engine import mps_ground
from gputuner.engine.loop import Loop
from gputuner.engine.mps import Mps, UsersMps
from gputuner.engine.mps_daemon import PIPE, MpsFailed
from gputuner.engine.mps_journal import runtime_of, sweep
from gputuner.engine.stage import Stage
from gputuner.engine.workers import Workers
from gputuner.model.cards import CardInfo
from gputuner.model.errors import DeviceError
from gputuner.model.events import ClockKind, Warned
from gputuner.model.steps import Mode, Together, Variables, Work

T = TypeVar("T")
LOOK_NS = 20_000_000


class Sharing:
    """Modes of one run on one card."""

    def __init__(
        self,
        stage: Stage,
        loop: Loop,
        workers: Workers,
        card: CardInfo,
        tell: Callable[..., None],
        data_dir: Path | None = None,
        users_mps: bool = False,
    ) -> None:
        """``tell(EventClass, **fields)`` stores and passes on; ``users_mps``: the user's daemon is to be used."""
        self._stage = stage
        self._loop = loop
        self._workers = workers
        self._card = card
        self._tell = tell
        self._data_dir = data_dir
        self._users_mps = users_mps
        self._mps: Mps | None = None
        self._running = False
        self._given_up = False
        self._streams_refused = False
        workers.quiet = self._quiet

    def open(self) -> None:
        """End what an earlier run left, keep away from the user's MPS, and start the first worker.

        Raises:
            DeviceError: this interpreter's torch cannot use the card.
            WorkloadError: the worker does not start.
        """
        if self._stage.clock_kind is ClockKind.WALL:
            folder = self._data_dir
            if folder is not None and (left := self._aside(lambda: sweep(folder))):
                self._note("mps_stale", daemons=left)
            if not self._card.is_cpu and mps_ground.users_pipe() is not None:
                self._workers.variables = self._past_mps()
                if not self._users_mps:
                    self._note("mps_users_daemon")
        try:
            self._workers.take()
        except DeviceError as err:
            if not mps_ground.speaks_of_mps(str(err), err.params.get("error_code")):
                raise
            self._note("mps_cannot_connect", message=str(err))
            self._workers.end_where(lambda _: True)
            self._workers.variables = self._past_mps()
            self._workers.take()

    def begin(self, step: Together) -> Mode:
        """Make ready for a step; the mode that it can have."""
        if step.mode != "mps":
            self.end()
        match step.mode:
            case "processes":
                return "processes"
            case "mps":
                return "mps" if self._start() else "processes"
            case "streams":
                return "streams" if self._fits_one_process(step.works) else "processes"

    def variables(self, step: Together, job: int, mode: Mode) -> Variables:
        """What a job's worker needs in its environment beside what its work says."""
        if mode != "mps" or self._mps is None:
            return ()
        return self._mps.variables(step.thread_percentages[job] if step.thread_percentages else None)

    def check(self, pids: set[int]) -> None:
        """Make sure that these workers are clients, and that the server answers.

        Raises:
            MpsFailed: they are not, or it does not.
        """
        mps = self._mps
        assert mps is not None, "MPS runs"
        if not self._aside(lambda: mps.serves(pids)):
            raise MpsFailed("not_clients", "CUDA runs in the workers, but past the daemon")

    def give_up(self, err: MpsFailed) -> None:
        """Tell why, and end clients and daemon; steps that want MPS run as processes from here on."""
        self._note(f"mps_{err.code}", message=str(err))
        self._given_up = True
        self.end()

    def end(self) -> None:
        """End MPS with its clients; nothing where it does not run."""
        if not self._running or self._mps is None:
            return
        self._workers.end_where(lambda kind: any(name == PIPE for name, _ in kind.environment))
        self._running = False
        if not self._aside(self._mps.end):
            self._note("mps_killed")

    def close(self) -> None:
        """The run is over, its workers too: nothing of MPS stays, whatever was interrupted before."""
        self._running = False
        if self._mps is not None and not self._aside(self._mps.end):
            self._note("mps_killed")

    def _start(self) -> bool:
        if self._given_up:
            return False
        if self._mps is None:
            self._mps = self._made()
        if self._mps is None:
            self._given_up = True
            return False
        self._running = True
        try:
            self._aside(self._mps.start)
        except MpsFailed as err:
            self.give_up(err)
            return False
        return True

    def _made(self) -> Mps | None:
        """MPS for this card; None: it cannot be had, which is told."""
        if self._users_mps:
            pipe = mps_ground.users_pipe()
            if pipe is not None:
                return UsersMps(pipe)
            found: Mps | str = "no_users_daemon"
        else:
            found = self._stage.mps(self._card, self._data_dir)
        if isinstance(found, str):
            self._note("mps_unavailable", reason=found)
            return None
        return found

    def _fits_one_process(self, works: tuple[Work, ...]) -> bool:
        """Whether the jobs can live in one process of torch; what stands in the way is told once."""
        reason = None
        if any(work.runtime != "torch" for work in works):
            reason = "not_torch"
        elif any(work.environment != works[0].environment for work in works):
            reason = "other_environment"
        elif any(work.peers for work in works):
            reason = "several_cards"
        if reason is not None and not self._streams_refused:
            self._streams_refused = True
            self._note("streams_unavailable", reason=reason)
        return reason is None

    def _quiet(self, pid: int) -> None:
        mps = self._mps
        if self._running and mps is not None:
            self._aside(lambda: mps.quiet(pid))

    def _past_mps(self) -> Variables:
        """Leads CUDA to a folder without a daemon, so that it runs without MPS."""
        folder = runtime_of(self._data_dir or Path(tempfile.gettempdir()))
        return ((PIPE, str(folder / "no-mps")),)

    def _aside(self, act: Callable[[], T]) -> T:
        """Let it act in a thread while telemetry, safety and cancel go on; on a simulated clock it takes no time."""
        if self._stage.clock_kind is not ClockKind.WALL:
            return act()
        answer: list[T] = []
        error: list[BaseException] = []

        def body() -> None:
            try:
                answer.append(act())
            except BaseException as err:
                error.append(err)

        thread = threading.Thread(target=body, name="mps", daemon=True)
        thread.start()
        while thread.is_alive():
            self._loop.pause(self._loop.now_ns() + LOOK_NS)
        if error:
            raise error[0]
        return answer[0]

    def _note(self, code: str, **params: str | int) -> None:
        self._tell(Warned, code=code, params=params)
