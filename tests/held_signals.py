"""What a process inherits of signals, as Linux tells it, and a stretch in which this one holds and ignores some."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

STATUS = ("/bin/sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status")


def told(said: str) -> set[int]:
    """The signals that a program holds or ignores, out of what ``STATUS`` says (the C library's own two left out)."""
    masks = [int(line.split()[1], 16) for line in said.splitlines() if line.startswith("Sig")]
    assert len(masks) == 2, said
    return {int(number) for number in signal.valid_signals() if any(mask >> (number - 1) & 1 for mask in masks)}


@contextmanager
def held() -> Iterator[None]:
    """Within, whatever this thread starts inherits held and ignored signals."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGUSR2})
    ignored = {
        number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)
    }
    try:
        yield
    finally:
        for number, handler in ignored.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
