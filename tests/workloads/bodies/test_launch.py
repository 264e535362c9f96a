import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import WrongResultError  # noqa: E402
from gputuner.workloads.bodies.launch import DISPATCHES, Counter, Launch, host_timed  # noqa: E402

pytestmark = pytest.mark.torch


def test_a_processor_tells_how_fast_it_dispatches(pace):
    (part,) = Launch(CpuDevice(None), seed=0).parts(pace(0.1))
    assert part.params == {"mode": "dispatch"}
    assert part.work == {"calls": DISPATCHES}
    assert len(part.iteration_s) >= 3
    # an addition through Python and torch's dispatcher takes more than 10 ns and less than 1 ms, on any machine
    assert all(1e-8 < seconds / DISPATCHES < 1e-3 for seconds in part.iteration_s)


def test_the_sum_tells_how_many_ran():
    counter = Counter("cpu")
    counter.add(7)
    counter.check()
    counter.replayed(3)
    with pytest.raises(WrongResultError, match="10 kernels were launched, 7 ran"):
        counter.check()


def test_what_is_left_running_is_not_timed(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr("time.monotonic_ns", lambda: int(now[0] * 1e9))

    def last(seconds):
        now[0] += seconds

    done, span = host_timed(lambda: last(2.0), lambda: last(10.0), 30.0)
    assert done == [2.0, 2.0, 2.0]
    assert span == (12_000_000_000, 48_000_000_000)


def test_a_window_holds_many_short_runs_and_tells_their_median(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr("time.monotonic_ns", lambda: int(now[0] * 1e9))
    runs = []

    def run():
        runs.append(1)
        now[0] += 5e-3 if len(runs) % 10 == 0 else 1e-4  # the host does something else now and then

    done, _ = host_timed(run, lambda: None, 0.5)
    assert done == pytest.approx([1e-4] * len(done))
    assert 20 <= len(done) <= 26


def test_a_short_time_still_gives_three_windows():
    assert len(host_timed(lambda: None, lambda: None, 0.0)[0]) == 3
