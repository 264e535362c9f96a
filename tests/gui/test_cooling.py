"""The page Cooling: what its pictures show of a thermal test, what is asked, and two tests beside each other."""

from dataclasses import replace
from math import exp, hypot, log
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from gputuner.experiments.cooling import Cooling
from gputuner.gui.results_cooler import cooler_groups, cooler_markdown, looks_markdown
from gputuner.gui.results_cooling import thermal_shown
from gputuner.gui.run_state import Phase, RunFacts
from gputuner.gui.session_content import read_content
from gputuner.gui.theme import LIGHT, Choice
from gputuner.gui.widgets.cooling_form import CoolingForm
from gputuner.language.words import set_language
from gputuner.model.cards import Origin
from gputuner.model.events import PointMeasured, RunFinished, TelemetrySampled
from gputuner.model.readings import Reason
from gputuner.model.samples import Gap

BEFORE, OTHER = Path("/data/sessions/before.sqlite"), Path("/data/sessions/other.sqlite")


def facts_of(events):
    facts = RunFacts()
    for event in events:
        facts.take(event)
    return facts


# --- from figures to pictures -----------------------------------------------------------------------------------------


def test_minutes_count_from_the_load_and_the_band_is_that_of_the_forecasts(cooling):
    shown = thermal_shown(facts_of(cooling.cooling_events()), LIGHT)
    core = next(series for series in shown.series if series.bare)
    assert core.path[0][0] == pytest.approx(-cooling.REST_S / 60.0), "the rest lies before the load"
    assert core.path[-1][1] < 60 < max(y for _x, y in core.path), "it warms up and cools down"
    (area,) = shown.areas
    steady = cooling.AIR_C + cooling.POWER_W * 0.12
    assert area.xs == (1.0, 2.0, 3.0, 4.0)
    assert area.high == pytest.approx([steady + half for half in cooling.WIDTHS])
    assert area.low == pytest.approx([steady - half for half in cooling.WIDTHS])
    assert [(s.name, round(s.x0, 2), round(s.x1, 2)) for s in shown.stretches] == [
        ("rest", -0.5, 0.0), ("load", 0.0, 4.0), ("cooling down", 4.0, 4.67)
    ]  # fmt: skip
    (limit,) = [series for series in shown.series if series.dashed and series.path]
    assert {y for _x, y in limit.path} == {cooling.LIMIT_C}
    assert "83 °C" in limit.name
    (end,) = shown.uprights
    assert (end.x, end.name) == (pytest.approx(4.0), "known to ±1.5 °C")


def test_the_end_of_a_test_says_what_is_missing_and_a_running_one_has_none(cooling):
    events = cooling.cooling_events(closed=False)
    (end,) = thermal_shown(facts_of(events), LIGHT).uprights
    assert "7 min" in end.name
    first_look = next(n for n, event in enumerate(events) if isinstance(event, PointMeasured))
    running = thermal_shown(facts_of(events[: first_look + 1]), LIGHT)
    assert running.uprights == ()
    assert running.areas == (), "one forecast makes no band"
    assert [len(series.dots) for series in running.series if series.dots] == [1]
    assert thermal_shown(facts_of(events[:1]), LIGHT).series == (), "nothing was read yet"


def test_silent_telemetry_stays_a_gap(cooling):
    events = cooling.cooling_events()
    ticks = [n for n, event in enumerate(events) if isinstance(event, TelemetrySampled)]
    cut = events[: ticks[100]] + events[ticks[130] :]
    at = cut.index(events[ticks[130]])
    cut[at] = replace(
        cut[at], gaps=(Gap(card=None, t0_ns=events[ticks[100]].t_ns, t1_ns=cut[at].t_ns, reason=Reason.ERROR),)
    )
    core = [series for series in thermal_shown(facts_of(cut), LIGHT).series if series.bare]
    assert len(core) == 2
    assert [bool(series.name) for series in core] == [False, True], "the line is named once"
    assert core[1].path[0][0] - core[0].path[-1][0] > 0.4


def test_bars_hold_the_bands_the_limit_and_what_is_usual(cooling):
    groups = cooler_groups(facts_of(cooling.cooling_events()).points, LIGHT)
    heat, watts, resistance, times = groups
    assert heat.line == cooling.LIMIT_C
    assert [row.value for row in heat.rows] == pytest.approx([73.0, 25.0, 35.0])
    assert (watts.line, watts.rows[0].value, round(watts.rows[1].value)) == (400.0, 400.0, 483)
    (row,) = resistance.rows
    assert (row.low, row.high) == pytest.approx((0.1152, 0.1248))
    assert (row.band.low, row.band.high) == (0.09, 0.2)
    assert [row.name for row in times.rows] == ["63 % of the rise", "90 % of the rise"]
    untold = cooler_groups(cooling.verdict(0.12, Origin.MEASURED, cooler=""), LIGHT)
    assert untold[2].rows[0].band is None, "of an unknown kind nothing is usual"


def test_figures_leave_as_the_command_line_tells_them(cooling):
    points = facts_of(cooling.cooling_events(origin=Origin.SIMULATED)).points
    assert looks_markdown(points).count("\n| ") == 6, "headings, their line and a row a minute"
    assert "0.12 K/W" in cooler_markdown(points)
    assert all("simulated" in text.lower() for text in (looks_markdown(points), cooler_markdown(points)))


# --- the form ---------------------------------------------------------------------------------------------------------


def test_the_form_makes_the_spec(qtbot):
    form = CoolingForm(LIGHT, Cooling, ("resnet50", "edsr"))
    qtbot.addWidget(form)
    here = form.values()["folder"]
    assert form.spec() == Cooling(folder=here), "nothing is told that the user did not tell"
    qtbot.keyClick(form.room, Qt.Key.Key_Up)
    assert form.spec().room_c == 22.0, "the first step leads to a usual room"
    form.load.setCurrentIndex(1)
    form.job.show_text("edsr:batch=8")
    form.controls["cooler"].setCurrentIndex(form.controls["cooler"].findData("water"))
    told = Cooling(load="edsr:batch=8", room_c=22.0, cooler="water", folder=here)
    assert form.spec() == told
    anew = CoolingForm(LIGHT, Cooling, ("resnet50", "edsr"))
    qtbot.addWidget(anew)
    anew.set_values(form.kept())
    assert anew.spec() == told
    form.job.show_text("mine.py:make")
    form.job.recipe.setText("")
    assert form.problem().code == "recipe_missing"
    form.room.tell(None)
    assert form.values()["room_c"] is None


# --- in the window ----------------------------------------------------------------------------------------------------


@pytest.fixture
def with_tests(invented, cooling):
    """Ports whose next run is a test with a better cooler, after one of this card and one of another."""

    def make(origin=Origin.MEASURED):
        cards = [invented.modded_4090(origin=origin), invented.rtx_3090()]
        now = cooling.cooling_events(0.10, origin=origin, run="r1", unix_s=1_780_100_000.0)
        ports = invented.ports(cards, [invented.ScriptedRun(now)], origin=origin)
        for path, run, card in ((BEFORE, "before", cards[0]), (OTHER, "other", cards[1])):
            ports.kept[path] = invented.KeptSession(cooling.cooling_events(0.12, origin=origin, run=run))
            ports.entries.append(invented.Entry(path, invented.Summary(run, experiment="cooling", cards=(card,))))
        return ports

    return make


def test_a_run_fills_every_picture_and_is_compared_with_the_test_before_it(open_window, with_tests, qtbot, tmp_path):
    ports = with_tests(Origin.SIMULATED)
    window = open_window(ports)
    window.navigate("cooling")
    page, desk = window.experiments["cooling"], window.desks["cooling"]
    assert "Nothing measured yet" in page.notice.text
    page.load_plots()
    page.start()
    qtbot.waitUntil(lambda: desk.state.phase is Phase.OVER)
    page.refresh()
    result = page.result
    assert [name for name, button in result.segments.items() if button.isEnabled()] == [
        "heat", "cooler", "compare", "card"
    ]  # fmt: skip
    assert result.name == "heat"
    page.show_picture("compare")
    compare = result.pictures.compare
    qtbot.waitUntil(lambda: compare.found is not None)
    assert (compare.before.currentData(), compare.after.currentData()) == (BEFORE, "this")
    assert compare.before.findData(OTHER) < 0, "another card's cooler is no counterpart"
    ratio = 0.10 / 0.12
    sd = (log(1.04 / 0.96)) / (2 * 1.6448536)
    half = 1.959964 * hypot(sd, sd)
    assert compare.found.ratio == pytest.approx(ratio)
    assert compare.found.ratio_high == pytest.approx(ratio * exp(half), rel=1e-4)
    assert compare.headline.text().startswith("Cooler by 8 °C at 400 W")
    assert [round(row.value, 2) for row in compare.bars.groups[0].rows] == [0.12, 0.1]
    told = result.pictures.markdown(desk.state.facts)
    assert "Cooler by 8 °C" in told
    assert "simulated" in told.lower()
    compare.before.setCurrentIndex(compare.before.findData("this"))
    compare.before.activated.emit(0)
    assert compare.found is None
    assert "two different" in compare.said.text()
    page.advice.evidence_wanted.emit(tuple(p.id for p in desk.state.facts.points if p.metric == "thermal_resistance"))
    assert result.name == "cooler"
    for name in ("heat", "cooler"):
        page.show_picture(name)
        result.save(tmp_path / f"{name}.png")
        assert not QImage(str(tmp_path / f"{name}.png")).isNull()
    result.save(tmp_path / "figures.csv")
    assert "room_at_limit" in (tmp_path / "figures.csv").read_text()
    set_language("zh_CN")
    window.show_theme(Choice.DARK)
    anew = window.experiments["cooling"]
    anew.load_plots()
    anew.result.show_facts(desk.state.facts, now=True)
    assert anew.result.pictures.heat.title != result.pictures.heat.title
    assert anew.result.pictures.heat.areas, "what was measured outlives the pages"


def test_stored_tests_are_compared_without_a_run_and_a_session_that_cannot_be_read_says_so(
    open_window, with_tests, invented, cooling, qtbot
):
    ports = with_tests()
    later, broken = Path("/data/sessions/later.sqlite"), Path("/data/sessions/broken.sqlite")
    card = (invented.modded_4090(),)
    ports.kept[later] = invented.KeptSession(cooling.cooling_events(0.13, run="later"))
    for path, run in ((later, "later"), (broken, "broken")):
        ports.entries.insert(0, invented.Entry(path, invented.Summary(run, experiment="cooling", cards=card)))
    window = open_window(ports)
    window.navigate("cooling")
    page = window.experiments["cooling"]
    page.load_plots()
    qtbot.waitUntil(lambda: page.result.isVisible() and page.result.segments["compare"].isEnabled())
    page.show_picture("compare")
    compare = page.result.pictures.compare
    assert "Not run in this window yet" in page.notice.text
    qtbot.waitUntil(lambda: "not a database" in compare.said.text())
    compare.before.setCurrentIndex(compare.before.findData(BEFORE))
    compare.after.setCurrentIndex(compare.after.findData(later))
    compare.after.activated.emit(0)
    qtbot.waitUntil(lambda: compare.found is not None)
    assert compare.found.verdict == "worse"


def test_a_stored_test_is_drawn_as_it_was(invented, cooling):
    events = cooling.cooling_events()
    content = read_content(invented.KeptSession(events))
    stored, live = (thermal_shown(facts, LIGHT) for facts in (content.facts, facts_of(events)))
    assert stored.areas == live.areas
    assert stored.stretches == live.stretches
    assert stored.uprights == live.uprights
    spots = [spot for series in stored.series if series.bare for spot in series.path]
    measured = [spot for series in live.series if series.bare for spot in series.path]
    assert {(round(x, 6), y) for x, y in spots} <= {(round(x, 6), y) for x, y in measured}
    assert len(spots) > 0.9 * len(measured)


def test_a_processor_has_no_cooler_to_judge_and_a_failed_test_says_why(open_window, invented, cooling, qtbot):
    events = cooling.cooling_events()
    over = next(n for n, event in enumerate(events) if isinstance(event, PointMeasured)) + 1
    failed = RunFinished(
        run_id="c1", seq=9999, t_ns=events[over].t_ns, outcome="failed", exit_code=8, error_code="card_lost"
    )
    run = invented.ScriptedRun([*events[:over], failed])
    window = open_window(invented.ports([invented.modded_4090(), invented.cpu_card()], [run]))
    window.navigate("cooling")
    page = window.experiments["cooling"]
    page.load_plots()
    page.setup.choose_card("cpu")
    page.refresh()
    assert not page.can_start
    assert "graphics card" in page.notice.text
    page.setup.choose_card("GPU-4090")
    page.start()
    qtbot.waitUntil(lambda: window.desks["cooling"].state.phase is Phase.OVER)
    page.refresh()
    assert page.notice.text
    assert page.result.segments["heat"].isEnabled(), "what was measured until then is kept"
    assert not page.result.segments["cooler"].isEnabled()
