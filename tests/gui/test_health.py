"""The page Health: the map and the verdicts of a test, its certificate, the warning before the long load, wear."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QPushButton, QToolTip

from gputuner.analysis.vram_map import State
from gputuner.experiments.health import Health
from gputuner.gui.results_health import (
    burn_shown,
    counters_table,
    health_markdown,
    listed,
    rate_series,
    shown_map,
    stretch_hint,
)
from gputuner.gui.results_health_verdict import difference, faults, health_headline, is_sound, sold_words
from gputuner.gui.results_health_wear import drift_areas, drift_reach, drift_series, hour_groups, wear_markdown
from gputuner.gui.run_state import Phase, RunFacts
from gputuner.gui.session_content import read_content
from gputuner.gui.theme import LIGHT, Choice
from gputuner.gui.widgets.health_form import HealthForm
from gputuner.language.words import set_language
from gputuner.model.cards import Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import Outcome, PointMeasured, RunFinished, TelemetrySampled
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample

GIB = 1 << 30
SOLD = {"rtx-4090-48g": "GeForce RTX 4090 48GB (modded)", "rtx-3090": "GeForce RTX 3090"}


def facts_of(events):
    facts = RunFacts()
    for event in events:
        facts.take(event)
    return facts


# --- from figures to pictures -----------------------------------------------------------------------------------------


def test_the_map_marks_the_wrong_place_and_says_what_failed_there(health):
    found = shown_map(facts_of(health.health_events(wrong=True)))
    (bad,) = [stretch for stretch in found.stretches if stretch.state is State.ERRORS]
    assert bad.offset <= health.WRONG_AT < bad.offset + bad.bytes
    told = stretch_hint(bad)
    assert f"0x{bad.offset:x}" in told
    assert "address in address (cold)" in told
    assert "random data (hot)" in told
    slow = [stretch for stretch in found.stretches if stretch.state is State.SLOW]
    assert {stretch.offset // GIB for stretch in slow} == {3}
    assert "400 GB/s, 50 %" in stretch_hint(slow[0])
    untested = [stretch for stretch in found.stretches if stretch.state is State.UNTESTED]
    assert sum(stretch.bytes for stretch in untested) == health.TOTAL - health.CHECKED


def test_the_map_grows_while_the_test_runs(health):
    events = health.health_events()
    first = next(n for n, event in enumerate(events) if isinstance(event, PointMeasured))
    states = [{s.state for s in shown_map(facts_of(events[:n])).stretches} for n in (first, first + 2, len(events))]
    assert states == [
        {State.UNTESTED}, {State.COLD, State.UNTESTED}, {State.SOUND, State.SLOW, State.UNTESTED}
    ]  # fmt: skip
    assert health_headline(facts_of(events[: first + 2])) == "no error so far"
    wrong = health.health_events(wrong=True)
    assert health_headline(facts_of(wrong[: first + 2])) == "errors were found, the test goes on"
    assert is_sound(facts_of(wrong[: first + 2])) is None


def test_products_lie_where_their_stretches_ended_and_wrong_ones_have_a_sign(health):
    shown = burn_shown(facts_of(health.health_events(wrong=True)), LIGHT)
    half, whole, wrong = shown.rates
    assert [round(dot.x, 3) for dot in half.dots] == [2.0, 3.0]
    assert [dot.y for dot in whole.dots] == pytest.approx([60.0, 60.0])
    assert [(dot.x, dot.point_id) for dot in wrong.dots] == [(pytest.approx(3.0), "burn-bf16-1")]
    assert [(s.name, round(s.x0, 3), round(s.x1, 3)) for s in shown.stretches] == [
        ("memory cold", 0.0, 1.0), ("products", 1.0, 3.0), ("memory hot", 3.0, 4.0)
    ]  # fmt: skip
    assert shown.heat == shown.clock == (), "no telemetry was told"


def test_heat_and_clock_beside_products_are_those_of_telemetry_with_its_gaps(health):
    facts = facts_of(health.health_events())
    began = facts.started.t_ns
    for second in range(0, 240, 10):
        values = {Quantity.CORE_TEMPERATURE_C: 50.0 + second / 10, Quantity.SM_CLOCK_MHZ: 2600.0}
        missing = {}
        if second == 120:
            values, missing = {Quantity.SM_CLOCK_MHZ: 2600.0}, {Quantity.CORE_TEMPERATURE_C: Reason.NOT_READ}
        t_ns = began + second * health.S
        sample = Sample(card="GPU-4090", t_ns=t_ns, values=values, missing=missing)
        facts.take(TelemetrySampled(run_id="h1", seq=1000 + second, t_ns=t_ns, samples=(sample,)))
    shown = burn_shown(facts, LIGHT)
    (clock,) = shown.clock
    assert [clock.path[0], clock.path[-1]] == [pytest.approx((0.0, 2600.0)), pytest.approx((230 / 60, 2600.0))]
    before, after = shown.heat
    assert (before.path[-1], after.path[0]) == (pytest.approx((110 / 60, 61.0)), pytest.approx((130 / 60, 63.0)))


def test_the_table_has_right_products_once_and_each_wrong_stretch(health):
    told = [(p.params["precision"], p.value) for p in listed(facts_of(health.health_events()).points)
            if p.metric == "burn_errors"]  # fmt: skip
    assert told == [("bf16", 0.0), ("fp32", 0.0)]
    wrong = [p for p in listed(facts_of(health.health_events(wrong=True)).points) if p.metric == "burn_errors"]
    assert [(p.params["precision"], p.value) for p in wrong] == [("bf16", 0.0), ("fp32", 0.0), ("bf16", 1.0)]


def test_rates_are_told_cold_and_hot(health):
    points = facts_of(health.health_events()).points
    cold, hot = rate_series(points, LIGHT)
    assert (cold.name, hot.name) == ("cold", "hot")
    assert {dot.y for dot in cold.dots} == {810.0}
    assert [dot.x for dot in hot.dots] == list(range(12))
    old = [replace(p, extra={"fraction_of_median": 1.0}) for p in points if p.metric == "vram_block_rate"]
    (alone,) = rate_series(old, LIGHT)
    assert alone.dots[3].y == 400.0


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("as_sold", "what its name says"),
        ("other_card", "not what its name says"),
        ("unclear", "cannot be told"),
        ("", "cannot be told"),
    ],
)
def test_identity_is_said_in_three_ways(health, verdict, words):
    points = facts_of(health.health_events(verdict=verdict or "as_sold")).points
    assert sold_words(points if verdict else points[:3]) == words
    assert difference(points) == ("" if verdict in ("as_sold", "") else "differs: memory without repetition")


@pytest.mark.parametrize(("verdict", "words"), [("as_sold", "as sold"), ("other_memory", "not as sold")])
def test_only_what_the_seller_named_is_as_sold(health, verdict, words):
    points = facts_of(health.health_events(verdict=verdict)).points
    named = [
        replace(p, params={**p.params, "sold_as": "rtx-4090-48g"}) if p.metric == "identity_verdict" else p
        for p in points
    ]
    assert sold_words(named) == words


def test_a_fault_is_told_with_its_number_and_its_place(health):
    events = health.health_events(wrong=True)
    assert faults(facts_of(events)) == ["12 wrong words, the first at 20 GiB", "1 wrong product"]
    assert "- 12 wrong words, the first at 20 GiB" in health_markdown(facts_of(events))
    assert faults(facts_of(health.health_events())) == []
    shared = facts_of(health.health_events(aliases="100000<40000000+4000"))
    assert "addresses that share their cells" in faults(shared)
    lost = replace(events[-1], outcome=Outcome.FAILED, exit_code=8, error_code="safety_xid")
    assert faults(facts_of([*events[:-1], lost]))[-1] == "an XID error of the driver"


def test_counters_and_figures(health):
    facts = facts_of(health.health_events(origin=Origin.SIMULATED))
    assert counters_table(facts).rows == (("PCIe replays", "3", "5", "2"),)
    assert listed(facts.points)[0].metric == "vram_coverage"
    told = health_markdown(facts)
    assert "simulated" in told.lower()
    assert "passed, no error was found" in told
    assert "| address in address | cold |" in told


# --- the form ---------------------------------------------------------------------------------------------------------


def test_the_form_makes_the_spec(qtbot, tmp_path):
    form = HealthForm(LIGHT, Health, SOLD)
    qtbot.addWidget(form)
    assert form.spec() == Health()
    form.test.setCurrentIndex(1)
    assert form.spec() == Health(minutes=120.0, burn_in=True)
    form.show_simulated(True)
    assert form.spec().minutes == 12.0
    form.test.setCurrentIndex(0)
    line = form.sold.lineEdit()
    line.setText("geforce rtx 3090")
    assert form.spec() == Health(sold_as="rtx-3090"), "upper and lower case are the same name"
    line.setText("geforce rtx 3090 Ti")
    assert form.problem().code == "sold_as_unlisted"
    line.clear()
    assert form.problem() is None
    form.sold.choose("rtx-4090-48g")
    form.show_folder(tmp_path)
    anew = HealthForm(LIGHT, Health, SOLD)
    qtbot.addWidget(anew)
    anew.set_values(form.kept())
    assert anew.spec() == Health(sold_as="rtx-4090-48g")
    assert anew.certificate == tmp_path


def test_a_part_of_a_name_finds_the_card(qtbot):
    form = HealthForm(LIGHT, Health, SOLD)
    qtbot.addWidget(form)
    completer = form.sold.completer()
    completer.setCompletionPrefix("4090 48")
    assert completer.currentCompletion() == SOLD["rtx-4090-48g"]


# --- in the window ----------------------------------------------------------------------------------------------------


@pytest.fixture
def page_of(open_window, invented):
    def make(runs=(), cards=None, origin=Origin.MEASURED, worn=None):
        cards = cards or [invented.modded_4090(origin=origin)]
        ports = invented.ports(cards, [invented.ScriptedRun(run) for run in runs], origin=origin)
        ports.worn = worn or {}
        window = open_window(ports)
        window.navigate("health")
        page = window.experiments["health"]
        page.load_plots()
        return window, page

    return make


def test_a_run_fills_every_picture_and_its_certificate_is_that_of_the_command_line(page_of, health, qtbot, tmp_path):
    window, page = page_of([health.health_events(wrong=True, origin=Origin.SIMULATED)], origin=Origin.SIMULATED)
    assert "Nothing measured yet" in page.notice.text
    page.form.show_folder(tmp_path / "kept")
    page.start()
    state = window.desks["health"].state
    qtbot.waitUntil(lambda: state.phase is Phase.OVER)
    page.refresh()
    result, pictures = page.result, page.result.pictures
    open_ones = [name for name, button in result.segments.items() if button.isEnabled()]
    assert open_ones == ["map", "identity", "burn", "counters", "certificate"]
    assert result.name == "map"
    assert pictures.map.counts[State.ERRORS] == 1
    assert pictures.verdicts.health.text() == "✕ failed"
    assert pictures.verdicts.sold.text() == "✓ what its name says"
    assert all("1 wrong product" in strip.why.text() for strip in pictures.strips.values())
    assert pictures.map.legend[State.ERRORS] == "errors: 1 block of 64 MiB"
    assert [row[-1] for row in pictures.identity.texts] == ["✓ agrees", "✓ agrees"]
    assert pictures.identity.texts[1][1:4] == ("—", "—", "—")
    page.show_picture("certificate")
    assert not result.table.isVisible(), "a page needs the height"
    certificate = pictures.certificate
    told = certificate.browser.toPlainText().replace("\u200b", "")
    assert "Health: failed" in told
    assert "2026-05-28 20:26 UTC" in told
    assert told.count(certificate.fingerprint) == 1
    assert "simulated" in certificate.browser.toPlainText()
    certificate.browser.selectAll()
    assert certificate.fingerprint in certificate.browser.createMimeDataFromSelection().text()
    certificate_is_saved_by_the_one_button(page, result, tmp_path)
    document = json.loads((tmp_path / "c.json").read_text())
    rest = {name: value for name, value in document.items() if name != "fingerprint"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    assert hashlib.sha256(canonical).hexdigest() == certificate.fingerprint == document["fingerprint"]
    assert (document["verdict"], document["origin"]) == ("fail", "simulated")
    kept = tmp_path / "kept" / "health-h1.json"
    assert kept.read_text() == (tmp_path / "c.json").read_text(), "the folder of the form has the same"
    assert certificate.fingerprint in kept.with_suffix(".html").read_text()
    assert str(kept.with_suffix(".html")) in page.notice.text
    certificate.save(tmp_path / "no" / "c.html")
    assert "cannot be written" in certificate.said
    page.advice.evidence_wanted.emit(("burn-bf16-1",))
    assert result.name == "burn"
    set_language("zh_CN")
    window.show_theme(Choice.DARK)
    anew = window.experiments["health"]
    anew.load_plots()
    anew.result.show_facts(state.facts, now=True)
    assert anew.result.pictures.map.counts[State.ERRORS] == 1, "what was measured outlives the pages"
    assert anew.form.certificate is None or isinstance(anew.form.certificate, Path)


def certificate_is_saved_by_the_one_button(page, result, tmp_path):
    buttons = [button for button in result.findChildren(QPushButton) if button.isVisible()]
    assert [button.text() for button in buttons if button.text().startswith("Save")] == ["Save…"]
    result.save_button.click()
    (dialog,) = result.findChildren(QFileDialog)
    assert dialog.nameFilters()[:2] == ["Page (*.html)", "Document (*.json)"]
    dialog.reject()
    result.save(tmp_path / "c.html")
    assert (tmp_path / "c.html").read_text().startswith("<!doctype html>")
    result.save(tmp_path / "c.json")
    page.show_picture("map")
    assert not result.pictures.own_files(), "other pictures are saved as pictures"
    page.show_picture("certificate")


def test_a_certificate_that_cannot_be_written_is_told_and_the_run_stays(page_of, health, qtbot, tmp_path):
    window, page = page_of([health.health_events()])
    (tmp_path / "file").write_text("")
    page.form.show_folder(tmp_path / "file" / "folder")
    page.start()
    state = window.desks["health"].state
    qtbot.waitUntil(lambda: state.phase is Phase.OVER)
    page.refresh()
    assert "cannot be written" in page.notice.text
    assert page.result.pictures.verdicts.health.text().startswith("✓")


def test_before_the_long_load_the_page_says_what_it_means_and_waits(page_of, health, qtbot):
    window, page = page_of([health.health_events()])
    ports, state = window.ports, window.desks["health"].state
    page.form.test.setCurrentIndex(1)
    page.start()
    assert ports.started == []
    assert "2 h" in page.notice.text
    assert "smoke" in page.notice.text
    assert page.notice.other_button.isVisible()
    assert page.result.isHidden(), "nothing draws the eye away from the warning"
    qtbot.mouseClick(page.notice.other_button, Qt.MouseButton.LeftButton)
    assert ports.started == []
    assert "smoke" not in page.notice.text
    page.start()
    page.form.test.setCurrentIndex(0)
    assert not page.warned, "the warning was of another test"
    page.form.test.setCurrentIndex(1)
    page.start()
    qtbot.mouseClick(page.notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: state.phase is Phase.OVER)
    ((spec, _cards, _share),) = ports.started
    assert spec == Health(minutes=120.0, burn_in=True)


def test_a_processor_has_no_long_load(page_of, invented):
    _window, page = page_of(cards=[invented.cpu_card()])
    page.refresh()
    assert page.can_start
    page.form.test.setCurrentIndex(1)
    assert not page.can_start
    assert "two-hour protocol is for graphics cards" in page.notice.text
    page.start()
    assert not page.warned


def test_a_failed_test_says_why_and_keeps_its_map(page_of, health, qtbot):
    events = health.health_events(wrong=True)
    over = max(n for n, event in enumerate(events) if getattr(event, "label", "") == "health_burn")
    failed = RunFinished(
        run_id="h1", seq=9999, t_ns=events[over].t_ns, outcome=Outcome.FAILED, exit_code=8, error_code="card_lost"
    )
    window, page = page_of([[*events[:over], failed]])
    page.start()
    qtbot.waitUntil(lambda: window.desks["health"].state.phase is Phase.OVER)
    page.refresh()
    assert page.notice.text.startswith("Failed")
    assert page.result.pictures.map.counts[State.ERRORS] == 1
    assert page.result.pictures.verdicts.health.text() == "✕ failed"


def test_arrow_keys_tell_blocks_of_the_map(page_of, health, qtbot, monkeypatch):
    monkeypatch.setattr(QToolTip, "showText", lambda *_told: None)  # the offscreen plugin cannot raise a window
    window, page = page_of([health.health_events(wrong=True)])
    page.start()
    qtbot.waitUntil(lambda: window.desks["health"].state.phase is Phase.OVER)
    page.refresh()
    shown = page.result.pictures.map
    shown.setFocus()
    qtbot.keyClick(shown, Qt.Key.Key_Right)
    assert shown.accessibleDescription().startswith("0.06")
    qtbot.keyClick(shown, Qt.Key.Key_Down)
    assert f"0x{(1 + shown.columns) * shown.map.stretch_bytes:x}" in shown.accessibleDescription()
    qtbot.keyClick(shown, Qt.Key.Key_Up)
    qtbot.keyClick(shown, Qt.Key.Key_Up)
    assert shown.accessibleDescription().startswith("0.06"), "there is nothing above the first row"
    assert "errors 1" in shown.accessibleName()


def test_a_stored_test_is_drawn_as_it_was(invented, health):
    events = health.health_events(wrong=True)
    content = read_content(invented.KeptSession(events))
    assert shown_map(content.facts) == shown_map(facts_of(events))
    assert burn_shown(content.facts, LIGHT) == burn_shown(facts_of(events), LIGHT)


# --- wear -------------------------------------------------------------------------------------------------------------


def test_wear_is_drawn_from_what_the_sessions_tell(health):
    wear = health.worn()
    groups = hour_groups(wear, LIGHT)
    assert [group.title for group in groups] == ["core", "memory"]
    assert groups[0].rows[1].name == "83 °C (its target)"
    assert [row.value for row in groups[0].rows] == [30000.0, 600.0]
    dots, trend = drift_series(wear, LIGHT)
    assert [dot.y for dot in dots.dots] == pytest.approx([value for _t, value, _fan in wear.drift.shown])
    first, last = drift_reach(wear)
    assert last - first == pytest.approx(14 * 86_400), "a single session does not stand among years"
    (area,) = drift_areas(wear, LIGHT)
    assert area.xs == tuple(x for x, _y in trend.path)
    assert all(low < y < high for low, (_x, y), high in zip(area.low, trend.path, area.high, strict=True))
    told = wear_markdown(replace(wear, origin=Origin.SIMULATED))
    assert "simulated" in told.lower()
    assert "+10 %" in told


def test_the_history_of_the_chosen_card_is_there_without_a_run(page_of, invented, health, qtbot):
    card = invented.modded_4090()
    _window, page = page_of(cards=[card, invented.rtx_3090()], worn={card.uuid: health.worn()})
    page.setup.choose_card(card.uuid)
    qtbot.waitUntil(lambda: page.result.isVisible() and page.result.segments["wear"].isEnabled())
    page.show_picture("wear")
    wear = page.result.pictures.wear
    assert "8 sessions" in wear.head_text
    assert wear.drift.series[0].dots
    (advice,) = wear.advised.cards
    said = " ".join(each.text() for each in advice.findChildren(QLabel))
    assert "The cooler has become worse" in said
    assert "(95 %: +7.0 % to +13.0 %)" in said
    assert "cooling compare" not in said
    assert advice.evidence_button.isHidden()
    assert wear.notice.isHidden()
    assert "The resistance rises" in page.result.pictures.markdown(RunFacts())
    page.setup.choose_card(invented.rtx_3090().uuid)
    page.refresh()
    qtbot.waitUntil(lambda: "No session of this card" in wear.notice.text)


def test_sessions_that_cannot_be_read_are_told(page_of, invented, qtbot):
    card = invented.modded_4090()
    error = StoreError("session_malformed", path="/data/x.sqlite", message="not a database")
    _window, page = page_of(cards=[card], worn={card.uuid: error})
    qtbot.waitUntil(lambda: page.result.isVisible())
    assert "not a database" in page.result.pictures.wear.notice.text
