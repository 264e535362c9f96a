"""Training: choose a built-in or a recipe, run on a simulated card, pictures, answers, and what is refused."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from gputuner.assembly.setup import open_setup
from gputuner.assembly.window import WindowPorts
from gputuner.cli.batch import HURRIED_MINUTES as HURRIED_ON_THE_COMMAND_LINE
from gputuner.experiments.batch import Batch
from gputuner.gui.plots.labelling import Box
from gputuner.gui.results_batch import batch_picture
from gputuner.gui.results_formats import format_groups
from gputuner.gui.run_state import Phase, RunFacts
from gputuner.gui.theme import LIGHT, Choice
from gputuner.gui.widgets.advice_column import CodeBox
from gputuner.gui.widgets.training_form import HURRIED_MINUTES
from gputuner.gui.widgets.training_source import FUNCTION
from gputuner.gui.window import MainWindow
from gputuner.language import sentences
from gputuner.model.errors import UsageError
from gputuner.model.events import Outcome


def facts_of(events) -> RunFacts:
    facts = RunFacts()
    for event in events:
        facts.take(event)
    return facts


def energy_points(facts):
    return [p for p in facts.points if p.metric == "train_throughput" and p.params["phase"] == "energy"]


def run_to_its_end(window, qtbot):
    window.show_page("training")
    qtbot.waitUntil(lambda: window.training.result is not None)
    window.training.start()
    desk = window.conductor.training
    qtbot.waitUntil(lambda: not desk.thread_.busy, timeout=600_000)
    window.training.refresh()
    window.training.result.show_facts(desk.state.facts, now=True)
    return window.training


@pytest.fixture
def simulated(qtbot, tmp_path):
    """A window over the program itself with a simulated card."""
    with closing(open_setup(simulate=("rtx-4090-48g",), data_dir=tmp_path)) as setup:
        window = MainWindow(WindowPorts(setup), Choice.LIGHT)
        qtbot.addWidget(window)
        window.resize(1366, 768)
        window.show()
        qtbot.waitUntil(lambda: bool(window.conductor.live.cards), timeout=600_000)
        window.show_page("training")
        yield window
        window.close()


@pytest.fixture
def finished(open_window, invented, qtbot):
    """A window after a whole run of invented figures."""
    window = open_window(invented.ports(runs=[invented.ScriptedRun(invented.batch_events())]))
    run_to_its_end(window, qtbot)
    return window


def test_the_form_makes_the_spec_of_a_built_in(open_window, invented):
    window = open_window(invented.ports())
    form = window.training.form
    assert [form.source.built_in.itemData(i) for i in range(form.source.built_in.count())] == list(
        window.ports.trainings
    )
    assert form.source.built_in.currentText() == "ResNet-50"
    assert set(form.controls) == {"precision", "limit_only", "minutes", "effective_batch", "largest_batch"}
    assert form.spec() == Batch(folder=str(Path.cwd())), "the form begins with what the command line begins with"
    form.set_values({"workload": "gpt", "precision": "fp16", "minutes": 7.0, "effective_batch": 64})
    assert form.spec() == Batch(
        workload="gpt", precision="fp16", minutes=7.0, effective_batch=64, folder=str(Path.cwd())
    )


def test_only_what_fits_takes_less_time_unless_another_was_set(open_window, invented):
    assert HURRIED_MINUTES == HURRIED_ON_THE_COMMAND_LINE
    form = open_window(invented.ports()).training.form
    only = form.controls["limit_only"]
    only.setChecked(True)
    assert form.values()["minutes"] == HURRIED_MINUTES
    only.setChecked(False)
    assert form.values()["minutes"] == Batch().minutes
    form.set_values({"minutes": 9.0})
    only.setChecked(True)
    assert form.values()["minutes"] == 9.0


def test_a_typed_recipe_is_the_specs(open_window, invented):
    window = open_window(invented.ports())
    form = window.training.form
    form.source.kinds[True].click()
    assert not window.training.can_start
    assert form.problem().code == "recipe_missing"
    form.source.recipe.setText("mine.py")
    assert form.problem().code == "recipe_malformed"
    form.source.recipe.setText(" mine.py:build ")
    form.source.images.setChecked(True)
    assert window.training.can_start
    spec = form.spec()
    assert (spec.recipe, spec.folder, spec.images) == ("mine.py:build", str(Path.cwd()), True)
    form.source.kinds[False].click()
    spec = form.spec()
    assert (spec.recipe, spec.images) == ("", False), "a built-in has no recipe, whatever was typed"


def test_what_is_missing_is_said_where_the_plan_stands(open_window, invented, qtbot):
    window = open_window(invented.ports())
    window.show_page("training")
    window.training.form.source.kinds[True].click()
    qtbot.waitUntil(lambda: sentences.error(UsageError("recipe_missing", "")) in window.training.setup.plan_text)
    assert not window.training.bar.button.isEnabled()


def test_a_chosen_file_is_asked_for_its_function(open_window, invented, qtbot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").mkdir()
    file = tmp_path / "train" / "mine.py"
    file.write_text("")
    window = open_window(invented.ports())
    window.show_page("training")
    source = window.training.form.source
    source.kinds[True].click()
    source.choose.click()
    dialog = source.findChild(QFileDialog)
    assert not dialog.isModal()
    dialog.selectFile(str(file))
    dialog.fileSelected.emit(str(file))
    dialog.close()
    assert source.asks_function
    assert source.function.text() == FUNCTION
    assert window.training.form.spec().recipe == str(Path("train/mine.py:make"))
    source.function.setText("")
    qtbot.keyClicks(source.function, "build")
    assert window.training.form.spec().recipe == str(Path("train/mine.py:build"))
    source.recipe.setFocus()
    source.recipe.selectAll()
    qtbot.keyClicks(source.recipe, "package.module:f")
    assert not source.asks_function, "what is typed names the function itself"
    assert window.training.form.spec().recipe == "package.module:f"
    source.take_file(Path("/elsewhere/other.py"))
    assert window.training.form.spec().recipe == f"{Path('/elsewhere/other.py')}:make"


def test_the_choice_survives_theme_and_language(open_window, invented):
    window = open_window(invented.ports())
    window.show_page("training")
    window.training.form.set_values(
        {"recipe": "mine.py:make", "images": True, "limit_only": True, "minutes": 3.0, "precision": "bf16"}
    )
    before = window.training.form.spec()
    window.choose_theme(Choice.DARK)
    assert window.page == "training"
    assert window.training.form.spec() == before
    assert before == Batch(
        recipe="mine.py:make", images=True, limit_only=True, minutes=3.0, precision="bf16", folder=str(Path.cwd())
    )


def test_what_is_not_meant_or_not_typed_yet_survives_too(open_window, invented):
    window = open_window(invented.ports())
    window.training.form.source.kinds[True].click()
    window.choose_theme(Choice.DARK)
    assert window.training.form.source.own
    window.training.form.source.recipe.setText("mine.py:make")
    window.training.form.source.kinds[False].click()
    window.choose_theme(Choice.LIGHT)
    assert not window.training.form.source.own
    assert window.training.form.source.recipe.text() == "mine.py:make"


def test_the_dry_run_of_a_recipe_says_whose_steps_they_are(open_window, invented, qtbot):
    window = open_window(invented.ports())
    window.show_page("training")
    qtbot.waitUntil(lambda: "4 steps" in window.training.setup.plan_text)
    assert "ResNet-50" not in window.training.setup.plan_text
    window.training.form.set_values({"recipe": "mine.py:make"})
    qtbot.waitUntil(lambda: "Your training is not run" in window.training.setup.plan_text)


def test_a_simulated_card_answers_all_three_questions(simulated, qtbot):
    simulated.training.form.set_values({"minutes": 3.0})
    page = run_to_its_end(simulated, qtbot)
    desk = simulated.conductor.training
    assert desk.state.outcome is Outcome.COMPLETED
    figures = {point.metric: point for point in desk.state.facts.points}
    limit, safe, fastest = (int(figures[f"batch_{name}"].value) for name in ("limit", "safe", "fastest"))
    knee = figures["batch_fastest"].extra["knee"]
    pictures = page.result.pictures
    answers = {f"fastest {fastest}", f"knee {knee}", f"safe {safe}", f"limit {limit}"}
    assert {mark.text for mark in pictures.batch.rate.marks} == answers
    least = int(figures["batch_least_energy"].value)
    assert [mark.text for mark in pictures.batch.energy.marks] == [f"least energy {least}"]
    joules = {p.params["batch"]: p.extra["joules_per_unit"] for p in energy_points(desk.state.facts)}
    assert {dot.batch: dot.value for dot in pictures.batch.energy.series[0].dots} == joules
    assert len(joules) >= 2
    assert {mark.text for mark in pictures.batch.memory.marks} == {f"safe {safe}", f"limit {limit}"}
    assert [dot.batch for s in pictures.batch.memory.series for dot in s.dots if dot.failed] == [
        figures["batch_limit"].extra["fails"]
    ]
    precisions = {row.name.split()[0] for row in pictures.formats.groups[0].rows}
    assert precisions == {"BF16", "FP16", "TF32", "FP32"}
    assert page.advice.cards[0].copy_button is not None, "there is a snippet to copy"
    assert "ResNet-50" in page.bar.about_text
    table = page.result.table
    row = table.rows.keys.index(figures["batch_limit"].id)
    qtbot.waitUntil(lambda: 0 <= table.rowViewportPosition(row) < table.viewport().height())  # the answers are seen


def test_a_recipe_is_refused_on_a_simulated_card_as_on_the_command_line(simulated, qtbot):
    page, desk = simulated.training, simulated.conductor.training
    words = sentences.error(UsageError("recipe_simulated", ""))
    page.form.set_values({"recipe": "mine.py:make"})
    qtbot.waitUntil(lambda: words in page.setup.plan_text, timeout=600_000)
    page.start()
    qtbot.waitUntil(lambda: desk.state.phase is Phase.REFUSED)
    page.refresh()
    assert words in page.notice.text


def test_a_batch_session_opens_with_its_own_pictures(simulated, qtbot):
    simulated.training.form.set_values({"workload": "gpt", "limit_only": True, "minutes": 1.0})
    run_to_its_end(simulated, qtbot)
    simulated.training.bar.open_button.click()
    assert simulated.page == "sessions"
    qtbot.waitUntil(lambda: bool(simulated.sessions.table.rows.keys), timeout=600_000)
    simulated.sessions.load_plots()
    detail = simulated.sessions.detail
    qtbot.waitUntil(lambda: detail.content is not None, timeout=600_000)
    assert simulated.sessions.table.rows.cells[0][1].text == "Training"
    assert simulated.sessions._title.whole.startswith("Training · ")
    detail.show_view("figures")
    enabled = [name for name, button in detail.result.segments.items() if button.isEnabled()]
    assert enabled == ["memory"], "no rate was asked for"
    assert detail.result.name == "memory"
    assert detail.result.pictures.batch.memory.series


def test_marks_follow_the_figures(finished):
    pictures = finished.training.result.pictures
    assert [mark.text for mark in pictures.batch.rate.marks] == ["fastest 128", "knee 64", "safe 460"]
    assert [mark.text for mark in pictures.batch.memory.marks] == ["safe 460", "limit 512"]
    assert pictures.batch.memory.limit == ("free 46.7 GiB", pytest.approx(46.7, abs=1e-3))


def test_the_energy_lies_under_the_rate_on_the_same_axis(finished):
    pictures = finished.training.result.pictures
    facts = finished.conductor.training.state.facts
    assert pictures.batch.energy.isHidden(), "the card told none"
    rates = {p.params["batch"]: p for p in facts.points if p.params.get("precision") == "bf16" and "batch" in p.params}
    for batch, joules in ((64, 0.21), (128, 0.2), (256, 0.2)):
        point = rates[batch]
        params, extra = {**point.params, "phase": "energy"}, {**point.extra, "joules_per_unit": joules}
        facts.points.append(replace(point, id=f"energy-{batch}", params=params, extra=extra))
    finished.training.show_picture("batch")
    finished.training.result.show_facts(facts, now=True)
    energy, rate = pictures.batch.energy, pictures.batch.rate
    assert energy.isVisible()
    assert [(dot.batch, dot.value) for dot in energy.series[0].dots] == [(64, 0.21), (128, 0.2), (256, 0.2)]
    ranges = [plot.plot.getPlotItem().getViewBox().viewRange()[0] for plot in (rate, energy)]
    assert ranges[0] == pytest.approx(ranges[1])


def test_the_energy_is_announced_while_the_run_goes_on(open_window, invented, qtbot):
    run = invented.ScriptedRun(invented.batch_events(), hold=8)
    window = open_window(invented.ports(runs=[run]))
    window.show_page("training")
    qtbot.waitUntil(lambda: window.training.result is not None)
    window.training.start()
    qtbot.waitUntil(lambda: bool(window.conductor.training.state.facts.points))
    window.training.refresh()
    assert "fastest batch" in window.training.result.pictures.batch.energy.hint
    window.training.stop_wanted.emit()
    qtbot.waitUntil(lambda: not window.conductor.training.thread_.busy)


@pytest.mark.parametrize("size", [(1060, 680), (1366, 768)])
def test_the_name_of_a_mark_is_not_beyond_a_close_neighbour(simulated, qtbot, size):
    """Safe and limit are a few pixels apart: each name stands on the outer side of its own line."""
    simulated.resize(*size)
    run_to_its_end(simulated, qtbot)
    plot = simulated.training.result.pictures.batch.rate
    spots = {mark.text: plot._pixel(plot._at(mark.batch), 0.0)[0] for mark in plot.marks}
    safe, limit = (next(text for text in spots if text.startswith(word)) for word in ("safe", "limit"))
    assert plot.label_boxes[safe].right <= spots[safe]
    assert plot.label_boxes[limit].left >= spots[limit]


def test_labels_collide_with_nothing(finished):
    batch = finished.training.result.pictures.batch
    for picture in (batch.rate, batch.memory):
        boxes = list(picture.label_boxes.values())
        assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :] if a.meets(b)]
        assert not [box for box in boxes for x, y in picture.dot_spots if box.meets(Box(x, y, 1, 1))]


def test_the_memory_picture_shows_what_has_a_line(finished):
    """Formats at one batch are compared under "Number formats"; here their labels would name the line's dots."""
    memory = finished.training.result.pictures.batch.memory
    assert [series.name for series in memory.series] == ["BF16"]
    height = memory._room()[1]
    assert all(y <= height - 5.9 for _x, y in memory.dot_spots), "no dot is cut by the lower edge"


def test_formats_stand_beside_each_other_at_one_batch(finished, invented):
    rates, memory = format_groups(finished.conductor.training.state.facts, LIGHT)
    assert rates.title == "Rate at batch 128"
    assert [(row.name, row.value) for row in rates.rows] == [("FP16", 1345.0), ("BF16 ✓", 1320.0), ("TF32", 690.0)]
    assert [row.name for row in memory.rows][-1] == "TF32", "what takes most stands last"
    assert memory.rows[-1].value == pytest.approx(1.2 + 128 * 0.17, rel=1e-6)
    assert rates.line is None, "FP32 was not measured"
    facts = facts_of(invented.batch_events())
    base = invented.train_point("fp32", 128, 500.0, "probe", facts.origin)
    facts.points.append(base)
    assert [group.line for group in format_groups(facts, LIGHT)] == [500.0, pytest.approx(1.2 + 128 * 0.088)]


def test_one_format_alone_is_no_comparison(invented):
    facts = facts_of(invented.batch_events())
    facts.points = [p for p in facts.points if p.params.get("precision") == "bf16"]
    assert format_groups(facts, LIGHT) == []


def test_only_what_fits_shows_memory_alone(open_window, invented, qtbot):
    events = invented.batch_events(recipe="train/mine.py:make", limit_only=True)
    window = open_window(invented.ports(runs=[invented.ScriptedRun(events)]))
    page = run_to_its_end(window, qtbot)
    assert page.result.pictures.batch.memory.isVisible()
    assert [name for name, button in page.result.segments.items() if button.isEnabled()] == ["memory"]
    assert page.bar.about_text.startswith("mine.py:make · ")


def test_a_memory_probe_tells_memory_and_no_rate(invented):
    facts = facts_of(invented.batch_events())
    facts.points.append(invented.train_point("bf16", 1024, 9.0, "memory", facts.origin))
    picture = batch_picture(facts, LIGHT)
    bf16 = {series.name.split()[0]: [dot.batch for dot in series.dots] for series in picture.rates}["BF16"]
    assert sorted(bf16) == [16, 32, 64, 128, 256, 496]
    assert picture.rate_ends == (16, 496)
    assert 1024 in [dot.batch for series in picture.memory for dot in series.dots]
    assert picture.memory_ends == (16, 1024)


def test_evidence_and_snippet(finished, qapp):
    card = finished.training.advice.cards[0]
    finished.training.show_picture("formats")
    card.evidence_button.click()
    assert finished.training.result.name == "batch"
    card.copy_button.click()
    assert "autocast" in qapp.clipboard().text()


def test_code_is_folded_and_then_seen_whole(finished, qtbot):
    """One scroll bar for the column: code never scrolls by itself."""
    fold = finished.training.advice.cards[0].fold
    assert fold.code.isHidden()
    assert fold.copy_button.isVisible()
    fold.opener.click()
    assert fold.code.isVisible()
    bars = fold.code.verticalScrollBar(), fold.code.horizontalScrollBar()
    qtbot.waitUntil(lambda: [bar.maximum() for bar in bars] == [0, 0])
    assert fold.code.height() > fold.code.fontMetrics().lineSpacing() * (fold.code.toPlainText().count("\n") + 1)


def test_a_command_to_paste_is_seen_whole_though_its_page_was_built_while_hidden(qtbot):
    box = CodeBox("gputuner --cli contend resnet50:batch=32 edsr:batch=8 --causes --minutes 20 --modes mps,streams")
    qtbot.addWidget(box)
    box.setFixedWidth(200)
    box.setStyleSheet("font-size: 20px; font-family: monospace")
    box.show()
    lines = round(box.document().size().height())
    assert lines > 4
    assert box.height() > lines * box.fontMetrics().lineSpacing()


@pytest.mark.parametrize("size", [(1366, 768)])
def test_what_will_be_kept_is_read_without_scrolling(simulated, qtbot, size):
    simulated.resize(*size)
    simulated.show_page("training")
    setup = simulated.training.setup
    qtbot.waitUntil(lambda: "steps, about" in setup.plan_text, timeout=600_000)
    bottom = setup._kept.mapTo(simulated, setup._kept.rect().bottomLeft()).y()
    assert bottom < simulated.height()


def test_the_run_can_be_stopped(open_window, invented, qtbot):
    run = invented.ScriptedRun(invented.batch_events(), hold=8)
    window = open_window(invented.ports(runs=[run]))
    window.show_page("training")
    window.training.start()
    state = window.conductor.training.state
    qtbot.waitUntil(lambda: bool(state.facts.points))
    window.training.refresh()
    assert not window.training.form.isEnabled()
    window.actions_.find("Stop the run and keep what was measured").trigger()
    qtbot.waitUntil(lambda: not window.conductor.training.thread_.busy)
    assert state.outcome is Outcome.CANCELLED
    assert state.facts.points


def test_nothing_is_cut_in_the_smallest_window(finished, qtbot):
    finished.resize(finished.minimumSize())
    page = finished.training
    for own in (False, True):
        page.form.source.kinds[own].click()
        qtbot.waitUntil(lambda: page.setup.pane.widget().width() <= page.setup.pane.viewport().width())
        shown = [w for w in (*page.form.source.kinds.values(), page.form.source.choose) if w.isVisible()]
        assert all(button.width() >= button.minimumSizeHint().width() for button in shown)
    buttons = [*page.result.segments.values(), page.result.copy_button, page.result.save_button]
    qtbot.waitUntil(lambda: all(button.width() >= button.sizeHint().width() for button in buttons))


@pytest.mark.parametrize("name", ["batch", "memory", "formats"])
def test_pictures_are_saved(finished, tmp_path, name):
    finished.training.show_picture(name)
    finished.training.result.save(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
