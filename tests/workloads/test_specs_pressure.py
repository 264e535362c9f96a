import pytest

from gputuner.model.errors import UsageError
from gputuner.workloads.specs_pressure import PROBES, PressureSpec, probe_named


@pytest.mark.parametrize("probe", PROBES)
def test_every_probe_has_a_spec(probe):
    assert PressureSpec(probe=probe, dial=0.5).params() == {
        "probe": probe,
        "dial": 0.5,
        "burst_s": 0.002,
        "passes": 0,
    }
    assert probe_named(probe) == probe


@pytest.mark.parametrize("wrong", [{"dial": 0.0}, {"dial": 1.1}, {"burst_s": 0.0}, {"burst_s": 1.0}, {"passes": -1}])
def test_values_out_of_range_are_refused(wrong):
    with pytest.raises(UsageError):
        PressureSpec(probe="sm", **wrong)


def test_a_probe_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="gravity"):
        PressureSpec(probe="gravity")
