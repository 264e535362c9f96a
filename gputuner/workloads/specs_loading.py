"""Specs of loading: what a training could eat, and what a loader of one setting delivers (the parent's side)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from gputuner.model.readings import Scalar
from gputuner.workloads.specs import Precision, check_precision, check_range

Part = Literal["demand", "supply"]
Decode = Literal["", "torchvision_card", "dali_card"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSetting:
    """How a ``DataLoader`` is run; without processes there is nothing to prefetch or to keep."""

    workers: int = 0
    prefetch: int = 2
    pin: bool = False
    persistent: bool = False
    decode: Decode = ""
    """Empty: as the loader does; else what decodes on the card."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_range("workers", self.workers, 0, 4096)
        check_range("prefetch", self.prefetch, 1, 1024)

    def named(self) -> dict[str, Scalar]:
        """As params of a figure."""
        told: dict[str, Scalar] = {
            "workers": self.workers,
            "prefetch": self.prefetch if self.workers else 0,
            "pin": self.pin,
            "persistent": self.persistent and self.workers > 0,
        }
        return {**told, "decode": self.decode} if self.decode else told


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadingSpec:
    """The demand of a training, or the supply of one setting of its loader."""

    workload: ClassVar[str] = "loading"
    part: Part
    batch: int
    precision: Precision
    channels_last: bool = False
    recipe: str = ""
    folder: str = "."
    image: int = 224
    setting: LoaderSetting = LoaderSetting()
    alone: bool = True
    """Measure the loader alone too, not only with the training."""
    again: bool = True
    """Measure what the beginning of a second epoch takes."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 20)
        check_range("image", self.image, 16, 2048)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        told: dict[str, Scalar] = {
            "part": self.part,
            "batch": self.batch,
            "precision": self.precision,
            "channels_last": self.channels_last,
        }
        told |= {"recipe": self.recipe, "folder": self.folder} if self.recipe else {"image": self.image}
        if self.part == "demand":
            return told
        setting = {**self.setting.named(), "prefetch": self.setting.prefetch}
        return {**told, **setting, "alone": self.alone, "again": self.again}
