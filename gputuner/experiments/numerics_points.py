"""The figures of the numerical check: losses, the FP32 band, verdicts, and what autocast does.

Steps are told from 1 on.
"""

from collections.abc import Sequence
from math import inf, isfinite

from gputuner.analysis.trajectory import Band, Judgement, Verdict
from gputuner.analysis.trajectory_means import smoothed
from gputuner.analysis.trajectory_scaler import ScalerTrace
from gputuner.analysis.trajectory_twins import Paired
from gputuner.experiments.numerics_run import Run
from gputuner.experiments.points import PointMaker
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

TOLD_STEPS = 100
"""So many steps of a run are told at most, evenly spread: a picture needs no more."""
TOLD_OPERATIONS = 12
"""Of each kind; those with most numbers first."""


class NumericsPoints:
    """Makes the figures of one check."""

    def __init__(self, make: PointMaker, workload: str, batch: int) -> None:
        """``batch``: samples of each step."""
        self._make = make
        self._workload = workload
        self._batch = batch

    def _figure(
        self,
        metric: str,
        value: float,
        of: dict[str, Scalar],
        extra: dict[str, Scalar],
        flags: Sequence[Flag] = (),
    ) -> Point:
        params: dict[str, Scalar] = {"batch": self._batch, **of}
        return self._make.figure(metric, self._workload, value, "1", params, flags=flags, extra=extra)

    def losses(self, run: Run, flags: Sequence[Flag]) -> list[Point]:
        """``train_loss`` by step; steps whose loss is no number have none."""
        line = smoothed(run.losses)
        found: list[Point] = []
        for step in told_steps(len(run.losses)):
            if not isfinite(run.losses[step]):
                continue
            extra: dict[str, Scalar] = {"smoothed": float(line[step])}
            extra |= {k: v for k, v in run.steps[step].items() if k in ("grad_norm", "scale", "skipped")}
            of: dict[str, Scalar] = {"precision": run.precision, "draw": run.draw, "step": step + 1}
            found.append(self._figure("train_loss", run.losses[step], of, extra, flags))
        return found

    def band(self, band: Band) -> list[Point]:
        """``train_loss_band`` by step."""
        steps = [step for step in told_steps(len(band.mean)) if isfinite(float(band.mean[step]))]
        found: list[Point] = []
        for step in steps:
            sides = {"low": float(band.low[step]), "high": float(band.high[step])}
            extra: dict[str, Scalar] = {**sides, "draws": band.draws}
            found.append(self._figure("train_loss_band", float(band.mean[step]), {"step": step + 1}, extra))
        return found

    def verdict(self, run: Run, judged: Judgement, flags: Sequence[Flag], trace: ScalerTrace | None) -> Point:
        """``numerics_verdict``: the difference to FP32 at the end, and all that the verdict rests on."""
        extra: dict[str, Scalar] = {"steps": judged.steps}
        told = {
            "why": judged.why or None,
            "tolerance": judged.tolerance,
            "same_start": judged.same_start,
            "end_loss": judged.end_loss,
            "fp32_end_loss": judged.fp32_end_loss,
            "first_bad_step": _counted(judged.first_bad_step),
            "first_bad_place": run.notes.get("first_bad_place"),
            "step_s": run.step_s,
            "weights_finite": run.notes.get("weights_finite"),
            "stand_in": True if _stand_in(run) else None,
            "least": judged.least,
            "fall": judged.fall,
            "seen": judged.seen,
            "seen_share": judged.seen_share,
        }
        told |= {f"fp32_end_{place}": end for place, end in enumerate(judged.ends, 1)} | _paired(judged.twins)
        if trace is not None:
            told |= {
                "scaler": trace.state.value,
                "skipped_steps": trace.skipped,
                "skips_in_a_row": trace.skips_in_a_row,
                "halvings": trace.halvings,
                "scale_last": trace.scale_last,
                "scale_lowest": trace.scale_lowest,
                "useful_share": trace.useful_share,
            }
            told["first_bad_step"] = _counted(trace.first_bad_step)
        extra |= {name: value for name, value in told.items() if value is not None and value != inf}
        value = judged.difference if judged.difference is not None else 0.0
        of: dict[str, Scalar] = {"precision": run.precision, "verdict": judged.verdict.value}
        return self._figure("numerics_verdict", value, of, extra, flags)

    def looked_at(self, run: Run) -> list[Point]:
        """``autocast_kept``, ``numerics_trap`` and ``activation_peak`` of a run."""
        return [*self._operations(run), *self._traps(run), *self._peaks(run)]

    def _operations(self, run: Run) -> list[Point]:
        found: list[Point] = []
        for kept in ("autocast", "input"):
            rows = [(params, notes) for params, notes in run.operations if params.get("kept") == kept]
            rows.sort(key=lambda row: -float(row[1].get("elements", 0)))
            for params, notes in rows[:TOLD_OPERATIONS]:
                extra: dict[str, Scalar] = {"where": notes.get("where", ""), "elements": notes.get("elements", 0)}
                of: dict[str, Scalar] = {"precision": run.precision, "operation": params["operation"], "kept": kept}
                found.append(self._figure("autocast_kept", float(notes.get("calls", 0)), of, extra))
        return found

    def _traps(self, run: Run) -> list[Point]:
        found: list[Point] = []
        for params, notes in run.traps:
            of: dict[str, Scalar] = {"precision": run.precision, "trap": params["trap"], "name": params["name"]}
            extra: dict[str, Scalar] = {"where": notes.get("where", "")}
            found.append(self._figure("numerics_trap", float(notes.get("count", 1)), of, extra))
        return found

    def _peaks(self, run: Run) -> list[Point]:
        found: list[Point] = []
        for order, peak in enumerate(run.peaks):
            extra: dict[str, Scalar] = {"order": order, "overflow": peak.overflows, "half": peak.half}
            extra["finite"] = peak.finite
            if _stand_in(run):
                extra["stand_in"] = True
            of: dict[str, Scalar] = {"precision": run.precision, "place": peak.place}
            found.append(self._figure("activation_peak", peak.value, of, extra))
        return found


def told_steps(count: int) -> list[int]:
    """Steps that are told, the first and the last among them."""
    if count <= TOLD_STEPS:
        return list(range(count))
    return sorted({round(place * (count - 1) / (TOLD_STEPS - 1)) for place in range(TOLD_STEPS)})


def reference(run: Run, steps: int) -> Judgement:
    """FP32's own line in the table of verdicts."""
    bad = next((step for step, loss in enumerate(run.losses) if not isfinite(loss)), None)
    if run.no_reference:
        return Judgement(verdict=Verdict.UNDECIDED, why=run.no_reference, steps=steps)
    if bad is not None:
        return Judgement(verdict=Verdict.DIVERGED, why="not_finite", steps=steps, first_bad_step=bad)
    return Judgement(verdict=Verdict.REFERENCE, steps=steps)


def _paired(twins: Paired | None) -> dict[str, Scalar]:
    """The comparison with FP32 runs of the same start; their means, so that it can be made again."""
    if twins is None:
        return {}
    told: dict[str, Scalar] = {"paired_steps": twins.steps, "early_steps": twins.early_steps}
    for name, stretch in (("early", twins.early), ("end", twins.end)):
        told |= {f"paired_{name}": stretch.difference, f"paired_{name}_tolerance": stretch.tolerance}
        told[f"paired_{name}_loss"] = stretch.loss
        told |= {f"twin_{name}_{place}": mean for place, mean in enumerate(stretch.twins, 1)}
    return told


def _counted(step: int | None) -> int | None:
    return None if step is None else step + 1


def _stand_in(run: Run) -> bool:
    return any(step.get("stand_in") is True for step in run.steps)
