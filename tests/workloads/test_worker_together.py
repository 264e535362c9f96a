"""Several jobs in one process: one barrier, a trial for each, one failure ends all."""

import time
from collections.abc import Iterator

import pytest

from tests.workloads.conftest import WorkerProcess

pytestmark = pytest.mark.torch

SMALL = {"precision": "fp32", "n": 128}
BODIES = """
import threading
import time
from gputuner.workloads.bodies import shelf

class Plain:
    def __init__(self, device, seed, **params):
        self.work, self.params, self.device = {"samples": 1.0}, params, device
        self.count = 0
    def probe(self, left_s): return None
    def iterate(self):
        self.count += 1
        if self.params.get("fails_at") == self.count: raise ValueError("in the middle")
    def mark(self): pass
    def relative_error(self): return None
    def notes(self):
        return {"thread": threading.current_thread().name, "seen": self.device.name}

def deterministic(device, seed, **params):
    import torch
    torch.backends.cudnn.deterministic = bool(params["on"])
    return Plain(device, seed)

class Paused(Plain):
    def iterate(self):
        threading.Event().wait(0.02)

class Busy(Plain):
    def iterate(self):
        begun = time.thread_time()
        while time.thread_time() < begun + 0.02: pass

def too_much(device, seed, **params):
    raise MemoryError("no more")

shelf.BODIES.update(paused=Paused, busy=Busy, plain=Plain, deterministic=deterministic, too_much=too_much)
"""


def job(workload, params=None, **more):
    return {
        "id": "j", "workload": workload, "params": params or {}, "measure_s": 0.05, "budget_s": 300.0, "warmup_s": 0.0,
        "barrier": True, **more,
    }  # fmt: skip


def started() -> WorkerProcess:
    worker = WorkerProcess(before_start=f"exec({BODIES!r}); ", memory_probe=False)
    worker.until("ready")
    return worker


@pytest.fixture(scope="module")
def worker() -> Iterator[WorkerProcess]:
    """One for all tests but the one that it does not survive."""
    worker = started()
    yield worker
    worker.close()


def ask(worker, *jobs, **more):
    worker.send(kind="trial", **{**job("together", id="t"), "jobs": list(jobs), **more})


def together(worker, *jobs, **more):
    ask(worker, *jobs, **more)
    message = worker.until("armed", "failed")
    if message["kind"] == "armed":
        worker.send(kind="go", id="t")
        message = worker.until("result", "failed")
    return message


def test_each_job_is_timed_at_once_with_the_others(worker):
    result = together(worker, job("matmul", SMALL), job("matmul", {**SMALL, "n": 96}, priority=-1))
    assert result["id"] == "t"
    first, second = result["trials"]
    assert (first["work"], second["work"]) == ({"flop": 2 * 128**3}, {"flop": 2 * 96**3})
    for trial in (first, second):
        assert len(trial["iteration_s"]) >= 3
        assert trial["notes"]["mode"] == "streams"
        assert trial["notes"]["host_serialised"] is True  # threads of one processor
        assert trial["notes"]["host_share"] > 0
        assert trial["memory"] == {}
        assert trial["relative_error"] < 3e-5
    assert (first["notes"]["priority"], second["notes"]["priority"]) == (0, -1)


def test_pauses_and_waits_are_no_work_of_the_host(worker):
    paused, busy = together(worker, job("paused"), job("busy"))["trials"]
    assert 0.0 < paused["notes"]["host_share"] < 0.5, "a few calls in 20 ms"
    count, seconds = len(busy["iteration_s"]), sum(busy["iteration_s"])
    assert busy["notes"]["host_share"] == pytest.approx(0.02 * count / seconds, rel=0.2), "20 ms of each iteration"


def test_nothing_is_timed_before_all_are_ready_and_the_barrier_opens(worker):
    ask(worker, job("plain"), job("plain"))
    worker.until("armed")
    opened_ns = time.monotonic_ns()
    worker.send(kind="go", id="t")
    trials = worker.until("result")["trials"]
    assert all(trial["t0_ns"] >= opened_ns for trial in trials)


def test_jobs_have_threads_of_their_own_and_the_cores_in_parts(worker):
    alone = together(worker, job("plain"))["trials"]
    pair = together(worker, job("plain", id="a"), job("plain", id="b"))["trials"]
    assert [trial["notes"]["thread"] for trial in pair] == ["a", "b"]
    assert len(alone) == 1
    threads = alone[0]["notes"]["threads"]
    assert [trial["notes"]["threads"] for trial in pair] == [max(1, threads // 2)] * 2
    after = worker.trial("plain", {})
    assert after["notes"]["threads"] == threads


def test_a_failure_in_one_ends_all_and_is_told(worker):
    failed = together(worker, job("plain", measure_s=600.0, budget_s=1200.0), job("plain", {"fails_at": 40}))
    assert (failed["error"], failed["message"]) == ("user_code", "in the middle")
    assert worker.trial("plain", {})["kind"] == "result"


def test_a_failure_in_set_up_ends_those_that_wait(worker):
    failed = together(worker, job("plain"), job("nonsense"), job("plain"))
    assert (failed["kind"], failed["error"]) == ("failed", "unsupported")
    assert worker.trial("plain", {})["kind"] == "result"


def test_out_of_memory_of_one_loses_the_process():
    worker = started()
    failed = together(worker, job("plain"), job("too_much"))
    assert failed["error"] == "out_of_memory"
    assert worker.wait() == 5
    worker.close()


def test_stopped_at_the_barrier_or_in_the_middle(worker):
    ask(worker, job("plain"), job("plain"))
    worker.until("armed")
    worker.send(kind="stop", id="t")
    assert worker.until("result", "failed")["error"] == "stopped"
    ask(worker, job("plain", measure_s=600.0, budget_s=1200.0), job("plain", measure_s=600.0, budget_s=1200.0))
    worker.until("armed")
    worker.send(kind="go", id="t")
    while worker.until("progress")["phase"] != "measure":
        pass
    worker.send(kind="stop", id="t")
    ended = worker.until("result", "failed")
    if ended["kind"] == "failed":  # the second had measured nothing yet
        assert ended["error"] == "stopped"
    else:
        assert all(trial["notes"]["stopped"] for trial in ended["trials"])


def test_jobs_that_need_other_settings_of_the_process_are_refused(worker):
    ask(worker, job("deterministic", {"on": False}), job("deterministic", {"on": True}))
    failed = worker.until("armed", "failed")
    assert (failed["error"], failed["message"]) == (
        "unsupported",
        "the jobs need different settings of one process: cudnn_deterministic",
    )
    same = together(worker, job("deterministic", {"on": True}), job("deterministic", {"on": True}))
    assert same["kind"] == "result"


def test_a_choice_of_attention_is_refused_beside_others(worker):
    failed = together(worker, job("plain", {"sdpa": "math"}), job("plain"))
    assert failed["error"] == "unsupported"
    assert together(worker, job("plain", {"sdpa": "math"}))["kind"] == "result"


def test_two_trainings_learn_beside_each_other(worker):
    params = {"batch": 2, "precision": "fp32", "channels_last": False, "image": 32}
    result = together(worker, job("resnet50", params, measure_s=0.01), job("resnet50", params, measure_s=0.01))
    for trial in result["trials"]:
        assert trial["work"] == {"samples": 2.0}
        assert trial["notes"]["loss_finite"] is True
