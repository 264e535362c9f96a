"""Scripted faults of simulated cards: what goes wrong, when, and for how long."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gputuner.model.errors import UsageError
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Scalar

KINDS = (
    "lost",
    "hung",
    "no_permission",
    "stuck_sensor",
    "power_glitch",
    "xid",
    "fan_stopped",
    "overheat",
    "narrow_link",
    "compute_mode",
    "bad_memory",
    "wrong_product",
)
"""What can go wrong.

``lost``: the card is gone (``duration_s``: comes back). ``hung``: the next call lasts ``duration_s`` (30).
``no_permission``: ``quantities`` (comma list; default all) and the process table are refused. ``stuck_sensor``:
``quantity`` (core temperature) keeps its value. ``power_glitch``: ``power_w`` is told for ``duration_s`` (0.6); the
default is the sentinel of a failed read, which is rejected. ``xid``: ``xid`` (79, which also loses the card, or another
number). ``fan_stopped``: the fan stands. ``overheat``: the air around the card goes to ``air_c`` (95).
``narrow_link``: the link runs at ``width`` lanes (8) and at most at ``generation`` (the card's own).
``compute_mode``: from the start on the card is in ``mode`` (``exclusive_process``).
``bad_memory``: ``mode`` ``stuck`` (bit ``bit`` of a word at ``offset_mib`` is always 1), ``hot`` (the same, only under
load), ``alias`` (what lies beyond ``capacity_mib`` is the memory below it once more) or ``slow`` (the block at
``offset_mib`` is read at ``fraction`` of the others' rate). ``wrong_product``: products are wrong now and then.
"""
EXCLUSIVE = "exclusive_process"
GLITCH_W = 4294967.295
"""All bits set, in mW: what a failed power read looks like."""

Scripted = tuple[float, str, Mapping[str, Scalar]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One scripted fault: ``t_s`` after the start, on the card at ``card`` (index)."""

    t_s: float
    kind: str
    card: int = 0
    duration_s: float | None = None
    """None: to the end (``hung``, ``power_glitch``: their defaults)."""
    params: Mapping[str, Scalar] = field(default_factory=lambda: {})

    def active(self, t_s: float) -> bool:
        """True while the fault lasts."""
        return self.t_s <= t_s and (self.duration_s is None or t_s < self.t_s + self.duration_s)

    def number(self, name: str, default: float) -> float:
        """A numeric parameter."""
        return float(self.params.get(name, default))

    @property
    def quantities(self) -> frozenset[Quantity]:
        """Quantities that ``no_permission`` or ``stuck_sensor`` hits."""
        default = Quantity.CORE_TEMPERATURE_C.value if self.kind == "stuck_sensor" else ",".join(Quantity)
        names = str(self.params.get("quantity", self.params.get("quantities", default)))
        return frozenset(Quantity(name.strip()) for name in names.split(","))


_DURATIONS = {"power_glitch": 0.6, "hung": 30.0}


def faults_from(script: Iterable[Scripted | Fault]) -> tuple[Fault, ...]:
    """Faults of a script, in order of time.

    Raises:
        UsageError: unknown kind.
    """
    found: list[Fault] = []
    for entry in script:
        if isinstance(entry, Fault):
            fault = entry
        else:
            t_s, kind, params = entry
            lasts = params.get("duration_s", _DURATIONS.get(kind))
            fault = Fault(
                t_s=t_s,
                kind=kind,
                card=int(params.get("card", 0)),
                duration_s=None if lasts is None else float(lasts),
                params=params,
            )
        if fault.kind not in KINDS:
            raise UsageError("unknown_fault", f"no fault {fault.kind!r}", fault=fault.kind, known=", ".join(KINDS))
        found.append(fault)
    return tuple(sorted(found, key=lambda f: f.t_s))
