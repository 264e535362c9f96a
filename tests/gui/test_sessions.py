"""Sessions: list, open, replay, export, delete with a confirmation in place."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QLabel

from gputuner.gui.theme import Choice
from gputuner.language import sentences
from gputuner.model.cards import Origin
from gputuner.model.events import Outcome
from gputuner.model.quantities import Limiter, Quantity

S1, S2 = Path("/data/sessions/s1.sqlite"), Path("/data/sessions/s2.sqlite")


@pytest.fixture
def kept(open_window, invented, qtbot):
    window = open_window(invented.with_sessions(invented.ports()))
    window.show_page("sessions")
    page = window.sessions
    qtbot.waitUntil(lambda: page.detail is not None and page.detail.isVisible())
    return window


def test_no_session_points_to_tune_and_benchmarks(open_window, invented, qtbot):
    window = open_window(invented.ports())
    window.show_page("sessions")
    qtbot.waitUntil(lambda: window.sessions.notice.text != "")
    assert "No session kept yet" in window.sessions.notice.text
    assert "Benchmarks" in window.sessions.notice.text
    window.sessions.notice.button.click()
    assert window.page == "tune"
    window.show_page("sessions")
    window.sessions.notice.other_button.click()
    assert window.page == "bench"


def test_list_is_shown_and_the_first_opened(kept):
    keys = kept.sessions.table.rows.keys
    assert keys == [str(S1), str(S2), "/data/sessions/broken.sqlite"]
    assert kept.sessions.current == S1
    assert kept.ports.kept[S1].closed, "the reader is closed after reading"


def test_the_list_names_what_it_was_and_how_it_ended(open_window, invented, qtbot):
    ports = invented.with_sessions(invented.ports())
    summary = invented.Summary("b2", experiment="bench", outcome=Outcome.CANCELLED, duration_s=42.0)
    ports.entries.append(invented.Entry(Path("/data/sessions/b2.sqlite"), summary))
    window = open_window(ports)
    window.show_page("sessions")
    table = window.sessions.table
    qtbot.waitUntil(lambda: len(table.rows.cells) == 4)
    cells = table.rows.cells[3]
    assert cells[1].text == "Benchmarks"
    assert cells[3].text == "■ 0:42"
    assert "cancelled" in cells[3].hint
    assert table.columnWidth(1) >= table.fontMetrics().horizontalAdvance("Benchmarks")


def test_a_narrow_page_keeps_title_and_buttons_whole(kept):
    kept.resize(1060, 680)
    page = kept.sessions
    title = next(each for each in page.findChildren(QLabel) if each.property("role") == "title")
    assert page.buttons["replay"].y() >= title.y() + title.height()
    assert title.text().startswith("Tune · RTX 4090")
    assert not title.text().endswith("…")
    assert all(button.width() >= button.sizeHint().width() for button in page.buttons.values())


def test_overview_draws_from_roll_ups(kept):
    plot, _quantities, _factor = kept.sessions.detail.overview.plots["power"]
    instant = plot.legends["power_instant_w"]
    name, _space, figures = instant.partition(" ")
    assert name == "instant"
    mean, most = (float(part) for part in figures.split(" / "))
    band = kept.sessions.detail.content.bands["GPU-4090", Quantity.POWER_INSTANT_W]
    assert (mean, most) == (round(float(np.nanmean(band.mean))), round(float(np.nanmax(band.high))))
    assert 0 < mean < most, "without a cursor the legend tells mean and maximum"
    assert kept.sessions.detail.tabs["figures"].isEnabled()


def test_the_cursor_tells_what_was_at_that_time(kept):
    overview = kept.sessions.detail.overview
    band = kept.sessions.detail.content.bands["GPU-4090", Quantity.POWER_INSTANT_W]
    plot, _quantities, _factor = overview.plots["power"]
    plot.pointed.emit(float(band.t_s[3]))
    assert plot.legends["power_instant_w"] == f"instant {band.mean[3]:.0f}"
    plot.pointed.emit(None)
    assert " / " in plot.legends["power_instant_w"]


def test_the_overview_tells_what_limited_the_card(kept):
    overview = kept.sessions.detail.overview
    spans = kept.sessions.detail.content.limits["GPU-4090"]
    assert overview.ribbon.spans == spans
    assert {span.limiter for span in spans if span.limiter} == {Limiter.POWER, Limiter.NONE}
    assert "power limit" in overview.shares_text
    assert all(one.t1_s == other.t0_s for one, other in pairwise(spans))


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


@pytest.fixture
def outside(invented, tmp_path):
    """Ports that also know a session outside the data folder, and its path."""
    ports = invented.with_sessions(invented.ports())
    path = tmp_path / "brought.sqlite"
    path.write_bytes(b"")
    events = invented.tune_events(origin=Origin.SIMULATED, run="brought")
    ports.kept[path] = invented.KeptSession(events)
    ports.summaries[path] = invented.Summary("brought", origin=Origin.SIMULATED, cards=events[0].cards)
    return ports, path


def test_a_named_file_outside_the_data_folder_is_listed_and_marked(open_window, outside, qtbot):
    ports, path = outside
    window = open_window(ports)
    window.open_file(path)
    page = window.sessions
    qtbot.waitUntil(lambda: page.detail is not None and page.detail.isVisible())
    qtbot.waitUntil(lambda: page.table.rows.keys[:1] == [str(path)])
    assert page.table.rows.keys[1:] == [str(S1), str(S2), "/data/sessions/broken.sqlite"]
    assert page.current == path
    marked = [row[2].text.endswith("outside the data folder") for row in page.table.rows.cells]
    assert marked == [True, False, False, False]
    assert str(path) in page.table.rows.cells[0][2].hint
    assert window.strip.words.startswith("Simulated"), "its origin is known once it is listed"
    assert page.buttons["replay"].isEnabled()


def test_it_stays_listed_while_the_window_is_open(open_window, outside, qtbot):
    ports, path = outside
    window = open_window(ports)
    window.open_file(path)
    qtbot.waitUntil(lambda: str(path) in window.sessions.table.rows.keys)
    window.show_page("monitor")
    window.choose_theme(Choice.DARK)
    window.show_page("sessions")
    qtbot.waitUntil(lambda: str(path) in window.sessions.table.rows.keys)
    window.sessions.table.selectRow(1)
    window.sessions.refresh_wanted.emit()
    qtbot.waitUntil(lambda: window.conductor.background.pending == 0)
    assert window.sessions.table.rows.keys[0] == str(path)
    assert window.sessions.current == S1


def test_a_stored_file_named_in_another_way_is_the_listed_one(open_window, invented, qtbot, tmp_path):
    ports = invented.with_sessions(invented.ports())
    stored = tmp_path / "stored.sqlite"
    stored.write_bytes(b"")
    ports.kept[stored] = ports.kept[S2]
    ports.entries.append(invented.Entry(stored, ports.entries[1].summary))
    (tmp_path / "link").symlink_to(tmp_path)
    window = open_window(ports)
    named = tmp_path / "link" / "stored.sqlite"
    ports.kept[named] = ports.kept[S2]
    window.open_file(named)
    qtbot.waitUntil(lambda: window.sessions.current == stored)
    qtbot.waitUntil(lambda: window.sessions.detail is not None and window.sessions.detail.isVisible())
    assert window.sessions.table.rows.keys.count(str(stored)) == 1


def test_a_dropped_session_is_opened_and_other_files_are_not_taken(open_window, outside, qtbot, tmp_path):
    ports, path = outside
    window = open_window(ports)
    for file, taken in ((path, True), (tmp_path / "photo.png", False), (tmp_path / "gone.sqlite", False)):
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(file))])
        where, copy, left = QPoint(5, 5), Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        enter = QDragEnterEvent(where, copy, data, left, Qt.KeyboardModifier.NoModifier)
        enter.setAccepted(False)
        window.dragEnterEvent(enter)
        assert enter.isAccepted() is taken
        if taken:
            window.dropEvent(QDropEvent(QPointF(where), copy, data, left, Qt.KeyboardModifier.NoModifier))
    qtbot.waitUntil(lambda: str(path) in window.sessions.table.rows.keys)
    assert window.page == "sessions"
    assert window.sessions.current == path
