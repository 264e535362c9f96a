"""A stored session beside an earlier one: the rows, names, intervals and verdicts of ``sessions compare``."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication

from gputuner.analysis.regression import Verdict, compare, telling
from gputuner.language.comparisons import comparison_table
from gputuner.model.events import PointMeasured, RunStarted

PATHS = {name: Path(f"/data/sessions/{name}.sqlite") for name in ("new", "old", "older")}
T0_S = 1_780_000_000.0


@pytest.fixture
def opened(open_window, invented, qtbot):
    """The newest of three benchmark sessions, a tenth faster than the one before; two of Tune stand among them."""
    ports = invented.with_sessions(invented.ports())
    for age, (name, path) in enumerate(PATHS.items()):
        began = T0_S - age
        events = [
            replace(e, unix_s=began) if isinstance(e, RunStarted) else e
            for e in invented.bench_events(run=name, faster=1.1 if name == "new" else 1.0)
        ]
        ports.kept[path] = invented.KeptSession(events)
        ports.entries.insert(
            age, invented.Entry(path, invented.Summary(name, "bench", started_unix_s=began, cards=events[0].cards))
        )
    window = open_window(ports)
    window.show_page("sessions")
    qtbot.waitUntil(lambda: window.sessions.detail is not None and window.sessions.detail.content is not None)
    detail = window.sessions.detail
    detail.show_view("compare")
    qtbot.waitUntil(lambda: detail.compare.chooser.count() > 1)
    return detail.compare, ports


def test_the_rows_are_those_of_the_command(opened, qtbot):
    view, ports = opened
    told = [view.chooser.itemData(place) for place in range(view.chooser.count())]
    assert told == [None, PATHS["old"], PATHS["older"]], "earlier ones of this experiment alone"
    view.chooser.setCurrentIndex(1)
    view.chooser.activated.emit(1)
    qtbot.waitUntil(lambda: bool(view.differences))
    points = {
        name: [e.point for e in ports.kept[path].events() if isinstance(e, PointMeasured)]
        for name, path in PATHS.items()
    }
    shown = telling(compare(points["old"], points["new"]))
    table = comparison_table(shown, "before", "after")
    cells = view.table.rows.cells
    assert len(cells) == len(table.rows) > 3
    for row, (_name, of, before, after, change, verdict) in zip(cells, table.rows, strict=True):
        assert f", {of}\n" in row[0].hint
        assert f"before: {before}" in row[0].hint
        assert f"after: {after}" in row[0].hint
        assert row[3].text == change.replace("-", "\u2212")
        assert row[4].text.endswith(verdict)
    assert cells[0][0].text.startswith("FP64 · "), "in people's words, not as the command names it"
    assert cells[0][0].hint.startswith("Matrix multiplication · FP64, ")
    better = next(row for row, each in zip(cells, shown, strict=True) if each.verdict is Verdict.BETTER)
    assert better[3].text.startswith("+10 % (+")
    assert better[4].text == "▲ better"
    view.copy_button.click()
    copied = QGuiApplication.clipboard().text()
    assert "| figure | of | old | new |" in copied
    assert copied.count("\n|") == len(view.differences) + 1


def test_without_an_earlier_session_it_says_so(opened, qtbot):
    view, ports = opened
    first = ports.kept[PATHS["older"]]
    facts = type(view._facts)()
    for event in first.events():
        facts.take(event)
    view.show_facts(facts)
    assert view.chooser.count() == 1
    assert "no earlier session of this kind" in view.said.text()
    assert view.table.rows.cells == []


def test_in_a_small_window_a_figure_keeps_its_name(opened, qtbot):
    view, _ports = opened
    view.chooser.setCurrentIndex(1)
    view.chooser.activated.emit(1)
    qtbot.waitUntil(lambda: bool(view.differences))
    table, window = view.table, view.window()
    assert not table.isColumnHidden(1)
    assert table.columnWidth(0) >= 180
    assert " " in table.rows.cells[0][4].text
    window.resize(1060, 680)
    qtbot.waitUntil(lambda: table.isColumnHidden(1) and table.columnWidth(4) < 40)
    names = [table._wide(row[0].text) for row in table.rows.cells if "L2" in row[0].text or "DRAM" in row[0].text]
    assert sum(name <= table.columnWidth(0) + 10 for name in names) > 0.9 * len(names), "a letter at most is cut"
    assert [len(row[4].text) for row in table.rows.cells] == [1] * len(table.rows.cells), "the sign alone"
    assert "better" in table.rows.cells[0][4].hint
