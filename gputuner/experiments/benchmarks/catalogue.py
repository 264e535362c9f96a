"""All benchmarks, in the order in which they run and are listed."""

from collections.abc import Iterable

from gputuner.experiments.benchmarks.attention import BENCHMARKS_ATTENTION
from gputuner.experiments.benchmarks.benchmark import Benchmark
from gputuner.experiments.benchmarks.conv import BENCHMARKS_CONV
from gputuner.experiments.benchmarks.gemm import BENCHMARKS_GEMM
from gputuner.experiments.benchmarks.inference import BENCHMARKS_INFERENCE
from gputuner.experiments.benchmarks.latency import BENCHMARKS_LATENCY
from gputuner.experiments.benchmarks.launch import BENCHMARKS_LAUNCH
from gputuner.experiments.benchmarks.links import BENCHMARKS_LINKS
from gputuner.experiments.benchmarks.loader import BENCHMARKS_LOADER
from gputuner.experiments.benchmarks.memory import BENCHMARKS_MEMORY
from gputuner.experiments.benchmarks.regions import BENCHMARKS_REGIONS
from gputuner.experiments.benchmarks.training import BENCHMARKS_TRAINING
from gputuner.model.errors import UsageError

BENCHMARKS: tuple[Benchmark, ...] = (
    *BENCHMARKS_GEMM,
    *BENCHMARKS_ATTENTION,
    *BENCHMARKS_CONV,
    *BENCHMARKS_MEMORY,
    *BENCHMARKS_LATENCY,
    *BENCHMARKS_REGIONS,
    *BENCHMARKS_LINKS,
    *BENCHMARKS_TRAINING,
    *BENCHMARKS_INFERENCE,
    *BENCHMARKS_LOADER,
    *BENCHMARKS_LAUNCH,
)


TOGETHER = {"links": ("pcie", "p2p", "allreduce")}
"""Names of several groups."""


def chosen(names: Iterable[str], *, full: bool) -> tuple[Benchmark, ...]:
    """The benchmarks that ``names`` mean (names or groups); none: the default suite, or with ``full`` all of them.

    Raises:
        UsageError: a name is neither; ``params["nearest"]`` names those that resemble it.
    """
    from difflib import get_close_matches

    wanted = [name.strip().lower() for name in names]
    wanted = [part for name in wanted for part in TOGETHER.get(name, (name,))]
    known = {b.name for b in BENCHMARKS} | {b.group for b in BENCHMARKS}
    if unknown := [name for name in dict.fromkeys(wanted) if name not in known]:
        near = [close for name in unknown for close in get_close_matches(name, sorted(known), n=3)]
        named = ", ".join(unknown)
        raise UsageError(
            "unknown_benchmark", f"no benchmark {named}", benchmark=named, nearest=", ".join(dict.fromkeys(near))
        )
    if wanted:
        return tuple(b for b in BENCHMARKS if b.name in wanted or b.group in wanted)
    return tuple(b for b in BENCHMARKS if full or b.default_s)
