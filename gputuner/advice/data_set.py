"""What a batch size makes of the user's data set: steps of an epoch, its rest, a last batch of one sample."""

from dataclasses import dataclass

from gputuner.advice.evidence import Evidence
from gputuner.model.readings import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One pass over ``samples``, none dropped, in micro batches of which each ``steps`` make one optimizer step."""

    samples: int
    micro: int
    steps: int = 1

    @property
    def micro_batches(self) -> int:
        """Forward and backward passes."""
        return -(-self.samples // self.micro)

    @property
    def last_micro(self) -> int:
        """Samples of the last micro batch."""
        return self.samples - (self.micro_batches - 1) * self.micro

    @property
    def full_windows(self) -> int:
        """Optimizer steps over the whole effective batch."""
        return self.samples // (self.micro * self.steps)

    @property
    def rest(self) -> int:
        """Micro batches behind the last full window (they take a step of their own)."""
        return self.micro_batches - self.full_windows * self.steps

    @property
    def updates(self) -> int:
        """Optimizer steps: what schedules are set by, and what a resumed run has to count with."""
        return self.full_windows + (1 if self.rest else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """What a recipe told of its data set and model."""

    samples: int | None
    batch_norm: bool
    shape: str = ""
    """Of one sample as it was tried, as ``3x224x224``; empty: not known."""

    def lonely(self, batch: int) -> bool:
        """Whether the last batch holds one sample that batch norm cannot train on."""
        return self.batch_norm and self.samples is not None and batch > 1 and self.samples % batch == 1

    def told(self, batch: int) -> dict[str, Scalar]:
        """Params of an advice for ``batch``: steps of an epoch, and the size where its last batch is lonely."""
        if self.samples is None:
            return {}
        params: dict[str, Scalar] = {
            "data_set": self.samples,
            "epoch_steps": Epoch(samples=self.samples, micro=batch).updates,
        }
        return {**params, "remainder_one": batch} if self.lonely(batch) else params


def data_set(evidence: Evidence, workload: str) -> DataSet:
    """As the trials of ``workload`` told it, the last of them first."""
    extras = [p.extra for p in reversed(evidence.of("train_throughput")) if p.workload == workload]
    counts = (extra.get("data_set_samples") for extra in extras)
    samples = next((n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)
    return DataSet(
        samples=samples,
        batch_norm=any(extra.get("batch_norm") is True for extra in extras),
        shape=next((str(extra["sample_shape"]) for extra in extras if extra.get("sample_shape")), ""),
    )
