"""The suite of benchmarks as it stands on a card, for those who choose from it."""

from dataclasses import dataclass

from gputuner.experiments.benchmarks.benchmark import Machine, Unavailable
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One benchmark: where it belongs, how long it takes (seconds), and what keeps it from running here."""

    name: str
    group: str
    in_default: bool
    default_s: float
    full_s: float
    obstacle: Unavailable | None


def offered(machine: Machine) -> tuple[Offered, ...]:
    """All benchmarks in their order; runs nothing."""
    cpu = machine.card.is_cpu
    return tuple(
        Offered(
            name=benchmark.name,
            group=benchmark.group,
            in_default=bool(benchmark.default_s),
            default_s=benchmark.expected_s(full=False, cpu=cpu),
            full_s=benchmark.expected_s(full=True, cpu=cpu),
            obstacle=benchmark.unavailable(machine),
        )
        for benchmark in BENCHMARKS
    )
