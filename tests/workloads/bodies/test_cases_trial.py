"""Cases of benchmarks: what is timed is the work alone, and warm when it is timed (the clock is the test's own)."""

import pytest

pytest.importorskip("torch")

from gputuner.workloads.bodies import cpu, trial
from gputuner.workloads.bodies.cpu import CpuDevice
from gputuner.workloads.bodies.trial import Control, Request, Trial


class Clock:
    """In place of the module ``time``."""

    def __init__(self):
        self.now_s = 100.0

    def monotonic(self):
        return self.now_s

    perf_counter = monotonic

    def monotonic_ns(self):
        return round(self.now_s * 1e9)


class Body:
    """Iterations of given seconds, the last one again and again; checking its result takes time too."""

    def __init__(self, clock, seconds, check_s=0.0):
        self.clock, self.seconds, self.check_s, self.work = clock, list(seconds), check_s, {"flop": 1e12}

    def probe(self, left_s):
        return None

    def iterate(self):
        self.clock.now_s += self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]

    def mark(self):
        pass

    def relative_error(self):
        self.clock.now_s += self.check_s
        return 0.0

    def notes(self):
        self.clock.now_s += self.check_s
        return {}


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    for module in (trial, cpu):
        monkeypatch.setattr(module, "time", made)
    return made


def performed(clock, body, *, measure_s, warmup_s, say_s=0.0, wait_s=0.0, **more):
    """The result; telling something takes ``say_s``, and the barrier opens after ``wait_s``."""

    def send(message):
        clock.now_s += say_s

    def wait():
        clock.now_s += wait_s
        return True

    told = {"id": "t", "workload": "none", "measure_s": measure_s, "budget_s": 600.0, "warmup_s": warmup_s, **more}
    request = Request.from_message(told)
    control = Control(send=send, stopped=lambda: False, wait_for_go=wait)
    return Trial(request, CpuDevice(None), control).perform(lambda: body)


def test_c057_checking_and_telling_are_no_part_of_what_is_timed(clock):
    """Ten bursts of a second each with half a second of checking around them: 10 s of work, not 14.5."""
    checked = performed(clock, Body(clock, [1.0], check_s=0.5), measure_s=10.0, warmup_s=0.0)
    assert sum(checked["iteration_s"]) == pytest.approx(10.0)
    assert (checked["t1_ns"] - checked["t0_ns"]) / 1e9 == pytest.approx(10.0)
    quiet = performed(clock, Body(clock, [1.0]), measure_s=10.0, warmup_s=0.0)
    telling_much = performed(clock, Body(clock, [1.0]), measure_s=10.0, warmup_s=0.0, say_s=0.015)
    assert sum(telling_much["iteration_s"]) == pytest.approx(sum(quiet["iteration_s"]), rel=0.02)


def test_c058_the_first_step_is_over_before_the_warm_up_clock_starts(clock):
    """The first step takes 6.1 s, more than the whole warm-up; each later one 20 ms."""
    result = performed(clock, Body(clock, [6.1, 0.02]), measure_s=8.0, warmup_s=5.0)
    assert result["notes"]["first_iteration_s"] == pytest.approx(6.1)
    assert result["notes"]["warmup_s"] >= 5.0
    assert result["iteration_s"] == pytest.approx([0.02] * len(result["iteration_s"]))
    assert result["steady"] is True


def test_c058_steps_that_still_become_faster_have_not_settled(clock):
    slow = [0.04 * 0.995**step for step in range(2000)]
    assert performed(clock, Body(clock, slow), measure_s=2.0, warmup_s=1.0)["steady"] is False


def cooled(clock, warmup_s):
    """After 8 s at a barrier the clock has fallen: the first 0.4 s of steps are slow again."""
    seconds = [0.02] * 60 + [0.04] * 10 + [0.02]
    return performed(
        clock, Body(clock, seconds), measure_s=2.0, warmup_s=warmup_s, wait_s=8.0, barrier=True, rewarm_s=0.5
    )  # fmt: skip


def test_beside_others_what_the_barrier_cooled_is_not_timed(clock):
    result = cooled(clock, 1.1)
    assert max(result["iteration_s"]) == pytest.approx(0.02)
    assert result["notes"]["barrier_wait_s"] == pytest.approx(8.0)
    assert result["notes"]["rewarmed_s"] >= 0.5
    alone = performed(clock, Body(clock, [0.02]), measure_s=2.0, warmup_s=1.1, barrier=True)
    assert "rewarmed_s" not in alone["notes"]


def test_a_cold_burst_stays_cold(clock):
    assert "rewarmed_s" not in cooled(clock, 0.0)["notes"]
