"""When to read next, and how long to wait after a failure. Pure: the time is handed in."""

NS = 1_000_000_000


class Schedule:
    """A grid of due times. Times that have passed are counted as missed, never made up for."""

    def __init__(self, period_s: float, start_ns: int, punctual: bool = False) -> None:
        """Due at ``start_ns`` and every ``period_s`` after.

        ``punctual``: whoever comes half a period or more after the newest due time waits for the next one.
        """
        self.period_ns = round(period_s * NS)
        self.next_ns = start_ns
        self.missed = 0
        self._punctual = punctual

    def take(self, now_ns: int) -> bool:
        """True if a time is due; the next one then lies after ``now_ns``."""
        late_ns = now_ns - self.next_ns
        if late_ns < 0:
            return False
        if 2 * late_ns < self.period_ns:
            self.next_ns += self.period_ns
            return True
        skipped, late_ns = divmod(late_ns, self.period_ns)
        self.next_ns += (skipped + 1) * self.period_ns
        taken = not (self._punctual and 2 * late_ns >= self.period_ns)
        self.missed += skipped + (not taken)
        return taken

    def restart(self, start_ns: int) -> None:
        """Begin anew at ``start_ns`` without counting what lies between as missed."""
        self.next_ns = start_ns


class Backoff:
    """Growing pauses: ``first_s``, twice that, … up to ``most_s``."""

    def __init__(self, first_s: float = 1.0, most_s: float = 60.0) -> None:
        """Begin with ``first_s``."""
        self._first_s = first_s
        self._most_s = most_s
        self._next_s = first_s

    def pause_s(self) -> float:
        """The pause to make now, in seconds; the next one is twice as long."""
        pause = self._next_s
        self._next_s = min(pause * 2, self._most_s)
        return pause

    def reset(self) -> None:
        """It works again: begin with the first pause the next time."""
        self._next_s = self._first_s
