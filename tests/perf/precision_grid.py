"""The search over switches beside the exhaustive grid: number format × channels-last × torch.compile, by rate.

Run from the checkout: ``python3 tests/perf/precision_grid.py [--models resnet50,edsr] [--minutes 4]``, on a card, or
with ``--gpu cpu`` on a processor. Each model is searched within ``--minutes``; then every point of the grid is measured
at the same batch, and the search's choice and the grid's best again in turn (C B B C). Prints Markdown with the
*regret*: how much slower the choice of format, layout and compiler is than the grid's best. ``--grid-only N`` leaves
the search out and measures the grid at batch N.
"""

import argparse
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).parents[2]))

from gputuner.analysis.switches import Setting, by_setting, decide, rate
from gputuner.assembly.setup import open_setup
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.switches import Switching
from gputuner.experiments.switches_search import formats_of
from gputuner.experiments.switches_trial import COMPILE_S, Compared, trial
from gputuner.language.switching import setting as words
from gputuner.model.events import PointMeasured, RunFinished, Warned

GRID_MINUTES = 30.0
"""Of the grid, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Every point of the grid at one batch; then ``again``, settings named as ``_key`` names them, in turn."""

    name: ClassVar[str] = "switches"
    needs_worker: ClassVar[bool] = True

    workload: str
    batch: int
    again: tuple[str, ...] = ()

    def expected_s(self):
        return 60.0 * GRID_MINUTES

    def limited(self):
        return True

    def plan(self, context):
        shape = Switching(workload=self.workload).shape(context)
        compared = Compared(course=Course(context, 0.0), shape=shape, batch=self.batch, compile_s=COMPILE_S)
        layouts = (False, True) if shape.subject.images else (False,)
        grid = [
            Setting(precision=precision, channels_last=last, switches=(("compile", True),) if compiled else ())
            for compiled in (False, True)
            for precision in formats_of(compared.course)
            for last in layouts
        ]
        by_name = {_key(setting): setting for setting in grid}
        try:
            for setting in [by_name[name] for name in self.again] or grid:
                yield from trial(compared, setting)
        except RunEnds:
            pass


def _key(setting):
    return words(setting.named())


def run(setup, card, spec):
    """Points and warnings of a run, and its seconds."""
    points, begun = [], time.monotonic()
    for event in setup.start(spec, (card,)):
        match event:
            case PointMeasured(point=point):
                points.append(point)
            case Warned(code=code, params=params):
                print(f"<!-- {code}: {params} -->", flush=True)
            case RunFinished(error_text=text) if text:
                print(f"<!-- ended: {text} -->", flush=True)
            case _:
                pass
    return points, time.monotonic() - begun


def row(*cells):
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def searched(setup, card, name, minutes):
    """The search's choice within the grid, its batch, and its choice of all."""
    points, seconds = run(setup, card, Switching(workload=name, minutes=minutes))
    decided = decide(points)
    if decided is None:
        print(f"\n**{name}**: the search came to no choice in {seconds:.0f} s")
        return None
    measured = by_setting(points)
    batch = int(measured[decided.base][-1].params["batch"])
    told = decided.gain
    gain = f"{told.value:+.1%} ({told.low:+.1%} … {told.high:+.1%})" if told else "none"
    print(
        f"\n**{name}** on {card.name}, batch {batch}: searched in {seconds:.0f} s, {sum(map(len, measured.values()))} "
        f"trials of {len(measured)} settings. Choice of format, layout, compiler: {_key(decided.grid)}. "
        f"Choice of all: {_key(decided.chosen)}, {gain} over {_key(decided.base)}.\n"
    )
    print("| setting | samples/s | peak GiB | trials |\n|---|---|---|---|")
    for setting, found in sorted(measured.items(), key=lambda each: -rate(each[1])):
        peak = found[-1].extra.get("allocated_peak_bytes", 0) / 2**30
        row(_key(setting), f"{rate(found):.1f}", f"{peak:.2f}", len(found))
    return decided.grid, batch


def table(setup, card, name, minutes, batch):
    """Search and grid of one model."""
    chosen = None
    if not batch:
        found = searched(setup, card, name, minutes)
        if found is None:
            return
        chosen, batch = found
    points, seconds = run(setup, card, Grid(workload=name, batch=batch))
    rates = {setting: rate(found) for setting, found in by_setting(points).items()}
    if not rates:
        print(f"\n{name}: no point of the grid ran")
        return
    best = max(rates, key=lambda setting: rates[setting])
    print(f"\nGrid of {name} at batch {batch}, {len(rates)} points in {seconds:.0f} s:\n")
    print("| setting | samples/s | of the best |\n|---|---|---|")
    for setting in sorted(rates, key=lambda each: -rates[each]):
        mark = " ← chosen" if setting == chosen else ""
        row(_key(setting) + mark, f"{rates[setting]:.1f}", f"{rates[setting] / rates[best]:.3f}")
    if chosen is None:
        return
    regret = 1.0 - rates.get(chosen, 0.0) / rates[best]
    print(f"\nRegret of {name}: {regret:.2%} in the grid", end="")
    if chosen != best:
        again = (_key(chosen), _key(best), _key(best), _key(chosen))
        points, _ = run(setup, card, Grid(workload=name, batch=batch, again=again))
        twice = {setting: rate(found) for setting, found in by_setting(points).items()}
        if {chosen, best} <= set(twice):
            print(f"; measured again in turn (C B B C) {1.0 - twice[chosen] / twice[best]:.2%}", end="")
    print(".", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default="resnet50,edsr")
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--gpu", default=None)
    parser.add_argument("--simulate", default="", metavar="CARD")
    parser.add_argument("--grid-only", type=int, default=0, metavar="BATCH")
    options = parser.parse_args()
    simulate = (options.simulate,) if options.simulate else ()
    with closing(open_setup(simulate=simulate, data_dir=Path(tempfile.mkdtemp()))) as setup:
        card = setup.select(options.gpu, for_experiment=True)[0]
        for name in options.models.split(","):
            table(setup, card, name, options.minutes, options.grid_only)


if __name__ == "__main__":
    main()
