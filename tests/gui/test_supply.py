"""The view Supply of the page Power: reached without a run, sized anew with each value, honest about its source."""

from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication

from gputuner.analysis.supply import RANGES, Wishes
from gputuner.analysis.supply_draw import CardDraw, DrawSource, Feed, Seen
from gputuner.analysis.supply_planned import planned
from gputuner.catalog.supply import load_supply
from gputuner.gui.pages.power_result import SUPPLY
from gputuner.gui.pages.supply_picture import SupplyGauges
from gputuner.gui.pages.tune_result import RESULTS
from gputuner.gui.results_supply import gauges, rows
from gputuner.gui.run_state import Phase
from gputuner.gui.theme import DARK, LIGHT, Choice
from gputuner.gui.widgets.supply_form import SupplyForm
from gputuner.language.words import set_language
from gputuner.model.errors import StoreError, UsageError

SEEN = Seen(sustained_w=421.0, held_s=300.0, peak_w=448.0, interval_s=0.5, session="20261130-100000-tune-aaaa")
DRAWN = CardDraw(
    name="RTX 4090 48G", uuid="GPU-4090", source=DrawSource.MEASURED, sustained_w=421.0, peak_w=448.0, limit_w=450.0,
    seen=SEEN, sessions=4,
)  # fmt: skip


def plan(count: int = 1, **wishes: float):
    return planned([DRAWN] * count, Wishes(**wishes), load_supply())


@pytest.fixture
def opened(open_window, invented, qtbot):
    """The page Power, its supply looked up."""

    def make(draw=DRAWN, cards=None, theme=Choice.LIGHT):
        ports = invented.ports([invented.modded_4090()] if cards is None else cards)
        ports.draws["GPU-4090"] = draw
        window = open_window(ports, theme)
        window.navigate("power")
        page = window.experiments["power"]
        page.load_plots()
        page.refresh()
        qtbot.waitUntil(lambda: window.conductor.background.pending == 0, timeout=60_000)
        return window, page, page.result.pictures.supply

    return make


def test_it_is_there_before_anything_was_measured(opened):
    _window, page, view = opened()
    assert page.result.segments[SUPPLY].isEnabled()
    assert page.result.name == SUPPLY
    assert not page.result.segments["curves"].isEnabled()
    assert "Supply" in page.notice.text
    assert view.headline.text() == "A supply of 850 to 1000 W"
    assert "measured in 4 stored sessions" in view.said.text()
    assert "highest mean over 15 s" in view.said.toolTip()
    assert view.table.rows.cells[0][2].text == "421 W"
    assert page.result._below.isHidden(), "its own table is enough"


def test_the_form_sizes_anew_and_advises(opened):
    _window, _page, view = opened()
    view.form.cards.setValue(2)
    view.form.psu.tell(1200)
    view.form.cpu.tell(250)
    view.form.rest.tell(100)
    assert view.headline.text() == "The supply of 1200 W has little head-room"
    assert view.picture.gauges[0].over
    view.form.psu.tell(2000)
    assert view.headline.text() == "The supply of 2000 W is enough"
    assert not view.picture.gauges[0].over
    view.form.watts.tell(300)
    assert view.plan.draws[0].source is DrawSource.TOLD
    assert "as told" in view.said.text()


def test_it_is_copied_as_markdown_by_button_and_by_key(opened):
    _window, page, view = opened()
    view.copy_button.click()
    text = QGuiApplication.clipboard().text()
    assert "**Power supply**" in text
    assert "| supply to buy | 850 to 1000 W |" in text
    QGuiApplication.clipboard().clear()
    page.copy()
    assert QGuiApplication.clipboard().text() == text
    assert "simulated" not in text
    view._known("GPU-4090", replace(DRAWN, simulated=True))
    assert "simulated" in view.markdown()


def test_what_is_not_measured_or_cannot_be_read_is_told_and_the_form_still_answers(opened):
    limit = CardDraw(name="RTX 4090", source=DrawSource.LIMIT, sustained_w=450.0, peak_w=450.0, limit_w=450.0)
    _window, _page, view = opened(limit)
    assert "not measured" in view.said.text()
    view.form.psu.tell(300)
    assert view.headline.text().endswith("of the supply's rating"), "a limit calls for no advice"
    unknown = UsageError("supply_unknown_draw", "?", card="RTX 4090"), "Nothing tells the watts of RTX 4090"
    broken = StoreError("session_malformed", path="/x", message="not a database"), "/x"
    for err, told in (unknown, broken):
        view._failed("GPU-4090", err)
        assert told in view.said.text()
        assert view.picture.isHidden()
        assert not view.copy_button.isEnabled()
        assert view.markdown() == ""
    view.form.watts.tell(350)
    assert view.plan is not None
    assert view.copy_button.isEnabled()


def test_a_processor_has_no_supply_to_size(opened, invented):
    _window, page, view = opened(cards=[invented.cpu_card()])
    assert page.result.isHidden()
    assert view.plan is None


def test_another_card_is_looked_up_and_an_old_answer_is_not_its(opened, invented):
    _window, page, view = opened(cards=[invented.modded_4090(), invented.rtx_3090()])
    other = next(info for info in (invented.rtx_3090(),))
    page.setup.choose_card(other.uuid)
    page.refresh()
    view._known("GPU-4090", DRAWN)
    assert view.draw() is None or view.draw().uuid == other.uuid


def test_after_a_run_both_views_are_there_and_each_has_its_table(open_window, invented, cooling, qtbot):
    ports = invented.ports([invented.modded_4090()], [invented.ScriptedRun(cooling.power_events())])
    window = open_window(ports)
    window.navigate("power")
    page, desk = window.experiments["power"], window.desks["power"]
    page.load_plots()
    page.start()
    qtbot.waitUntil(lambda: desk.state.phase is Phase.OVER, timeout=60_000)
    page.refresh()
    qtbot.waitUntil(lambda: window.conductor.background.pending == 0, timeout=60_000)
    assert page.result.segments["curves"].isEnabled()
    page.result.show_name("curves")
    assert not page.result._below.isHidden()
    page.result.show_name(SUPPLY)
    assert page.result._below.isHidden()
    assert page.result.pictures.markdown(desk.state.facts) == page.result.pictures.supply.markdown()


def test_a_stored_sweep_has_no_supply(qtbot):
    view = RESULTS["power"](LIGHT)
    qtbot.addWidget(view)
    assert list(view.segments) == ["curves"]


def test_gauges_add_up_and_hold_their_limits():
    watts, hpwr, eight, circuit = gauges(plan(2, psu_w=1200, cpu_w=200, rest_w=100), LIGHT)
    assert [part.value for part in watts.parts[:4]] == [421, 421, 200, 100]
    assert [line.value for line in watts.lines] == [960, 1200]
    assert sum(part.value for part in watts.parts) == pytest.approx(2 * 448 * 1.6 + 300), (
        "up to the peaks, of full draw"
    )
    assert hpwr.lines[0].value == 600
    assert sum(part.value for part in hpwr.parts) == pytest.approx(421)
    assert eight.lines[0].value == 450
    assert circuit.lines[0].value == pytest.approx(2944)
    for gauge in (watts, hpwr, eight, circuit):
        assert sum(part.value for part in gauge.parts) <= gauge.top
        assert all(line.value <= gauge.top for line in gauge.lines)
        assert gauge.hint


def test_a_module_has_no_gauge_of_plugs():
    """An H200 SXM has no cable: watts and circuit are left."""
    module = replace(DRAWN, name="H200 SXM", fed=Feed.MODULE)
    found = planned([module, replace(DRAWN, name="A100 PCIe", fed=Feed.SERVER)], Wishes(), load_supply())
    assert [gauge.title for gauge in gauges(found, LIGHT)] == ["Watts against the supply", "Circuit"]


def test_many_cards_are_one_piece():
    assert len(gauges(plan(12), LIGHT)[0].parts) < 8


def test_each_figure_tells_on_hover_how_it_was_found():
    found = plan()
    told = rows(found)
    assert len(told) == len(found.figures)
    assert len({key for key, _cells in told}) == len(told)
    assert all("confidence" in cells[2].hint for _key, cells in told)
    peak = next(cells for key, cells in told if key == "supply_cards_transient")
    assert "Igor's Lab" in peak[2].hint


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_it_is_painted_in_both_themes_and_languages(qtbot, theme, language):
    set_language(language)
    widget = SupplyGauges(theme)
    qtbot.addWidget(widget)
    widget.show_gauges(gauges(plan(3, psu_w=1000), theme))
    widget.resize(360, widget.sizeHint().height())
    image = widget.grab().toImage()
    colours = {image.pixelColor(x, y).name() for x in range(10, 350, 3) for y in range(10, image.height(), 3)}
    assert theme.blue in colours
    assert len(widget.key) == 5
    assert widget.accessibleName()
    assert all(gauge.title in widget.hint(gauge) for gauge in widget.gauges)


def test_the_form_says_only_what_was_told(qtbot):
    form = SupplyForm()
    qtbot.addWidget(form)
    assert form.wishes == Wishes()
    form.efficiency.tell(92)
    form.psu.stepBy(1)
    assert (form.wishes.efficiency, form.wishes.psu_w) == (0.92, 1000.0)
    form.psu.tell(RANGES["psu_w"][0])
    form.psu.stepBy(-1)
    assert form.wishes.psu_w is None
    with qtbot.waitSignal(form.changed):
        form.volts.setValue(120)
    assert form.wishes.circuit_volts == 120


def test_what_was_typed_survives_another_theme_and_language(opened, qtbot):
    window, _page, view = opened()
    view.form.cards.setValue(3)
    view.form.psu.tell(1600)
    told = view.form.wishes
    set_language("zh_CN")
    window.show_theme(Choice.DARK)
    page = window.experiments["power"]
    page.load_plots()
    anew = page.result.pictures.supply
    assert anew is not view
    assert (anew.form.cards.value(), anew.form.wishes) == (3, told)
    qtbot.waitUntil(lambda: window.conductor.background.pending == 0, timeout=60_000)


def test_what_it_is_made_for_is_told_where_the_page_is_set_up(opened):
    window, page, view = opened()
    assert page.setup.isAncestorOf(view.form)
    assert not page.result.isAncestorOf(view.form)
    for size in (window.size(), window.minimumSize()):
        window.resize(size)
        QGuiApplication.processEvents()
        assert view.form.width() <= page.setup.pane.viewport().width()
        assert view.picture.width() > 0.8 * view.width()


def test_what_is_shown_is_set_up_by_what_is_open(opened, invented, cooling, qtbot):
    window, page, view = opened()
    assert (page.sweep_fold.unfolded, page.supply_fold.unfolded) == (True, True), "nothing was measured yet"
    window.desks["power"].state.facts.points.extend(
        event.point for event in cooling.power_events() if event.kind == "point_measured"
    )
    page.result.show_facts(page._state.facts, now=True)
    page.result.show_name("curves")
    assert (page.sweep_fold.unfolded, page.supply_fold.unfolded) == (True, False)
    assert not view.form.isVisible()
    page.result.show_name(SUPPLY)
    assert (page.sweep_fold.unfolded, page.supply_fold.unfolded) == (False, True)
    assert view.form.psu.isVisible()
    page.sweep_fold.opener.click()
    page.refresh()
    assert page.sweep_fold.unfolded, "what the user opened stays open"


def test_a_kwh_costs_the_same_in_both_forms(opened):
    _window, page, view = opened()
    view.form.price.tell(0.325)
    assert page.form.values()["price"] == 0.325
    page.form.price.setValue(0.0)
    assert view.form.wishes.price is None


def test_the_fold_says_what_is_told_in_it(qtbot):
    form = SupplyForm()
    qtbot.addWidget(form)
    assert form.more.opener.text() == "▸ More options"
    form.cpu.tell(250)
    form.volts.setValue(120)
    assert form.more.opener.text() == "▸ More options · 1 is set"
    form.more.opener.click()
    assert form.more.opener.text() == "▾ More options"
    form.more.unfold(False)
    form.cpu.tell(None)
    assert form.more.opener.text() == "▸ More options"
