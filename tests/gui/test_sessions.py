"""Sessions: list, open, replay, export, delete with a confirmation in place."""

from pathlib import Path

import pytest

from gputuner.language import sentences

S1, S2 = Path("/data/sessions/s1.sqlite"), Path("/data/sessions/s2.sqlite")


@pytest.fixture
def kept(open_window, invented, qtbot):
    window = open_window(invented.with_sessions(invented.ports()))
    window.show_page("sessions")
    page = window.sessions
    qtbot.waitUntil(lambda: page.detail is not None and page.detail.isVisible())
    return window


def test_no_session_points_to_tune(open_window, invented, qtbot):
    window = open_window(invented.ports())
    window.show_page("sessions")
    qtbot.waitUntil(lambda: window.sessions.notice.text != "")
    assert "No session kept yet" in window.sessions.notice.text
    window.sessions.notice.button.click()
    assert window.page == "tune"


def test_list_is_shown_and_the_first_opened(kept):
    keys = kept.sessions.table.rows.keys
    assert keys == [str(S1), str(S2), "/data/sessions/broken.sqlite"]
    assert kept.sessions.current == S1
    assert kept.ports.kept[S1].closed, "the reader is closed after reading"


def test_overview_draws_from_roll_ups(kept):
    plot, _quantities, _factor = kept.sessions.detail.overview.plots["power"]
    instant = plot.legends["power_instant_w"]
    assert instant.startswith("instant 4"), instant
    assert kept.sessions.detail.tabs["figures"].isEnabled()


def test_figures_and_advice_of_a_session(kept):
    kept.sessions.detail.show_view("figures")
    assert "train-bf16-64-probe" in kept.sessions.detail.result.table.rows.keys
    assert len(kept.sessions.detail.advice.cards) == 3
    kept.sessions.detail.show_view("advice")
    kept.sessions.detail.advice.cards[0].evidence_button.click()
    assert kept.sessions.detail.tabs["figures"].isChecked()


def test_simulated_session_is_marked(kept, qtbot):
    rows = kept.sessions.table.rows
    assert rows.cells[1][2].text.startswith("▨")
    assert not rows.cells[0][2].text.startswith("▨")
    kept.sessions.table.selectRow(1)
    assert kept.strip.words.startswith("Simulated")
    kept.sessions.table.selectRow(0)
    assert not kept.strip.isVisible()


def test_unreadable_file_says_why(kept):
    kept.sessions.table.selectRow(2)
    entry = kept.ports.entries[2]
    assert sentences.error(entry.error) in kept.sessions.notice.text
    assert not kept.sessions.buttons["replay"].isEnabled()
    assert kept.sessions.buttons["delete"].isEnabled()


def test_delete_asks_first(kept, qtbot):
    kept.actions_.find("Delete the session").trigger()
    assert kept.sessions.confirm.isVisible()
    kept.sessions.confirm_no.click()
    assert kept.ports.deleted == []
    kept.sessions.buttons["delete"].click()
    kept.sessions.confirm_yes.click()
    qtbot.waitUntil(lambda: kept.ports.deleted == [S1])
    qtbot.waitUntil(lambda: str(S1) not in kept.sessions.table.rows.keys)
    qtbot.waitUntil(lambda: kept.sessions.current == S2)


def test_export_goes_to_the_chosen_file(kept, qtbot, tmp_path):
    kept.sessions.export_wanted.emit(S1, "csv", tmp_path / "a.csv")
    qtbot.waitUntil(lambda: kept.ports.exported == [(S1, "csv", tmp_path / "a.csv")])
    qtbot.waitUntil(lambda: "a.csv" in kept.sessions.said)


def test_failed_call_is_said(kept, qtbot, invented):
    kept.conductor.open_session(Path("/data/sessions/none.sqlite"))
    qtbot.waitUntil(lambda: "none.sqlite" in kept.sessions.said)


def test_replay_feeds_monitor_and_can_be_left(kept, qtbot, invented):
    kept.actions_.find("Replay the session in Monitor").trigger()
    qtbot.waitUntil(lambda: kept.page == "monitor")
    replay = kept.ports.replays[0]
    assert kept.conductor.feed is replay
    assert kept.strip.words.startswith("Replayed")
    kept.monitor.refresh()
    assert not kept.monitor.record_button.isEnabled()
    assert kept.monitor.notice.button.text() == "Back to live"
    for tick in invented.monitor_ticks(10):
        replay.push(tick)
    qtbot.waitUntil(lambda: kept.conductor.live.cards["GPU-4090"].last_ns is not None)
    kept.monitor.notice.button.click()
    assert replay.closed
    assert kept.conductor.feed is kept.ports.feed
    assert not kept.strip.isVisible()
