"""The card ``cpu``: the host's own processor, so that everything runs on a machine without a GPU."""

import os
import platform
from collections.abc import Callable
from statistics import median

import psutil

from gputuner.devices.rapl import Rapl
from gputuner.devices.sysfiles import SysFiles, reading_of
from gputuner.model.cards import CPU_CARD, CardInfo, Origin
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import CardProcesses, Sample, XidSeen

_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal", "acpitz")
"""Drivers of the processor's own sensor, most trusted first."""
_PACKAGE = ("package id", "tctl", "tdie", "cpu")
_MOST_CLOCKS = 4
"""Cores whose clock is read: asking for a core's clock interrupts it, so not all of a big machine are asked."""
_LIMITS = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")
_USED = ("sys/fs/cgroup/memory.current", "sys/fs/cgroup/memory/memory.usage_in_bytes")


def cpu_name(files: SysFiles) -> str:
    """The processor's own name, e.g. ``Intel(R) Xeon(R) Processor``."""
    content = files.text("proc/cpuinfo")
    if not isinstance(content, Reason):
        for line in content.splitlines():
            key, _, value = line.partition(":")
            if key.strip().lower() in ("model name", "hardware", "cpu model") and value.strip():
                return " ".join(value.split())
    return platform.processor() or platform.machine() or "CPU"


def package_temperature_c(files: SysFiles) -> float | Reason:
    """Temperature of the (hottest) processor package in degC, from the kernel's hwmon files."""
    best: tuple[int, float] | None = None
    for folder in files.folders("sys/class/hwmon/hwmon*"):
        name = files.text(f"{folder}/name")
        if isinstance(name, Reason) or name not in _SENSORS:
            continue
        temperatures = _temperatures_c(files, folder)
        rank = _SENSORS.index(name)
        if temperatures and (best is None or (rank, -max(temperatures)) < (best[0], -best[1])):
            best = rank, max(temperatures)
    return Reason.NOT_SUPPORTED if best is None else best[1]


def _temperatures_c(files: SysFiles, folder: str) -> list[float]:
    """The sensor's package temperatures, else all it has."""
    package: list[float] = []
    others: list[float] = []
    for path in files.folders(f"{folder}/temp*_input"):
        value = files.number(path)
        if isinstance(value, Reason) or not 0 < value < 150_000:
            continue
        label = files.text(path.removesuffix("input") + "label")
        named = not isinstance(label, Reason) and label.lower().startswith(_PACKAGE)
        (package if named else others).append(value / 1000)
    return package or others


class HostSource:
    """One card, ``cpu``.

    Utilisation over all cores; memory of the machine or of the container where that is less; package temperature;
    RAPL power where readable; the core clock stands in the place of the SM clock. Processes are not listed: unlike a
    card's memory, the host's is shared by everything that runs.
    """

    def __init__(self, files: SysFiles | None = None, count_cores: Callable[[], int | None] = os.cpu_count) -> None:
        """Ask nothing yet."""
        self._files = files or SysFiles()
        self._count_cores = count_cores
        self._rapl = Rapl(self._files)
        policies = self._files.folders("sys/devices/system/cpu/cpufreq/policy[0-9]*")
        self._policies = policies[:: max(1, len(policies) // _MOST_CLOCKS)][:_MOST_CLOCKS]
        self._busy: tuple[float, float] | None = None
        self._energy: tuple[int, float] | None = None

    @property
    def origin(self) -> Origin:
        """Measured."""
        return Origin.MEASURED

    def cards(self) -> tuple[CardInfo, ...]:
        """The one card."""
        clock = psutil.cpu_freq()
        readings = {
            "sm_clock_max_mhz": reading_of(clock.max if clock and clock.max else None, "MHz"),
            "cores": reading_of(self._count_cores()),
        }
        total = self._memory()[0]
        name = cpu_name(self._files)
        return (CardInfo(uuid=CPU_CARD, index=0, name=name, memory_total_bytes=total, readings=readings),)

    def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
        """Read one tier; what a processor does not have is not supported."""
        values: dict[Quantity, float] = {}
        missing = {name: Reason.NOT_SUPPORTED for name, info in QUANTITIES.items() if info.tier is tier}
        if tier is Tier.FAST:
            found = self._fast(t_ns)
            values = {name: value for name, value in found.items() if not isinstance(value, Reason)}
            missing |= {name: value for name, value in found.items() if isinstance(value, Reason)}
        missing = {name: reason for name, reason in missing.items() if name not in values}
        return Sample(card=card, t_ns=t_ns, values=values, missing=missing)

    def _fast(self, t_ns: int) -> dict[Quantity, float | Reason]:
        _, used, free = self._memory()
        energy = self._rapl.energy_j()
        return {
            Quantity.CORE_TEMPERATURE_C: package_temperature_c(self._files),
            Quantity.POWER_AVERAGE_W: self._power(energy, t_ns),
            Quantity.ENERGY_J: energy,
            Quantity.SM_CLOCK_MHZ: self._clock(),
            Quantity.GPU_UTILISATION: self._utilisation(),
            Quantity.MEMORY_USED_BYTES: used,
            Quantity.MEMORY_FREE_BYTES: free,
        }

    def _memory(self) -> tuple[int, int, int]:
        """Total, used and free bytes: of the container where it has a limit below the machine's memory."""
        memory = psutil.virtual_memory()
        total, free = memory.total, memory.available
        for limit_path, used_path in zip(_LIMITS, _USED, strict=True):
            limit, used = self._files.number(limit_path), self._files.number(used_path)
            if not isinstance(limit, Reason) and not isinstance(used, Reason) and 0 < limit < total:
                return limit, used, min(free, max(0, limit - used))
        return total, total - free, free

    def _utilisation(self) -> float | Reason:
        """Share of time in which the cores were busy since the last call; unknown on the first."""
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        whole = sum(times[:8]) if len(times) > 8 else sum(times)  # guest time is part of user time
        last, self._busy = self._busy, (whole - idle, whole)
        if last is None or whole <= last[1]:
            return Reason.NOT_READ
        return min(1.0, max(0.0, (whole - idle - last[0]) / (whole - last[1])))

    def _power(self, energy: float | Reason, t_ns: int) -> float | Reason:
        if isinstance(energy, Reason):
            return energy
        last, self._energy = self._energy, (t_ns, energy)
        if last is None or t_ns <= last[0]:
            return Reason.NOT_READ
        return (energy - last[1]) / ((t_ns - last[0]) / 1e9)

    def _clock(self) -> float | Reason:
        khz = [self._files.number(f"{policy}/scaling_cur_freq") for policy in self._policies]
        known = [value for value in khz if not isinstance(value, Reason)]
        if known:
            return median(known) / 1000
        clock = psutil.cpu_freq()
        return float(clock.current) if clock and clock.current else Reason.NOT_SUPPORTED

    def processes(self, card: str, t_ns: int) -> CardProcesses:
        """None: the host's memory is shared by everything that runs."""
        return CardProcesses(card=card, t_ns=t_ns, processes=(), reason=Reason.NOT_SUPPORTED)

    def xids(self) -> tuple[XidSeen, ...]:
        """None: a processor has no XID errors."""
        return ()

    def close(self) -> None:
        """Nothing to release."""
