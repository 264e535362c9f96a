"""Specs of copies over links: between host and card, between cards, all-reduce."""

from dataclasses import dataclass
from typing import ClassVar

from gputuner.model.readings import Scalar
from gputuner.workloads.specs import check_range

MIB = 1 << 20


def _sizes(sizes: tuple[int, ...]) -> dict[str, Scalar]:
    return {"sizes": " ".join(map(str, sizes))}


def _check(sizes: tuple[int, ...]) -> None:
    for size in sizes:
        check_range("bytes", size, 4, 1 << 36)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSpec:
    """Copies between host and card of each of ``sizes`` bytes, pinned and (``pageable``) pageable."""

    workload: ClassVar[str] = "transfer"
    sizes: tuple[int, ...]
    pageable: bool = True

    def __post_init__(self) -> None:
        """Refuse empty buffers."""
        _check(self.sizes)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {**_sizes(self.sizes), "memory": "pinned pageable" if self.pageable else "pinned"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTransferSpec:
    """Copies between two cards of each of ``sizes`` bytes."""

    workload: ClassVar[str] = "peer_transfer"
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse empty buffers."""
        _check(self.sizes)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return _sizes(self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduceSpec:
    """All-reduce of each of ``sizes`` bytes per rank."""

    workload: ClassVar[str] = "allreduce"
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse empty buffers."""
        _check(self.sizes)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return _sizes(self.sizes)
