import os
import re
import signal
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch

LONG = {"measure_s": 600.0, "budget_s": 1200.0}
SMALL = {"precision": "fp32", "n": 256}


def test_ready_says_what_is_measured_before_anything_runs(start_worker):
    worker = start_worker()
    ready = worker.receive()
    assert ready["kind"] == "ready"
    assert ready["pid"] == worker.process.pid
    assert ready["interpreter"] == sys.executable
    assert ready["device"] == "cpu"
    assert re.match(r"\d+\.\d+", ready["torch"])
    assert ready["threads"] >= 1
    assert ready["total_bytes"] >= ready["free_bytes"] > 0


def test_matmul_counts_two_n_cubed_and_is_checked(worker):
    result = worker.trial("matmul", SMALL)
    assert result["kind"] == "result"
    assert result["work"] == {"flop": 2 * 256**3}
    assert 0 < result["relative_error"] < 3e-5
    assert len(result["iteration_s"]) >= 3
    assert result["too_slow"] is False


def test_windows_fill_the_measured_time(worker):
    result = worker.trial("matmul", SMALL, measure_s=0.3)
    windows_s = sum(result["iteration_s"]) * result["notes"]["iterations_per_window"]
    span_s = (result["t1_ns"] - result["t0_ns"]) / 1e9
    assert 0.3 <= windows_s <= span_s


def test_half_precision_rounds_more_than_single(worker):
    errors = [worker.trial("matmul", {"precision": p, "n": 256})["relative_error"] for p in ("fp32", "fp16", "bf16")]
    assert errors == sorted(errors)
    # rounding of the result to 8 bits of mantissa: uniform error of 2^-9 at most, relative to the value
    assert 2**-11 < errors[2] < 2**-8


def test_a_worker_serves_many_trials_in_one_process(worker):
    ids = [worker.trial("matmul", SMALL, id=str(n))["id"] for n in range(3)]
    assert ids == ["0", "1", "2"]
    assert worker.process.poll() is None


def test_what_the_device_cannot_do_is_told_apart_from_user_errors(worker):
    failed = worker.trial("matmul", {"precision": "tf32", "n": 256})
    assert (failed["kind"], failed["error"]) == ("failed", "unsupported")
    assert worker.trial("nonsense", {})["error"] == "unsupported"
    assert worker.trial("matmul", SMALL)["kind"] == "result"


def test_an_error_in_the_body_comes_back_with_its_traceback(worker):
    failed = worker.trial("matmul", {"precision": "fp32", "n": "large"})
    assert failed["error"] == "user_code"
    assert "Traceback" in failed["traceback"]
    assert "TypeError" in failed["traceback"]
    assert worker.trial("matmul", SMALL)["kind"] == "result"


LEAVING = """
import sys

def make():
    sys.exit({code})
"""


@pytest.mark.parametrize(("code", "told"), [("3", "3"), ("0", "0"), ("", ""), ("'no data'", "'no data'")])
def test_a_recipe_that_leaves_has_failed_and_the_worker_stays(worker, tmp_path, code, told):
    (tmp_path / "leaving.py").write_text(LEAVING.format(code=code))
    params = {"recipe": "leaving.py:make", "folder": str(tmp_path), "batch": 2, "precision": "fp32"}
    failed = worker.trial("recipe", params)
    assert (failed["kind"], failed["error"]) == ("failed", "user_code")
    assert failed["message"] == f"sys.exit({told}) ended the program"
    assert 'leaving.py", line 5, in make' in failed["traceback"]
    assert worker.trial("matmul", SMALL)["kind"] == "result"


def test_stop_ends_a_trial_early_and_keeps_what_was_measured(worker):
    worker.ask("matmul", SMALL, **LONG)
    while worker.until("progress")["phase"] != "measure":
        pass
    worker.send(kind="stop", id="t")
    result = worker.until("result")
    assert result["notes"]["stopped"] is True
    assert result["iteration_s"]
    assert (result["t1_ns"] - result["t0_ns"]) / 1e9 < 600


def test_stop_before_anything_was_measured_gives_no_figure(worker):
    worker.ask("matmul", SMALL, id="held", barrier=True)
    assert worker.until("armed")["id"] == "held"
    worker.send(kind="stop", id="held")
    failed = worker.until("result", "failed")
    assert (failed["kind"], failed["error"]) == ("failed", "stopped")


def test_barrier_holds_until_go(worker):
    worker.ask("matmul", SMALL, id="b", barrier=True)
    worker.until("armed")
    worker.send(kind="go", id="someone else")
    worker.send(kind="go", id="b")
    assert worker.until("result", "failed")["id"] == "b"


def test_a_first_iteration_over_budget_is_told_as_too_slow(worker):
    result = worker.trial("matmul", {"precision": "fp32", "n": 512}, budget_s=1e-6)
    assert result["too_slow"] is True
    assert result["steady"] is False
    assert len(result["iteration_s"]) == 1


def test_a_size_far_over_budget_is_judged_by_a_small_probe(worker):
    result = worker.trial("matmul", {"precision": "fp32", "n": 4096}, budget_s=0.05)
    assert result["too_slow"] is True
    assert result["work"] == {"flop": 2 * 256**3}
    assert result["notes"]["expected_iteration_s"] == pytest.approx(result["iteration_s"][0] * 16**3)


def test_end_of_stdin_ends_the_worker_in_the_middle_of_a_trial(start_worker):
    worker = start_worker()
    worker.ask("matmul", {"precision": "fp32", "n": 512}, **LONG)
    while worker.until("progress")["phase"] != "measure":
        pass
    worker.process.stdin.close()
    assert worker.wait() == 0


def test_exit_ends_the_worker(start_worker):
    worker = start_worker()
    worker.until("ready")
    worker.send(kind="exit")
    assert worker.wait() == 0


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_the_interrupt_of_the_terminal_does_not_reach_a_trial(worker):
    worker.process.send_signal(signal.SIGINT)
    assert worker.trial("matmul", SMALL)["kind"] == "result"


def test_an_interpreter_without_torch_says_so_and_exits_3(start_worker):
    worker = start_worker(options=("-S", "-E"))  # no site-packages: what a bare Python looks like
    message = worker.receive()
    assert (message["kind"], message["code"]) == ("unusable", "torch_missing")
    assert worker.wait() == 3


@pytest.mark.skipif(sys.platform != "linux", reason="address space cap")
def test_out_of_memory_under_a_cap_is_told_and_ends_the_process(start_worker):
    worker = start_worker(cap=128 << 20)
    failed = worker.trial("matmul", {"precision": "fp32", "n": 8192})
    assert (failed["kind"], failed["error"]) == ("failed", "out_of_memory")
    assert failed["needed_bytes"] > 128 << 20, "what was held and what was asked for exceed the cap"
    assert worker.wait() == 5


@pytest.mark.skipif(sys.platform != "linux", reason="address space cap")
def test_what_fits_under_the_cap_runs(start_worker):
    worker = start_worker(cap=128 << 20)
    result = worker.trial("matmul", {"precision": "fp32", "n": 2048})
    assert result["kind"] == "result"
    assert result["memory"]["capacity_bytes"] == 128 << 20
    # the three matrices, plus what the library needs for packing
    assert 3 * 4 * 2048**2 <= result["memory"]["allocated_peak_bytes"] <= 128 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="address space cap")
def test_a_worker_for_rates_is_not_capped_and_says_so(start_worker):
    worker = start_worker(cap=128 << 20, memory_probe=False)
    worker.send(kind="open")
    device = worker.until("device")
    assert device["memory_cap_enforced"] is False
    assert device["capacity_bytes"] == 128 << 20
    result = worker.trial("matmul", {"precision": "fp32", "n": 4096})
    assert result["kind"] == "result"
    assert result["memory"]["allocated_peak_bytes"] > 128 << 20, "three matrices of 64 MiB"


def test_a_trial_with_a_share_of_the_memory_takes_that_share_of_the_threads(start_worker):
    worker = start_worker(cap=1 << 30, before_start="import torch; torch.set_num_threads(8);", memory_probe=False)
    assert worker.until("ready")["threads"] == 8
    told = [
        worker.trial("matmul", SMALL, id=str(jobs), memory_cap_bytes=(1 << 30) // jobs)["notes"]["threads"]
        for jobs in (1, 2, 3, 16, 1)
    ]
    assert told == [8, 4, 2, 1, 8]


NOISY = """
import os
from gputuner.workloads.bodies import shelf
from gputuner.workloads.bodies.matmul import Matmul
class Noisy(Matmul):
    def iterate(self):
        print('{"kind": "result"}')
        os.write(1, b'{"kind": "armed"}\\n')
        os.system("echo noise of a child")
        assert sys.stdin.read() == ""
        super().iterate()
def wanting(device, *, seed):
    import no_such_package
shelf.BODIES.update(noisy=Noisy, wanting=wanting)
"""


def test_chatter_of_bodies_and_their_children_does_not_reach_the_engine(start_worker):
    worker = start_worker(before_start=NOISY)
    worker.ask("noisy", SMALL, measure_s=0.01)
    kinds = []
    while "result" not in kinds:
        kinds.append(worker.receive()["kind"])
    assert set(kinds) <= {"ready", "device", "progress", "result"}
    assert worker.trial("matmul", SMALL)["kind"] == "result"


def test_a_body_that_lacks_its_package_is_named(start_worker):
    failed = start_worker(before_start=NOISY).trial("wanting", {})
    assert (failed["error"], failed["message"]) == ("extra_missing", "No module named 'no_such_package'")


def test_without_a_card_cuda_is_told_to_be_unavailable(start_worker):
    worker = start_worker(device="cuda")  # the environment hides every card
    message = worker.receive()
    assert (message["kind"], message["code"]) == ("unusable", "cuda_unavailable")
    assert message["params"]["reason"] in ("build_without_cuda", "no_driver", "no_card")
    assert worker.wait() == 3


def test_an_interpreter_too_old_says_so_and_exits_3(start_worker):
    # an old interpreter may not even parse the worker, so the start itself looks
    worker = start_worker(before_boot="import sys; sys.version_info = (3, 9)\n")
    message = worker.receive()
    assert (message["kind"], message["code"]) == ("unusable", "python_too_old")
    assert message["params"] == {"python": "3.9", "least": "3.10"}
    assert worker.wait() == 3


def test_copy_counts_bytes_read_and_written(worker):
    result = worker.trial("copy", {"bytes": 1 << 24}, measure_s=0.05)
    assert result["work"] == {"bytes": 2 << 24}
    assert result["relative_error"] == 0
    assert result["notes"]["kernel"] in ("copy", "elementwise")


def test_the_worker_does_not_depend_on_the_current_folder(tmp_path: Path, start_worker, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    assert start_worker().receive()["kind"] == "ready"
