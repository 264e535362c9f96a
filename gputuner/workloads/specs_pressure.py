"""Typed, checked specs of pressure probes: loads that press on one resource as hard as their dial says."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar

Probe = Literal["slices", "sm", "tensor", "dram", "l2", "pcie", "host"]
PROBES: tuple[Probe, ...] = get_args(Probe)
ON_PROCESSOR: tuple[Probe, ...] = ("dram", "host")
"""Those that a processor without a card has."""
LEAST_DIAL = 0.02
LEAST_BURST_S, MOST_BURST_S = 1e-4, 0.1


def probe_named(name: str) -> Probe:
    """The probe of that name.

    Raises:
        ValueError: there is none; nobody types these names.
    """
    for probe in PROBES:
        if probe == name:
            return probe
    raise ValueError(f"no probe {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureSpec:
    """One probe at one dial.

    ``dial``: share of the time in which it works, in bursts of ``burst_s`` seconds as it works alone; at 1 it never
    pauses. Of ``host``: threads over twice the cores. ``passes``: kernels of a burst, as a trial of it alone has found
    them; 0: find them.
    """

    workload: ClassVar[str] = "pressure"
    probe: Probe
    dial: float = 1.0
    burst_s: float = 0.002
    passes: int = 0

    def __post_init__(self) -> None:
        """Refuse what presses on nothing.

        Raises:
            UsageError: a value is out of range.
            ValueError: no such probe.
        """
        probe_named(self.probe)
        for name, value, low, high in (
            ("dial", self.dial, LEAST_DIAL, 1.0),
            ("burst_s", self.burst_s, LEAST_BURST_S, MOST_BURST_S),
            ("passes", float(self.passes), 0.0, 1e9),
        ):
            if not low <= value <= high:
                text = f"{name} must lie between {low} and {high}, not {value}"
                raise UsageError("value_out_of_range", text, name=name, value=value, low=low, high=high)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {"probe": self.probe, "dial": self.dial, "burst_s": self.burst_s, "passes": self.passes}
