"""Typed, checked specs of the VRAM test and of the compute burn."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar
from gputuner.workloads.specs import Precision

Heat = Literal["cold", "hot"]
MIB = 1 << 20
LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES = 256 * MIB, 1024 * MIB
USUAL_BLOCKS = 24
LEAST_KEEP_BYTES, KEEP_SHARE = 96 * MIB, 0.015
"""What stays free for libraries and for what comes meanwhile: of a card's total."""
CPU_BLOCK_BYTES = 16 * MIB
HOLD_S = (0.0, 600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class VramSpec:
    """All that is free but ``keep_bytes``, in blocks of ``block_bytes``; at most ``most_bytes`` (0: no bound).

    ``hold_s``: for so long words are kept before they are read in the retention pass, idle (``cold``) or under load.
    """

    workload: ClassVar[str] = "vram"
    block_bytes: int
    keep_bytes: int
    heat: Heat = "cold"
    hold_s: float = 2.0
    most_bytes: int = 0

    def __post_init__(self) -> None:
        """Refuse what tests nothing.

        Raises:
            UsageError: a value is out of range.
        """
        for name, value, low, high in (
            ("block_bytes", self.block_bytes, MIB, 1 << 32),
            ("keep_bytes", self.keep_bytes, 0, 1 << 42),
            ("hold_s", self.hold_s, *HOLD_S),
        ):
            if not low <= value <= high:
                text = f"{name} must lie between {low} and {high}, not {value}"
                raise UsageError("value_out_of_range", text, name=name, value=value, low=low, high=high)

    @classmethod
    def of(cls, total_bytes: int, *, heat: Heat, hold_s: float) -> "VramSpec":
        """For a card of ``total_bytes``: some 24 blocks or more of 256 MiB to 1 GiB."""
        block = LEAST_BLOCK_BYTES
        while block * 2 * USUAL_BLOCKS <= total_bytes and block < MOST_BLOCK_BYTES:
            block *= 2
        keep = max(LEAST_KEEP_BYTES, int(KEEP_SHARE * total_bytes))
        return cls(block_bytes=block, keep_bytes=keep, heat=heat, hold_s=hold_s)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "block_bytes": self.block_bytes,
            "keep_bytes": self.keep_bytes,
            "heat": self.heat,
            "hold_s": self.hold_s,
            "most_bytes": self.most_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnSpec:
    """Products of ``n`` × ``n`` in each of ``precisions``, bit for bit the same."""

    workload: ClassVar[str] = "burn"
    precisions: tuple[Precision, ...]
    n: int = 4096

    def __post_init__(self) -> None:
        """Refuse what burns nothing.

        Raises:
            UsageError: the size is out of range.
            ValueError: no format.
        """
        if not self.precisions:
            raise ValueError("no number format")
        if not 64 <= self.n <= 32768:
            raise UsageError("value_out_of_range", "n", name="n", value=self.n, low=64, high=32768)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {"precisions": " ".join(self.precisions), "n": self.n}
