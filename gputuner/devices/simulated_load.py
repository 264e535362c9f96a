"""What a workload asks of a simulated card per iteration, and how cards share their time among loads."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Demand of one iteration.

    The card is busy for ``fixed_s`` plus the longer of pipes and memory (roofline); an iteration takes at least
    ``host_s`` because the host has to launch it.
    """

    compute_cycles: float
    """SM clock cycles for which the chip's pipes are busy."""
    dram_bytes: float
    fixed_s: float = 0.0
    """Busy time that no clock shortens (small kernels, tails)."""
    host_s: float = 0.0
    activity: float = 1.0
    """Switching power of the pipes while busy; 1 = dense tensor product of random numbers."""
    stall_activity: float = 0.0
    """Switching power of the pipes while the load is busy but they wait (for memory, in small kernels)."""
    overlapped: bool = True
    """Pipes and memory work at the same time (one large kernel); False: one after the other (many small kernels)."""
    tensor: bool = True
    """Uses the tensor pipes (for the counters)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one load gets of the card at given clocks."""

    iterations_per_s: float
    busy: float
    """Share of the time in which the card works for this load."""
    compute: float
    dram: float

    def switching(self, load: Load) -> float:
        """Switching power that the load causes, as a share of the chip's own at that clock."""
        return self.compute * load.activity + max(0.0, self.busy - self.compute) * load.stall_activity


def _softmax(a: float, b: float) -> float:
    """The larger of two times, with a soft corner (8-norm): at equal demand both still cost a little."""
    top = max(a, b)
    if top <= 0:
        return 0.0
    return top * ((a / top) ** 8 + (b / top) ** 8) ** 0.125


def busy_s(load: Load, clock_hz: float, bandwidth: float) -> tuple[float, float, float]:
    """Seconds per iteration: busy, pipes alone, memory alone (``bandwidth`` in bytes/s)."""
    compute, dram = load.compute_cycles / clock_hz, load.dram_bytes / bandwidth
    working = _softmax(compute, dram) if load.overlapped else compute + dram
    return load.fixed_s + working, compute, dram


def iteration_s(load: Load, clock_hz: float, bandwidth: float) -> float:
    """Seconds per iteration of a load that has the card to itself."""
    return _softmax(load.host_s, busy_s(load, clock_hz, bandwidth)[0])


def shares(loads: Mapping[str, Load], clock_hz: float, bandwidth: float) -> dict[str, Share]:
    """Time slicing: every load gets what it wants while the card has time for all, else equal shares.

    With two launch-bound loads that want half of the time each neither slows; two saturated ones halve.
    """
    times = {name: busy_s(load, clock_hz, bandwidth) for name, load in loads.items()}
    wanted = {name: times[name][0] / _softmax(load.host_s, times[name][0]) for name, load in loads.items()}
    granted = _fill(wanted)
    found: dict[str, Share] = {}
    for name, (busy, compute, dram) in times.items():
        share = granted[name]
        found[name] = Share(
            iterations_per_s=share / busy, busy=share, compute=share * compute / busy, dram=share * dram / busy
        )
    return found


def _fill(wanted: Mapping[str, float]) -> dict[str, float]:
    """Divide one card's time: nobody gets more than wanted, nobody who wants more gets less than another."""
    granted: dict[str, float] = {}
    left = 1.0
    for count, name in zip(range(len(wanted), 0, -1), sorted(wanted, key=lambda n: wanted[n]), strict=True):
        granted[name] = min(wanted[name], left / count)
        left -= granted[name]
    return granted
