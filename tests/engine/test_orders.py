"""What jobs of a step are told of each other."""

import pytest

from gputuner.engine.orders import of_streams, shared
from gputuner.model.steps import Together, Work

WORK = Work(label="train", workload="matmul", params={}, measure_s=1.0, budget_s=9.0)


@pytest.mark.parametrize("mode", ["processes", "mps"])
def test_jobs_beside_others_run_untimed_after_the_barrier(mode):
    both = Together(label="two", works=(WORK, WORK), mode=mode)
    assert shared(both, mode, ["a", "b"])["rewarm_s"] >= 0.5
    assert "rewarm_s" not in shared(Together(label="one", works=(WORK,), mode=mode), mode, ["a"])


def test_so_do_those_of_one_process():
    both = of_streams(Together(label="two", works=(WORK, WORK), mode="streams"), "t1", 0, None)
    assert [job["rewarm_s"] for job in both["jobs"]] == [0.5, 0.5]
    alone = of_streams(Together(label="one", works=(WORK,), mode="streams"), "t1", 0, None)
    assert "rewarm_s" not in alone["jobs"][0]
