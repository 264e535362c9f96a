from gputuner.analysis.contention_stored import pressures_of, setting_of
from gputuner.model.points import Point

A = "edsr:batch=16"


def test_settings_of_probes_are_read_back():
    params = {"probe": "slices", "dial": 0.5, "burst_ms": 5.0, "mode": "processes", "job_label": A}
    told = Point(
        id="1", card="GPU-1", metric="pressure_sensitivity", workload="edsr", params=params, value=1.4, unit=""
    )
    setting = setting_of(told)
    assert (setting.probe, setting.dial, setting.burst_s) == ("slices", 0.5, 0.005)
    assert pressures_of([told], "GPU-1", "processes").sensitivity == {(A, setting): 1.4}
    assert pressures_of([told], "GPU-1", "mps").sensitivity == {}
