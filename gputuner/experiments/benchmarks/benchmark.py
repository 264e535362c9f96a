"""What a benchmark is: a name, what it needs, how long it takes, and its steps."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gputuner.experiments.course import Course
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.relay import Steps
from gputuner.model.cards import CardInfo
from gputuner.model.readings import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What can be told of card and software before anything runs.

    ``packages``: further packages of the measured Python (``torchvision``, ``bitsandbytes`` …); None: not asked yet.
    ``kernels``: our own kernels can run. ``torch``: version, None: not asked yet.
    """

    card: CardInfo
    others: tuple[CardInfo, ...] = ()
    kernels: bool = False
    packages: frozenset[str] | None = None
    torch: str | None = None

    @classmethod
    def of(cls, context: PlanContext) -> "Machine":
        """The machine of a run."""
        said = context.worker.get("packages")
        return cls(
            card=context.card,
            others=context.others,
            kernels=context.kernels,
            packages=frozenset(said.split()) if isinstance(said, str) else None,
            torch=context.torch.version if context.torch else None,
        )

    def lacks(self, package: str) -> bool:
        """Whether ``package`` is known to be missing."""
        return self.packages is not None and package not in self.packages


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """Why a benchmark cannot run here: a code (words in ``language/benchmarks.py``) and its values."""

    code: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured. ``full``: every size and setting. ``share``: of the usual time of the default suite."""

    full: bool = False
    share: float = 1.0

    @property
    def whole(self) -> bool:
        """Whether there is time for what is nothing when shortened: a cold start, a sustained load."""
        return self.full or self.share >= 1.0

    def seconds(self, usual_s: float, least_s: float = 0.3) -> float:
        """Time to measure for, in seconds; shrunk with the budget, never below ``least_s``."""
        return usual_s if self.full else max(least_s, usual_s * self.share)


def always(_: Machine) -> Unavailable | None:
    """Runs everywhere."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One entry of the suite.

    ``default_s`` seconds it should take in the default suite on a GPU (0: only with ``--full`` or by name), ``full_s``
    with ``--full``; on the card ``cpu``, whose steps are shorter, ``cpu_s`` and ``cpu_full_s`` (None: the same), as two
    cores of a server take them with the set-up of each step.
    """

    name: str
    group: str
    unit: str
    default_s: float
    full_s: float
    cpu_s: float
    run: Callable[[Course, Effort], Steps]
    cpu_full_s: float | None = None
    unavailable: Callable[[Machine], Unavailable | None] = always

    def expected_s(self, *, full: bool, cpu: bool) -> float:
        """Seconds it should take; by name it runs at its usual size even if the default suite leaves it out."""
        if cpu:
            return self.cpu_full_s if full and self.cpu_full_s is not None else self.cpu_s
        return self.full_s if full or not self.default_s else self.default_s


def gpu_only(machine: Machine) -> Unavailable | None:
    """Needs a GPU."""
    return Unavailable(code="gpu_only") if machine.card.is_cpu else None


def needs_kernels(machine: Machine) -> Unavailable | None:
    """Needs our own kernels."""
    if machine.card.is_cpu:
        return Unavailable(code="gpu_only")
    return None if machine.kernels else Unavailable(code="extra_missing", params={"extra": "kernels"})
