"""Drive a run: show its events as they come, keep what it found, turn the terminal's interrupt into a cancel."""

import signal
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from gputuner.advice.naming import newest
from gputuner.cli.ports import Run
from gputuner.model.advice import Advice, Question
from gputuner.model.errors import ExitCode, GputunerError
from gputuner.model.events import (
    AdviceGiven,
    AlertCleared,
    AlertRaised,
    Event,
    Outcome,
    PointMeasured,
    RunFinished,
    RunStarted,
    TorchFound,
    Warned,
)
from gputuner.model.fingerprint import TorchFingerprint
from gputuner.model.points import Point

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupted(GputunerError):
    """The user would not wait for the end; as an error for the one document of ``--json``."""

    exit_code = ExitCode.INTERRUPTED


class View(Protocol):
    """Shows events while the run goes on."""

    def show(self, event: Event) -> None:
        """Show one event."""
        ...


@dataclass(slots=True, kw_only=True)
class Found:
    """What a run told, gathered."""

    run_id: str
    started: RunStarted | None = None
    torch: TorchFingerprint | None = None
    finished: RunFinished | None = None
    points: list[Point] = field(default_factory=lambda: [])
    advice: list[Advice] = field(default_factory=lambda: [])
    questions: list[Question] = field(default_factory=lambda: [])
    warnings: list[Warned] = field(default_factory=lambda: [])
    alerts: list[AlertRaised | AlertCleared] = field(default_factory=lambda: [])

    @property
    def outcome(self) -> Outcome:
        """How the run ended."""
        return self.finished.outcome if self.finished else Outcome.FAILED

    @property
    def exit_code(self) -> int:
        """What the command line ends with."""
        if self.finished is None:
            return int(ExitCode.BUG)
        if self.finished.outcome is Outcome.CANCELLED:
            return int(ExitCode.INTERRUPTED)
        return self.finished.exit_code

    def take(self, event: Event) -> None:
        """Keep what an event tells."""
        match event:
            case RunStarted():
                self.started = event
            case TorchFound():
                self.torch = event.torch
            case PointMeasured():
                self.points.append(event.point)
            case AdviceGiven():
                self.advice = newest(self.advice, event.advice)
                self.questions = [*self.questions, *(q for q in event.questions if q not in self.questions)]
            case Warned():
                self.warnings.append(event)
            case AlertRaised() | AlertCleared():
                self.alerts.append(event)
            case RunFinished():
                self.finished = event
            case _:
                pass


def follow(run: Run, views: Sequence[View], found: Found | None = None) -> Found:
    """Iterate a run to its end; what it tells is gathered in ``found`` (None: a new one), which is returned.

    The first interrupt (or hangup) cancels it and keeps what was measured; a second one ends its processes without
    grace and raises ``KeyboardInterrupt``. A view that fails (its pipe has gone) cancels the run too, before the error
    goes on.
    """
    found = found or Found(run_id=run.run_id)
    with _cancelling(run):
        try:
            for event in run:
                found.take(event)
                for view in views:
                    view.show(event)
        except BaseException as error:
            run.cancel(force=isinstance(error, KeyboardInterrupt))
            raise
    return found


@contextmanager
def _cancelling(run: Run) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        run.cancel()

    wanted = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name) and not _left_alone(name)]
    before = [(number, signal.signal(number, on_signal)) for number in wanted]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _left_alone(name: str) -> bool:
    """True for a hangup that whoever started the program chose to outlive (``nohup``)."""
    return name == "SIGHUP" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@contextmanager
def undisturbed() -> Generator[None]:
    """Let no further interrupt in while the last words are written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
