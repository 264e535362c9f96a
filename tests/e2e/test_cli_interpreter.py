"""A user who may not run the Python that gputuner runs with; telemetry that cannot start for another reason."""

import pytest

from gputuner.assembly.feeds import interpreter_forbidden
from gputuner.assembly.setup import open_setup
from gputuner.language import sentences
from gputuner.model.errors import DeviceError, ExitCode, NoPermission
from gputuner.telemetry.feed import FeedState, FeedStatus

NOT_STARTED = FeedStatus(
    state=FeedState.RESTARTING, code="telemetry_collector_not_started", params={"error": "Permission denied"}
)


@pytest.fixture
def refusal(monkeypatch, tmp_path):
    """What ``select`` raises where the feed cannot start ``command``."""

    def found(command):
        monkeypatch.setattr("gputuner.assembly.feeds.collector_command", lambda: [str(command)])
        setup = open_setup(data_dir=tmp_path / "data")
        try:
            with pytest.raises(DeviceError) as caught:
                setup.select(None, for_experiment=False)
        finally:
            setup.close()
        return caught.value

    return found


def test_an_interpreter_that_may_not_be_run_is_named(monkeypatch, tmp_path, refusal):
    (tmp_path / "python").write_text("")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert interpreter_forbidden(NOT_STARTED)
    error = refusal(tmp_path / "python")
    assert isinstance(error, NoPermission)
    assert error.exit_code is ExitCode.NO_PERMISSION
    assert str(tmp_path / "python") in sentences.error(error)


def test_any_other_cause_is_told_as_the_system_tells_it(tmp_path, refusal):
    assert not interpreter_forbidden(NOT_STARTED)
    said = sentences.error(refusal(tmp_path / "none"))
    assert said.startswith("The telemetry process could not be started: ")
    assert "No such file" in said


def test_every_state_of_a_feed_has_a_sentence_as_an_error():
    for code in ("crashed", "hung", "not_started", "stuck_in_driver"):
        assert " " in sentences.error(f"telemetry_collector_{code}", {"exit_code": -9, "error": "x"})
