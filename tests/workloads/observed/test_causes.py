"""Four scripts, each held back by something else, under the real hooks on the processor: the right cause in each."""

from pathlib import Path

import pytest

from gputuner.analysis.watching import where_time_went
from gputuner.model.watched import TreeUse, WatchCause
from tests.workloads.observed.program import run

pytestmark = pytest.mark.torch

SCRIPTS = Path(__file__).parent / "scripts"
SECONDS = "4"
CAUSES = {
    "data_starved": WatchCause.DATA,
    "launch_bound": WatchCause.HOST_LAUNCH,
    "compute_bound": WatchCause.COMPUTE,
    "memory_heavy": WatchCause.MEMORY_BANDWIDTH,
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_right_cause_is_named(tmp_path: Path, name: str):
    told = run(SCRIPTS / f"{name}.py", tmp_path, SECONDS)
    assert (told.code, told.out, told.err) == (0, "", "")
    spent = where_time_went(told.observed, TreeUse(duration_s=float(SECONDS)))
    taken = (WatchCause.SHARED, WatchCause.IDLE)  # others may use these cores, or a quota take them away
    own = [part.cause for part in spent.parts if part.cause not in taken]
    assert own[0] is CAUSES[name], spent
