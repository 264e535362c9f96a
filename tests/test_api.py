"""The functions for notebooks: same engine, same answers as the command line."""

import subprocess
import sys

import pytest

import gputuner
from gputuner.api import ExperimentFailed
from gputuner.model.errors import ExitCode, UsageError

CARD = "rtx-4090-48g"


def test_limit_safe_and_fastest_of_a_simulated_card(tmp_path):
    told = []
    found = gputuner.find_batch_size("bert", simulate=CARD, data_dir=tmp_path, tell=told.append)
    assert found.simulated
    assert found.completed
    assert found.fastest.batch < found.safe.batch < found.limit.batch
    assert found.limit.tried
    assert found.safe.tried
    assert found.fastest.rate > 0
    assert found.session is not None
    assert found.session.is_file()
    assert len(told) >= 8
    lines = str(found).splitlines()
    assert "(simulated)" in lines[0]
    assert [line.split(":")[0] for line in lines[1:]] == ["limit", "safe", "fastest", "least energy"]


def test_the_limit_alone_has_no_rates(tmp_path):
    found = gputuner.find_batch_size("edsr", simulate=CARD, limit_only=True, data_dir=tmp_path, tell=lambda _: None)
    assert found.fastest is None
    assert found.limit.batch > found.safe.batch > 0


@pytest.mark.parametrize("training", ["alexnet", "mine.py:make"])
def test_what_cannot_be_started_is_refused(tmp_path, training):
    with pytest.raises(UsageError):
        gputuner.find_batch_size(training, simulate=CARD, data_dir=tmp_path)


def test_a_card_that_is_too_small_is_an_error_with_its_sentence(tmp_path):
    with pytest.raises(ExperimentFailed, match="llm") as ended:
        gputuner.find_batch_size("llm", simulate="rtx-3060-12g", data_dir=tmp_path, tell=lambda _: None)
    assert ended.value.exit_code is ExitCode.DOES_NOT_FIT


def test_an_interrupt_keeps_what_was_measured(tmp_path):
    seen = []

    def interrupt(line):
        seen.append(line)
        if len(seen) == 4:
            raise KeyboardInterrupt

    found = gputuner.find_batch_size("resnet50", simulate=CARD, data_dir=tmp_path, tell=interrupt)
    assert not found.completed
    assert 1 <= len(found.points) < 10
    assert found.limit is None


def test_importing_the_package_imports_nothing_of_it():
    code = "import sys, gputuner; print([name for name in sys.modules if name.startswith('gputuner.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError):
        _ = gputuner.nothing_of_the_kind
