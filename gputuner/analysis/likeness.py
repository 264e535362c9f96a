"""What differs between the machines of two sessions: card, driver, torch, host, settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gputuner.model.cards import Origin
from gputuner.model.events import RunStarted
from gputuner.model.fingerprint import CardFingerprint, TorchFingerprint
from gputuner.model.readings import Reading, Scalar

PASSING = frozenset(
    {"memory_available_bytes", "load_1m", "disk_free_bytes", "cpu_temperature_c", "boot_id", "other_processes",
     "pcie_generation", "pcie_width", "rapl_readable", "container"}
)  # fmt: skip
"""Host and card readings that change from minute to minute, or do not bear on a figure."""


class Weight(StrEnum):
    """What a difference means for a comparison."""

    VOIDS = "voids"
    """Other cards, or measured against simulated: no change over time."""
    EXPLAINS = "explains"
    """Driver, torch, limits: a change may come from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """One thing that differs; ``name`` is a reading's name, or ``card``, ``origin``, ``torch``, ``cuda`` …"""

    name: str
    before: Scalar | None
    after: Scalar | None
    weight: Weight


def unlike(
    before: RunStarted,
    after: RunStarted,
    torch: tuple[TorchFingerprint | None, TorchFingerprint | None] = (None, None),
) -> tuple[Unlike, ...]:
    """All that differs between the starts of two runs, what voids the comparison first.

    ``torch``: what each of the two measured, where it became known.
    """
    found = [*_cards(before, after), *_torch(*torch), *_host(before, after)]
    return tuple(sorted(found, key=lambda each: each.weight is not Weight.VOIDS))


def _cards(before: RunStarted, after: RunStarted) -> Iterator[Unlike]:
    if before.origin is not after.origin:
        yield Unlike(name="origin", before=before.origin.value, after=after.origin.value, weight=Weight.VOIDS)
    ours, theirs = before.fingerprint.cards, after.fingerprint.cards
    if not ours or not theirs:
        return
    if _other_card(before, after):
        names = [card.title for run in (before, after) for card in run.cards[:1]]
        yield Unlike(name="card", before=names[0], after=names[-1], weight=Weight.VOIDS)
        return
    yield from _readings(ours[0].readings, theirs[0].readings)


def _other_card(before: RunStarted, after: RunStarted) -> bool:
    """Another board, or (simulated boards are made anew) another kind of card."""
    ours, theirs = before.fingerprint.cards[0], after.fingerprint.cards[0]
    if before.origin is Origin.SIMULATED and after.origin is Origin.SIMULATED:
        return _kind(before, ours) != _kind(after, theirs)
    return ours.uuid_hash != theirs.uuid_hash


def _kind(run: RunStarted, card: CardFingerprint) -> str:
    match = run.cards[0].catalog if run.cards else None
    return match.catalog_id if match and match.catalog_id else card.name


def _torch(before: TorchFingerprint | None, after: TorchFingerprint | None) -> Iterator[Unlike]:
    if before is None or after is None:
        return
    for name in ("version", "cuda", "cudnn", "python"):
        ours, theirs = getattr(before, name), getattr(after, name)
        if ours != theirs:
            told = "torch" if name == "version" else name
            yield Unlike(name=told, before=ours, after=theirs, weight=Weight.EXPLAINS)


def _host(before: RunStarted, after: RunStarted) -> Iterator[Unlike]:
    yield from _readings(before.fingerprint.host.readings, after.fingerprint.host.readings)
    if before.version != after.version:
        yield Unlike(name="gputuner", before=before.version, after=after.version, weight=Weight.EXPLAINS)


def _readings(before: Mapping[str, Reading], after: Mapping[str, Reading]) -> Iterator[Unlike]:
    for name in before:
        if name in PASSING or name == "gputuner" or name not in after:
            continue
        ours, theirs = before[name].value, after[name].value
        if ours != theirs:
            yield Unlike(name=name, before=ours, after=theirs, weight=Weight.EXPLAINS)
