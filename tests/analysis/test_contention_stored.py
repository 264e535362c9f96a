from gputuner.analysis.contention_stored import pair_slowdowns, pairs_seen, pressures_of, setting_of
from gputuner.model.points import Flag, Point, Spread

A, B = "edsr:batch=16", "bert:batch=8"


def slowdown(mix, job, value, *, mode="processes", flags=(), **params):
    return Point(
        id=f"{mix}{job}{value}{mode}",
        card="GPU-1",
        metric="co_run_slowdown",
        workload="w",
        params={"mix": mix, "mode": mode, "jobs": mix.count("+") + 1, "job": job, **params},
        value=value,
        unit="",
        spread=Spread(n=30, median=value, iqr=0.01, ci95_low=0.99 * value, ci95_high=1.01 * value),
        flags=flags,
    )


def gain(mix, *, mode="processes", flags=(), **params):
    return Point(
        id=f"gain {mix} {mode}", card="GPU-1", metric="co_run_gain", workload=mix,
        params={"mix": mix, "mode": mode, "jobs": mix.count("+") + 1, **params}, value=1.3, unit="", flags=flags,
    )  # fmt: skip


def mix(label, *values, **more):
    return [*(slowdown(label, job, value, **more) for job, value in enumerate(values, 1)), gain(label, **more)]


def test_the_matrix_of_a_card_is_read_back_from_its_figures():
    points = [*mix(f"{A}+{B}", 1.2, 1.5), *mix(f"{A}+{A}", 1.1, 1.3)]
    assert pair_slowdowns(points, "GPU-1") == {(A, B): 1.2, (B, A): 1.5, (A, A): 1.3}
    first = pairs_seen(points)[0]
    assert (first.job, first.partner, first.low, first.high) == (A, B, 0.99 * 1.2, 1.01 * 1.2)


def test_what_was_measured_later_counts_and_what_does_not_hold_does_not():
    again = [*mix(f"{A}+{B}", 1.2, 1.5), *mix(f"{A}+{B}", 1.25, 1.45)]
    assert pair_slowdowns(again, "GPU-1")[A, B] == 1.25
    bad = [*mix(f"{A}+{B}", 0.9, 1.5, flags=(Flag.IMPLAUSIBLE,))]
    assert pair_slowdowns(bad, "GPU-1") == {}


def test_other_cards_modes_shares_and_larger_mixes_are_no_pairs_of_it():
    points = [
        *mix(f"{A}+{B}", 1.2, 1.5, mode="mps"),
        *mix(f"{A}+{B}+{B}", 2.2, 2.5, 2.5),
        *mix(f"{B}+{B}", 1.9, 1.9, shares="60,40"),
    ]
    assert pair_slowdowns(points, "GPU-1") == {}
    assert pair_slowdowns(points, "GPU-2", "mps") == {}
    assert pair_slowdowns(points, "GPU-1", "mps") == {(A, B): 1.2, (B, A): 1.5}


def test_settings_of_probes_are_read_back():
    params = {"probe": "slices", "dial": 0.5, "burst_ms": 5.0, "mode": "processes", "job_label": A}
    told = Point(
        id="1", card="GPU-1", metric="pressure_sensitivity", workload="edsr", params=params, value=1.4, unit=""
    )
    setting = setting_of(told)
    assert (setting.probe, setting.dial, setting.burst_s) == ("slices", 0.5, 0.005)
    assert pressures_of([told], "GPU-1", "processes").sensitivity == {(A, setting): 1.4}
    assert pressures_of([told], "GPU-1", "mps").sensitivity == {}
