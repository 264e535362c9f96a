"""Every outcome without a figure has one reason, and every reason has words."""

import pytest

from gputuner.experiments.benchmarks.failed import reason_of
from gputuner.language.benchmarks import unavailable
from gputuner.model.steps import Done, Lost, OutOfMemory, UserCodeFailed

OUTCOMES = [
    (Done(), "nothing_measured"),
    (OutOfMemory(message="CUDA out of memory"), "out_of_memory"),
    (Lost(message="exit code 1"), "lost"),
    (Lost(message="no answer", hung=True), "p2p_hangs"),
    (UserCodeFailed(message="differs", traceback="", reason="wrong_result"), "wrong_result"),
]


@pytest.mark.parametrize(("outcome", "reason"), OUTCOMES, ids=lambda x: x if isinstance(x, str) else "")
def test_each_outcome_has_its_reason_in_words(outcome, reason):
    assert reason_of(outcome, hung="p2p_hangs") == reason
    assert unavailable(reason, {"message": "because"}) not in ("", reason)
