"""The last readings of each card in ring buffers: for plots, for the newest value, for conditions of a window."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gputuner.model.points import Conditions
from gputuner.model.quantities import QUANTITIES, Limiter, Quantity, limiter_of
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import Gap, Sample
from gputuner.telemetry.conditions import Column, conditions, conditions_of
from gputuner.telemetry.feed import Tick
from gputuner.telemetry.schedule import NS

__all__ = ["CardSeries", "LimitSpan", "SeriesSet", "conditions"]

Floats = NDArray[np.float64]
Times = NDArray[np.int64]
Places = NDArray[np.int64]
_VALUE, _MISSING = 1, 2
"""State of a cell; 0 is "not due in this row"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSpan:
    """The card was in one limit from ``t0_ns`` to ``t1_ns``."""

    t0_ns: int
    t1_ns: int
    limiter: Limiter


class CardSeries:
    """The last ``capacity`` rows of one card. Used from one thread.

    Columns are twice as long as needed and are moved to the front when full, so that every view is one piece. Where the
    quantities of a row go is worked out once for all rows that hold the same ones.
    """

    def __init__(self, card: str, capacity: int = 7200) -> None:
        """Hold ``capacity`` rows (an hour at 2 Hz)."""
        self.card = card
        self._capacity = capacity
        self._rows = 0
        self._last_ns = 0
        self._t: Times = np.zeros(2 * capacity, np.int64)
        self._values: Floats = np.zeros((len(Quantity), 2 * capacity))  # the system gives memory to what is written
        self._states: NDArray[np.int8] = np.zeros((len(Quantity), 2 * capacity), np.int8)
        self._columns: dict[Quantity, int] = {}
        self._placed: dict[tuple[Quantity, ...], Places] = {}
        self._lacking: dict[tuple[Quantity, ...], Places] = {}
        self._reasons: dict[Quantity, Reason] = {}
        self._gaps: list[Gap] = []

    def append(self, sample: Sample) -> None:
        """Add a row; one that is older than the last is left out (it came too late)."""
        if self._rows and sample.t_ns <= self._last_ns:
            return
        if self._rows == 2 * self._capacity:
            self._move()
        row, self._rows = self._rows, self._rows + 1
        self._t[row] = self._last_ns = sample.t_ns
        if sample.values:
            places = self._places(tuple(sample.values))
            self._values[places, row] = tuple(sample.values.values())
            self._states[places, row] = _VALUE
        if sample.missing:
            self._reasons.update(sample.missing)
            self._states[self._known(tuple(sample.missing)), row] = _MISSING

    def _move(self) -> None:
        kept = slice(self._rows - self._capacity, self._rows)
        self._t[: self._capacity] = self._t[kept]
        for column in self._columns.values():
            self._values[column, : self._capacity] = self._values[column, kept]
            self._states[column, : self._capacity] = self._states[column, kept]
            self._states[column, self._capacity :] = 0
        self._rows = self._capacity
        self._gaps = [gap for gap in self._gaps if gap.t1_ns >= self._t[0]]

    def _places(self, quantities: tuple[Quantity, ...]) -> Places:
        """The columns of these quantities; those that had none have one from now on."""
        found = self._placed.get(quantities)
        if found is None:
            for quantity in quantities:
                self._columns.setdefault(quantity, len(self._columns))
            self._lacking.clear()  # one of them may have a column now
            found = self._placed[quantities] = np.array([self._columns[quantity] for quantity in quantities])
        return found

    def _known(self, quantities: tuple[Quantity, ...]) -> Places:
        """The columns of those of the quantities that have one (were read before)."""
        found = self._lacking.get(quantities)
        if found is None:
            columns = [self._columns[quantity] for quantity in quantities if quantity in self._columns]
            found = self._lacking[quantities] = np.array(columns, np.int64)
        return found

    def add_gap(self, gap: Gap) -> None:
        """Remember that nothing was read between two times."""
        self._gaps.append(gap)

    def _view(self, quantity: Quantity) -> tuple[Times, Floats, NDArray[np.int8]]:
        """Times, values and states of the last ``capacity`` rows, as views."""
        rows = slice(max(0, self._rows - self._capacity), self._rows)
        column = self._columns[quantity]
        return self._t[rows], self._values[column, rows], self._states[column, rows]

    def values(self, quantity: Quantity) -> tuple[Times, Floats]:
        """Times (ns, int64) and values (float64) of what was read, without what was missing; copies."""
        if quantity not in self._columns:
            return np.zeros(0, np.int64), np.zeros(0)
        times, values, states = self._view(quantity)
        return times[states == _VALUE], values[states == _VALUE]

    def drawn(self, quantity: Quantity, t0_ns: int = 0) -> tuple[Floats, Floats]:
        """Seconds since ``t0_ns`` and values for a plot (float64 each): NaN breaks the line where nothing was read."""
        if quantity not in self._columns:
            return np.zeros(0), np.zeros(0)
        times, values, states = self._view(quantity)
        due = states > 0
        times, values, states = times[due], values[due], states[due]
        values = np.where(states == _VALUE, values, np.nan)
        at: list[int] = []
        middle: list[float] = []
        for gap in self._gaps:
            place = int(np.searchsorted(times, gap.t0_ns, side="right"))
            if 0 < place < len(times) and times[place] >= gap.t1_ns:
                at.append(place)
                middle.append((gap.t0_ns + gap.t1_ns) / 2)
        seconds = (times - t0_ns) / NS
        breaks = (np.array(middle) - t0_ns) / NS
        return np.insert(seconds, at, breaks), np.insert(values, at, np.nan)

    def latest(self, quantity: Quantity, now_ns: int, at_most_s: float = 15.0) -> Reading:
        """The newest reading not older than ``at_most_s``, or the reason why there is none."""
        if quantity in self._columns:
            times, values, states = self._view(quantity)
            due = np.flatnonzero(states)
            if len(due):
                row = due[-1]
                if states[row] == _VALUE and now_ns - times[row] <= at_most_s * NS:
                    return Reading(value=float(values[row]), unit=QUANTITIES[quantity].unit)
                if states[row] == _VALUE:
                    return Reading(reason=Reason.NOT_READ)
        return Reading(reason=self._reasons.get(quantity, Reason.NOT_READ))

    def limits(self, at_most_s: float = 2.0) -> list[LimitSpan]:
        """Spans of equal limit, for the ribbon; each reading holds until the next, at most ``at_most_s``."""
        times, bits = self.values(Quantity.LIMIT_BITS)
        spans: list[LimitSpan] = []
        for i, (t_ns, mask) in enumerate(zip(times.tolist(), bits.tolist(), strict=True)):
            following = int(times[i + 1]) if i + 1 < len(times) else t_ns
            end = min(following, t_ns + round(at_most_s * NS))
            limiter = limiter_of(int(mask))
            if spans and spans[-1].limiter is limiter and spans[-1].t1_ns == t_ns:
                spans[-1] = LimitSpan(t0_ns=spans[-1].t0_ns, t1_ns=end, limiter=limiter)
            else:
                spans.append(LimitSpan(t0_ns=t_ns, t1_ns=end, limiter=limiter))
        return spans

    def conditions(self, t0_ns: int, t1_ns: int) -> Conditions:
        """What the card did in ``[t0_ns, t1_ns]``."""

        def get(quantity: Quantity) -> Column:
            times, values = self.values(quantity)
            return times.tolist(), values.tolist()

        return conditions_of(get, t0_ns, t1_ns)


class SeriesSet:
    """The series of all cards of a feed; ``take`` every tick."""

    def __init__(self, capacity: int = 7200) -> None:
        """Hold ``capacity`` rows per card."""
        self._capacity = capacity
        self._series: dict[str, CardSeries] = {}

    def take(self, tick: Tick) -> None:
        """Add what a tick holds."""
        for sample in tick.samples:
            self.card(sample.card).append(sample)
        for gap in tick.gaps:
            for uuid in [gap.card] if gap.card else list(self._series):
                self.card(uuid).add_gap(gap)

    def card(self, uuid: str) -> CardSeries:
        """The series of one card (empty if nothing was read of it)."""
        found = self._series.get(uuid)
        if found is None:
            found = self._series[uuid] = CardSeries(uuid, self._capacity)
        return found
