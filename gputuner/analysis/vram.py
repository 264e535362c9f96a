"""What the VRAM test's passes say together: where it fails, when, and what kind of fault it is.

Offsets are virtual: they follow the order in which the driver gave the blocks out, and pages of 2 MiB may lie anywhere
on the chips. So a place is good for comparing passes of one block table, not for naming a chip.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gputuner.model.readings import Scalar

Kind = Literal["sound", "aliasing", "stuck", "hot_only", "cold_only", "intermittent", "read_errors", "lost_writes"]
MOST_TOLD = 16
MODAL_SHARE = 0.5
"""A distance is the modal one if it accounts for at least half of the words that belong elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """``bytes`` from ``offset`` on hold what was written ``source`` bytes from the start on."""

    offset: int
    source: int
    bytes: int

    @property
    def distance(self) -> int:
        """How far apart the two are, in bytes."""
        return abs(self.source - self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass: its name and heat, bytes tested, and what was wrong (see ``workloads/bodies/vram_findings.py``)."""

    name: str
    heat: str
    checked_bytes: int
    errors: int
    bad_rows: int = 0
    transient: int = 0
    stale: int = 0
    aliased: int = 0
    bits_up: int = 0
    bits_down: int = 0
    spans: tuple[tuple[int, int], ...] = ()
    """Offset and length in bytes of rows with errors."""
    aliases: tuple[Alias, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VramFound:
    """All passes together. ``errors`` wrong words seen; at least so many where rows were too many to look at each."""

    kind: Kind
    errors: int
    passes: int
    failed_passes: int
    checked_bytes: int
    """The least that a whole pass has tested."""
    bits_up: int
    bits_down: int
    distance: int | None
    """Modal distance of words that belong elsewhere, in bytes; None: no aliasing, or no distance stands out."""
    distance_share: float
    repeated: int
    """Rows or stretches that failed in more than one pass."""
    first_offset: int | None


def pass_of(params: Mapping[str, Scalar], notes: Mapping[str, Scalar]) -> Pass:
    """A pass from what its part says; negative or unreadable counts are errors, never fewer."""
    return Pass(
        name=str(params.get("pass", "")),
        heat=str(params.get("heat", "cold")),
        checked_bytes=max(0, int(notes.get("checked_bytes", 0))),
        errors=counted(notes.get("errors")),
        bad_rows=counted(notes.get("bad_rows", 0)),
        transient=counted(notes.get("transient", 0)),
        stale=counted(notes.get("stale", 0)),
        aliased=counted(notes.get("aliased", 0)),
        bits_up=int(str(notes.get("bits_up", "0")) or "0", 16),
        bits_down=int(str(notes.get("bits_down", "0")) or "0", 16),
        spans=tuple(_span(text) for text in str(notes.get("spans", "")).split()),
        aliases=tuple(_alias(text) for text in str(notes.get("aliases", "")).split()),
    )


def counted(value: Scalar | None) -> int:
    """A count of errors: what is no count (missing, negative by a counter that wrapped) is one error at least."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 1
    return int(value) if value >= 0 else max(1, abs(int(value)))


def _span(text: str) -> tuple[int, int]:
    offset, _, length = text.partition("+")
    return int(offset, 16), int(length, 16)


def _alias(text: str) -> Alias:
    offset, _, rest = text.partition("<")
    source, _, length = rest.partition("+")
    return Alias(offset=int(offset, 16), source=int(source, 16), bytes=int(length, 16))


def judged(passes: Sequence[Pass]) -> VramFound:
    """The verdict on the memory."""
    failed = [each for each in passes if each.errors]
    distance, share = modal_distance([alias for each in failed for alias in each.aliases])
    seen = Counter(span[0] for each in failed for span in dict.fromkeys(each.spans))
    offsets = [offset for each in failed for offset, _ in each.spans]
    up = down = 0
    for each in failed:
        up, down = up | each.bits_up, down | each.bits_down
    return VramFound(
        kind=_kind(passes, failed, seen),
        errors=sum(each.errors for each in failed),
        passes=len(passes),
        failed_passes=len(failed),
        checked_bytes=min((each.checked_bytes for each in passes), default=0),
        bits_up=up,
        bits_down=down,
        distance=distance,
        distance_share=share,
        repeated=sum(count > 1 for count in seen.values()),
        first_offset=min(offsets, default=None),
    )


def _kind(passes: Sequence[Pass], failed: Sequence[Pass], seen: Mapping[int, int]) -> Kind:
    if not failed:
        return "sound"
    if any(each.aliased for each in failed):
        return "aliasing"
    errors = sum(each.errors for each in failed)
    if sum(each.transient for each in failed) >= errors:
        return "read_errors"
    if 2 * sum(each.stale for each in failed) > errors:
        return "lost_writes"
    heats = {each.heat for each in passes}
    failing = {each.heat for each in failed}
    if heats == {"cold", "hot"} and len(failing) == 1:
        return "hot_only" if failing == {"hot"} else "cold_only"
    return "stuck" if any(count > 1 for count in seen.values()) else "intermittent"


def modal_distance(aliases: Sequence[Alias]) -> tuple[int | None, float]:
    """The distance that most bytes are apart from where they belong, and its share of all of them."""
    weights: Counter[int] = Counter()
    for alias in aliases:
        weights[alias.distance] += alias.bytes
    total = weights.total()
    if not total:
        return None, 0.0
    distance, weight = max(weights.items(), key=lambda entry: (entry[1], -entry[0]))
    return (distance, weight / total) if weight >= MODAL_SHARE * total else (None, weight / total)


def beyond_donor(distance: int | None, donor_bytes: int | None, tested_bytes: int, tolerance: float = 0.05) -> bool:
    """Whether memory repeats itself at the capacity of a smaller card: the sign of a size that is only pretended."""
    if distance is None or donor_bytes is None or tested_bytes <= donor_bytes:
        return False
    return abs(distance - donor_bytes) <= tolerance * donor_bytes
