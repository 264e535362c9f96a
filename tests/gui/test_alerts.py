"""Alerts in the window: bell and count, sentences, marks on the time axis, the form; nothing takes the focus."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from PySide6.QtCore import Qt

from gputuner.gui.alert_marks import alert_mark, alerts_told
from gputuner.gui.plots.time_marks import Mark, signs
from gputuner.gui.plots.time_plot import Curve, TimePlot
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import LIGHT, Choice
from gputuner.gui.widgets.alert_panel import EDGE
from gputuner.language.words import set_language
from gputuner.model.alerts import DEFAULT_RULES, AlertKind, AlertPlan, default_rule
from gputuner.model.cards import CardState, Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import AlertCleared, AlertRaised
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample
from gputuner.telemetry.feed import Tick

S = 1_000_000_000
CARD = "GPU-4090"
HOT = AlertPlan(rules=(replace(default_rule(AlertKind.TEMPERATURE), threshold=80.0, hold_s=0.0),))


def core(t_s: int, celsius: float) -> Tick:
    sample = Sample(card=CARD, t_ns=t_s * S, values={Quantity.CORE_TEMPERATURE_C: celsius})
    return Tick(t_ns=t_s * S, samples=(sample,))


@pytest.fixture
def window(open_window, invented):
    return open_window(invented.ports())


def use(window, qtbot, plan: AlertPlan) -> None:
    """As if the plan had been set on the command line."""
    window.ports.alerts.plan = plan
    qtbot.waitUntil(lambda: not window.conductor.alerts._reading)
    window.conductor.alerts.read()
    qtbot.waitUntil(lambda: window.conductor.alerts.plan == plan)


def raise_heat(window, qtbot) -> None:
    use(window, qtbot, HOT)
    window.ports.feed.push(core(1000, 85))
    qtbot.waitUntil(lambda: bool(window.conductor.alerts.raised))


def test_nothing_is_set_and_nothing_is_listened_to_until_the_user_asks(window, qtbot):
    desk = window.conductor.alerts
    qtbot.waitUntil(lambda: not desk._reading)
    assert not desk.watching
    assert window.ports.feed.listeners == 1, "Monitor alone"
    assert window.monitor.alerts_button.text() == ""
    window.open_alerts()
    assert window.alert_panel.isVisible()
    assert window.alert_panel.usual.isVisible()
    qtbot.mouseClick(window.alert_panel.usual, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: desk.watching)
    assert window.ports.alerts.plan.rules == DEFAULT_RULES
    assert not window.alert_panel.usual.isVisible()
    assert list(window.alert_panel.rows.rows) == [kind.value for kind in AlertKind]


def test_a_raised_alert_is_counted_said_marked_and_told_and_the_focus_stays(window, qtbot):
    window.monitor.load_plots()
    window.monitor.pause_button.setFocus()
    raise_heat(window, qtbot)
    assert window.monitor.alerts_button.text() == "1"
    assert window.monitor.alerts_button.accessibleName() == "1 alert is raised"
    window.monitor.refresh()
    time, text = window.monitor.standing.texts[0].split("  ")
    assert text == "RTX 4090 48G: the core is at 85 °C (alert from 80 °C)"
    assert time.count(":") == 2
    (told,) = window.conductor.live.cards[CARD].history.alerts
    assert (round(told.t_s, 6), told.name, told.over) == (1000, "temperature", False)
    mark = alert_mark(told, 1010)
    assert (round(mark.t0_s, 6), mark.text, mark.calm) == (-10, "▲ core temperature", False)
    assert "85 °C" in mark.hint
    shown = window.monitor.plots._marks(window.monitor.card, 1010, 300)
    assert mark in shown
    qtbot.waitUntil(lambda: bool(window.ports.alerts.told))
    assert window.focusWidget() is window.monitor.pause_button
    window.ports.feed.push(core(1001, 60))
    qtbot.waitUntil(lambda: not window.conductor.alerts.raised)
    assert window.monitor.alerts_button.text() == ""
    assert [entry.over for entry in window.conductor.live.cards[CARD].history.alerts] == [False, True]


def test_a_lost_card_is_raised_at_once(window, qtbot):
    use(window, qtbot, AlertPlan(rules=DEFAULT_RULES))
    window.ports.feed.change(CARD, 1000 * S, state=CardState.LOST)
    qtbot.waitUntil(lambda: bool(window.conductor.alerts.raised))
    (line,) = window.conductor.alerts.lines
    assert line.endswith("  RTX 4090 48G: the card is lost; it has fallen off the bus or must be reset")


def test_what_is_raised_is_told_worst_and_newest_first_with_the_reading_of_now(window, qtbot):
    desk = window.conductor.alerts
    hotter = replace(HOT.rules[0], name="hotter", threshold=90.0)
    use(window, qtbot, AlertPlan(rules=(*HOT.rules, hotter, default_rule(AlertKind.LOST))))
    window.ports.feed.push(core(1000, 85))
    window.ports.feed.push(core(1001, 92))
    qtbot.waitUntil(lambda: len(desk.raised) == 2)
    with qtbot.waitSignal(desk.moved):
        desk._look()
    assert [line.partition("  ")[2] for line in desk.lines] == [
        "RTX 4090 48G: the core is at 92 °C (alert from 90 °C)",
        "RTX 4090 48G: the core reached 85 °C, now 92 °C (alert from 80 °C)",
    ]
    window.monitor.refresh()
    assert window.monitor.standing.alerts == desk.lines
    window.ports.feed.change(CARD, 1002 * S, state=CardState.LOST)
    qtbot.waitUntil(lambda: len(desk.raised) == 3)
    assert "the card is lost" in desk.lines[0]
    assert "reached" not in "".join(desk.lines), "nothing is read of a lost card"


def test_the_cards_are_judged_while_a_replay_is_shown(window, qtbot, invented):
    raise_heat(window, qtbot)
    window.conductor.follow(invented.InMemoryFeed([invented.modded_4090()], origin=Origin.REPLAYED))
    window.ports.feed.push(core(1002, 60))
    qtbot.waitUntil(lambda: not window.conductor.alerts.raised)
    assert window.conductor.live.cards[CARD].history.alerts == []


def test_the_form_changes_what_is_stored_and_leaves_what_it_does_not_show(window, qtbot):
    odd = replace(HOT.rules[0], threshold=80.5, least_fan=0.25, cards=(CARD,))
    use(window, qtbot, AlertPlan(rules=(odd, default_rule(AlertKind.LOST)), hook=("true",)))
    window.open_alerts()
    rows = window.alert_panel.rows.rows
    assert rows["lost"].threshold is None
    rows["lost"].tick.click()
    qtbot.waitUntil(lambda: not window.ports.alerts.plan.rules[1].on)
    assert window.ports.alerts.plan.rules[0] == odd
    rows["temperature"].threshold.setValue(90)
    qtbot.waitUntil(lambda: window.ports.alerts.plan.rules[0].threshold == 90)
    assert window.ports.alerts.plan.rules[0] == replace(odd, threshold=90.0)
    window.alert_panel.hook.setText("notify.sh 'to the moon'")
    window.alert_panel.hook.editingFinished.emit()
    qtbot.waitUntil(lambda: window.ports.alerts.plan.hook == ("notify.sh", "to the moon"))
    window.alert_panel.hook.setText("notify.sh 'to")
    window.alert_panel.hook.editingFinished.emit()
    assert "quotation mark" in window.alert_panel.told.text()
    window.alert_panel.notify.click()
    qtbot.waitUntil(lambda: not window.ports.alerts.plan.notify)


def test_the_memorys_threshold_is_the_cards_own_until_one_is_typed(window, qtbot):
    own = default_rule(AlertKind.MEMORY_TEMPERATURE)
    use(window, qtbot, AlertPlan(rules=(own, default_rule(AlertKind.LOST))))
    window.open_alerts()
    rows = window.alert_panel.rows.rows
    box = rows[own.name].threshold
    assert box.text() == "card's own"
    rows["lost"].tick.click()
    qtbot.waitUntil(lambda: not window.ports.alerts.plan.rules[1].on)
    assert window.ports.alerts.plan.rules[0] == own
    box.setValue(88)
    qtbot.waitUntil(lambda: window.ports.alerts.plan.rules[0].threshold == 88)
    box.setValue(box.minimum())
    qtbot.waitUntil(lambda: window.ports.alerts.plan.rules[0] == own)


def test_test_says_what_came_of_it(window, qtbot):
    window.open_alerts()
    window.actions_.find("Alerts: try hook and notification").trigger()
    qtbot.waitUntil(lambda: "desktop" in window.alert_panel.told.text())
    assert window.ports.alerts.trials == 1


def test_a_file_that_cannot_be_understood_is_said_and_the_last_good_alerts_go_on(window, qtbot):
    raise_heat(window, qtbot)
    window.ports.alerts.error = StoreError("alerts_malformed", "", path="/a/alerts.json", where="JSON")
    window.conductor.alerts.read()
    qtbot.waitUntil(lambda: window.conductor.alerts.error is not None)
    window.open_alerts()
    assert "/a/alerts.json" in window.alert_panel.told.text()
    assert window.conductor.alerts.raised


def test_a_replay_has_a_form_that_is_off(open_window, invented, qtbot):
    ports = invented.ports()
    ports.alerts.acting = False
    window = open_window(ports)
    window.open_alerts()
    assert not window.alert_panel.usual.isEnabled()
    assert not window.conductor.alerts.watching


@pytest.mark.parametrize("theme", [Choice.LIGHT, Choice.DARK])
def test_themes_and_chinese_keep_what_is_raised_and_escape_closes(open_window, invented, qtbot, theme):
    window = open_window(invented.ports(), theme)
    raise_heat(window, qtbot)
    set_language("zh_CN")
    window.show_theme(Choice.DARK if theme is Choice.LIGHT else Choice.LIGHT)
    assert window.monitor.alerts_button.text() == "1"
    window.open_alerts()
    panel = window.alert_panel
    qtbot.waitUntil(panel.isVisible)
    assert panel.geometry().right() < window.centralWidget().width()
    assert panel.geometry().bottom() < window.centralWidget().height()
    qtbot.keyClick(panel, Qt.Key.Key_Escape)
    assert panel.isHidden()


def test_another_theme_leaves_the_panel_open_in_its_place_and_no_taller_than_it_needs(window, qtbot):
    window.open_alerts()
    empty = window.alert_panel.height()
    window.show_theme(Choice.DARK)
    panel = window.alert_panel
    qtbot.waitUntil(panel.isVisible)
    qtbot.waitUntil(lambda: window.centralWidget().width() == window.width())
    assert panel.geometry().right() == window.centralWidget().width() - EDGE - 1
    assert panel.height() == empty
    use(window, qtbot, AlertPlan(rules=DEFAULT_RULES))
    assert panel.height() > empty


def test_closing_the_window_lets_go_of_the_cards_and_of_hooks(window, qtbot):
    raise_heat(window, qtbot)
    window.close()
    assert window.ports.alerts.closed == 1
    assert window.ports.feed.listeners == 0


def test_a_stored_session_has_its_alerts_as_marks_and_remarks(open_window, invented, qtbot):
    started, *rest, finished = invented.tune_events()
    card = started.cards[0].uuid
    common = {"run_id": started.run_id, "card": card, "rule": "temperature", "alert": AlertKind.TEMPERATURE}
    raised = AlertRaised(seq=finished.seq, t_ns=started.t_ns + 30 * S, value=86.0, threshold=85.0, **common)
    over = AlertCleared(seq=finished.seq + 1, t_ns=started.t_ns + 50 * S, value=79.0, lasted_s=20.0, **common)
    facts = RunFacts()
    for event in (started, *rest, raised, over, replace(finished, seq=finished.seq + 2)):
        facts.take(event)
    marks = [alert_mark(told, started.t_ns * 1e-9) for told in alerts_told(facts, card)]
    assert [(round(mark.t0_s, 6), mark.text) for mark in marks] == [
        (30, "▲ core temperature"),
        (50, "▽ core temperature"),
    ]
    assert alerts_told(facts, "GPU-other") == []


def test_words_of_marks_never_meet_and_give_way_to_their_sign(qtbot):
    plot = TimePlot(LIGHT, "Temperature", "°C", [Curve(key="core", name="core", colour=LIGHT.blue)])
    qtbot.addWidget(plot)
    plot.resize(360, 130)
    plot.show()
    times = np.arange(-300.0, 0.0)
    plot.show_curves({"core": (times, np.full(300, 60.0))}, 300.0)
    marks = [Mark(t0_s=-290.0 + 25 * n, t1_s=None, text=f"▲ core temperature {n}", short="▲") for n in range(12)]
    plot.show_marks(marks)
    words = plot.moments.words
    assert words[marks[-1]] == "▲ core temperature 11", "the newest has its words"
    assert "▲" in words.values(), "others only their sign"
    boxes = list(plot.moments.boxes.values())
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))
    assert all(box.low > 0 for box in boxes), "the zero line stays free"
    plot.show_marks(signs(marks))
    assert set(plot.moments.words.values()) <= {"▲", ""}


def test_words_of_a_moment_stand_where_no_curve_runs(qtbot):
    plot = TimePlot(LIGHT, "Temperature", "°C", [Curve(key="core", name="core", colour=LIGHT.blue)], top=100.0)
    qtbot.addWidget(plot)
    plot.resize(360, 200)
    plot.show()
    places = []
    for level in (3.0, 95.0):
        mark = Mark(t0_s=-200.0, t1_s=None, text=f"▲ XID {level}")
        times = np.arange(-300.0, 0.0)
        plot.show_curves({"core": (times, np.full(300, level))}, 300.0)
        plot.show_marks([mark])
        box = plot.moments.boxes[mark]
        height = plot.plot.getPlotItem().getViewBox().height()
        assert not box.low < level / 100 * height < box.high
        places.append(box.low)
    assert places[0] > places[1]
