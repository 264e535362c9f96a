# pyright: standard
"""Sums over the steps since the last line, and when the next line is due. Knows no torch."""

from __future__ import annotations

FIRST_PERIOD_S = 0.5
"""Least time between two lines at first …"""
LINES_PER_PERIOD = 400
"""… doubled after so many lines: a line covers at most a 400th of the training, and a month takes 5500 of them."""
STEPS_TOLD = 32
"""Step times that one line holds."""
STEPS_KEPT = 256
"""Step times that are kept for it; of more every second one, and so on."""
FAR_MORE = 3
"""Times the usual number of batches between two steps from which on an evaluation was among them."""


class Period:
    """How long a line covers: short at first, longer the more lines there are."""

    def __init__(self) -> None:
        self.seconds = FIRST_PERIOD_S
        self._lines = 0

    def passed(self) -> None:
        """A line was written."""
        self._lines += 1
        if self._lines % LINES_PER_PERIOD == 0:
            self.seconds *= 2


class Waits:
    """What one thread drew from data loaders since its last optimizer step (seconds)."""

    __slots__ = ("batches", "cpu_s", "evaluation", "first_s", "hidden_s", "samples", "waited_s")

    def __init__(self) -> None:
        self.batches = 0
        self.evaluation = 0
        self.samples = 0
        self.waited_s = 0.0
        self.first_s = 0.0
        self.hidden_s = 0.0
        self.cpu_s = 0.0


class Pace:
    """How many batches one optimizer step takes, to tell a step from an interval that also held an evaluation.

    Not every evaluation loop switches gradients off before it draws a batch; but it draws many, and only once.
    """

    def __init__(self) -> None:
        self._usual = 0
        self._last = 0

    def held_evaluation(self, batches: int) -> bool:
        """Whether ``batches`` are far more than a step takes."""
        unusual = 0 < FAR_MORE * self._usual < batches and batches != self._last
        if not unusual and batches:
            self._usual = batches
        self._last = batches
        return unusual


class Tally:
    """Sums of one line. Times in seconds. ``seen`` counts all steps, ``steps`` those whose time is known."""

    def __init__(self, now_s: float) -> None:
        self.began_s = now_s
        self.seen = 0
        self.steps = 0
        self.step_s: list[float] = []
        self._stride = 1
        self.training_s = 0.0
        self.other_s = 0.0
        self.waited_s = 0.0
        self.first_s = 0.0
        self.hidden_s = 0.0
        self.unstepped_s = 0.0
        self.loading_cpu_s = 0.0
        self.batches = 0
        self.evaluation = 0
        self.samples = 0
        self.operations = 0
        self.asked = 0
        self.behind = 0
        self.scaled = 0
        self.skipped = 0
        self.scaler_s = 0.0
        self.others = 0
        self.by_batches = False
        self.own_s = 0.0
        self.batch_sizes: dict[int, int] = {}

    def stepped(self, seconds: float, waits: Waits | None) -> None:
        """One optimizer step has ended, ``seconds`` after the one before it."""
        self.steps += 1
        self.training_s += seconds
        if self.steps % self._stride == 0:
            self.step_s.append(seconds)
            if len(self.step_s) >= STEPS_KEPT:
                self.step_s = self.step_s[::2]
                self._stride *= 2
        if waits is not None:
            self.waited_s += waits.waited_s
            self.first_s += waits.first_s
            self.hidden_s += waits.hidden_s
            self.loading_cpu_s += waits.cpu_s
            self.drawn(waits)

    def paused(self, seconds: float, waits: Waits) -> None:
        """An interval that held an evaluation has ended: no step time."""
        self.other_s += seconds
        self.evaluation += waits.evaluation or waits.batches

    def unstepped(self, waits: Waits) -> None:
        """Batches that were drawn by a thread that does not train."""
        self.unstepped_s += waits.waited_s
        self.drawn(waits)

    def drawn(self, waits: Waits) -> None:
        """Batches that were drawn, whichever thread waited for them."""
        self.batches += waits.batches
        self.samples += waits.samples

    def saw(self, size: int) -> None:
        """A batch of ``size`` samples was drawn."""
        sizes = self.batch_sizes
        if size in sizes or len(sizes) < 8:
            sizes[size] = sizes.get(size, 0) + 1

    def line(self, now_s: float) -> dict[str, object]:
        """The sums in the record's words; zeros are left out."""
        stride = -(-len(self.step_s) // STEPS_TOLD) or 1
        sums = {
            "s": round(now_s - self.began_s, 6),
            "seen": self.seen,
            "steps": self.steps,
            "training_s": round(self.training_s, 6),
            "other_s": round(self.other_s, 6),
            "waited_s": round(self.waited_s, 6),
            "first_s": round(self.first_s, 6),
            "hidden_s": round(self.hidden_s, 6),
            "unstepped_s": round(self.unstepped_s, 6),
            "loading_cpu_s": round(self.loading_cpu_s, 6),
            "batches": self.batches,
            "evaluation": self.evaluation,
            "samples": self.samples,
            "operations": self.operations,
            "asked": self.asked,
            "behind": self.behind,
            "scaled": self.scaled,
            "skipped": self.skipped,
            "scaler_s": round(self.scaler_s, 6),
            "others": self.others,
            "by_batches": self.by_batches,
            "own_s": round(self.own_s, 6),
        }
        told: dict[str, object] = {name: value for name, value in sums.items() if value}
        if self.step_s:
            told["step_us"] = [round(1e6 * seconds) for seconds in self.step_s[::stride]]
        if self.batch_sizes:
            told["sizes"] = [[size, count] for size, count in self.batch_sizes.items()]
        return told
