"""Pairs of trainings on a card: measured, predicted without the workload, causes told apart. Markdown.

Run from the checkout, each part within ten minutes, for five trainings × all 15 pairs::

    python -m tests.perf.contention_pairs --part matrix --out FOLDER   # pairs, probes, counters, as far as time allows
    python -m tests.perf.contention_pairs --part matrix --out FOLDER --jobs ...   # pairs that are still missing
    python -m tests.perf.contention_pairs --part four --out FOLDER     # does a matrix of four fit into ten minutes?
    python -m tests.perf.contention_pairs --part causes --out FOLDER   # synthetic probe pairs: is the cause right?
    python -m tests.perf.contention_pairs --report FOLDER              # of all sessions in it, measured on one card

``--mode mps`` for resources (causes then in two runs, ``--jobs sm tensor dram`` and ``--jobs l2 pcie host``),
``--simulate CARD`` for a model. The report tells errors of the probes' model, leaving one workload out, beside a
constant, a(job) + b(partner), and equal sharing; which bars hold. ``pressures.json`` then holds all that was measured,
for models yet to come. Not run on a card yet.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from gputuner.analysis.contention_figures import mixes
from gputuner.analysis.contention_held_out import additive, constant, errors, from_pressures, held_out
from gputuner.analysis.contention_stored import pressures_of
from gputuner.assembly.setup import Setup, open_setup
from gputuner.experiments.contention import Contend
from gputuner.experiments.contention_causes import causes
from gputuner.experiments.contention_measure import Lab
from gputuner.experiments.contention_pace import pace_for
from gputuner.experiments.contention_pressure import sensitivities
from gputuner.experiments.contention_probes import settings_of
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.protocol import PlanContext
from gputuner.model.cards import Origin
from gputuner.model.events import PointMeasured, RunFinished, Warned
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Mode, Plan, Work
from gputuner.workloads.specs_pressure import PressureSpec, probe_named

FIVE = ("edsr:batch=16", "resnet50:batch=96", "bert:batch=16", "gpt:batch=8", "lstm:batch=64")
FOUR = FIVE[:4]
MINUTES = 9.3
BARS = {"median": 0.10, "p90": 0.20, "worst": 0.30}
CONTENDED, LEAST_CONTENDED, CAUSE_BAR = 1.3, 8, 0.95
SYNTHETIC_S = 1.6
DIALS = {"pcie": (1.0,), "tensor": (0.3, 0.5)}
"""Products in half precision must not reach the power cap, or the clock is the cause."""
ON_CARD = ("sm", "tensor", "dram", "l2")


@dataclass(frozen=True)
class ProbeJob:
    """A probe that is examined as if it were a job; not one of those that calibrate."""

    probe: str
    dial: float
    burst_s: float
    name: str = "pressure"

    @property
    def label(self) -> str:
        return f"{self.probe}:dial={self.dial:g},burst_ms={1e3 * self.burst_s:g}"

    def params(self) -> dict[str, Scalar]:
        return PressureSpec(probe=probe_named(self.probe), dial=self.dial, burst_s=self.burst_s).params()

    def work(self, label: str, measure_s: float, *, warmup_s: float = 0.5, fresh: bool = False, idle: int = 0) -> Work:
        return Work(
            label=label, workload="pressure", params=self.params(), measure_s=measure_s,
            budget_s=4 * measure_s + 20, warmup_s=warmup_s, fresh=fresh, idle=idle,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticPairs:
    """Probes beside probes of the same resource: the right cause is known."""

    name: ClassVar[str] = "synthetic_pairs"
    needs_worker: ClassVar[bool] = True
    mode: Mode = "processes"
    probes: tuple[str, ...] = ()
    minutes: float = MINUTES
    seed: int = 0

    def expected_s(self) -> float:
        return 60.0 * self.minutes

    def limited(self) -> bool:
        return True

    def plan(self, context: PlanContext) -> Plan:
        pace = replace(pace_for(context), measure_s=SYNTHETIC_S)
        lab = Lab(Course(context, pace.start_s), pace)
        known = {setting.probe for setting in settings_of(self.mode, cpu=pace.cpu)}
        probes = self.probes or ((*ON_CARD, "pcie", "host") if not pace.cpu else ("dram", "host"))
        jobs = [
            ProbeJob(probe, dial, 0.003)
            for probe in probes
            for dial in DIALS.get(probe, (0.6, 0.9))
            if probe in known or "slices" in known
        ]
        with suppress(RunEnds):
            for first in jobs:
                for second in jobs:
                    if first.probe == second.probe and first.dial <= second.dial:
                        yield from lab.round((first, second), self.mode)
            found = yield from sensitivities(lab, jobs, self.mode)
            yield from causes(lab, self.mode, found)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", choices=("matrix", "four", "causes"))
    options.add_argument("--report", type=Path)
    options.add_argument("--out", type=Path, default=Path("contention"))
    options.add_argument("--jobs", nargs="*", default=[])
    options.add_argument("--mode", default="processes", choices=("processes", "mps", "streams"))
    options.add_argument("--minutes", type=float, default=MINUTES)
    options.add_argument("--simulate", default="")
    options.add_argument("--python", default=None)
    options.add_argument("--gpu", default=None)
    asked = options.parse_args()
    if asked.report is not None:
        return _report(asked.report, asked.mode)
    if asked.part is None:
        options.error("--part or --report")
    spec: Any
    if asked.part == "causes":
        spec = SyntheticPairs(mode=asked.mode, probes=tuple(asked.jobs), minutes=asked.minutes)
    else:
        jobs = tuple(asked.jobs or (FOUR if asked.part == "four" else FIVE))
        spec = Contend(jobs=jobs, matrix=True, modes=(asked.mode,), fixed_batch=True, minutes=asked.minutes)
    simulate = (asked.simulate,) if asked.simulate else ()
    with closing(open_setup(simulate=simulate, data_dir=asked.out, python=asked.python)) as setup:
        return _perform(setup, spec, asked.gpu)


def _perform(setup: Setup, spec: Any, gpu: str | None) -> int:
    begun = time.monotonic()
    first_ns = last_ns = 0
    for event in setup.start(spec, setup.select(gpu, for_experiment=True)):
        first_ns, last_ns = first_ns or event.t_ns, event.t_ns
        match event:
            case PointMeasured(point=point) if "mix" in point.params:
                print(point.metric, point.params.get("mix"), point.params.get("job", ""), f"{point.value:.3f}")
            case Warned(code=code, params=params):
                print("warned:", code, params)
            case RunFinished(outcome=outcome):
                print(f"\n{outcome}: {(last_ns - first_ns) / 1e9:.0f} s of the run's clock, "
                      f"{time.monotonic() - begun:.0f} s on the wall (a matrix of four: 600 s at most)")  # fmt: skip
                return 0 if str(outcome) == "completed" else 1
            case _:
                pass
        sys.stdout.flush()
    return 1


def _points(folder: Path) -> list[Point]:
    """Of all sessions in the folder, oldest first."""
    found: list[Point] = []
    with closing(open_setup(data_dir=folder)) as setup:
        for entry in reversed(setup.sessions.entries()):
            if entry.summary is not None:
                with closing(setup.sessions.open(entry.summary.path)) as session:
                    found += session.points()
    return found


def _report(folder: Path, mode: str) -> int:
    points = _points(folder)
    cards = {point.card for point in points}
    if len(cards) != 1:
        print(f"sessions of {len(cards)} cards; one is needed")
        return 2
    (card,) = cards
    good = [*_pairs(points, card, mode, folder), *_causes(points, mode), *_counters(points, mode)]
    return 0 if all(good) else 1


def _pairs(points: Sequence[Point], card: str, mode: str, folder: Path) -> Iterator[bool]:
    newest: dict[tuple[str, str, int], float] = {}
    found = pressures_of(points, card, mode)
    for mix in mixes(points):
        labels = mix.label.split("+")
        if mix.mode != mode or mix.shares or not mix.valid or len(labels) != 2 or not set(labels) <= set(found.jobs):
            continue
        for place, (job, point) in enumerate(mix.by_job):
            newest[job, labels[1 - place], place if mix.alike else 0] = point.value
    pairs = [(job, partner, slowdown) for (job, partner, _), slowdown in newest.items()]
    (folder / "pressures.json").write_text(json.dumps({
        "pairs": pairs,
        "probes": [[a.label, b.label, s] for (a, b), s in found.probes.items()],
        "sensitivity": [[job, b.label, s] for (job, b), s in found.sensitivity.items()],
        "exerted": [[job, a.label, s] for (job, a), s in found.exerted.items()],
    }))  # fmt: skip
    if not pairs:
        print("no pair was measured beside probes")
        yield False
        return
    names = sorted({job for job, _, _ in pairs})
    model = from_pressures(found)
    told = held_out(pairs, model)
    print(f"## {len(pairs)} slowdowns of pairs of {', '.join(names)} ({mode})\n")
    print("| job | beside | measured | predicted without | held out | error |\n|---|---|---|---|---|---|")
    for each in told:
        print(f"| {each.job} | {each.partner} | {each.measured:.3f} | {each.predicted:.3f} | {each.held_out} "
              f"| {each.relative_error:+.1%} |")  # fmt: skip
    print("\n| model | n | median | p90 | worst |\n|---|---|---|---|---|")
    whole = {"probes": errors(told)}
    for name, simple in (("a constant", constant), ("a(job) + b(partner)", additive)):
        whole[name] = errors(held_out(pairs, simple))
    for name, each in whole.items():
        print(f"| {name} | {each.count} | {each.median:.1%} | {each.p90:.1%} | {each.worst:.1%} |")
    ours = whole["probes"]
    for name, bar in BARS.items():
        yield _bar(f"{name} ≤ {bar:.0%}", getattr(ours, name) <= bar)
    yield _bar("better than the simple models", all(ours.median < e.median for n, e in whole.items() if n != "probes"))
    worst: dict[tuple[str, ...], float] = {}
    for job, partner, slowdown in pairs:
        key = tuple(sorted((job, partner)))
        worst[key] = max(worst.get(key, 0.0), slowdown)
    hard = sum(slowdown > CONTENDED for slowdown in worst.values())
    least = min(LEAST_CONTENDED, round(len(worst) * LEAST_CONTENDED / 15))
    yield _bar(f"{hard} of {len(worst)} pairs truly contended (at least {least})", hard >= least)


def _causes(points: Sequence[Point], mode: str) -> Iterator[bool]:
    told = [p for p in points if p.metric == "co_run_cause" and "dial=" in str(p.params["mix"])]
    verdicts = {(p.params["mix"], p.params["job"]): p for p in told if p.params["mode"] == mode}
    if not verdicts:
        return
    right = 0
    print("\n| synthetic pair | job | slowdown | verdict | explained |\n|---|---|---|---|---|")
    for (mix, job), point in verdicts.items():
        probe = str(mix).partition(":")[0]
        wanted = {probe} if probe in ("pcie", "host") else {"sm", "tensor"} if probe in ("sm", "tensor") else {probe}
        wanted = {"time_slicing"} if mode == "processes" and probe in ON_CARD else wanted
        right += point.extra["verdict"] in wanted
        print(f"| {mix} | {job} | {point.extra['slowdown']:.2f} | {point.extra['verdict']} "
              f"| {point.extra['explained']:.0%} |")  # fmt: skip
    yield _bar(f"cause right in {right} of {len(verdicts)}", right >= CAUSE_BAR * len(verdicts))


def _counters(points: Sequence[Point], mode: str) -> Iterator[bool]:
    told = [p for p in points if p.metric == "co_run_activity" and p.params["mode"] == mode]
    if not told:
        print("\nThe card has no activity counters (GPM), or there was no time for them.")
        return
    print("\n| pair | counter | read together | expected from alone | error |\n|---|---|---|---|---|")
    for p in told:
        print(f"| {p.params['mix']} | {p.params['counter']} | {p.value:.3f} | {p.extra['expected']:.3f} "
              f"| {p.extra['relative_error']:+.1%} |")  # fmt: skip
    if any(p.origin is Origin.SIMULATED for p in told):
        print("\nA simulated card counts by the rule that expects it: this agreement shows nothing.")
        return
    yield _bar("total pressure as counted, within 15 %", all(abs(p.extra["relative_error"]) < 0.15 for p in told))


def _bar(text: str, held: bool) -> bool:
    print(f"\n- {'holds' if held else '**does not hold**'}: {text}")
    return held


if __name__ == "__main__":
    raise SystemExit(main())
