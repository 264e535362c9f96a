"""Energy of the processor packages from the kernel's powercap files (RAPL)."""

from gputuner.devices.sysfiles import SysFiles
from gputuner.model.readings import Reason

_ZONES = "sys/class/powercap/*-rapl:[0-9]*"


class Rapl:
    """The packages' energy counters, their sum unwrapped since the first reading."""

    def __init__(self, files: SysFiles) -> None:
        """Find the top zones (packages; ``intel-rapl:0`` but not ``intel-rapl:0:0``)."""
        self._files = files
        self._zones = [zone for zone in files.folders(_ZONES) if zone.rsplit("/", 1)[-1].count(":") == 1]
        self._last: dict[str, int] = {}
        self._energy_uj = 0

    def energy_j(self) -> float | Reason:
        """Energy of all packages since the first call, in joules; or why it is unknown."""
        if not self._zones:
            return Reason.NOT_SUPPORTED
        for zone in self._zones:
            now = self._files.number(f"{zone}/energy_uj")
            if isinstance(now, Reason):
                return now
            last = self._last.get(zone, now)
            if now < last:
                wraps_at = self._files.number(f"{zone}/max_energy_range_uj")
                if isinstance(wraps_at, Reason):
                    return Reason.IMPLAUSIBLE
                last -= wraps_at
            self._energy_uj += now - last
            self._last[zone] = now
        return self._energy_uj / 1e6
