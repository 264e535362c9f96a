"""Is this the card that was sold? What the driver says and what was measured, held against the sheet of a card.

The driver's name can be written by whoever flashes a card; how many SMs it has, how wide its memory bus works and
whether its memory is really there cannot. So each check says where its answer comes from, and a judgement that rests on
the driver's words alone is never sure. A sheet allows for what board makers vary (power), and for what a slot limits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

Outcome = Literal["agrees", "differs", "unknown"]
Source = Literal["driver", "measured"]
Verdict = Literal["as_sold", "other_card", "other_memory", "less_memory", "slower_memory", "unclear", "unknown"]
Sureness = Literal["measured", "likely", "unsure"]
BUS_LOW, BUS_HIGH = 0.72, 1.06
"""Read or copied bytes over the sheet's bandwidth: real cards reach 0.85 to 0.95 (published copies); three quarters of
a bus reach less than 0.72."""
REACHED = 0.92
BUS_BITS = (64, 96, 128, 160, 192, 256, 320, 352, 384, 448, 512, 1024, 2048, 3072, 4096, 5120, 6144, 8192)
POWER_LOW, POWER_HIGH = 0.6, 1.45
"""Default limit over the sheet's: laptop-like down to well overclocked boards of the same name."""
L2_LOW, L2_HIGH = 0.6, 2.1
"""Footprint of the step of latency over the sheet's L2 (see ``latency_levels.cache_step``)."""
L2_TOLD_LOW, L2_TOLD_HIGH = 0.7, 1.25
"""What the CUDA driver tells over the sheet's: an RTX 3060 2.25 MiB of 3, an H200 60 where some sheets have 50."""
HARD = ("capability", "sm_count", "memory_real", "bus_width")
"""Checks that a new label cannot pass."""


class Sheet(Protocol):
    """What a catalogue says of a card (see ``catalog/facts.py``)."""

    @property
    def id(self) -> str:
        """Its id in the catalogue."""
        ...

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def nvml_name_patterns(self) -> tuple[str, ...]:
        """Names by which the driver knows it."""
        ...

    @property
    def modded(self) -> bool:
        """Whether it is a memory mod."""
        ...

    @property
    def compute_capability(self) -> str:
        """E.g. ``8.9``."""
        ...

    @property
    def sm_count(self) -> int:
        """Streaming multiprocessors."""
        ...

    @property
    def memory_match_mib(self) -> tuple[int, int]:
        """Window of totals that its driver reports, MiB."""
        ...

    @property
    def memory_total_mib(self) -> int:
        """Total that its driver reports, MiB."""
        ...

    @property
    def bus_width_bits(self) -> int:
        """Memory bus, bits."""
        ...

    @property
    def memory_data_rate_gbps(self) -> float:
        """Per pin, Gbit/s."""
        ...

    @property
    def memory_bandwidth_gb_s(self) -> float:
        """By the sheet, GB/s."""
        ...

    @property
    def l2_mib(self) -> float:
        """L2 cache, MiB."""
        ...

    @property
    def tdp_w(self) -> int:
        """Rated power, W."""
        ...

    @property
    def pcie_gen(self) -> int:
        """PCIe generation."""
        ...

    @property
    def pcie_lanes(self) -> int:
        """PCIe lanes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CardSeen:
    """What the driver tells and what was measured; None: not known.

    ``bandwidth`` bytes/s of a copy in DRAM (read + written), ``l2_step_bytes`` the footprint up to which latency is the
    cache's (``l2_step_missing``: why it is not known), ``aliased`` whether memory repeats itself.
    """

    name: str
    compute_capability: str | None = None
    sm_count: int | None = None
    memory_total_bytes: int | None = None
    power_default_w: float | None = None
    pcie_generation_max: float | None = None
    pcie_width_max: float | None = None
    l2_bytes: float | None = None
    bandwidth: float | None = None
    l2_step_bytes: float | None = None
    l2_step_missing: str = "not_measured"
    aliased: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing: what the sheet says, what was seen, and where that comes from; ``missing``: why it is unknown."""

    name: str
    outcome: Outcome
    source: Source
    seen: str | float | None = None
    expected: str | float | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The judgement. ``candidates``: ids of cards whose chip this could be instead; ``bus_bits`` as measured."""

    verdict: Verdict
    sureness: Sureness
    sheet: str | None
    checks: tuple[Check, ...]
    candidates: tuple[str, ...] = ()
    bus_bits: int | None = None


def identify(seen: CardSeen, sheet: Sheet | None, others: Iterable[Sheet] = ()) -> Identity:
    """Hold a card against the sheet of what it was sold as (None: the catalogue has none).

    Args:
        seen: driver's answers and measurements.
        sheet: of the card that it should be.
        others: further sheets, among which a relabelled chip may be found.
    """
    if sheet is None:
        return Identity(verdict="unknown", sureness="unsure", sheet=None, checks=())
    checks = tuple(_checks(seen, sheet))
    outcome: dict[str, Outcome] = {check.name: check.outcome for check in checks}
    verdict = _verdict(outcome)
    candidates: tuple[str, ...] = ()
    if verdict in ("other_card", "other_memory"):
        candidates = tuple(other.id for other in others if other.id != sheet.id and _could_be(seen, other))
    return Identity(
        verdict=verdict,
        sureness=_sureness(verdict, checks),
        sheet=sheet.id,
        checks=checks,
        candidates=candidates[:6],
        bus_bits=bus_bits(seen.bandwidth, sheet.memory_data_rate_gbps),
    )


def bus_bits(bandwidth: float | None, data_rate_gbps: float) -> int | None:
    """The usual memory bus nearest to a measured bandwidth (bytes/s) at a data rate per pin (Gbit/s)."""
    if not bandwidth or data_rate_gbps <= 0:
        return None
    bits = bandwidth / REACHED * 8 / (data_rate_gbps * 1e9)
    return min(BUS_BITS, key=lambda width: abs(width / bits - 1.0))


def _checks(seen: CardSeen, sheet: Sheet) -> Iterable[Check]:
    names = {_plain(name) for name in sheet.nvml_name_patterns}
    yield Check(
        name="name",
        outcome="agrees" if _plain(seen.name) in names else "differs",
        source="driver",
        seen=seen.name,
        expected=sheet.nvml_name_patterns[0],
    )
    yield _equal("capability", seen.compute_capability, sheet.compute_capability)
    yield _equal("sm_count", seen.sm_count, sheet.sm_count)
    low, high = sheet.memory_match_mib
    total = None if seen.memory_total_bytes is None else seen.memory_total_bytes / 2**20
    yield _within("memory", total, (low, high), sheet.memory_total_mib)
    if seen.aliased is None:
        yield Check(name="memory_real", outcome="unknown", source="measured", missing="not_tested")
    else:
        yield Check(name="memory_real", outcome="differs" if seen.aliased else "agrees", source="measured")
    peak = sheet.memory_bandwidth_gb_s * 1e9
    yield _within("bus_width", seen.bandwidth, (BUS_LOW * peak, BUS_HIGH * peak), peak, "measured")
    l2 = sheet.l2_mib * 2**20
    yield _within("l2", seen.l2_bytes, (L2_TOLD_LOW * l2, L2_TOLD_HIGH * l2), l2)
    step = _within("l2_step", seen.l2_step_bytes, (L2_LOW * l2, L2_HIGH * l2), l2, "measured")
    yield replace(step, missing=seen.l2_step_missing) if step.outcome == "unknown" else step
    yield _within("power", seen.power_default_w, (POWER_LOW * sheet.tdp_w, POWER_HIGH * sheet.tdp_w), sheet.tdp_w)
    yield _within("pcie_generation", seen.pcie_generation_max, (0, sheet.pcie_gen), sheet.pcie_gen)
    yield _within("pcie_width", seen.pcie_width_max, (0, sheet.pcie_lanes), sheet.pcie_lanes)


def _equal(name: str, seen: str | float | None, expected: str | float) -> Check:
    outcome: Outcome = "unknown" if seen is None else "agrees" if seen == expected else "differs"
    missing = "not_reported" if seen is None else ""
    return Check(name=name, outcome=outcome, source="driver", seen=seen, expected=expected, missing=missing)


def _within(
    name: str, seen: float | None, bounds: tuple[float, float], expected: float, source: Source = "driver"
) -> Check:
    low, high = bounds
    outcome: Outcome = "unknown" if seen is None else "agrees" if low <= seen <= high else "differs"
    missing = "" if seen is not None else "not_reported" if source == "driver" else "not_measured"
    return Check(name=name, outcome=outcome, source=source, seen=seen, expected=expected, missing=missing)


def _verdict(outcome: dict[str, Outcome]) -> Verdict:
    """What differs most seriously comes first."""
    if "differs" in (outcome["capability"], outcome["sm_count"]):
        return "other_card"
    if outcome.get("memory_real") == "differs":
        return "less_memory"
    if outcome["name"] == "differs":
        return "other_card"
    if outcome["memory"] == "differs":  # of the right chip: a mod that the sheet does not know, or its donor
        return "other_memory"
    if outcome["bus_width"] == "differs":
        return "slower_memory"
    if "differs" in outcome.values():
        return "unclear"
    return "as_sold"


def _sureness(verdict: Verdict, checks: Sequence[Check]) -> Sureness:
    """Sure where the measurements that a label cannot change were made; for a difference, where one shows it."""
    outcome = {check.name: check.outcome for check in checks}
    if verdict == "as_sold":
        known = [outcome.get(name, "unknown") for name in HARD]
        if all(each == "agrees" for each in known):
            return "measured"
        return "likely" if outcome["sm_count"] == "agrees" else "unsure"
    if verdict in ("less_memory", "slower_memory"):
        return "measured"
    return "likely" if verdict in ("other_card", "other_memory") else "unsure"


def _could_be(seen: CardSeen, sheet: Sheet) -> bool:
    """Whether chip and memory are those of this sheet (its name aside)."""
    if seen.sm_count != sheet.sm_count or seen.compute_capability != sheet.compute_capability:
        return False
    low, high = sheet.memory_match_mib
    return seen.memory_total_bytes is None or low <= seen.memory_total_bytes / 2**20 <= high


def _plain(name: str) -> str:
    words = name.casefold().split()
    return " ".join(words[1:] if words[:1] == ["nvidia"] else words)
