"""What a workload asks of a simulated card per iteration, and how cards share their time among loads."""

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
    gap_s: float = 0.0
    """Time between its kernels in which the card has nothing of it to do, however early the host launched."""
    host_s: float = 0.0
    activity: float = 1.0
    """Switching power of the pipes while busy; 1 = dense tensor product of random numbers."""
    stall_activity: float = 0.0
    """Switching power of the pipes while the load is busy but they wait (for memory, in small kernels)."""
    overlapped: bool = True
    """Pipes and memory work at the same time (one large kernel); False: one after the other (many small kernels)."""
    tensor: bool = True
    """Uses the tensor pipes (for the counters)."""
    waits: float = 0.0
    """How often in an iteration the host waits for the card: what another process takes then is time lost."""
    serial: bool = False
    """The host does nothing for the next burst before the card has done this one: its pauses hide nothing."""
    grip: float = 0.0
    """Share of its gaps (the card has nothing of it to do) for which it keeps the card from other processes."""
    kernels: float = 0.0
    """Kernels of an iteration that wait for room on the SMs; of a few large ones it does not matter."""
    block_s: float = 0.0
    """How long its blocks hold an SM before another process's can start there."""
    fill: float = 1.0
    """Share of the SMs that its kernels fill."""
    l2_bytes: float = 0.0
    """Traffic that its last-level cache serves while that is its own."""
    l2_resident_bytes: float = 0.0
    """What it keeps there."""
    link_s: float = 0.0
    """Seconds for which it uses the link to the host."""
    host_cores: float = 1.0
    """Cores it keeps busy for ``host_s``."""


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


CACHE_OVER_DRAM = 3.2
"""Bandwidth of the last cache over that of DRAM (published sweeps: 2.5 to 5)."""


def busy_s(load: Load, clock_hz: float, bandwidth: float) -> tuple[float, float, float]:
    """Seconds per iteration: busy, pipes alone, memory alone (``bandwidth`` in bytes/s)."""
    compute, dram = load.compute_cycles / clock_hz, load.dram_bytes / bandwidth
    fetched = max(dram, load.l2_bytes / (CACHE_OVER_DRAM * bandwidth))
    working = _softmax(compute, fetched) if load.overlapped else compute + fetched
    return load.fixed_s + working, compute, dram


def iteration_s(load: Load, clock_hz: float, bandwidth: float) -> float:
    """Seconds per iteration of a load that has the card to itself."""
    return _softmax(load.host_s, busy_s(load, clock_hz, bandwidth)[0] + load.gap_s)
