"""Why a loader's processes failed: from what torch or the system says to one word."""

from collections.abc import Iterator

SHARED_MEMORY, OPEN_FILES, HOST_MEMORY = "shared_memory", "open_files", "host_memory"
WORKER_DIED, WORKER_FAILED, CARD_IN_WORKER, NOT_SENT = "worker_died", "worker_failed", "card_in_worker", "not_sent"
HUNG = "hung"

REASONS: "tuple[tuple[str, tuple[str, ...]], ...]" = (
    (HUNG, ("dataloader timed out",)),
    (OPEN_FILES, ("too many open files", "received 0 items of ancdata")),
    (SHARED_MEMORY, (
        "bus error", "unable to open shared memory", "out of shared memory", "unable to allocate shared memory",
        "unable to write to file </torch_", "unable to resize file <", "could not allocate shared memory",
        "unable to mmap", "insufficient shared memory",
    )),
    (HOST_MEMORY, ("killed by signal: killed", "cannot allocate memory", "can't allocate memory", "memoryerror")),
    (CARD_IN_WORKER, ("cannot re-initialize cuda in forked subprocess",)),
    (NOT_SENT, ("can't pickle", "cannot pickle", "can't get attribute", "picklingerror")),
    (WORKER_DIED, ("dataloader worker (pid", "unexpected segmentation fault encountered in worker")),
    (WORKER_FAILED, ("in dataloader worker process",)),
)  # fmt: skip
"""Reason → what a message says then, in lower case; the first that fits counts."""
NO_SPACE = "no space left on device"


def reason_of(err: BaseException, workers: int) -> "str | None":
    """Why a loader with so many processes failed; None: not of its processes' making.

    Running out of the card's memory is never theirs.
    """
    if workers == 0 or any(cls.__name__ == "OutOfMemoryError" for cls in type(err).__mro__):
        return None
    text = "\n".join(_chain(err)).lower()
    if NO_SPACE in text and ("shm" in text or "torch_" in text or "shared" in text):
        return SHARED_MEMORY
    return next((reason for reason, signs in REASONS if any(sign in text for sign in signs)), None)


def said(err: BaseException) -> str:
    """The first line of what went wrong first."""
    *_, first = _chain(err)
    return first.partition(": ")[2].strip().partition("\n")[0].rstrip(".")


def _chain(err: "BaseException | None") -> "Iterator[str]":
    """What an error says, and those that it came from: how a process ended stands in one, that it did in another."""
    while err is not None:
        yield f"{type(err).__name__}: {err}"
        err = err.__cause__ or err.__context__
