"""The thermal test where the process of its load is lost before anything was measured."""

import pytest

from gputuner.experiments.cooling import Cooling
from gputuner.model.errors import DeviceError, ExitCode, GputunerError, UserCodeError
from gputuner.model.steps import Lost


@pytest.mark.parametrize(
    ("load", "killed", "kind", "code"),
    [
        ("matmul", False, DeviceError, ExitCode.DEVICE),
        ("matmul", True, DeviceError, ExitCode.DEVICE),  # tried again until nothing more is tried
        ("resnet50:batch=8", False, DeviceError, ExitCode.DEVICE),
        ("mine.py:make", False, UserCodeError, ExitCode.USER_CODE),
    ],
)
def test_a_process_that_is_lost_at_once_ends_the_test_with_its_exit_code(
    lab, load: str, killed: bool, kind: type[GputunerError], code: ExitCode
):
    """Exit code 7: the card or driver failed; 6: the user's own code did (design of the command line)."""
    lost = lab.Performer(lab.h200(), script=lambda work: Lost(message="ended by signal 9", killed=killed))
    with pytest.raises(kind) as ended:
        lost.perform(Cooling(load=load, minutes=4.0).plan(lab.context_of(lab.h200(), minutes=4.0)))
    assert ended.value.exit_code is code
    assert ended.value.code == "cooling_lost"
    assert ended.value.params["reason"] == "ended by signal 9"
