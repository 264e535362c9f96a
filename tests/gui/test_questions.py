"""The questions of the page Training: chosen in a row, asked of the same training, each with pictures of its own."""

from contextlib import closing
from dataclasses import replace

import pytest

from gputuner.analysis.switches import decide
from gputuner.assembly.setup import open_setup
from gputuner.assembly.window import WindowPorts
from gputuner.experiments.loading import Loading
from gputuner.experiments.numerics import Numerics
from gputuner.experiments.switches import Switching
from gputuner.gui.plots.gain_axis import GainAxis
from gputuner.gui.results_loading import setting_groups, workers_picture
from gputuner.gui.results_numerics import activation_groups, difference_picture, listed, loss_picture, scale_picture
from gputuner.gui.results_switches import memory_groups, rate_groups
from gputuner.gui.results_try import advice_words, trial_groups, tried_rows, verdict_words
from gputuner.gui.theme import LIGHT, Choice
from gputuner.gui.window import MainWindow
from gputuner.model.events import Outcome

MEASURING = {"switches": Switching, "numerics": Numerics, "loading": Loading}
PICTURES = {
    "switches": ["rate", "memory"],
    "numerics": ["loss", "scale", "activations"],
    "loading": ["workers", "settings"],
}


# --- the row ----------------------------------------------------------------------------------------------------------


def test_each_question_has_its_form(open_window, invented):
    window = open_window(invented.ports())
    assert list(window.questions.buttons) == ["training", *MEASURING, "watch"]
    for name, spec in MEASURING.items():
        window.show_page(name)
        assert window.page == name
        assert window.questions.buttons[name].isChecked()
        assert isinstance(window.experiment.setup.form.spec(), spec)
        told = window.experiment.setup.form.spec()
        assert replace(told, folder=".") == spec(), "the form begins with what the command line begins with"
    assert window.navigation.buttons["training"].isChecked()


def test_training_and_card_go_along(open_window, invented):
    window = open_window(invented.ports(cards=[invented.modded_4090(), invented.rtx_3090()]))
    window.show_page("training")
    other = window.training.setup.chooser.itemData(1)
    window.training.setup.choose_card(other)
    window.training.form.set_values({"workload": "bert"})
    window.questions.buttons["numerics"].click()
    assert window.experiment.setup.form.spec().workload == "bert"
    assert window.experiment.setup.cards == (other,)
    window.experiment.setup.form.set_values({"recipe": "mine.py:make", "steps": 50})
    window.questions.buttons["switches"].click()
    assert window.experiment.setup.form.spec().recipe == "mine.py:make"
    window.questions.buttons["numerics"].click()
    assert window.experiment.setup.form.spec().steps == 50


def test_numbers_that_are_found_by_themselves_say_so(open_window, invented):
    window = open_window(invented.ports())
    for name in MEASURING:
        assert window.experiments[name].setup.form.controls["batch"].text() == "found by itself"
    assert window.experiments["numerics"].setup.form.controls["steps"].text() == "as time allows"


def test_the_question_survives_theme_and_language(open_window, invented):
    window = open_window(invented.ports())
    window.show_page("loading")
    window.experiment.setup.form.set_values({"batch": 96})
    window.choose_theme(Choice.DARK)
    assert window.page == "loading"
    assert window.experiment.setup.form.spec().batch == 96
    window.show_page("monitor")
    window.navigation.buttons["training"].click()
    assert window.page == "loading", "the page comes back as it was left"


def test_every_question_and_picture_has_a_key_of_its_own(open_window, invented):
    window = open_window(invented.ports())
    keys = [action.shortcut().toString() for action in window.actions_.entries]
    assert len(keys) == len(set(keys))
    assert "" not in keys
    window.actions_.find("Ask of a training: Numerical check").trigger()
    assert window.page == "numerics"


@pytest.mark.parametrize("size", [(1060, 680), (1366, 768)])
def test_the_row_and_the_forms_fit(open_window, invented, qtbot, size):
    window = open_window(invented.ports())
    window.resize(*size)
    for name, button in window.questions.buttons.items():
        window.show_page(name)
        qtbot.waitUntil(lambda button=button: button.width() >= button.sizeHint().width())
        page = window.experiments[name]
        qtbot.waitUntil(lambda page=page: page.setup.pane.widget().width() <= page.setup.pane.viewport().width())


# --- runs on a simulated card -----------------------------------------------------------------------------------------


@pytest.fixture
def simulated(qtbot, tmp_path):
    """A window over the program itself with a simulated card."""
    with closing(open_setup(simulate=("rtx-4090-48g",), data_dir=tmp_path)) as setup:
        window = MainWindow(WindowPorts(setup), Choice.LIGHT)
        qtbot.addWidget(window)
        window.resize(1366, 768)
        window.show()
        qtbot.waitUntil(lambda: bool(window.conductor.live.cards), timeout=600_000)
        yield window
        window.close()


@pytest.mark.parametrize("name", list(MEASURING))
def test_a_simulated_card_answers(simulated, qtbot, name):
    simulated.show_page(name)
    page, desk = simulated.experiments[name], simulated.desks[name]
    qtbot.waitUntil(lambda: "steps, about" in page.setup.plan_text, timeout=600_000)
    page.load_plots()
    page.start()
    qtbot.waitUntil(lambda: not desk.thread_.busy, timeout=600_000)
    page.refresh()
    page.result.show_facts(desk.state.facts, now=True)
    assert desk.state.outcome is Outcome.COMPLETED
    assert [each for each, button in page.result.segments.items() if button.isEnabled()] == PICTURES[name]
    for picture in PICTURES[name]:
        page.show_picture(picture)
    assert page.advice.cards
    keys = page.result.table.rows.keys
    assert keys
    assert not [key for key in keys if key.startswith("train_loss")], "curves are seen in the picture alone"
    page.bar.open_button.click()
    qtbot.waitUntil(lambda: bool(simulated.sessions.table.rows.keys), timeout=600_000)
    simulated.sessions.load_plots()
    detail = simulated.sessions.detail
    qtbot.waitUntil(lambda: detail.content is not None, timeout=600_000)
    detail.show_view("figures")
    assert list(detail.result.segments) == PICTURES[name]
    assert detail.result.pictures.filled(detail.content.facts) == PICTURES[name]


# --- pictures from figures --------------------------------------------------------------------------------------------


def test_settings_are_ranked_and_the_advised_one_is_marked(trainings):
    points = trainings.switch_points()
    (group,) = rate_groups(points, LIGHT)
    assert [row.value for row in group.rows] == pytest.approx([2004.0, 2000.0, 1800.0, 1200.0, 700.0])
    assert [row.name for row in group.rows] == [
        "… + fused optimizer",
        "✓ BF16, channels-last, compiled",
        "BF16, channels-last",
        "BF16",
        "TF32",
    ]
    assert group.line == pytest.approx(700.0), "what torch does by itself"
    assert (group.rows[0].low, group.rows[0].high) == (2003.0, 2005.0)
    chosen = decide(points).chosen
    assert (chosen.channels_last, dict(chosen.switches)) == (True, {"compile": True})


def test_memory_is_ranked_from_the_smallest_up(trainings):
    (group,) = memory_groups(trainings.switch_points(), LIGHT)
    assert [row.value for row in group.rows] == [2.0, 2.0, 3.0, 3.0, 5.0]
    assert group.line == 5.0


def test_no_rate_no_picture():
    assert rate_groups([], LIGHT) == []
    assert memory_groups([], LIGHT) == []
    assert workers_picture([], LIGHT).series == ()
    assert setting_groups([], LIGHT) == []
    assert loss_picture([], LIGHT).series == ()
    assert activation_groups([], LIGHT) == []


def test_rates_of_a_loader_stand_beside_what_the_training_eats(trainings):
    picture = workers_picture(trainings.loading_points(), LIGHT)
    named = {series.name: series for series in picture.series}
    assert [(dot.x, dot.y) for dot in named["loader alone"].dots] == [(0, 200.0), (4, 800.0), (8, 1500.0)]
    assert [(dot.x, dot.y) for dot in named["training with it"].dots] == [(0, 150.0), (4, 700.0), (8, 900.0)]
    assert named["without waiting for data 1000"].path == ((0, 1000.0), (8, 1000.0))
    assert (picture.areas[0].low, picture.areas[0].high) == ((990.0, 990.0), (1010.0, 1010.0))
    assert [(mark.x, mark.name) for mark in picture.uprights] == [(0, "today: 0"), (8, "advised: 8")]
    assert picture.ticks == (0, 4, 8)
    aside = [dot.y for series in picture.series if not series.joined for dot in series.dots]
    assert aside == [960.0], "other switches are no part of the curve"
    assert [dot.y for series in picture.series if series.symbol == "star" for dot in series.dots] == [949.9]


def test_each_setting_of_a_loader_has_one_bar(trainings):
    (group,) = setting_groups(trainings.loading_points(), LIGHT)
    assert [row.name for row in group.rows] == [
        "✓ 8 workers, prefetch 2, pinned",
        "8 workers, prefetch 2",
        "4 workers, prefetch 2",
        "no workers, today",
    ]
    assert group.rows[0].value == pytest.approx((960.0 * 940.0) ** 0.5), "both measurements of it"
    assert [row.note for row in group.rows][-1] == "85 % waiting"
    assert group.line == 1000.0


def test_losses_are_drawn_smoothed_over_the_band_of_fp32(trainings):
    picture = loss_picture(trainings.numerics_points(), LIGHT)
    fp32, fp16 = picture.series
    assert fp32.name == "FP32"
    assert fp16.name.startswith("FP16 ")
    assert [(dot.x, dot.y) for dot in fp16.dots] == [(0, 3.4), (1, 2.9), (2, 2.4), (3, 1.9)]
    assert len(fp32.dots) == 4, "other draws are in the band"
    (band,) = picture.areas
    assert band.low == pytest.approx((2.9, 2.4, 1.9, 1.4))
    assert band.high == pytest.approx((3.1, 2.6, 2.1, 1.6))


def test_the_difference_to_fp32_shows_what_the_fall_hides(trainings):
    picture = difference_picture(trainings.numerics_points(), LIGHT)
    assert [dot.y for dot in picture.series[1].dots] == pytest.approx([0.4] * 4)
    assert picture.areas[0].low == pytest.approx([-0.1] * 4)


def test_the_scale_follows_the_steps_and_rings_skipped_ones(trainings):
    line, skipped = scale_picture(trainings.numerics_points(), LIGHT).series
    assert [dot.y for dot in line.dots] == [65536.0, 32768.0, 16384.0, 8192.0]
    assert [dot.x for dot in skipped.dots] == [2]


def test_activations_are_those_of_fp16_and_overflow_is_named(trainings):
    (group,) = activation_groups(trainings.numerics_points(), LIGHT)
    assert group.title == "FP16"
    assert [(row.name, row.note) for row in group.rows] == [("head", "too large for FP16"), ("stem", "")]
    assert group.rows[0].value > group.line > group.rows[1].value


def test_the_table_has_the_judgements_first(trainings):
    points = trainings.numerics_points()
    metrics = [each.metric for each in listed(points)]
    assert metrics[:2] == ["numerics_verdict"] * 2
    assert metrics[-1] == "autocast_kept"
    assert "train_loss" not in metrics


def test_a_tried_advice_shows_its_trials_and_both_gains(trainings):
    tried = ("base", 100.0), ("advised", 121.0), ("advised", 119.0), ("base", 100.0)
    points = [
        trainings.point(
            "train_throughput", rate, {"batch": 64, "phase": "try", "side": side, "number": number}, half=1.0
        )
        for number, (side, rate) in enumerate(tried)
    ]
    gain = {"predicted": 0.3, "predicted_low": 0.25, "predicted_high": 0.35}
    points.append(trainings.point("advice_gain", 0.19, {"advice": "batch.fastest", "round": 1}, "fraction", **gain))
    points.append(
        trainings.point("advice_gain", 0.2, {"advice": "batch.fastest", "round": 2}, "fraction", half=0.01, **gain)
    )
    (trials,) = trial_groups(points, LIGHT)
    assert [row.name for row in trials.rows] == ["as before", "as advised", "as advised", "as before"]
    assert [(row.name, row.text) for row in tried_rows(points, LIGHT)] == [
        ("predicted", "+30.0 % (+25.0 % … +35.0 %)"),
        ("realised", "+20.0 % (+19.0 % … +21.0 %)"),
    ]
    assert tried_rows(points, LIGHT)[0].hollow
    assert verdict_words(points) == "It gained, but less than was predicted."


def test_a_loss_lies_left_of_zero(trainings, qtbot):
    points = [trainings.point("advice_gain", -0.05, {"round": 1}, "fraction", half=0.01, predicted=0.1)]
    axis = GainAxis(LIGHT)
    qtbot.addWidget(axis)
    axis.resize(600, 80)
    axis.show_rows(tried_rows(points, LIGHT))
    assert [row.text for row in axis.rows] == ["+10.0 %", "−5.0 % (−6.0 % … −4.0 %)"]
    low, high = axis.span
    assert low < -0.06 < 0.0 < 0.1 < high
    assert axis.place(-0.05) < axis.place(0.0) < axis.place(0.1)
    axis.grab()


@pytest.mark.parametrize(
    ("advice", "changed", "title"),
    [
        ("precision.best", {"precision": "bf16"}, "Train in BF16"),
        ("batch.fastest", {"batch": 512}, "Batch size 512"),
        ("of a later version", {"batch": 512}, "batch 512 instead of batch 64"),
    ],
)
def test_a_try_says_what_was_tried(advice, changed, title):
    base = {"batch": 64, "precision": "tf32", "channels_last": True, "switches": {}, "loader": {}}
    assert advice_words({"advice": advice, "base": base, "advised": base | changed}) == title
