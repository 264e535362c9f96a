"""How far a trial is: at most twice a second, each phase at once, a survey by what it says or by its parts."""

import itertools

import pytest

pytest.importorskip("torch")

from gputuner.workloads.bodies import trial as trials
from gputuner.workloads.bodies.survey import Part
from gputuner.workloads.bodies.telling import PROGRESS_S, Telling
from gputuner.workloads.bodies.trial import Control, Request, Trial


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


def test_at_most_twice_a_second():
    sent, clock = [], Clock()
    telling = Telling(sent.append, "t", clock)
    for tenth in range(31):
        clock.now_s = 100.0 + tenth / 10
        telling.say("measure", tenth / 10, 3.0 - tenth / 10)
    assert len(sent) == 7
    assert PROGRESS_S == 0.5
    gaps = [later["done_s"] - earlier["done_s"] for earlier, later in itertools.pairwise(sent)]
    assert min(gaps) >= 0.5 - 1e-9


def test_a_new_phase_is_told_at_once_and_nothing_is_left_below_zero():
    sent, clock = [], Clock()
    telling = Telling(sent.append, "t", clock)
    for phase, left_s in (("setup", None), ("warmup", 2.0), ("measure", -0.1), ("measure", -0.2)):
        telling.say(phase, 0.0, left_s)
    assert [(message["phase"], message["left_s"]) for message in sent] == [
        ("setup", None), ("warmup", 2.0), ("measure", 0.0)
    ]  # fmt: skip
    assert {message["id"] for message in sent} == {"t"}


class Still:
    """A device that does nothing."""

    name = "cpu"

    def limit(self, cap_bytes):
        return {}

    def begin_trial(self):
        pass

    def synchronise(self):
        pass

    def clock_mhz(self):
        return None

    def memory(self):
        return {}


class Surveyed:
    """A survey of five settings of a second each on the test's clock; ``tells``: it counts ten shapes in each."""

    def __init__(self, clock, tells):
        self._clock, self._tells, self.work = clock, tells, {}

    def parts(self, pace):
        for place in range(5):
            self._clock.now_s += 1.0
            if self._tells:
                pace.tried(10 * place, 50)
            pace.left_s()
            yield Part(params={"n": place}, iteration_s=(0.1,), t0_ns=0, t1_ns=1)

    def notes(self):
        return {}


@pytest.mark.parametrize(("tells", "counted"), [(False, [0, 1, 2, 3, 4]), (True, [0, 10, 20, 30, 40])])
def test_a_survey_tells_settings_and_time_left(monkeypatch, tells, counted):
    clock, sent = Clock(), []
    monkeypatch.setattr(trials.time, "monotonic", clock)
    request = Request(id="t", workload="w", params={}, measure_s=4.5, budget_s=60.0)
    trial = Trial(request, Still(), Control(send=sent.append, stopped=lambda: False, wait_for_go=lambda: True))
    result = trial.perform(lambda: Surveyed(clock, tells))
    assert len(result["parts"]) == 5
    measured = [message for message in sent if message["phase"] == "measure"]
    assert [message["done"] for message in measured] == counted
    assert {message["of"] for message in measured} == {50 if tells else None}
    assert [message["done_s"] for message in measured] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [message["left_s"] for message in measured] == [3.5, 2.5, 1.5, 0.5, 0.0]
