"""A long run that ends while the window is not in front is told to the desktop, others are not."""

from dataclasses import replace

import pytest

from gputuner.gui.run_notices import LONG_RUN_S, RunNotices
from gputuner.model.alerts import AlertPlan
from gputuner.model.events import Outcome


class Looks:
    """Whether the window is in front, and a clock that goes on by ``takes_s`` with each look at it."""

    def __init__(self, takes_s: float, *, front: bool = False) -> None:
        self.takes_s, self.front, self._now_s = takes_s, front, 0.0

    def __call__(self) -> bool:
        return self.front

    def now_s(self) -> float:
        self._now_s += self.takes_s
        return self._now_s


def perform(open_window, invented, qtbot, looks: Looks, outcome: Outcome, plan: AlertPlan) -> list[str]:
    *events, finished = invented.tune_events()
    run = invented.ScriptedRun([*events, replace(finished, outcome=outcome)])
    ports = invented.ports(runs=[run])
    ports.alerts.plan = plan
    window = open_window(ports)
    desk = window.conductor.tuning
    qtbot.waitUntil(lambda: window.conductor.alerts.plan == plan)
    told = RunNotices(
        {"tune": desk}, window.conductor.alerts, lambda: {"tune": "Tune"}, window, looks=looks, now_s=looks.now_s
    )
    ended: list[object] = []
    desk.kept.connect(ended.append)
    desk.start(ports.tune_spec(), (invented.modded_4090().uuid,), False)
    qtbot.waitUntil(lambda: bool(ended))
    qtbot.waitUntil(lambda: window.conductor.background.pending == 0)
    told.deleteLater()
    return ports.alerts.runs_told


@pytest.mark.parametrize("outcome", [Outcome.COMPLETED, Outcome.FAILED])
def test_a_long_run_is_told_where_nobody_looks(open_window, invented, qtbot, outcome):
    (text,) = perform(open_window, invented, qtbot, Looks(LONG_RUN_S + 60), outcome, AlertPlan())
    assert text.startswith("Tune on RTX 4090 48G: ")
    assert outcome.value in text
    assert "4 min" in text


@pytest.mark.parametrize(
    ("looks", "outcome", "plan"),
    [
        (Looks(LONG_RUN_S - 1), Outcome.COMPLETED, AlertPlan()),
        (Looks(LONG_RUN_S, front=True), Outcome.COMPLETED, AlertPlan()),
        (Looks(LONG_RUN_S), Outcome.CANCELLED, AlertPlan()),
        (Looks(LONG_RUN_S), Outcome.COMPLETED, AlertPlan(notify_runs=False)),
    ],
    ids=["short", "in front", "stopped by the user", "switched off"],
)
def test_what_nobody_needs_to_be_told_is_not(open_window, invented, qtbot, looks, outcome, plan):
    assert perform(open_window, invented, qtbot, looks, outcome, plan) == []


def test_the_panel_switches_it_off(open_window, invented, qtbot):
    window = open_window(invented.ports())
    qtbot.waitUntil(lambda: not window.conductor.alerts._reading)
    window.open_alerts()
    assert window.alert_panel.notify_runs.isChecked()
    window.alert_panel.notify_runs.click()
    qtbot.waitUntil(lambda: not window.ports.alerts.plan.notify_runs)
