"""What probes said of a card's jobs, and how well pairs were predicted, read back from figures of stored sessions."""

from collections.abc import Iterable

from gputuner.analysis.contention_figures import newest
from gputuner.analysis.contention_held_out import Errors, HeldOut, errors
from gputuner.analysis.contention_pressure import Pressures, ProbeSetting
from gputuner.model.points import Point

SENSITIVITY, EXERTED, CALIBRATION = "pressure_sensitivity", "pressure_exerted", "pressure_calibration"
PREDICTED, CAUSE, ACTIVITY = "co_run_predicted", "co_run_cause", "co_run_activity"
USUAL_BURST_MS = 2.0
MS = 1e3


def pressures_of(points: Iterable[Point], card: str, mode: str) -> Pressures:
    """What jobs and probes did beside each other, from the figures that tell it (oldest first)."""
    probes: dict[tuple[ProbeSetting, ProbeSetting], float] = {}
    sensitivity: dict[tuple[str, ProbeSetting], float] = {}
    exerted: dict[tuple[str, ProbeSetting], float] = {}
    for point in newest(p for p in points if p.metric in (SENSITIVITY, EXERTED, CALIBRATION) and p.card == card):
        if point.params.get("mode") != mode:
            continue
        setting = setting_of(point)
        if point.metric == CALIBRATION:
            probes[setting_of(point, "other_"), setting] = point.value
        elif point.metric == SENSITIVITY:
            sensitivity[str(point.params["job_label"]), setting] = point.value
        else:
            exerted[str(point.params["job_label"]), setting] = point.value
    settings = tuple(dict.fromkeys(setting for _, setting in probes))
    return Pressures(mode=mode, settings=settings, probes=probes, sensitivity=sensitivity, exerted=exerted)


def setting_of(point: Point, prefix: str = "") -> ProbeSetting:
    """The probe setting of a figure of pressure."""
    params = point.params
    return ProbeSetting(
        probe=str(params[f"{prefix}probe"]),
        dial=float(params[f"{prefix}dial"]),
        burst_s=float(params.get(f"{prefix}burst_ms", USUAL_BURST_MS)) / MS,
    )


def predicted_errors(points: Iterable[Point], card: str, mode: str) -> dict[str, Errors]:
    """How far the predictions of each model lie from measurement, by model; only of pairs that ran."""
    told: dict[str, list[HeldOut]] = {}
    for point in newest(p for p in points if p.metric == PREDICTED and p.card == card):
        if point.params.get("mode") != mode or "measured" not in point.extra:
            continue
        told.setdefault(str(point.params["model"]), []).append(
            HeldOut(
                job=str(point.params["job_label"]),
                partner="",
                held_out=str(point.extra.get("held_out", "")),
                measured=float(point.extra["measured"]),
                predicted=point.value,
            )
        )
    return {model: errors(each) for model, each in told.items()}
