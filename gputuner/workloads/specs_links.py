"""Specs of copies over links, and of the loader: between host and card, between cards, all-reduce, DataLoader."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSpec:
    """A DataLoader over numbers of processes and switches, before a consumer of ``consumer_rate`` samples/s.

    ``workers`` empty: none, powers of two and all cores, up to ``most_workers``.
    """

    workload: ClassVar[str] = "loader"
    consumer_rate: float
    batch: int = 64
    image: int = 224
    workers: tuple[int, ...] = ()
    most_workers: int = 16
    switches: bool = True

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_range("batch", self.batch, 1, 1 << 16)
        check_range("image", self.image, 16, 2048)
        check_range("consumer_rate", int(self.consumer_rate), 1, 1 << 30)
        for count in (*self.workers, self.most_workers):
            check_range("workers", count, 0, 1024)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "consumer_rate": self.consumer_rate,
            "batch": self.batch,
            "image": self.image,
            "workers": " ".join(map(str, self.workers)),
            "most_workers": self.most_workers,
            "switches": self.switches,
        }
