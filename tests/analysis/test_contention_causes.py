import json
from itertools import product
from pathlib import Path
from random import Random

import pytest

from gputuner.analysis.contention_causes import (
    CLOCK,
    HOST_FULL,
    MEMORY,
    MIXED,
    TIME_SLICING,
    UNKNOWN,
    HostSeen,
    MemorySeen,
    cause_of,
    plain_cause,
)
from gputuner.analysis.contention_pressure import Pressures, ProbeSetting

CASES = Path(__file__).parents[1] / "data/cases"
RIGHT_SHARE = 0.95
PROBES = ("sm", "tensor", "dram", "l2", "pcie", "host")


def right(probe: str, alternating: bool) -> set[str]:
    """What presses where: in time slices all that happens on the card itself is slices."""
    if probe in ("pcie", "host"):
        return {probe}
    return {TIME_SLICING} if alternating else {"sm", "tensor"} if probe in ("sm", "tensor") else {probe}


@pytest.mark.parametrize("mode", ["processes", "mps"])
def test_pairs_of_probes_are_told_apart(playground, mode):
    verdicts = [verdict for seed in range(2) for verdict in told_apart(playground, mode, seed)]
    assert len(verdicts) >= 95
    assert sum(verdicts) / len(verdicts) >= RIGHT_SHARE


@pytest.mark.parametrize("mode", ["processes", "mps"])
@pytest.mark.parametrize("cores", [None, HostSeen(processor=0.3), HostSeen(processor=HOST_FULL - 0.01)])
def test_a_host_with_cores_to_spare_is_never_a_cause(playground, mode, cores):
    """Jobs that use the host a little, beside a probe that fills it: the shares of that probe are no model of two."""
    of = {probe: playground.probe_load(ProbeSetting(probe=probe, dial=0.4, burst_s=2e-3)) for probe in ("host", "sm")}
    found = playground.card(mode=mode, random=Random(3)).pressures(of)
    assert found.sensitivity["host", ProbeSetting(probe="host")] > 1.2
    told = cause_of(found, "host", ["host"], 1.3, host=cores)
    assert told is not None
    assert told.verdict != "host"
    assert "host" not in told.shares
    full = cause_of(found, "host", ["host"], 1.3, host=HostSeen(processor=0.95, card_together=0.5, card_alone=0.5))
    assert full is not None
    assert full.shares["host"] > 0.3


def test_a_full_processor_is_the_cause_where_the_card_has_nothing_to_do_even_alone():
    def seen(alone, together):
        return plain_cause(
            2.0, alternating=True, host=HostSeen(processor=1.0, card_alone=alone, card_together=together)
        )

    verdicts = [told.verdict for told in (seen(0.0, 0.0), seen(0.03, 0.03), seen(0.6, 0.4)) if told is not None]
    assert verdicts == ["host"] * 3
    busy = seen(0.9, 0.9)
    assert busy is not None
    assert busy.verdict == UNKNOWN, "beside a card that is as busy as alone a full processor proves nothing"


def told_apart(playground, mode, seed):
    """Probes that are not those that calibrate, beside each other: whether the cause is the resource they press on."""
    random = Random(seed)
    card = playground.card(mode=mode, random=Random(1 + seed))
    jobs = {
        f"{probe}:{number}": playground.probe_load(
            ProbeSetting(probe=probe, dial=random.uniform(0.55, 1.0), burst_s=random.choice([1e-3, 2e-3, 4e-3])),
            size=random.uniform(0.8, 1.2),
        )
        for probe in PROBES
        for number in range(3)
    }
    found = card.pressures(jobs)
    for probe, a, b in product(PROBES, range(3), range(3)):
        job, partner = f"{probe}:{a}", f"{probe}:{b}"
        slowdown, _ = card.beside(jobs[job], jobs[partner])
        cores = HostSeen(processor=0.99 if probe == "host" else 0.3, card_together=0.5, card_alone=0.5)
        cause = cause_of(found, job, [partner], slowdown, host=cores)
        if cause is not None:
            assert cause.alternating == (mode == "processes")
            assert cause.by_probes
            assert sum(cause.shares.values()) <= 1.0 + 1e-9
            yield cause.verdict in right(probe, mode == "processes")


def test_in_time_slices_nothing_is_said_of_caches(playground):
    jobs = playground.trainings()
    found = playground.card().pressures(jobs)
    for job, partner in product(jobs, jobs):
        cause = cause_of(found, job, [partner], 1.8)
        assert cause is not None
        assert not {"sm", "tensor", "dram", "l2"} & set(cause.shares)


SM, DRAM = ProbeSetting(probe="sm"), ProbeSetting(probe="dram")


def known(sm: float, dram: float) -> Pressures:
    """A job that the full probes slow so, beside one that presses on both as they do."""
    probes = {(SM, SM): 2.0, (SM, DRAM): 1.0, (DRAM, SM): 1.0, (DRAM, DRAM): 2.0}
    sensitivity = {("a", SM): sm, ("a", DRAM): dram, ("b", SM): 1.0, ("b", DRAM): 1.0}
    exerted = {("b", SM): 2.0, ("b", DRAM): 2.0, ("a", SM): 1.0, ("a", DRAM): 1.0}
    return Pressures(mode="mps", settings=(SM, DRAM), probes=probes, sensitivity=sensitivity, exerted=exerted)


def test_who_explains_half_is_the_cause_else_they_are_mixed():
    one = cause_of(known(1.0, 1.5), "a", ["b"], 1.5)
    assert one is not None
    assert (one.verdict, one.shares["dram"]) == ("dram", pytest.approx(1.0, abs=0.05))
    both = cause_of(known(1.3, 1.3), "a", ["b"], 2.0)
    assert both is not None
    assert both.verdict == MIXED
    assert both.shares["sm"] == pytest.approx(both.shares["dram"], rel=0.01)
    unknown = cause_of(known(1.1, 1.1), "a", ["b"], 4.0)
    assert unknown is not None
    assert unknown.verdict == UNKNOWN
    assert unknown.explained < 0.5


def test_the_lower_clock_is_divided_out_and_named():
    told = cause_of(known(1.0, 1.5), "a", ["b"], 1.5, clock_factor=1.1)
    assert told is not None
    assert told.shares[CLOCK] == pytest.approx(0.235, abs=0.005)  # ln 1.1 / ln 1.5
    assert told.verdict == "dram"
    assert told.explained <= 1.0
    alone = plain_cause(1.2, alternating=True, clock_factor=1.18)
    assert alone is not None
    assert alone.verdict == CLOCK
    half = plain_cause(1.2, alternating=True, clock_factor=1.18, busy_alone=0.4)
    assert half is not None
    assert half.shares[CLOCK] == pytest.approx(0.381, abs=0.002)  # ln(1 + 0.4 · 0.18) / ln 1.2
    assert half.verdict == UNKNOWN
    quick = plain_cause(1.2, alternating=True, clock_factor=0.99)
    assert quick is not None
    assert quick.verdict == UNKNOWN


def test_the_host_is_looked_at_first():
    case = json.loads((CASES / "c063_contention_cpu.json").read_text())
    solo, beside = case["solo"], case["n2"]
    host = HostSeen(
        processor=beside["cpu_pct"] / 100, card_together=beside["sm_pct"] / 100, card_alone=solo["sm_pct"] / 100
    )
    slowdown = beside["step_s"][0] / solo["step_s"]
    assert slowdown == pytest.approx(case["expect"]["slowdown"], abs=0.005)
    for told in (
        plain_cause(slowdown, alternating=True, host=host),
        cause_of(known(1.5, 1.5), "a", ["b"], slowdown, host=host),
    ):
        assert told is not None
        assert told.verdict == "host"
        assert not {"sm", "dram", "l2", TIME_SLICING} & set(told.shares)


def test_a_busy_host_beside_a_busy_card_is_not_blamed():
    assert not HostSeen(processor=1.0, card_together=0.98, card_alone=0.95).short
    assert not HostSeen(processor=HOST_FULL - 0.01).short
    assert HostSeen(processor=1.0).short


def test_memory_that_ran_short_and_nothing_to_explain():
    told = plain_cause(1.0, alternating=True, memory=MemorySeen(failed=True))
    assert told is not None
    assert told.verdict == MEMORY
    short = plain_cause(1.4, alternating=False, memory=MemorySeen(retries=3))
    assert short is not None
    assert short.verdict == MEMORY
    assert plain_cause(1.02, alternating=True) is None
    assert cause_of(known(1.5, 1.5), "a", ["b"], 1.01) is None
