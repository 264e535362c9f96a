"""Jobs and probes beside each other as a simulated card's physics lets them fare, with scatter."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from random import Random

import pytest

from gputuner.analysis.contention_pressure import Pressures, ProbeSetting
from gputuner.devices.simulated_load import Load
from gputuner.devices.simulated_sharing import CORES, Sharing, shares

HZ, BANDWIDTH, CACHE = 1e9, 1e12, 50e6
SLICES = tuple(
    ProbeSetting(probe="slices", dial=dial, burst_s=burst)
    for dial, burst in ((0.25, 5e-4), (0.5, 5e-4), (0.25, 5e-3), (0.5, 5e-3), (1.0, 2e-3))
)
HOSTS = (ProbeSetting(probe="pcie"), ProbeSetting(probe="host"))
RESOURCES = (
    *(ProbeSetting(probe=probe, dial=dial) for probe in ("sm", "tensor", "dram", "l2") for dial in (0.25, 1.0)),
    *HOSTS,
)


def probe_load(of: ProbeSetting, size: float = 1.0) -> Load:
    """What a probe asks of the card; ``size`` times as much as the one that calibrates."""
    burst, pause = size * of.burst_s, {}
    if of.dial < 1.0:
        pause = {"host_s": size * of.burst_s / of.dial, "waits": 1.0, "serial": True}
    match of.probe:
        case "host":
            return Load(
                compute_cycles=0, dram_bytes=0, fixed_s=1e-6, host_s=burst, host_cores=2 * of.dial * size * CORES
            )
        case "pcie":
            return Load(compute_cycles=0, dram_bytes=0, fixed_s=1e-6, link_s=burst, host_s=burst / of.dial)
        case "dram":
            return Load(
                compute_cycles=0.25 * burst * HZ, dram_bytes=burst * BANDWIDTH, fill=0.7, block_s=1.5e-5, **pause
            )
        case "l2":
            kept = 0.5 * size * CACHE
            return Load(
                compute_cycles=0.3 * burst * HZ, dram_bytes=0, l2_bytes=3.2 * burst * BANDWIDTH,
                l2_resident_bytes=kept, fill=0.7, **pause,
            )  # fmt: skip
        case _:
            traffic = 0.05 * burst * BANDWIDTH if of.probe == "tensor" else 0.0
            return Load(compute_cycles=burst * HZ, dram_bytes=traffic, block_s=1.2e-5, **pause)


@dataclass
class Card:
    """A card that only divides itself."""

    mode: str = "processes"
    scatter: float = 0.01
    random: Random = field(default_factory=lambda: Random(0))

    def beside(self, first: Load, second: Load) -> tuple[float, float]:
        """Slowdowns of both."""
        how = Sharing(mode=self.mode, cache_bytes=CACHE)
        loads = {"a": first, "b": second}
        both = shares(loads, HZ, BANDWIDTH, how)
        alone = {n: shares({n: load}, HZ, BANDWIDTH, how)[n].iterations_per_s for n, load in loads.items()}
        one, two = (alone[n] / both[n].iterations_per_s * exp(self.random.gauss(0.0, self.scatter)) for n in loads)
        return one, two

    def pressures(self, jobs: Mapping[str, Load], settings: Sequence[ProbeSetting] | None = None) -> Pressures:
        """All jobs and probes beside all probes."""
        settings = settings or ((*SLICES, *HOSTS) if self.mode == "processes" else RESOURCES)
        probes, sensitivity, exerted = {}, {}, {}
        for a, b in itertools.combinations_with_replacement(settings, 2):
            probes[a, b], probes[b, a] = self.beside(probe_load(a), probe_load(b))
        for (name, job), b in itertools.product(jobs.items(), settings):
            sensitivity[name, b], exerted[name, b] = self.beside(job, probe_load(b))
        return Pressures(
            mode=self.mode, settings=tuple(settings), probes=probes, sensitivity=sensitivity, exerted=exerted
        )

    def pairs(self, jobs: Mapping[str, Load]) -> list[tuple[str, str, float]]:
        """Every pair, both jobs."""
        told = []
        for a, b in itertools.combinations_with_replacement(jobs, 2):
            first, second = self.beside(jobs[a], jobs[b])
            told += [(a, b, first), (b, a, second)]
        return told


@dataclass(frozen=True)
class Playground:
    card = Card
    probe_load = staticmethod(probe_load)
    recorded = json.loads((Path(__file__).parents[1] / "data/analysis/pairs-h200.json").read_text())

    def recorded_jobs(self) -> dict[str, Load]:
        """Five trainings by their recorded step and busy times."""
        return {
            name.replace("@", ":batch="): Load(
                compute_cycles=busy * HZ,
                dram_bytes=0,
                host_s=alone if busy < 0.9 * alone else 0.5 * alone,
                waits=4.0 if busy < 0.9 * alone else 0.0,
                grip=0.22,
            )
            for name, (alone, busy) in self.recorded["solo"].items()
        }

    def trainings(self) -> dict[str, Load]:
        """Five trainings that differ in what they ask of the card: pipes, memory, cache (ms), and the host."""
        asks = {
            "edsr:batch=16": (2.0, 1.2, 0.5, 9.0, 10e6, 0.6),
            "resnet50:batch=16": (3.0, 3.0, 1.0, 17.0, 15e6, 0.6),
            "resnet50:batch=96": (15.0, 22.0, 3.0, 17.0, 30e6, 1.0),
            "bert:batch=16": (30.0, 8.0, 4.0, 20.0, 20e6, 1.0),
            "gpt:batch=8": (25.0, 25.0, 3.0, 12.0, 20e6, 0.9),
        }
        return {
            name: Load(
                compute_cycles=pipes * 1e-3 * HZ, dram_bytes=memory * 1e-3 * BANDWIDTH, fixed_s=1e-3,
                host_s=host * 1e-3, overlapped=False, waits=3.0, grip=0.04, kernels=900, block_s=1e-5, fill=fill,
                l2_bytes=cache * 1e-3 * 3.2 * BANDWIDTH, l2_resident_bytes=kept, host_cores=1.5,
            )
            for name, (pipes, memory, cache, host, kept, fill) in asks.items()
        }  # fmt: skip


@pytest.fixture
def playground() -> Playground:
    return Playground()
