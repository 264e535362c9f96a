"""What a worker said or how it ended, as the outcome of its trial."""

import signal
from collections.abc import Mapping, Sequence
from typing import cast

from gputuner.engine.inbox import WorkerGone
from gputuner.model.codec import from_builtins
from gputuner.model.errors import DeviceError, StoreError, WorkloadError
from gputuner.model.steps import Done, Lost, OutOfMemory, StepResult, Trial, UserCodeFailed

OUTSIDE = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")
"""Signals that a process does not give itself."""
TAIL_CHARS = 500
HUNG = Lost(message="no answer within the trial's time", hung=True)


def without_kernels(err: DeviceError | WorkloadError) -> UserCodeFailed:
    """Our own kernels cannot run here: a trial's outcome, not the end of the run."""
    reason = "extra_missing" if err.code == "extra_missing" else "unsupported"
    return UserCodeFailed(message=str(err), traceback="", reason=reason)


def lost(gone: WorkerGone) -> Lost:
    """What is known of a worker that ended by itself: its signal or exit code, and its last words."""
    try:
        how = signal.Signals(-gone.exit_code).name if gone.exit_code < 0 else f"exit code {gone.exit_code}"
    except ValueError:
        how = f"signal {-gone.exit_code}"
    tail = gone.stderr_tail[-TAIL_CHARS:].strip()
    return Lost(message=f"{how}: {tail}" if tail else how, killed=how in OUTSIDE)


def done(message: Mapping[str, object]) -> StepResult:
    """The trial, or the trials of several jobs in one process, that a ``result`` message tells."""
    jobs = message.get("trials")
    told: Sequence[object] = cast("Sequence[object]", jobs) if isinstance(jobs, list) else [message]
    try:
        return Done(trials=tuple(_trial(cast("Mapping[str, object]", job)) for job in told))
    except (StoreError, AttributeError) as err:
        return Lost(message=f"the worker's answer cannot be read: {err}")


def _trial(told: Mapping[str, object]) -> Trial:
    return from_builtins({name: value for name, value in told.items() if name not in ("kind", "id")}, Trial)


def failed(message: Mapping[str, object]) -> OutOfMemory | UserCodeFailed | Lost:
    """The outcome that a ``failed`` message tells."""
    error, text = message.get("error"), str(message.get("message", ""))
    free, needed = message.get("free_bytes"), message.get("needed_bytes")
    if error == "out_of_memory":
        return OutOfMemory(
            message=text,
            free_bytes=free if isinstance(free, int) else None,
            needed_bytes=needed if isinstance(needed, int) else None,
        )
    if error == "sticky":
        return Lost(message=text)
    return UserCodeFailed(message=text, traceback=str(message.get("traceback", "")), reason=str(error))
