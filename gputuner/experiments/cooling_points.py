"""The figures of a thermal test."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputuner.analysis.cooling import LEAST_RISE_S, MISFIT_TOLD, Look, told_rise
from gputuner.analysis.cooling import Cooling as Found
from gputuner.analysis.limits import limit_flags
from gputuner.analysis.thermal_forecast import LONGEST_S, Band
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Trial, told_job

if TYPE_CHECKING:
    from gputuner.experiments.cooling import Cooling

PREDICTED = (
    "steady_temperature",
    "cooler_good_for",
    "room_at_limit",
    "minutes_to_limit",
    "full_fan_gain",
)
"""Figures of a state that the card was not in: calculated from the load that was tried."""
LOOK = "look"
"""Phase of the forecasts during a test; ``verdict``: at its end."""


def load_name(spec: "Cooling") -> str:
    """The load as figures name it, without the folders of a recipe."""
    return told_job(spec.load, spec.folder)


def look_point(course: Course, spec: "Cooling", found: Look) -> Point:
    """The steady temperature as it is foreseen after some minutes of load, °C."""
    params: dict[str, Scalar] = {"phase": LOOK, "load_min": round(found.load_min, 1)}
    steady = found.forecast.steady_c
    extra = {**_limits(steady), "now_c": round(found.around.temperature_c, 1)}
    return course.make.figure(
        "steady_temperature",
        load_name(spec),
        steady.median,
        "degC",
        params,
        flags=(Flag.EXTRAPOLATED,),
        extra=extra,
    )


def cooling_points(course: Course, spec: "Cooling", found: Found, conditions: Conditions | None) -> tuple[Point, ...]:
    """What was found; each value is the median of its 90 % band (extra ``low90``, ``high90``).

    ``thermal_resistance`` K/W at the fan's steady speed; ``steady_temperature``, ``surroundings_temperature``,
    ``room_at_limit`` °C; ``rise_time`` s (param ``share``); ``leakage`` W/K of a load that nothing held back;
    ``cooler_good_for`` W and ``minutes_to_limit`` min where the card tells a limit; ``full_fan_gain`` K where the fan
    has room. A time beyond what was looked at is a least (extra ``at_least``, of the band's end ``high_at_least``), one
    below the fit's steps at most these (``at_most``, ``high_at_most``); one that is not known to a factor of ten is
    left out. Extra ``most_w`` of the watts is the highest limit that the card can be set to; ``closed`` of the
    resistance is its own.
    """
    params: dict[str, Scalar] = {"phase": "verdict", "load_min": round(found.load_min, 1)}
    if spec.cooler:
        params["cooler"] = spec.cooler
    common: dict[str, Scalar] = {"power_w": found.power_w, "misfit": round(found.misfit, 2), "closed": found.closed}
    if found.misfit >= MISFIT_TOLD:
        common["misfits"] = True
    if found.fan is not None:
        common["fan_fraction"] = found.fan
    if found.missing_min is not None:
        common["missing_min"] = found.missing_min
    if spec.room_c is not None:
        common["room_c"] = spec.room_c
    if found.limit_c is not None:
        common["limit_c"] = found.limit_c
    flags = limit_flags(conditions)
    told: list[tuple[str, Band | None, str, dict[str, Scalar]]] = [
        ("thermal_resistance", found.resistance_k_per_w, "K/W", {}),
        ("steady_temperature", found.steady_c, "degC", {}),
        ("surroundings_temperature", found.environment_c, "degC", {}),
        ("rise_time", _rise(found, "rise_63_s"), "s", {"share": 0.63}),
        ("rise_time", _rise(found, "rise_90_s"), "s", {"share": 0.9}),
        ("leakage", None if flags else found.leakage_w_per_c, "W/K", {}),
        ("cooler_good_for", found.good_for_w, "W", {}),
        ("room_at_limit", found.room_c_at_limit, "degC", {}),
        ("minutes_to_limit", found.minutes_to_limit, "min", {}),
        ("full_fan_gain", found.full_fan_k, "K", {}),
    ]
    return tuple(
        course.make.figure(
            metric,
            load_name(spec),
            value.median,
            unit,
            {**params, **own},
            conditions=conditions,
            flags=_marks(found, metric, flags),
            extra={**common, **_limits(value), **_bounds(course, metric, value), **_own(found, metric)},
        )
        for metric, value, unit, own in told
        if value is not None
    )


def _rise(found: Found, name: str) -> Band | None:
    rise_s = found.rise_s[name]
    return rise_s if told_rise(rise_s) else None


def _own(found: Found, metric: str) -> dict[str, Scalar]:
    """What is said of the resistance otherwise than of the temperature: whether it is known, and when it will be."""
    if metric != "thermal_resistance":
        return {}
    missing: dict[str, Scalar] = (
        {} if found.resistance_missing_min is None else {"missing_min": found.resistance_missing_min}
    )
    return {"closed": found.resistance_closed, **missing}


def _marks(found: Found, metric: str, flags: Sequence[Flag]) -> list[Flag]:
    not_steady = [] if found.closed else [Flag.NOT_STEADY]
    return [*flags, *not_steady, *([Flag.EXTRAPOLATED] if metric in PREDICTED else [])]


def load_point(course: Course, spec: "Cooling", trial: Trial, conditions: Conditions | None) -> tuple[Point, ...]:
    """The load's rate at the end of the test: what the heat left of it."""
    params: dict[str, Scalar] = {"phase": "sustained"}
    if "samples" in trial.work:
        named = (load_name(spec), "train_throughput", "samples/s", trial.work["samples"])
    elif "flop" in trial.work:
        named = ("matmul", "matmul_rate", "FLOP/s", trial.work["flop"])
    else:
        return ()
    workload, metric, unit, work = named
    return (course.make.rate(metric, workload, unit, work, trial, conditions, params),)


def _bounds(course: Course, metric: str, value: Band) -> dict[str, Scalar]:
    """What a figure may not be read beyond."""
    most_w = course.context.card.number("power_limit_max_w")
    if metric == "cooler_good_for" and most_w is not None:
        return {"most_w": most_w}
    if metric == "rise_time":
        least = (("at_most", value.median), ("high_at_most", value.high))
        return {name: True for name, seconds in least if seconds <= LEAST_RISE_S}
    if metric != "minutes_to_limit":
        return {}
    ends: tuple[tuple[str, float], ...] = (("at_least", value.median), ("high_at_least", value.high))
    return {name: True for name, minutes in ends if minutes >= LONGEST_S / 60.0}


def _limits(value: Band) -> dict[str, Scalar]:
    return {"low90": value.low, "high90": value.high}
