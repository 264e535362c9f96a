"""The power sweep where the process of its load is lost before anything was measured."""

import pytest

from gputuner.experiments.power import Power
from gputuner.model.errors import DeviceError, ExitCode, GputunerError, UserCodeError
from gputuner.model.steps import Lost


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(
    ("load", "kind", "code"),
    [("resnet50:batch=8", DeviceError, ExitCode.DEVICE), ("mine.py:make", UserCodeError, ExitCode.USER_CODE)],
)
def test_a_process_that_is_lost_at_once_ends_the_sweep_with_its_exit_code(
    lab, load: str, killed: bool, kind: type[GputunerError], code: ExitCode
):
    lost = lab.Performer(lab.h200(), script=lambda work: Lost(message="ended by signal 9", killed=killed))
    with pytest.raises(kind) as ended:
        lost.perform(Power(load=load, minutes=4.0).plan(lab.context_of(lab.h200(), minutes=4.0)))
    assert ended.value.exit_code is code
    assert ended.value.code == "training_lost"
