import pytest

pytest.importorskip("torch")

from gputuner.workloads.bodies.cpu import CpuDevice
from gputuner.workloads.bodies.trial import Control, Request, Trial, iterations_for, settled, window_s


@pytest.mark.parametrize(("measure_s", "expected"), [(0.2, 0.01), (0.6, 0.01), (3.0, 0.05), (6.0, 0.1), (3600.0, 0.1)])
def test_windows_grow_from_bursts_to_minutes(measure_s, expected):
    assert window_s(measure_s) == pytest.approx(expected)


@pytest.mark.parametrize(("iteration_s", "expected"), [(0.0014, 7), (0.01, 1), (3.0, 1), (0.0, 100_000)])
def test_a_window_holds_whole_iterations(iteration_s, expected):
    assert iterations_for(0.01, iteration_s) == expected


def test_steady_needs_six_windows_that_agree_within_one_percent():
    assert not settled([1.0] * 5)
    assert settled([1.0] * 6)
    assert settled([2.0, 1.5, 1.005, 1.0, 1.004, 0.999, 1.0, 1.0])
    assert not settled([1.1, 1.09, 1.08, 1.07, 1.06, 1.05])
    assert settled([1.0, 1.0, 9.0, 1.0, 9.0, 1.0])  # single outliers do not count


def test_a_request_is_read_from_its_message():
    message = {"kind": "trial", "id": 7, "workload": "matmul", "measure_s": 1, "budget_s": 10}
    request = Request.from_message(message)
    assert (request.id, request.params, request.warmup_s, request.barrier, request.seed) == ("7", {}, None, False, 0)
    assert Request.from_message({**message, "warmup_s": 0}).warmup_s == 0.0


class Peaks(CpuDevice):
    """Whose allocator peaks in the first iteration, as with cuDNN's autotuner."""

    def __init__(self, first: int, later: int) -> None:
        super().__init__(None)
        self.first, self.later, self.cleared = first, later, 0

    def clear_peak(self) -> None:
        self.cleared += 1

    def memory(self):
        return {"allocated_peak_bytes": self.first if self.cleared < 2 else self.later}


class Nothing:
    """A body that does nothing."""

    def __init__(self):
        self.work = {"samples": 8.0}

    def probe(self, left_s):
        return None

    def iterate(self):
        sum(range(1000))

    def mark(self):
        pass

    def relative_error(self):
        return None

    def notes(self):
        return {}


def test_c045_the_peak_of_the_first_iteration_is_told_beside_that_of_later_ones():
    device = Peaks(9849 << 20, 5016 << 20)
    request = Request(id="t", workload="none", params={}, measure_s=0.05, budget_s=20.0, warmup_s=0.0)
    control = Control(send=lambda _: None, stopped=lambda: False, wait_for_go=lambda: True)
    result = Trial(request, device, control).perform(Nothing)
    assert result["notes"]["first_peak_bytes"] == 9849 << 20
    assert result["memory"]["allocated_peak_bytes"] == 5016 << 20


def test_the_peak_of_a_captured_step_holds_the_capture():
    """Replays allocate nothing: what the capture took counts, though the peak is counted anew after it."""

    class Captured(Nothing):
        def notes(self):
            return {"captured_peak_bytes": 6 << 30}

    request = Request(id="t", workload="none", params={}, measure_s=0.05, budget_s=20.0, warmup_s=0.0)
    control = Control(send=lambda _: None, stopped=lambda: False, wait_for_go=lambda: True)
    result = Trial(request, Peaks(7 << 30, 1 << 30), control).perform(Captured)
    assert result["memory"]["allocated_peak_bytes"] == 6 << 30
