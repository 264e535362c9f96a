"""The helper (``gputuner --helper``): the one process that changes settings, usually as root, and does nothing else.

It reads lines from stdin (``helper_messages``) and answers on stdout. When stdin ends, by a goodbye, the death of its
parent or of the connection, and on every signal that would end it and can be caught, it puts back what it holds and
ends. It has a session of its own, and neither stops with its terminal (Ctrl-Z) nor waits for a reader that does not
read. What a helper that was killed left behind, the next one puts back when it starts; ``--helper --restore`` does that
and no more, and says by its exit code whether all is as it was found.

Nothing that the caller says chooses a file: the journal lies in the folder that systemd hands over
(``STATE_DIRECTORY``), else in root's or the user's own. Started by ``sudo`` or ``pkexec`` no variable of the caller
reaches it. As root it refuses a folder that others can change.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from gputuner.devices.control import Guard
from gputuner.devices.control_actuator import Actuator
from gputuner.devices.control_folder import owned_by_root
from gputuner.devices.control_journal import Journal
from gputuner.devices.helper_desk import Desk
from gputuner.devices.helper_messages import MOST_BYTES
from gputuner.model.errors import ExitCode, GputunerError

TICK_S = 1.0
ROOT_FOLDER = Path("/var/lib/gputuner/control")
MOST_WAITING = 100
"""Lines that wait to be answered; what comes faster is read later."""
MOST_UNREAD = 1000
"""Answers that nobody has read; with more the client is taken for gone."""
SAID_S = 5.0
"""At the end the last words wait so long for somebody to read them."""
IGNORED = ("SIGINT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGPIPE")
"""Ctrl-C and Ctrl-Z are for the client: a helper that stands still watches neither a clock nor a fan."""
ENDING = (
    "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU", "SIGIO",
    "SIGPWR", "SIGSTKFLT", "SIGABRT", "SIGBREAK",
)  # fmt: skip
"""Signals that would end a process without a word, besides those that tell a fault of its own."""
_LONG = b"\0"
"""Stands for a line that was too long to be kept."""


def main(arguments: Sequence[str]) -> int:
    """Serve stdin until it ends; the exit code."""
    only_restore = tuple(arguments) == ("--restore",)
    if arguments and not only_restore:
        print("gputuner --helper takes no arguments but --restore", file=sys.stderr)
        return 2
    from gputuner.devices.nvml.writes import NvmlControl

    try:
        folder = owned_by_root(state_folder())
        cards = NvmlControl()
    except GputunerError as err:
        _start_failed(err)
        return int(err.exit_code)
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    speaker = Speaker(os.dup(1))
    try:
        guard, desk = put_together(cards, Journal(folder, readable=(ROOT_FOLDER,)), speaker.say)
        end = _mind_signals(desk, lines)
        speaker.lost = end
        complete = guard.recover()
        if only_restore:
            return 0 if complete else int(ExitCode.DEVICE)
        desk.hello()
        threading.Thread(target=_listen, args=(lines,), daemon=True).start()
        serve(guard, desk, lines)
    finally:
        cards.close()
        speaker.close()
    return 0


def state_folder() -> Path:
    """Where the journal lies."""
    given = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    if given:
        return Path(given)  # systemd's; by sudo and pkexec it does not come through
    if getattr(os, "geteuid", lambda: 1)() == 0:
        return ROOT_FOLDER
    from gputuner.settings.paths import paths

    return paths().data_dir / "control"


def serve(guard: Guard, desk: Desk, lines: "queue.SimpleQueue[bytes | None]", tick_s: float = TICK_S) -> None:
    """Answer lines until they end (None), looking after what is held in between; then put back what is held."""
    try:
        while not desk.over:
            try:
                line = lines.get(timeout=tick_s)
            except queue.Empty:
                guard.tick()
                continue
            if line is None:
                break
            desk.line(line)
            guard.tick()
    finally:
        guard.close()


def put_together(cards: Actuator, journal: Journal, say: Callable[[bytes], None]) -> tuple[Guard, Desk]:
    """A guard, and the desk that speaks for it."""
    desks: list[Desk] = []
    guard = Guard(cards, journal, tell=lambda told: desks[0].tell(told))
    desks.append(Desk(guard, say, privileged=getattr(os, "geteuid", lambda: 1)() == 0))
    return guard, desks[0]


class Speaker:
    """Writes lines from a thread of its own: a reader that is gone, or does not read, holds up nothing else."""

    def __init__(self, descriptor: int) -> None:
        """Write to ``descriptor``, which is its own from now on."""
        self._descriptor = descriptor
        self._lines: queue.Queue[bytes | None] = queue.Queue(MOST_UNREAD)
        self.lost: Callable[[], None] = lambda: None
        """Called when nobody reads any more."""
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def say(self, line: bytes) -> None:
        """Hand over a line; never waits."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.lost()

    def close(self) -> None:
        """Wait a while until all is written."""
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=SAID_S)
            self._thread.join(SAID_S)

    def _write(self) -> None:
        gone = False
        while (line := self._lines.get()) is not None:
            while line and not gone:
                try:
                    line = line[os.write(self._descriptor, line) :]
                except OSError:
                    gone = True
                    self.lost()


def _listen(lines: "queue.SimpleQueue[bytes | None]") -> None:
    """Hand over the lines of stdin; of one that is too long only that it was."""
    try:
        with open(os.dup(0), "rb") as stream:  # of its own: the interpreter closes sys.stdin when it ends
            while line := stream.readline(MOST_BYTES + 2):
                while lines.qsize() > MOST_WAITING:
                    time.sleep(TICK_S / 100)
                if line.endswith(b"\n"):
                    lines.put(line.rstrip(b"\r\n"))
                    continue
                while line and not line.endswith(b"\n"):
                    line = stream.readline(MOST_BYTES)
                lines.put(_LONG)
    except OSError:  # a connection that was torn down ends as one that was closed
        pass
    finally:
        lines.put(None)


def _mind_signals(desk: Desk, lines: "queue.SimpleQueue[bytes | None]") -> Callable[[], None]:
    """Orders to end are as the end of input; what is returned ends as they do."""

    def end() -> None:
        desk.over = True
        lines.put(None)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        end()

    for name in IGNORED:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    numbers = {int(getattr(signal, name)) for name in ENDING if hasattr(signal, name)}
    if hasattr(signal, "SIGRTMIN"):
        numbers.update(range(signal.SIGRTMIN, signal.SIGRTMAX + 1))
    for number in numbers:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, on_signal)
    if hasattr(os, "setsid"):
        with contextlib.suppress(OSError):  # it leads a group already, and so has its terminal's signals to itself
            os.setsid()
    return end


def _start_failed(err: GputunerError) -> None:
    """Tell the client in its own language why there is no helper."""
    from gputuner.devices.helper_desk import error_told
    from gputuner.model.codec import encode

    speaker = Speaker(os.dup(1))
    speaker.say(encode({"id": None, "error": error_told(err)}) + b"\n")
    speaker.close()
