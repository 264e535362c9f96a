"""A power sweep: visits over the setting, where the answers lie, and that nothing is set before it was asked."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QLabel

from gputuner.experiments.power import LOAD, Power
from gputuner.gui.pages.tune_result import RESULTS
from gputuner.gui.results_power import (
    ENERGY,
    RATE,
    answer_uprights,
    card_range,
    interval95_words,
    listed,
    setting_text,
    visit_series,
)
from gputuner.gui.run_state import Phase, RunFacts
from gputuner.gui.theme import LIGHT
from gputuner.gui.widgets.power_form import PowerForm
from gputuner.model.events import Outcome

SAID = {Outcome.COMPLETED: "This run has nothing to advise", Outcome.TIMED_OUT: "Ended before there was advice"}


def test_each_visit_is_a_dot_over_its_setting(cooling):
    points = cooling.sweep()
    (rate,), (energy,) = (visit_series(points, metric, LIGHT.blue) for metric in (RATE, ENERGY))
    assert [(dot.x, dot.y) for dot in rate.dots] == [(setting, value) for setting, value, _joules in cooling.VISITS]
    assert [dot.y for dot in energy.dots] == [joules for _setting, _rate, joules in cooling.VISITS]
    seen_before = [cooling.swept("power_rate", 1000.0, "samples/s", cap_w=250.0, visit=0)]
    assert [dot.hollow for dot in visit_series([*points, *seen_before], RATE, LIGHT.blue)[0].dots][-2:] == [False, True]
    null = [cooling.swept("power_rate", 1000.0, "samples/s", cap_w=450.0, visit=9, null=True)]
    assert visit_series(null, RATE, LIGHT.blue) == [], "equal visits of a check are no curve"


def test_answers_at_one_place_share_a_line_and_the_axis_names_what_was_set(cooling):
    assert [(line.x, line.name) for line in answer_uprights(cooling.sweep())] == [
        (300.0, "300\u00a0W\nloses little\nno change above"), (200.0, "200\u00a0W\nleast energy")
    ]  # fmt: skip
    assert answer_uprights(cooling.sweep())[0].bands == ((290.0, 310.0),)
    assert answer_uprights(cooling.sweep("clock_mhz"))[1].name.startswith("200\u00a0MHz")
    assert setting_text(cooling.sweep()) == "power limit, W"
    assert setting_text(cooling.sweep("clock_mhz")) == "SM clock, MHz"
    assert [each.metric for each in listed(cooling.sweep())][:3] == ["power_knee", "power_plateau", "power_best_energy"]


def test_where_nothing_was_set_the_axis_is_what_the_card_takes(qtbot, cooling, invented):
    card = invented.modded_4090()
    told = {f"power_limit_{name}_w": invented.value(watts, "W") for name, watts in (("min", 150.0), ("max", 600.0))}
    card = replace(card, readings={**card.readings, **told})
    extra = {"low95": 314.0, "high95": 331.0, "peak_w": 314.0, "top": 450.0}
    enough = replace(cooling.swept("power_plateau", 331.0, "W"), extra=extra)
    visits = [cooling.swept("power_rate", 1790.0 + n, "samples/s", cap_w=450.0, visit=n) for n in (1, 2)]
    assert [(line.x, line.name, line.bands) for line in answer_uprights([*visits, enough])] == [
        (314.0, "314\u00a0W\nhighest draw", ()),
        (331.0, "331\u00a0W\nenough", ()),
        (450.0, "450\u00a0W\nlimit that stands", ()),
    ]
    assert interval95_words(enough) == "", "what it must exceed is no interval"
    assert card_range(visits, card) == (150.0, 600.0)
    assert card_range(cooling.sweep(), card) == (), "a sweep has an axis of its own"
    view = RESULTS["power"](LIGHT)
    qtbot.addWidget(view)
    view.show_facts(RunFacts(points=visits), now=True)
    axis = view.pictures.rate.plot.getPlotItem().getAxis("bottom")
    assert [spot for _step, spots in axis.tickValues(*axis.range, 500) for spot in spots] == [450.0], "one tick for one"
    view.show_facts(RunFacts(points=[*visits, enough]), now=True)
    low, high = axis.range
    assert low < 314.0
    assert high > 450.0


def test_a_stored_sweep_has_a_picture_of_its_own(qtbot, cooling):
    view = RESULTS["power"](LIGHT)
    qtbot.addWidget(view)
    facts = RunFacts(points=[each for each in cooling.sweep() if each.metric != "power_energy"])
    view.show_facts(facts, now=True)
    assert view.segments["curves"].isEnabled()
    assert view.pictures.energy.isHidden(), "without an energy reading only the rate is drawn"
    view.show_facts(RunFacts(points=cooling.sweep()), now=True)
    assert not view.pictures.energy.isHidden()
    assert view.table.rows.keys[0] == "knee"
    assert view.table.rows.cells[0][2].text == "290 … 310"


def test_the_form_sets_nothing_unless_it_is_told_to(qtbot):
    form = PowerForm(LIGHT, Power, ("resnet50", "edsr"))
    qtbot.addWidget(form)
    here = form.values()["folder"]
    assert form.spec() == Power(load=LOAD, passive=True, folder=here)
    form.sets.setCurrentIndex(form.sets.findData("clocks"))
    form.price.setValue(0.3)
    assert form.problem().code == "power_price_hours"
    form.hours.setValue(4000)
    told = Power(load=LOAD, clocks=True, price=0.3, hours=4000.0, folder=here)
    assert form.spec() == told
    anew = PowerForm(LIGHT, Power, ("resnet50", "edsr"))
    qtbot.addWidget(anew)
    anew.set_values(form.kept())
    assert anew.spec() == told


def test_a_highest_limit_is_asked_for_where_limits_are_set(qtbot):
    form = PowerForm(LIGHT, Power, ("resnet50", "edsr"))
    qtbot.addWidget(form)
    assert form.up_to.isHidden()
    form.sets.setCurrentIndex(form.sets.findData("limit"))
    assert not form.up_to.isHidden()
    assert form.spec().up_to_w is None, "the limit that stands"
    form.up_to.setValue(480)
    told = form.spec()
    assert (told.up_to_w, told.passive, told.clocks, told.null) == (480.0, False, False, False)
    anew = PowerForm(LIGHT, Power, ("resnet50", "edsr"))
    qtbot.addWidget(anew)
    anew.set_values(form.kept())
    assert anew.spec() == told
    form.sets.setCurrentIndex(form.sets.findData("clocks"))
    assert form.problem() is None, "what is hidden is not asked for"
    assert form.spec().up_to_w is None


def test_equal_visits_set_nothing_and_are_a_check_that_is_told(qtbot, cooling):
    form = PowerForm(LIGHT, Power, ("resnet50", "edsr"))
    qtbot.addWidget(form)
    form.sets.setCurrentIndex(form.sets.findData("null"))
    told = form.spec()
    assert (told.null, told.passive, form.sets_something) == (True, False, False)
    form.set_values(form.kept())
    assert form.spec() == told
    view = RESULTS["power"](LIGHT)
    qtbot.addWidget(view)
    extra = {"largest": 0.02, "false_difference_rate": 0.03}
    found = replace(cooling.swept("null_difference", 0.004, "fraction"), extra=extra)
    visits = [cooling.swept("power_rate", 1000.0, "samples/s", cap_w=450.0, visit=n, null=True) for n in (1, 2)]
    view.show_facts(RunFacts(points=[*visits, found]), now=True)
    assert [cell.text for cell in view.table.rows.cells[0]][1] == "0.4 %"
    assert "Equal visits differ by 0.40 %" in view.table.rows.cells[0][3].text


def test_the_question_says_that_more_than_stands_is_set(open_window, invented):
    card = invented.modded_4090()
    told = {name: invented.value(watts, "W") for name, watts in (("min", 150.0), ("max", 600.0))}
    ranged = {f"power_limit_{name}_w": reading for name, reading in told.items()}
    card = replace(card, readings={**card.readings, **ranged})
    window = open_window(invented.ports([card]))
    window.navigate("power")
    page = window.experiments["power"]
    page.load_plots()
    page.setup.form.set_values({"passive": False, "up_to_w": 5000.0})
    page.start()
    assert "above the limit that stands now (450 W)" in page.question.text()
    assert "… 600 W" in page.question.text(), "not above what the card takes"
    page.question.reject()
    page.setup.form.set_values({"up_to_w": 300.0})
    page.start()
    assert "Nothing above" in page.question.text()
    page.question.reject()


@pytest.mark.parametrize("allowed", [True, False])
def test_before_anything_is_set_it_is_asked(open_window, invented, cooling, qtbot, allowed):
    ports = invented.ports([invented.modded_4090()], [invented.ScriptedRun(cooling.power_events())])
    window = open_window(ports)
    window.navigate("power")
    page, desk = window.experiments["power"], window.desks["power"]
    page.load_plots()
    assert "No setting of the card" in page.setup.kept_text
    page.setup.form.set_values({"passive": False})
    assert "put back" in page.setup.kept_text
    page.start()
    assert not ports.started, "nothing begins before the answer"
    box = page.question
    assert "put back" in box.text()
    assert box.defaultButton() is box.escapeButton()
    page.start()
    assert page.question is box, "it is asked once"
    wanted = next(button for button in box.buttons() if (button is box.defaultButton()) is not allowed)
    wanted.click()
    if not allowed:
        assert page.question is None
        assert not ports.started
        page.setup.form.set_values({"passive": True})
        page.start()
        assert page.question is None, "what sets nothing is not asked about"
    qtbot.waitUntil(lambda: desk.state.phase is Phase.OVER)
    assert [spec.passive for spec, _cards, _share in ports.started] == [not allowed]
    page.refresh()
    assert page.result.segments["curves"].isEnabled()


@pytest.mark.parametrize("outcome", [Outcome.COMPLETED, Outcome.TIMED_OUT])
def test_what_is_said_beside_stored_figures_and_after_a_run_without_advice(
    open_window, invented, cooling, qtbot, outcome
):
    events = cooling.power_events()
    events[-1] = replace(events[-1], outcome=outcome)
    window = open_window(invented.ports([invented.modded_4090()], [invented.ScriptedRun(events)]))
    window.navigate("power")
    page = window.experiments["power"]
    page.load_plots()

    def column():
        return " ".join(each.text() for each in page.advice.widget().findChildren(QLabel) if each.isVisible())

    assert page.notice.text.startswith("Not run in this window yet"), "the supply below is sized for what is known"
    assert "What a run advises appears here" in column()
    page.start()
    qtbot.waitUntil(lambda: window.desks["power"].state.phase is Phase.OVER)
    page.refresh()
    assert "appears here" not in column()
    qtbot.waitUntil(lambda: SAID[outcome] in column())


def test_a_processor_has_no_limit_to_set(open_window, invented):
    window = open_window(invented.ports([invented.cpu_card()]))
    window.navigate("power")
    page = window.experiments["power"]
    assert not page.can_start
    assert "graphics card" in page.notice.text
