"""Which mixes have their causes told: those whose figures, over all of their rounds, hold."""

from contextlib import closing
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest

from gputuner.analysis.contention import CoRun, Slowdown
from gputuner.assembly.setup import open_setup
from gputuner.experiments.contention_causes import causes
from gputuner.experiments.contention_jobs import parse_job
from gputuner.experiments.contention_measure import Lab
from gputuner.experiments.contention_pace import pace_for
from gputuner.experiments.course import Course
from gputuner.experiments.protocol import PlanContext
from gputuner.model.events import PointMeasured
from gputuner.model.points import Spread
from gputuner.model.steps import Plan, Work
from gputuner.workloads.specs_pressure import PressureSpec


def co_run(slowdown, moved):
    spread = Spread(n=50, median=slowdown, iqr=0.0, ci95_low=slowdown, ci95_high=slowdown)
    gain = Spread(n=50, median=2.0 / slowdown, iqr=0.0, ci95_low=2.0 / slowdown, ci95_high=2.0 / slowdown)
    return CoRun(
        jobs=(Slowdown(spread=spread, within=0.001),) * 2,
        gain_spread=gain,
        fairness=1.0,
        solo_change=moved,
        between=0.003,
        common_s=5.0,
        gain_within=0.001,
    )


@pytest.mark.parametrize(
    ("moved", "told"), [((0.3, 0.3, 0.0), []), ((0.0, 0.0, 0.3), [1.5, 1.5]), ((0.0, 0.0), [1.5] * 2)]
)
def test_the_figures_that_are_shown_decide_not_the_last_round(monkeypatch, moved, told):
    asked = []
    monkeypatch.setattr(
        "gputuner.experiments.contention_causes._tell",
        lambda lab, of, place, slowdown, found: iter(asked.append(slowdown) or ()),
    )
    rounds = [
        SimpleNamespace(mode="processes", places=(0, 1), found=co_run(1.5, change), jobs=(), trials=())
        for change in moved
    ]
    lab = SimpleNamespace(known=SimpleNamespace(rounds={("a+b", "processes"): rounds}))
    list(causes(lab, "processes", None))
    assert asked == pytest.approx(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Two at once between solo runs, and why they slow as far as their trials tell, without probes."""

    name: ClassVar[str] = "beside"
    needs_worker: ClassVar[bool] = True
    jobs: tuple[str, ...]
    seed: int = 0

    def expected_s(self) -> float:
        return 120.0

    def limited(self) -> bool:
        return True

    def plan(self, context: PlanContext) -> Plan:
        pace = pace_for(context)
        lab = Lab(Course(context, pace.start_s), pace)
        yield from lab.round(
            tuple(Probe() if job == "host" else parse_job(job).on(context, ".") for job in self.jobs), "processes"
        )
        yield from causes(lab, "processes", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The processor's probe as a job."""

    name: str = "pressure"
    label: str = "host"

    def params(self):
        return PressureSpec(probe="host", dial=0.9, burst_s=0.003).params()

    def work(self, label, measure_s, *, warmup_s=0.5, fresh=False, idle=0):
        return Work(
            label=label, workload=self.name, params=self.params(), measure_s=measure_s, budget_s=4 * measure_s + 20,
            warmup_s=warmup_s, fresh=fresh, idle=idle,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("jobs", "by_host"),
    [
        (("host", "host"), True),
        (("lstm:batch=64", "host"), True),
        (("resnet50:batch=96", "resnet50:batch=96"), False),
    ],
)
def test_simulated_trials_tell_what_the_processor_did_as_real_ones_do(tmp_path, jobs, by_host):
    with closing(open_setup(simulate=("h200-sxm",), data_dir=tmp_path)) as setup:
        events = list(setup.start(Beside(jobs=jobs), setup.select(None, for_experiment=True)))
    points = [event.point for event in events if isinstance(event, PointMeasured)]
    told = {p.params["job"]: p.extra["verdict"] for p in points if p.metric == "co_run_cause"}
    slowed = {p.params["job"]: p.value for p in points if p.metric == "co_run_slowdown"}
    assert slowed[1] > 1.3
    assert (told.get(1) == "host") is by_host
