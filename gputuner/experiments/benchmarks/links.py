"""Links: between host and card, between two cards, and all-reduce over all of them.

``pcie``: copies to the card, from it, and both at once (two streams); from pinned memory and from pageable; the link's
generation and width as they were during the copy stand in the conditions, and a link below its maximum is flagged.
Figures to compare: PCIe 3.0 × 16 about 12.4 GB/s one way, 4.0 26, 5.0 56 (nvbandwidth).

``p2p``: a real copy between two cards under a deadline, since a driver may claim a peer path on which the first copy
hangs (nccl-tests issue 117); then the worker is ended and the reason told. ``peer_access`` in the figure says whether
the driver offers a path; without, the copy goes through host memory.

``allreduce``: NCCL over all idle cards, on a processor gloo with two ranks. Bus bandwidth as in nccl-tests: size ×
2(n - 1)/n / time. Every byte that was copied and every sum is checked.

The further cards are watched for safety like the run's own (``engine.guard``), and figures tell what they did
(``peers``).
"""

from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Machine, Steps, Unavailable, gpu_only
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.benchmarks.surveyed import surveyed, surveyed_together
from gputuner.experiments.course import Course
from gputuner.model.readings import Scalar
from gputuner.model.steps import Work
from gputuner.workloads.specs_links import MIB, AllReduceSpec, PeerTransferSpec, TransferSpec

SIZES, FULL_SIZES = (MIB, 16 * MIB, 256 * MIB), tuple(MIB // 16 << power for power in range(0, 15, 2))
REDUCE_SIZES, FULL_REDUCE_SIZES = (MIB, 256 * MIB), tuple(MIB // 16 << power for power in range(0, 15, 2))
CPU_SIZES = (MIB // 16, MIB, 16 * MIB)
PCIE_S, PEER_S, REDUCE_S, CPU_S = 15.0, 3.0, 3.0, 2.0
DEADLINE_S = 10.0
"""Budget of a copy between cards beyond the time it measures for; the engine ends the worker after twice the budget."""
MOST_RANKS = 8


def needs_two_cards(machine: Machine) -> Unavailable | None:
    """A second idle card."""
    if machine.card.is_cpu:
        return Unavailable(code="gpu_only")
    return None if machine.others else Unavailable(code="needs_two_cards")


def two_cards_or_processor(machine: Machine) -> Unavailable | None:
    """A second idle card, or the processor, on which two ranks are two threads."""
    return None if machine.card.is_cpu else needs_two_cards(machine)


def pcie(course: Course, effort: Effort) -> Steps:
    """All sizes, directions and kinds of memory in one trial."""
    spec = TransferSpec(sizes=FULL_SIZES if effort.full else SIZES)
    measure_s = effort.seconds(PCIE_S, 2.0) * (3.0 if effort.full else 1.0)
    work = Work(
        label="bench_transfer",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=2 * measure_s + 30.0,
    )
    for part, conditions in (yield from surveyed(course, "pcie", work)):
        yield from course.tell(
            rate(course, "pcie", "transfer_bandwidth", "B/s", "bytes", part, conditions, dict(part.params))
        )


def p2p(course: Course, effort: Effort) -> Steps:
    """The first other card; with ``full`` each of them."""
    spec = PeerTransferSpec(sizes=FULL_SIZES if effort.full else SIZES)
    measure_s = effort.seconds(PEER_S, 1.0) * (3.0 if effort.full else 1.0)
    others = course.context.others if effort.full else course.context.others[:1]
    for other in others:
        work = Work(
            label="bench_peer_transfer",
            workload=spec.workload,
            params=spec.params(),
            measure_s=measure_s,
            budget_s=measure_s + DEADLINE_S,
            peers=(other.uuid,),
        )
        for part, conditions, peers in (yield from surveyed_together(course, "p2p", work, hung="p2p_hangs")):
            params: dict[str, Scalar] = {**part.params, "peer": other.title}
            yield from course.tell(
                rate(course, "p2p", "peer_bandwidth", "B/s", "bytes", part, conditions, params, peers=peers)
            )


def allreduce(course: Course, effort: Effort) -> Steps:
    """All sizes in one trial, over all idle cards."""
    cpu = course.context.card.is_cpu
    spec = AllReduceSpec(sizes=CPU_SIZES if cpu else FULL_REDUCE_SIZES if effort.full else REDUCE_SIZES)
    measure_s = effort.seconds(CPU_S if cpu else REDUCE_S, 1.0) * (3.0 if effort.full else 1.0)
    work = Work(
        label="bench_allreduce",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=measure_s + DEADLINE_S,
        peers=tuple(other.uuid for other in course.context.others[: MOST_RANKS - 1]) if not cpu else (),
    )
    for part, conditions, peers in (yield from surveyed_together(course, "allreduce", work, hung="allreduce_hangs")):
        params = dict(part.params)
        yield from course.tell(
            rate(course, "allreduce", "allreduce_busbw", "B/s", "bytes", part, conditions, params, peers=peers)
        )


BENCHMARKS_LINKS: tuple[Benchmark, ...] = (
    Benchmark(
        name="pcie", group="pcie", unit="B/s", default_s=18.0, full_s=50.0, cpu_s=0.0, run=pcie, unavailable=gpu_only
    ),
    Benchmark(
        name="p2p", group="p2p", unit="B/s", default_s=8.0, full_s=20.0, cpu_s=0.0, run=p2p,
        unavailable=needs_two_cards,
    ),
    Benchmark(
        name="allreduce", group="allreduce", unit="B/s", default_s=8.0, full_s=15.0, cpu_s=5.0, cpu_full_s=8.5,
        run=allreduce, unavailable=two_cards_or_processor,
    ),
)  # fmt: skip
