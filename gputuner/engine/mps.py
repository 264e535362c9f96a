"""MPS for the workers of one run: a daemon of our own in a private folder, or the user's own where we are told to.

Ours is *absent* → *running* (the first step that wants it) → *absent* (a step of another mode, or the end of the run).
Before it starts, a journal of it and of us is written and a keeper (``engine/mps_keeper.py``) waits for our end: it, or
the next start of a run (``engine/mps_journal.py``), ends a daemon whose owner is gone. The user's daemon is never
started, stopped or changed. Tried with a stand-in for NVIDIA's program; not yet run on a card.
"""

import contextlib
import secrets
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from gputuner.engine.mps_daemon import PIPE, PROGRAM, Daemon, MpsFailed
from gputuner.engine.mps_journal import OURS, TEMPORARY, forget, runtime_of, write
from gputuner.engine.mps_keeper import ARGUMENT, READY
from gputuner.model.steps import Variables

PERCENTAGE = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
LONGEST = 80
"""Characters of a folder below which the daemon's sockets fit into the 107 that the system allows."""
KEEPER_S = 30.0


class Mps(Protocol):
    """A daemon that serves one card. All calls may take seconds; they come from one thread at a time."""

    def start(self) -> None:
        """Let it run; nothing where it does already.

        Raises:
            MpsFailed: it cannot be had.
        """
        ...

    def variables(self, percentage: int | None) -> Variables:
        """The environment of a client that may use at most this share of the card's threads; None: all."""
        ...

    def serves(self, pids: set[int]) -> bool:
        """Whether all these processes are clients of it.

        Raises:
            MpsFailed: it does not answer.
        """
        ...

    def quiet(self, pid: int) -> None:
        """End what a client of ours does on the card; nothing where it is none, or the daemon does not answer."""
        ...

    def end(self) -> bool:
        """End what was started here; False: it had to be killed."""
        ...


class OwnMps:
    """A daemon of our own."""

    def __init__(self, card: str, data_dir: Path | None, child: Sequence[str], program: str = PROGRAM) -> None:
        """``card``: UUID; ``data_dir`` None: the folder lies among the system's temporary ones.

        ``child`` is the command line that starts a child of this program, to which its arguments are added.
        """
        self._card = card
        self._data_dir = data_dir
        self._child = tuple(child)
        self._program = program
        self._daemon: Daemon | None = None
        self._journal: Path | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._one = threading.Lock()

    def start(self) -> None:
        """Write the journal, start the keeper, then the daemon."""
        with self._one:
            if self._daemon is not None:
                return
            try:
                self._prepare()
                assert self._daemon is not None
                self._daemon.start(self._card)
            except (OSError, MpsFailed) as err:
                self._end()
                raise err if isinstance(err, MpsFailed) else MpsFailed("not_started", str(err)) from err

    def variables(self, percentage: int | None) -> Variables:
        """Its folders, and the client's share."""
        assert self._daemon is not None, "it runs"
        return (*self._daemon.variables().items(), *_share(percentage))

    def serves(self, pids: set[int]) -> bool:
        """Asked of the daemon."""
        with self._one:
            return self._daemon is not None and pids <= {client for _, client in self._daemon.clients()}

    def quiet(self, pid: int) -> None:
        """``terminate_client``."""
        with self._one, contextlib.suppress(MpsFailed):
            if self._daemon is not None:
                self._daemon.quiet(pid)

    def end(self) -> bool:
        """End the daemon and its keeper."""
        with self._one:
            return self._end()

    def _prepare(self) -> None:
        runtime = Path(tempfile.mkdtemp(prefix=TEMPORARY)) if self._data_dir is None else runtime_of(self._data_dir)
        runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = runtime / f"{OURS}{secrets.token_hex(3)}"
        if len(str(folder)) > LONGEST:
            folder = Path(tempfile.mkdtemp(prefix=TEMPORARY))
        folder.mkdir(mode=0o700, exist_ok=True)
        self._daemon = Daemon(folder, self._program)
        self._journal = runtime / f"{OURS}{secrets.token_hex(6)}.json"
        write(self._journal, folder, self._program)
        self._keeper = _keeper([*self._child, ARGUMENT, str(self._journal)])

    def _end(self) -> bool:
        well = True
        if self._daemon is not None:
            well = self._daemon.end()
            self._daemon = None
        if self._journal is not None:
            forget(self._journal)
            self._journal = None
        if self._keeper is not None:
            _close(self._keeper)
            self._keeper = None
        return well


class UsersMps:
    """The user's own daemon: its clients we may be, nothing else."""

    def __init__(self, pipe: Path) -> None:
        """``pipe``: its pipe folder."""
        self._pipe = pipe
        self._before: frozenset[tuple[int, int]] | None = None
        """Its clients (server, process number) when none of ours had come yet."""

    def start(self) -> None:
        """It runs already: look who is there, once until ``end``."""
        if self._before is None:
            self._before = frozenset(self._daemon().clients())

    def variables(self, percentage: int | None) -> Variables:
        """The folder that the user's daemon has, and the client's share."""
        return ((PIPE, str(self._pipe)), *_share(percentage))

    def serves(self, pids: set[int]) -> bool:
        """Asked of the user's daemon; it may lie outside of our container and know us by other numbers.

        Then at least as many clients must have come since ``start``: those that were there before are the user's.
        """
        clients = set(self._daemon().clients())
        if pids <= {client for _, client in clients}:
            return True
        return len(clients - (self._before or frozenset())) >= len(pids)

    def quiet(self, pid: int) -> None:
        """Left to the user's server."""

    def end(self) -> bool:
        """Nothing was started."""
        self._before = None
        return True

    def _daemon(self) -> Daemon:
        daemon = Daemon(self._pipe.parent)
        daemon.pipe = self._pipe
        return daemon


class SimulatedMps:
    """Of a simulated card: nothing runs, and every worker is a client."""

    def start(self) -> None:
        """Always there."""

    def variables(self, percentage: int | None) -> Variables:
        """What tells such workers apart from others."""
        return ((PIPE, "simulated"), *_share(percentage))

    def serves(self, pids: set[int]) -> bool:
        """Whoever asks."""
        return True

    def quiet(self, pid: int) -> None:
        """Nothing runs."""

    def end(self) -> bool:
        """Nothing was started."""
        return True


def _share(percentage: int | None) -> Variables:
    return () if percentage is None else ((PERCENTAGE, str(percentage)),)


def _keeper(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start the keeper; returns once it waits.

    Raises:
        MpsFailed: it does not start.
    """
    keeper = subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert keeper.stdout is not None
    said = keeper.stdout.readline().decode().strip()
    if said != READY:
        _close(keeper)
        raise MpsFailed("not_started", "the process that watches over it does not start")
    return keeper


def _close(keeper: "subprocess.Popen[bytes]") -> None:
    for pipe in (keeper.stdin, keeper.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        keeper.wait(KEEPER_S)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()
