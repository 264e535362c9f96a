"""What the engine needs of an experiment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from gputuner.advice.chances import Chances
from gputuner.catalog.facts import CardFacts
from gputuner.catalog.published import PublishedResult
from gputuner.model.cards import CardInfo
from gputuner.model.fingerprint import Fingerprint, TorchFingerprint
from gputuner.model.readings import Scalar
from gputuner.model.samples import CardProcesses
from gputuner.model.steps import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """What a plan may know: the card, the torch that is measured, who else is on the card, and the budgets.

    ``free_bytes`` is the memory a probe may use (free minus margin when shared, the cap where one is set);
    ``published`` maps reference names to figures of the catalogue (peak rates of the sheet: ``peak_fp32`` …,
    ``peak_bandwidth`` in FLOP/s and bytes/s).
    """

    card: CardInfo
    torch: TorchFingerprint | None
    fingerprint: Fingerprint
    processes: CardProcesses | None
    budget_s: float
    free_bytes: int | None
    shared: bool = False
    published: dict[str, float] = field(default_factory=lambda: {})
    worker: dict[str, Scalar] = field(default_factory=lambda: {})
    """Facts from the worker's ``ready`` message: ``bf16_native``, ``threads``, ``capability`` …"""
    results: tuple[PublishedResult, ...] = ()
    """What others published for this very card."""
    others: tuple[CardInfo, ...] = ()
    """Further cards that an experiment may use together with ``card`` (idle, visible)."""
    kernels: bool = False
    """Whether the run can use our own kernels (extra ``kernels``, or a simulated card)."""
    sheets: Mapping[str, CardFacts] = field(default_factory=lambda: {})
    """The sheets of all cards of the catalogue, by id."""
    record: Chances = field(default_factory=Chances)
    """What came of advice that was tried on cards of this origin."""


class Experiment(Protocol):
    """A frozen dataclass whose fields become flags, form, JSON and docs."""

    name: ClassVar[str]
    needs_worker: ClassVar[bool]
    """False for experiments that only watch (``record``)."""

    def plan(self, context: PlanContext) -> Plan:
        """The steps; a generator that receives each outcome."""
        ...

    def expected_s(self) -> float:
        """How long the plan should take, in seconds (the time budget)."""
        ...

    def limited(self) -> bool:
        """Whether the engine ends a run that takes far longer than expected; a worker that hangs is always ended."""
        ...
