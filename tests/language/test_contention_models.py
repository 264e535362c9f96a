from dataclasses import replace

from gputuner.language.contention_models import model_lines
from gputuner.model.cards import Origin
from gputuner.model.points import Point


def point(metric, value, **params):
    extra = params.pop("extra", {})
    return Point(
        id=f"{metric}-{sorted(params.items())}",
        card="GPU-1",
        metric=metric,
        workload="edsr",
        params={"mode": "processes", "mix": "edsr:batch=16+bert:batch=8", **params},
        value=value,
        unit="",
        extra=extra,
    )


def predicted(model, *pairs):
    return [
        point(
            "co_run_predicted",
            told,
            model=model,
            job=number % 2 + 1,
            job_label=str(number),
            extra={"measured": measured, "relative_error": told / measured - 1.0, "held_out": "edsr"},
        )
        for number, (told, measured) in enumerate(pairs)
    ]


def test_errors_are_told_beside_those_of_simple_models():
    points = [
        *predicted("pressure", (1.1, 1.0), (2.0, 2.0), (1.9, 2.0)),
        *predicted("probes_alone", (1.2, 1.0), (2.0, 2.0), (1.6, 2.0)),
        *predicted("constant", (1.5, 1.0), (1.5, 2.0), (1.5, 2.0)),
        point("co_run_predicted", 1.7, model="pressure", job=1, job_label="never run"),
    ]
    ours, unscaled, simple = model_lines(points)
    assert "scaled by the measured pairs" in ours, "what pairs have scaled is not told from probes alone"
    assert "no pair measured: median error 20 %" in unscaled
    assert "3 slowdowns" in ours
    assert "median error 5 %" in ours
    assert "worst 10 %" in ours
    assert "one slowdown for all pairs: median error 25 %" in simple


def test_time_slices_say_that_they_know_nothing_of_caches():
    told = point("co_run_cause", 0.9, cause="time_slicing", job=1, extra={"alternating": True})
    (line,) = model_lines([told])
    assert "caches" in line
    side_by_side = point("co_run_cause", 0.9, cause="dram", job=1, extra={"alternating": False})
    assert model_lines([side_by_side]) == []


def test_counters_are_held_against_what_follows_from_each_alone():
    (line,) = model_lines([point("co_run_activity", 0.62, counter="dram", extra={"expected": 0.58})])
    assert "62 %" in line
    assert "58 %" in line
    assert "EDSR" in line


def test_a_simulated_card_agrees_with_itself_and_that_is_not_told():
    counted = point("co_run_activity", 0.62, counter="dram", extra={"expected": 0.58})
    assert model_lines([replace(counted, origin=Origin.SIMULATED)]) == []


def test_nothing_measured_nothing_told():
    assert model_lines([]) == []
