"""What an advice changes of a training, so that a program can try it: the setting it starts from, and the advised."""

from dataclasses import dataclass, field
from typing import Literal

from gputuner.model.readings import Scalar

Aim = Literal["rate", "memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSetting:
    """How a training is run. Both settings of a change are complete: what they share stands in both.

    ``switches`` and ``loader`` hold what differs from the training's defaults, named and valued as the params of a
    trial (``Work.params``): ``{"compile": True}``, ``{"num_workers": 4}``.
    """

    batch: int
    """Samples of one forward pass."""
    precision: str
    channels_last: bool = False
    accumulate: int = 1
    """Forward passes per optimizer step."""
    processes: int = 1
    """Trainings of this kind at once on the card; their rates add up."""
    switches: dict[str, Scalar] = field(default_factory=lambda: {})
    loader: dict[str, Scalar] = field(default_factory=lambda: {})
    """How data are loaded; empty: one batch that lies on the device already."""

    def __post_init__(self) -> None:
        """Refuse what is no setting."""
        if min(self.batch, self.accumulate, self.processes) < 1:
            raise ValueError("batch, accumulate and processes are at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """From one setting of a training to another. A gain told with it is of the rate in samples/s."""

    workload: str
    """The training, as figures name it."""
    base: TrainingSetting
    advised: TrainingSetting
    aim: Aim = "rate"
    """What is to become better: the rate, or the peak memory at whatever rate."""
