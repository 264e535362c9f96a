"""Matrix of pairs, curves, causes and predictions as a plan, over a card that only divides itself."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from random import Random

import pytest

from gputuner.analysis.contention_figures import mixes, newest
from gputuner.analysis.contention_pressure import curves
from gputuner.analysis.contention_stored import (
    predicted_errors,
    pressures_of,
)
from gputuner.analysis.placement_pairs import measured_pairs
from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.devices.simulated_sharing import Sharing, shares
from gputuner.experiments.contention_causes import causes
from gputuner.experiments.contention_jobs import parse_job
from gputuner.experiments.contention_matrix import matrix, matrix_cost, pairs_in_order
from gputuner.experiments.contention_measure import Lab
from gputuner.experiments.contention_pace import pace_for
from gputuner.experiments.contention_pressure import sensitivities, sensitivities_cost
from gputuner.experiments.contention_probes import PROBE, settings_of
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions, Flag
from gputuner.model.steps import Done, Report, Together, Total, Trial, UserCodeFailed, Warn, Work
from gputuner.workloads.simulated_costs.shelf import settings_of as costs_of

JOBS = ("edsr:batch=16", "resnet50:batch=96", "bert:batch=16")
HZ = 1.9e9


class Divided:
    """Performs a plan on a simulated card's physics at a fixed clock, without a clock of its own."""

    def __init__(self, mode="processes", refuse=(), together_mhz=1900.0):
        self.card = SimulatedCards(["h200-sxm"], SimulatedClock(), seed=0).models[0]
        self.mode, self.refuse, self.together_mhz = mode, refuse, together_mhz
        self.random, self.now_s = Random(0), 20.0
        self.steps, self.points, self.warned = [], [], []

    def perform(self, plan):
        result = None
        while True:
            try:
                step = next(plan) if result is None else plan.send(result)
            except StopIteration as end:
                return end.value
            self.steps.append(step)
            result = self.answer(step)

    def answer(self, step):
        match step:
            case Report(points=points):
                self.points.extend(points)
            case Warn():
                self.warned.append(step)
            case Work() | Together():
                return self.run(step)
            case Total():
                pass
        return Done()

    def run(self, step):
        works = step.works if isinstance(step, Together) else (step,)
        if any(work.params.get("probe") in self.refuse for work in works):
            return UserCodeFailed(message="no such pipes", traceback="", reason="unsupported")
        costs = [costs_of(self.card, work.workload, work.params)[0].cost for work in works]
        loads = {str(place): cost.load for place, cost in enumerate(costs)}
        how = Sharing(mode=self.mode, cache_bytes=self.card.facts.l2_mib * 2**20)
        granted = shares(loads, HZ, self.card.physics.bandwidth, how)
        start = int((self.now_s + 2.0) * 1e9)
        trials = []
        for place, (work, cost) in enumerate(zip(works, costs, strict=True)):
            seconds = 1.0 / granted[str(place)].iterations_per_s
            count = max(3, min(100, int(work.measure_s / seconds)))
            steps = tuple(seconds * (1.0 + 0.004 * self.random.gauss(0, 1)) for _ in range(count))
            end = start + int(1e9 * max(work.measure_s, sum(steps)))
            trials.append(Trial(iteration_s=steps, t0_ns=start, t1_ns=end, work=cost.work, notes=cost.notes))
        self.now_s = max(trial.t1_ns for trial in trials) / 1e9
        clock = 1900.0 if len(works) < 2 else self.together_mhz
        seen = Conditions(
            duration_s=works[0].measure_s,
            samples=5,
            sm_clock_mhz=clock,
            gpu_utilisation=0.9,
            sm_active=min(1.0, sum(share.busy for share in granted.values())),
            tensor_active=0.0,
            dram_active=min(1.0, sum(share.dram for share in granted.values())),
        )
        mode = step.mode if isinstance(step, Together) else "processes"
        return Done(trials=tuple(trials), conditions=seen, mode=mode)


def laboratory(lab, minutes=10.0, cpu=False):
    context = lab.context_of(lab.two_cores() if cpu else lab.h200(), cpu=cpu, minutes=minutes)
    pace = pace_for(context)
    of = Lab(Course(context, pace.start_s), pace)
    return of, [parse_job(text).on(context) for text in JOBS]


@pytest.mark.parametrize("mode", ["processes", "mps"])
def test_a_matrix_measures_all_pairs_and_predicts_them_without_the_workload(lab, mode):
    of, jobs = laboratory(lab)
    performer = Divided(mode)
    found = performer.perform(matrix(of, jobs, mode))
    card = performer.points[0].card
    pairs = measured_pairs(performer.points, card, mode).mixes
    assert set(pairs) == {tuple(sorted(pair)) for pair in product(JOBS, JOBS)}
    assert sum(p.metric == "co_run_slowdown" for p in newest(performer.points)) == 12
    assert found is not None
    assert set(found.jobs) == set(JOBS)
    told = predicted_errors(performer.points, card, mode)
    assert {"pressure", "equal_sharing"} <= set(told)
    assert told["pressure"].count == 12
    assert told["pressure"].median <= 0.10
    assert told["pressure"].worst <= 0.30
    assert told["pressure"].median < told["equal_sharing"].median
    # what is told is enough to predict again
    read = pressures_of(performer.points, card, mode)
    assert read.sensitivity == pytest.approx(dict(found.sensitivity))
    assert read.probes == pytest.approx(dict(found.probes))
    assert set(read.jobs) == set(JOBS)
    for predicted in (p for p in performer.points if p.metric == "co_run_predicted"):
        assert Flag.EXTRAPOLATED in predicted.flags
        job, partner = str(predicted.params["mix"]).split("+")[:: 1 if predicted.params["job"] == 1 else -1]
        assert predicted.params["job_label"] == job
        if job != partner:
            known = pairs[tuple(sorted((job, partner)))][job]
            assert max(1.0, predicted.extra["measured"]) == pytest.approx(known, rel=1e-6)


def test_causes_say_time_slices_between_processes_and_resources_side_by_side(lab):
    verdicts = {}
    for mode in ("processes", "mps"):
        of, jobs = laboratory(lab)
        performer = Divided(mode)
        performer.perform(matrix(of, jobs, mode))
        told = [p for p in performer.points if p.metric == "co_run_cause"]
        verdicts[mode] = Counter(p.extra["verdict"] for p in told)
        assert all(p.extra["alternating"] == (mode == "processes") for p in told)
        for mix, job in {(p.params["mix"], p.params["job"]) for p in told}:
            whole = sum(p.value for p in told if (p.params["mix"], p.params["job"]) == (mix, job))
            assert whole <= 1.0 + 1e-9
    assert set(verdicts["processes"]) == {"time_slicing"}
    assert "time_slicing" not in verdicts["mps"]
    assert set(verdicts["mps"]) & {"dram", "sm", "tensor", "l2"}


@pytest.mark.parametrize("mode", ["processes", "mps"])
def test_counters_of_the_card_read_what_slowdowns_say(lab, mode):
    of, jobs = laboratory(lab)
    performer = Divided(mode)
    performer.perform(matrix(of, jobs, mode))
    told = [p for p in performer.points if p.metric == "co_run_activity"]
    assert {p.params["counter"] for p in told} == {"sm", "dram"}
    assert all(abs(p.extra["relative_error"]) < 0.1 for p in told)
    pairs = measured_pairs(performer.points, told[0].card, mode).mixes
    slowest = max(pairs, key=lambda pair: max(pairs[pair].values()))
    assert {*slowest} in [set(str(p.params["mix"]).split("+")) for p in told]


def test_cards_without_counters_are_not_asked(lab):
    of, jobs = laboratory(lab)
    of.course.context = replace(of.course.context, card=replace(of.course.context.card, compute_capability="8.9"))
    performer = Divided()
    performer.perform(matrix(of, jobs, "processes"))
    assert not [p for p in performer.points if p.metric == "co_run_activity"]


def test_a_lower_clock_is_named(lab):
    of, jobs = laboratory(lab)
    performer = Divided(together_mhz=1800.0)
    performer.perform(matrix(of, jobs, "processes"))
    told = [p for p in performer.points if p.metric == "co_run_cause" and p.params["cause"] == "clock"]
    assert told
    assert all(0.0 < p.value < 1.0 for p in told)


def test_four_jobs_fit_into_ten_minutes(lab):
    for mode in ("processes", "mps"):
        of, _ = laboratory(lab)
        steps, seconds = matrix_cost(of, 4, mode)
        assert steps > 40
        assert of.course.spent_s + seconds < 600.0


def test_the_plan_takes_what_it_was_expected_to(lab):
    of, jobs = laboratory(lab)
    performer = Divided()
    performer.perform(matrix(of, jobs, "processes"))
    _, expected_s = matrix_cost(of, len(jobs), "processes")
    assert 0.6 * expected_s < of.course.spent_s - of.pace.start_s < 1.3 * expected_s


def test_where_time_is_short_pairs_that_did_not_run_are_predicted(lab):
    of, jobs = laboratory(lab, minutes=5.0)
    performer = Divided()
    performer.perform(matrix(of, jobs, "processes"))
    ran = mixes(performer.points)
    told = [p for p in performer.points if p.metric == "co_run_predicted" and "measured" not in p.extra]
    assert told
    assert ran
    assert [w.params["stage"] for w in performer.warned if w.code == "stage_skipped"] == ["contend_pairs"]
    assert all(p.params["model"] == "pressure" and p.value >= 1.0 for p in told)
    assert of.course.spent_s <= of.course.context.budget_s


def test_pairs_are_left_out_for_good_only_once_the_probes_are_through(lab):
    of, jobs = laboratory(lab, minutes=5.0)
    performer = Divided()
    performer.perform(matrix(of, jobs, "processes"))
    (skipped,) = [w.params for w in performer.warned if w.code == "stage_skipped"]
    assert float(skipped["left_s"]) < 25.0, "what was kept for the probes is no longer there"


def test_no_time_for_probes_is_told_and_clock_and_memory_still_judge(lab):
    of, jobs = laboratory(lab, minutes=2.0)
    performer = Divided(together_mhz=1200.0)
    performer.perform(of.round((jobs[1], jobs[2]), "processes"))
    of.course.spent_s = of.course.context.budget_s - 10.0
    assert performer.perform(sensitivities(of, jobs, "processes")) is None
    assert [w.code for w in performer.warned] == ["contend_probes_cut"]
    performer.perform(causes(of, "processes", None))
    told = [p for p in performer.points if p.metric == "co_run_cause"]
    assert told
    assert {p.extra["by_probes"] for p in told} == {False}
    assert {p.extra["verdict"] for p in told} == {"clock"}


def test_a_probe_that_cannot_run_is_left_out(lab):
    of, jobs = laboratory(lab)
    performer = Divided("mps", refuse=("tensor",))
    found = performer.perform(sensitivities(of, jobs, "mps"))
    assert found is not None
    assert "tensor" not in {setting.probe for setting in found.settings}
    assert set(found.jobs) == set(JOBS)
    assert {w.params["probe"] for w in performer.warned} == {"tensor"}


def test_a_command_is_not_started_anew_for_each_probe(lab):
    of, jobs = laboratory(lab)

    class Command:
        name = label = "train.py"

        def params(self):
            return {}

        def work(self, label, measure_s, **more):
            return Work(label=label, workload="command", params={}, measure_s=1.0, budget_s=9.0, runtime="command")

    performer = Divided()
    assert performer.perform(sensitivities(of, [Command()], "processes")) is None
    assert not performer.steps
    found = performer.perform(sensitivities(of, [Command(), jobs[0]], "processes"))
    assert found is not None
    assert found.jobs == (jobs[0].label,)


def test_bursts_are_found_once_and_repeated_beside_others(lab):
    of, jobs = laboratory(lab)
    performer = Divided()
    performer.perform(sensitivities(of, jobs[:1], "processes"))
    steps = [s for s in performer.steps if isinstance(s, Together) and s.label == PROBE]
    beside = [w for s in steps if len(s.works) == 2 for w in s.works if w.workload == "pressure"]
    assert beside
    assert all(work.params["passes"] > 0 for work in beside)
    alone = [s for s in steps if len(s.works) == 1]
    assert all(step.idle == 1 for step in alone), "as many processes are alive as beside a job"
    count = len(settings_of("processes", cpu=False))
    assert len(alone) == 2 * count
    assert len(steps) == 2 * count + count * (count + 1) // 2 + count == sensitivities_cost(of, 1, "processes")[0]


def test_curves_rise_and_what_never_pauses_hurts_most(lab):
    of, jobs = laboratory(lab)
    found = Divided().perform(sensitivities(of, jobs, "processes"))
    assert found is not None
    for job in JOBS:
        drawn = curves(found, job)
        assert {probe for probe, _ in drawn} == {"slices", "pcie", "host"}
        for (probe, _), each in drawn.items():
            if probe == "slices":
                assert each.at(0.25) <= each.at(0.5) <= each.at(1.0)


def test_a_processor_has_probes_of_cores_and_memory(lab):
    of, _ = laboratory(lab, cpu=True)
    assert {s.probe for s in settings_of("processes", cpu=True)} == {"host", "dram"}
    assert sensitivities_cost(of, 2, "processes")[1] < 120.0


def test_pairs_follow_each_other_with_a_job_in_common(lab):
    _, jobs = laboratory(lab)
    jobs = [*jobs, replace(jobs[0], label="edsr:batch=32")]
    ordered = pairs_in_order(jobs)
    assert len(ordered) == 10
    assert len({tuple(sorted(job.label for job in pair)) for pair in ordered}) == 10
    shared = [bool({a.label for a in first} & {b.label for b in second}) for first, second in pairwise(ordered)]
    assert sum(shared) >= 7


class Drifting(Divided):
    """A card whose steps take longer the longer it runs, 5 % in 200 s, and that notes products a second."""

    def run(self, step):
        done = super().run(step)
        slower = 1.0 + 0.05 * (self.now_s - 20.0) / 200.0
        trials = tuple(
            replace(trial, iteration_s=tuple(slower * seconds for seconds in trial.iteration_s))
            for trial in done.trials
        )
        return replace(done, trials=trials)


def test_a_card_that_slows_meanwhile_is_divided_out_and_told(lab):
    of, jobs = laboratory(lab)
    even, drifting = Divided(), Drifting()
    first = even.perform(sensitivities(of, jobs[:1], "processes"))
    of, jobs = laboratory(lab)
    second = drifting.perform(sensitivities(of, jobs[:1], "processes"))
    assert first is not None
    assert second is not None
    for pair, slowdown in first.probes.items():
        assert second.probes[pair] == pytest.approx(slowdown, rel=0.012), pair
    assert pressures_of(drifting.points, drifting.points[0].card, "processes").probes == second.probes
    last = [p for p in drifting.points if p.metric == "pressure_calibration"][-1]
    assert float(last.extra["solo_change"]) > 0.02
    assert Flag.NOT_STEADY in last.flags
    assert not [p for p in even.points if p.metric == "pressure_calibration" and Flag.NOT_STEADY in p.flags]


def test_probes_run_in_an_order_by_the_seed_and_alone_at_both_ends(lab):
    orders = []
    for seed in (0, 0, 1):
        of, jobs = laboratory(lab)
        of.seed = seed
        performer = Divided()
        performer.perform(sensitivities(of, jobs[:1], "processes"))
        steps = [s for s in performer.steps if isinstance(s, Together) and s.label == PROBE]
        orders.append([tuple(str(sorted(work.params.items())) for work in step.works) for step in steps])
        count = len(settings_of("processes", cpu=False))
        assert {len(step.works) for step in (*steps[:count], *steps[-count:])} == {1}
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) != orders[0]


def test_slowdowns_beside_probes_have_their_spread(lab):
    of, jobs = laboratory(lab)
    performer = Divided()
    performer.perform(sensitivities(of, jobs[:1], "processes"))
    told = [p for p in performer.points if p.metric.startswith("pressure_")]
    assert told
    for point in told:
        assert point.spread is not None
        assert point.spread.median == point.value
        assert point.spread.n >= 3
        assert (point.spread.ci95_low is None) == (Flag.FEW_SAMPLES in point.flags)
    known = [p.spread for p in told if p.spread.ci95_low is not None]
    assert known
    assert all(each.ci95_low < each.median / 1.005 and each.ci95_high > each.median * 1.005 for each in known)


class Apart(Divided):
    """Of two that are measured for less than ``least_s`` one begins so late that no step lies in common time."""

    def __init__(self, least_s):
        super().__init__()
        self.least_s = least_s

    def run(self, step):
        done = super().run(step)
        if len(done.trials) < 2 or step.works[0].measure_s >= self.least_s:
            return done
        first, last = done.trials
        late = first.t1_ns - first.t0_ns - 1000
        return replace(done, trials=(first, replace(last, t0_ns=last.t0_ns + late, t1_ns=last.t1_ns + late)))


def test_steps_that_lie_apart_are_measured_longer_or_left_out(lab):
    of, jobs = laboratory(lab)
    plain = Divided()
    whole = plain.perform(sensitivities(of, jobs[:1], "processes"))
    short_s = min(w.measure_s for s in plain.steps if isinstance(s, Together) for w in s.works)
    of, jobs = laboratory(lab)
    longer = Apart(1.5 * short_s)
    found = longer.perform(sensitivities(of, jobs[:1], "processes"))
    assert whole is not None
    assert found is not None
    assert found.probes.keys() == whole.probes.keys()
    assert not longer.warned
    of, jobs = laboratory(lab)
    never = Apart(1e9)
    assert never.perform(sensitivities(of, jobs[:1], "processes")) is None
    assert not [p for p in never.points if p.metric.startswith("pressure_")]
    assert {w.code for w in never.warned} == {"contend_probe_apart"}


class Weak(Divided):
    """Notes a product of 1 GFLOP an iteration: far below what an H200 can."""

    def run(self, step):
        done = super().run(step)
        return replace(done, trials=tuple(replace(trial, work={"flop": 1e9}) for trial in done.trials))


def test_a_probe_far_below_the_peak_says_so_where_it_never_pauses(lab):
    of, jobs = laboratory(lab)
    performer = Weak("mps")
    performer.perform(sensitivities(of, jobs[:1], "mps"))
    weak = [w for w in performer.warned if w.code == "contend_probe_weak"]
    assert "sm" in {w.params["probe"] for w in weak}
    assert all(0.0 < w.params["share"] < 0.8 for w in weak)
    told = {
        (p.params["probe"], p.params["dial"]): p.extra.get("probe_share_of_peak")
        for p in performer.points
        if p.metric == "pressure_sensitivity"
    }
    assert told["sm", 1.0] is not None
    assert told["sm", 0.25] is None, "with pauses it cannot reach the peak"
    assert told["l2", 1.0] is None, "no peak is known"
