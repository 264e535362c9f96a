"""One run of the numerical check as it came back from the worker."""

from dataclasses import dataclass, field
from math import nan
from statistics import median

from gputuner.analysis.trajectory_range import Peak
from gputuner.analysis.trajectory_scaler import ScalerTrace, judge_scaler
from gputuner.model.readings import Scalar
from gputuner.model.steps import Part, Trial, UserCodeFailed
from gputuner.workloads.specs import Precision

Notes = dict[str, Scalar]
NO_REFERENCE = {"half_weights": "half", "half_norm": "half", "own_autocast": "autocast"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Losses by step (NaN: no number), and what was seen beside them."""

    precision: Precision
    batch: int
    draw: int
    losses: tuple[float, ...]
    steps: tuple[Notes, ...]
    """What each step told: ``loss``, ``grad_norm``, ``scale``, ``skipped`` as far as they are there."""
    notes: Notes
    step_s: float | None = None
    """Median seconds per step; of all but the first, which loads kernels, where there are more."""
    operations: tuple[tuple[Notes, Notes], ...] = ()
    """(params, notes) of operations that stay in FP32 under autocast."""
    traps: tuple[tuple[Notes, Notes], ...] = ()
    peaks: tuple[Peak, ...] = field(default=())
    """Places in the order of the forward pass."""

    @property
    def skipped(self) -> tuple[bool, ...]:
        """Whether the gradient scaler skipped each step."""
        return tuple(step.get("skipped") is True for step in self.steps)

    @property
    def ended(self) -> str:
        """Why it made fewer steps than asked for: ``time``, ``failed``, ``not_finite``; empty: it made them all."""
        return str(self.notes.get("ended", ""))

    @property
    def no_reference(self) -> str:
        """Why an FP32 run is none: weights in half precision (``half``), or ``autocast`` of its own; empty: it is."""
        found = (NO_REFERENCE.get(str(params.get("trap"))) for params, _ in self.traps)
        return next((why for why in found if why), "")

    def failure(self) -> UserCodeFailed:
        """The training's own error in a step."""
        message, traceback = (str(self.notes.get(name, "")) for name in ("failed", "traceback"))
        return UserCodeFailed(message=message, traceback=traceback)

    def scaler(self) -> ScalerTrace | None:
        """The judged trace of the gradient scaler, where there was one."""
        scales = [_number(step.get("scale")) for step in self.steps]
        if not scales or any(scale is None for scale in scales):
            return None
        known = [scale for scale in scales if scale is not None]
        return judge_scaler(known, self.skipped, self.losses)


def run_of(trial: Trial, precision: Precision, batch: int, draw: int) -> Run:
    """The run in a trial's parts."""
    steps = [part for part in trial.parts if "step" in part.params]
    losses = tuple(_number(part.notes.get("loss"), nan) for part in steps)
    seconds = [seconds for part in steps for seconds in part.iteration_s]
    seconds = seconds[1:] or seconds
    return Run(
        precision=precision,
        batch=batch,
        draw=draw,
        losses=tuple(nan if loss is None else loss for loss in losses),
        steps=tuple(dict(part.notes) for part in steps),
        notes=dict(trial.notes),
        step_s=median(seconds) if seconds else None,
        operations=_told(trial.parts, "operation"),
        traps=_told(trial.parts, "trap"),
        peaks=_peaks(trial.parts),
    )


def _told(parts: tuple[Part, ...], kind: str) -> tuple[tuple[Notes, Notes], ...]:
    return tuple((dict(part.params), dict(part.notes)) for part in parts if kind in part.params)


def _peaks(parts: tuple[Part, ...]) -> tuple[Peak, ...]:
    told = [part for part in parts if "activation" in part.params]
    told.sort(key=lambda part: _number(part.notes.get("order"), 0.0) or 0.0)
    return tuple(
        Peak(
            place=str(part.params["activation"]),
            value=_number(part.notes.get("largest"), 0.0) or 0.0,
            finite=part.notes.get("finite") is not False,
            half=part.notes.get("half") is True,
        )
        for part in told
    )


def _number(value: Scalar | None, missing: float | None = None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else missing
