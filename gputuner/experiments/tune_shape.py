"""How large a tune run is: what it measures and for how long, shrunk to the minutes given.

Reductions are applied one after the other, the least valuable first, until the expected time fits.
"""

from dataclasses import dataclass, replace

from gputuner.experiments.precisions import burst_order, matmul_order, training_order
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.subject import Subject, resnet50
from gputuner.workloads.specs import Precision

FULL_MINUTES = 5.0
SHORT_S = 60.0
"""A budget below this counts from the first trial: loading torch alone may take longer than the smallest."""
USABLE = 0.92
"""Share of the budget that is planned; the rest is for what takes longer than expected."""


TURNS, TURN_S = 16, 2.6
"""Trials of four rounds of the usual four settings, and what one takes on two cores, s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a run measures. Times in seconds; 0 = left out."""

    cpu: bool
    start_s: float
    """Until the first trial can run: importing torch, making the context."""
    matmuls: tuple[Precision, ...]
    bursts: tuple[Precision, ...]
    idle_s: float
    matmul_s: float
    copy_s: float
    trainings: tuple[Precision, ...]
    subject: Subject
    first_batch: int
    last_batch: int
    train_s: float
    warmup_s: float
    """Expected, per trial."""
    layouts: bool
    verify: bool
    together_s: float
    sustained_s: float
    """Kept back for the sustained load."""
    sustained_most_s: float
    """Longest sustained load, if the time is there."""
    restart_s: float
    """A process that died and its successor."""
    usual_batch: int
    """What people start from."""

    def rungs(self) -> int:
        """Most trials of the first format's ladder of batches."""
        return max(1, (self.last_batch // self.first_batch).bit_length())

    def rates_s(self) -> float:
        """Expected seconds of matmul and copy."""
        bursts = len(self.bursts) * (self.idle_s + 1.0)
        return bursts + len(self.matmuls) * (self.matmul_s + 1.0) + self.copy_s + 1.0

    def training_s(self) -> float:
        """Expected seconds of batch × precision."""
        trials = min(self.rungs(), 7) + 2 * (len(self.trainings) - 1) + 2 * self.layouts
        return trials * (self.train_s + self.warmup_s)

    def turns_s(self) -> float:
        """Expected seconds of comparisons in turns, which a processor needs and a card seldom does."""
        return TURNS * TURN_S if self.cpu and len(self.trainings) > 1 and self.layouts else 0.0

    def verify_s(self) -> float:
        """Expected seconds for the check of the memory limit, a process that dies included."""
        return (40.0 if not self.cpu else 90.0) if self.verify else 0.0

    def sharing_s(self) -> float:
        """Expected seconds for two trainings at once, alone before and after, a second process included."""
        return 3 * (self.together_s + self.warmup_s) + self.restart_s if self.together_s else 0.0

    def expected_s(self) -> float:
        """Expected seconds of it all."""
        sustained = self.sustained_s + self.warmup_s if self.sustained_s else 0.0
        return (
            self.start_s
            + self.rates_s()
            + self.training_s()
            + self.turns_s()
            + self.verify_s()
            + self.sharing_s()
            + sustained
        )

    def steps(self) -> int:
        """Expected number of steps with work."""
        rates = len(self.bursts) + len(self.matmuls) + 1
        trials = min(self.rungs(), 7) + 2 * (len(self.trainings) - 1) + 2 * self.layouts
        return (
            rates
            + trials
            + (TURNS if self.turns_s() else 0)
            + (6 if self.cpu else 3) * self.verify
            + (3 if self.together_s else 0)
            + (1 if self.sustained_s else 0)
        )


def full_shape(context: PlanContext) -> Shape:
    """The whole run on the card of ``context``."""
    if context.card.is_cpu:
        return Shape(
            cpu=True, start_s=6.0, matmuls=matmul_order(context), bursts=burst_order(context), idle_s=2.0, matmul_s=2.0,
            copy_s=2.0, trainings=training_order(context), subject=resnet50(64), first_batch=4, last_batch=32,
            train_s=3.0, warmup_s=2.5, layouts=True, verify=True, together_s=5.0, sustained_s=45.0,
            sustained_most_s=60.0, restart_s=5.0, usual_batch=8,
        )  # fmt: skip
    return Shape(
        cpu=False, start_s=12.0, matmuls=matmul_order(context), bursts=burst_order(context), idle_s=10.0, matmul_s=3.0,
        copy_s=2.0, trainings=training_order(context), subject=resnet50(224), first_batch=16, last_batch=4096,
        train_s=2.0, warmup_s=2.5, layouts=True, verify=True, together_s=5.0, sustained_s=60.0,
        sustained_most_s=60.0, restart_s=9.0, usual_batch=32,
    )  # fmt: skip


def _reduced(shape: Shape, step: int) -> Shape:
    """``shape`` after the reduction number ``step``, least valuable first."""
    keep = shape.trainings[:2]
    changes: tuple[dict[str, object], ...] = (
        {"sustained_s": min(shape.sustained_s, 45.0)},
        {"bursts": shape.bursts[:2]},
        {"matmuls": shape.matmuls[:3]},
        {"sustained_s": min(shape.sustained_s, 30.0)},
        {"bursts": shape.bursts[:1]},
        {"matmuls": shape.matmuls[:2], "trainings": shape.trainings[:3]},
        {"verify": False},
        {"sustained_s": min(shape.sustained_s, 15.0), "together_s": min(shape.together_s, 3.0)},
        {"layouts": False},
        {"trainings": keep},
        {"together_s": 0.0},
        {"bursts": ()},
        {"sustained_s": min(shape.sustained_s, 8.0), "matmul_s": 1.5, "copy_s": 1.0},
        {"train_s": 1.5, "last_batch": min(shape.last_batch, 16 * shape.first_batch)},
        {"sustained_s": 0.0},
        {"train_s": 1.0, "matmul_s": 1.0, "last_batch": min(shape.last_batch, 4 * shape.first_batch)},
        {"matmuls": shape.matmuls[:1], "trainings": shape.trainings[:1]},
        {"last_batch": shape.first_batch},
    )
    return replace(shape, **changes[step])  # pyright: ignore[reportArgumentType]


REDUCTIONS = 18


def shape_for(context: PlanContext) -> Shape:
    """The largest shape whose expected time fits the budget of ``context``; longer budgets lengthen the sustained load.

    The sustained load takes up what is left over 5 minutes, since heat takes minutes to settle.
    """
    usable = context.budget_s * USABLE
    shape = full_shape(context)
    if context.budget_s < SHORT_S:
        shape = replace(shape, start_s=0.0)
    over = context.budget_s - FULL_MINUTES * 60.0
    if over > 0:
        longer = shape.sustained_s + 0.8 * over
        return replace(shape, sustained_s=longer, sustained_most_s=longer)
    for step in range(REDUCTIONS):
        if shape.expected_s() <= usable:
            return shape
        shape = _reduced(shape, step)
    return shape
