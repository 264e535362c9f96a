"""What jobs suffer from pressure on one resource, and what pressure they exert, measured beside probes (methods §6).

A probe is a load that presses on one resource as hard as its dial says. Beside it a job shows its *sensitivity* (its
own slowdown), and the probe shows the job's *pressure* (the probe's slowdown). Probes beside each other calibrate both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log

from gputuner.analysis.contention import VALID_SLOWDOWN

SLICES, SM, TENSOR, DRAM, L2, PCIE, HOST = "slices", "sm", "tensor", "dram", "l2", "pcie", "host"
PROBES = (SLICES, SM, TENSOR, DRAM, L2, PCIE, HOST)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ProbeSetting:
    """One setting of a probe: how hard it presses (``dial``, 0 … 1, share of the time), and in bursts of what length.

    A probe at dial 1 never pauses; its bursts follow each other without a gap.
    """

    probe: str
    dial: float = 1.0
    burst_s: float = 0.002

    @property
    def label(self) -> str:
        """Its name among others, e.g. ``slices@0.5/5ms``."""
        pause = "" if self.dial >= 1.0 or self.probe == HOST else f"/{1e3 * self.burst_s:g}ms"
        return f"{self.probe}@{self.dial:g}{pause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressures:
    """Slowdowns (1: none) of jobs and probes beside probes, in one way of sharing.

    ``probes[a, b]``: setting ``a`` beside ``b``; ``sensitivity[job, b]``: the job beside ``b``; ``exerted[job, a]``:
    setting ``a`` beside the job. Settings that were not measured beside each other are missing.
    """

    mode: str
    settings: tuple[ProbeSetting, ...]
    probes: Mapping[tuple[ProbeSetting, ProbeSetting], float]
    sensitivity: Mapping[tuple[str, ProbeSetting], float]
    exerted: Mapping[tuple[str, ProbeSetting], float]

    @property
    def alternating(self) -> bool:
        """Whether contexts took turns on the card (time slices): then a slicing probe was what told it."""
        return any(setting.probe == SLICES for setting in self.settings)

    def without(self, probe: str) -> "Pressures":
        """The same as if ``probe`` had not run."""
        return replace(self, settings=tuple(setting for setting in self.settings if setting.probe != probe))

    @property
    def on_card(self) -> "Pressures":
        """Without the probe of the host's processor, where the card is not that processor itself.

        Cores are short or they are not: a pair that leaves some idle loses nothing by the host, however much a probe
        that fills all of them costs each job. Adding up shares of that probe is no model of it.
        """
        card = any(setting.probe not in (HOST, DRAM) for setting in self.settings)
        return self.without(HOST) if card else self

    @property
    def reporters(self) -> tuple[ProbeSetting, ...]:
        """Settings whose own slowdown is known beside every other setting."""
        return tuple(a for a in self.settings if all((a, b) in self.probes for b in self.settings))

    @property
    def hardest(self) -> tuple[ProbeSetting, ...]:
        """Each probe at its hardest."""
        found: dict[str, ProbeSetting] = {}
        for setting in self.settings:
            if setting.dial >= found.get(setting.probe, setting).dial:
                found[setting.probe] = setting
        return tuple(found.values())

    @property
    def jobs(self) -> tuple[str, ...]:
        """Jobs whose sensitivity to every setting and pressure on every reporter is known."""
        names = dict.fromkeys(job for job, _ in self.sensitivity)
        return tuple(
            job
            for job in names
            if all((job, b) in self.sensitivity for b in self.settings)
            and all((job, a) in self.exerted for a in self.reporters)
        )


def log_slowdown(slowdown: float) -> float:
    """Logarithm of a slowdown; one below 1 is noise and counts as none.

    Raises:
        ValueError: not above 0.
    """
    if slowdown <= 0.0:
        raise ValueError("a slowdown is above 0")
    return max(0.0, log(slowdown))


def excess(slowdown: float) -> float:
    """Time added to a step, over the step alone; less than none is noise and counts as none."""
    return max(0.0, slowdown - 1.0)


def monotone(values: Sequence[float], weights: Sequence[float] | None = None) -> tuple[float, ...]:
    """The rising sequence nearest to ``values`` in least squares (pool adjacent violators, Ayer et al. 1955)."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights or [1.0] * len(values), strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (before, first, count), (after, second, more) = blocks[-2:]
            blocks[-2:] = [((before * first + after * second) / (first + second), first + second, count + more)]
    return tuple(value for value, _, count in blocks for _ in range(count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Slowdown over the dial of one probe: 1 at dial 0, rising, on straight lines in the logarithm."""

    dials: tuple[float, ...]
    slowdowns: tuple[float, ...]

    def at(self, dial: float) -> float:
        """The slowdown at ``dial``; beyond the last one that was measured as at that."""
        before_dial, before = 0.0, 0.0
        for place, slowdown in zip(self.dials, self.slowdowns, strict=True):
            if dial <= place:
                part = (dial - before_dial) / (place - before_dial) if place > before_dial else 1.0
                return exp(before + max(0.0, part) * (log(slowdown) - before))
            before_dial, before = place, log(slowdown)
        return exp(before)

    def dial_of(self, slowdown: float) -> float:
        """The smallest dial at which a job is slowed so much; 1 where none does."""
        wanted = log_slowdown(slowdown)
        before_dial, before = 0.0, 0.0
        if wanted <= 0.0:
            return 0.0
        for dial, each in zip(self.dials, self.slowdowns, strict=True):
            at = log(each)
            if at >= wanted and at > before:
                return before_dial + (wanted - before) / (at - before) * (dial - before_dial)
            before_dial, before = dial, at
        return 1.0


def curve(measured: Mapping[float, float]) -> Curve:
    """The curve through slowdowns by dial, made to rise."""
    dials = tuple(sorted(measured))
    rising = monotone([log_slowdown(measured[dial]) for dial in dials])
    return Curve(dials=dials, slowdowns=tuple(exp(value) for value in rising))


def curves(found: Pressures, job: str) -> dict[tuple[str, float], Curve]:
    """A job's sensitivity curves by probe and length of its bursts (s); what never pauses ends each of them."""
    known = {
        setting: found.sensitivity[job, setting] for setting in found.settings if (job, setting) in found.sensitivity
    }
    groups: dict[tuple[str, float], dict[float, float]] = {}
    for setting, slowdown in known.items():
        if setting.dial < 1.0:
            groups.setdefault((setting.probe, setting.burst_s), {})[setting.dial] = slowdown
    for setting, slowdown in known.items():
        if setting.dial >= 1.0:
            same = [key for key in groups if key[0] == setting.probe] or [(setting.probe, setting.burst_s)]
            for key in same:
                groups.setdefault(key, {})[setting.dial] = slowdown
    return {key: curve(measured) for key, measured in groups.items()}


def expected_activity(alone: Sequence[float], slowdowns: Sequence[float]) -> float:
    """What the card's counters should read of one resource while jobs run together (fraction 0 … 1).

    A job asks the same of the card for each step, however long that takes: Σ activity alone / slowdown. GPM counters
    see the whole card, so this sum can be held against them; what each job has of it cannot.
    """
    return min(1.0, sum(active / slowdown for active, slowdown in zip(alone, slowdowns, strict=True)))


def plausible(slowdown: float) -> bool:
    """Whether a slowdown can be true: beside another nothing runs faster than alone."""
    return slowdown >= VALID_SLOWDOWN
