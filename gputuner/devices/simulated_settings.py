"""What is set on a simulated card, and what follows from it for clocks and voltage."""

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class CardSettings:
    """Settings of one simulated card beside its power limit; as a driver keeps them, until they are set again.

    Clocks in MHz as NVML counts them. ``memory_offset_mhz`` is in units of the transfer rate, twice the clock's, as
    drivers take it (peers: LACT #1001). ``fan``: share of full speed; None: automatic.
    """

    sm_lock_mhz: tuple[float, float] | None = None
    memory_lock_mhz: tuple[float, float] | None = None
    core_offset_mhz: float = 0.0
    memory_offset_mhz: float = 0.0
    fan: float | None = None

    def sm_clock_mhz(self, boost_mhz: float) -> float:
        """The highest clock of the cores where they would boost to ``boost_mhz`` by themselves."""
        clock = boost_mhz + self.core_offset_mhz
        return clock if self.sm_lock_mhz is None else min(max(clock, self.sm_lock_mhz[0]), self.sm_lock_mhz[1])

    def idle_clock_mhz(self, idle_mhz: float) -> float:
        """Clock of the cores while nothing runs: a lock holds them up."""
        return idle_mhz if self.sm_lock_mhz is None else max(idle_mhz, self.sm_lock_mhz[0])

    def memory_clock_mhz(self, clock_mhz: float) -> float:
        """Clock of the memory under load where it would run at ``clock_mhz`` by itself."""
        clock = clock_mhz + self.memory_offset_mhz / 2
        return (
            clock if self.memory_lock_mhz is None else min(max(clock, self.memory_lock_mhz[0]), self.memory_lock_mhz[1])
        )

    def voltage_clock_mhz(self, clock_mhz: float) -> float:
        """The clock whose voltage the chip runs at: an offset shifts the curve, so that a clock needs less of it."""
        return clock_mhz - self.core_offset_mhz
