"""Tune: set up, run in a thread, pictures, advice, and every way a run can end."""

import threading
from dataclasses import replace
from itertools import combinations

import pytest

from gputuner.gui.plots.labelling import Box
from gputuner.gui.refusals import refusal
from gputuner.gui.run_state import Phase, RunFacts, RunState
from gputuner.language import sentences
from gputuner.model.cards import Origin
from gputuner.model.errors import CardBusy, NoPermission
from gputuner.model.events import Outcome, RunFinished, StepProgressed, StepStarted, TelemetrySampled, Warned


@pytest.fixture
def finished(open_window, invented, qtbot):
    """A window after a whole run."""
    window = open_window(invented.ports(runs=[invented.ScriptedRun(invented.tune_events())]))
    window.show_page("tune")
    qtbot.waitUntil(lambda: window.tune.result is not None)
    window.tune.start()
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)
    window.tune.refresh()
    window.tune.result.show_facts(window.conductor.tune.facts, now=True)
    return window


def test_nothing_measured_yet_has_one_sentence_and_one_button(open_window, invented):
    window = open_window(invented.ports())
    window.show_page("tune")
    window.tune.refresh()
    assert window.tune.notice.text.startswith("Nothing measured yet")
    assert window.tune.notice.button.text() == "Start"
    assert window.tune.bar.button.isEnabled()


def test_no_card_cannot_start(open_window, invented):
    window = open_window(invented.ports([]))
    window.show_page("tune")
    window.tune.refresh()
    assert not window.tune.bar.button.isEnabled()
    assert "No card to measure" in window.tune.notice.text
    window.tune.start()
    assert window.ports.started == []


def test_dry_run_says_what_will_happen(open_window, invented, qtbot):
    window = open_window(invented.ports())
    window.show_page("tune")
    qtbot.waitUntil(lambda: "4 steps, about 4 min 41 s" in window.tune.setup.plan_text)
    assert f"{sentences.step('matmul', {})}\u00a0×\u00a02" in window.tune.setup.plan_text


def test_refused_dry_run_says_why(open_window, invented, qtbot):
    ports = invented.ports()
    ports.plan = CardBusy("card_busy", card="RTX 4090", processes="python 41822")
    window = open_window(ports)
    window.show_page("tune")
    qtbot.waitUntil(lambda: "Measure beside others" in window.tune.setup.plan_text)


def test_form_builds_the_spec_and_shows_its_own_refusal(open_window, invented, qtbot):
    window = open_window(invented.ports(runs=[invented.ScriptedRun(invented.tune_events())]))
    window.show_page("tune")
    form = window.tune.setup.form
    assert set(form.controls) == {"minutes", "effective_batch", "precision", "verify"}, "'quick' stays out of the form"
    form.set_values({"effective_batch": 13})
    assert not window.tune.can_start
    assert not window.tune.bar.button.isEnabled()
    qtbot.waitUntil(lambda: "effective batch" in window.tune.setup.plan_text)
    form.set_values({"effective_batch": 64, "minutes": 2.0, "precision": "bf16", "verify": False})
    window.tune.setup.share.setChecked(True)
    window.tune.start()
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)
    spec, cards, share = window.ports.started[0]
    assert spec == invented.Spec(minutes=2.0, effective_batch=64, precision="bf16", verify=False)
    assert cards == ("GPU-4090",), "the card with most memory was chosen beforehand"
    assert share is True


def test_run_is_iterated_outside_the_windows_thread(finished):
    assert finished.ports.threads
    assert threading.main_thread().name not in finished.ports.threads


def test_progress_while_it_runs(open_window, invented, qtbot):
    events = invented.tune_events()
    place = next(i for i, e in enumerate(events) if isinstance(e, StepStarted) and e.label == "train_probe") + 1
    run = invented.ScriptedRun(events, hold=place)
    window = open_window(invented.ports(runs=[run]))
    window.show_page("tune")
    window.tune.start()
    step = events[place - 1]
    qtbot.waitUntil(lambda: window.conductor.tune.facts.step == step)
    window.tune.refresh()
    assert f"step {step.index} " in window.tune.bar.step_text
    assert sentences.step(step.label, step.params) in window.tune.bar.step_text
    assert "about" in window.tune.bar.left_text
    passed_s = (window.conductor.tune.facts.t_ns - events[0].t_ns) / 1e9
    assert window.tune.bar.progress == pytest.approx(passed_s / (passed_s + window.conductor.tune.facts.remaining_s))
    assert not window.tune.setup.form.isEnabled()
    assert window.tune.bar.button.text() == "Stop"
    run.released.set()
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)


def test_progress_within_a_step_moves_the_bar_and_the_time_left(qtbot):
    """Ten seconds of twenty are measured; two seconds later telemetry comes and nothing else."""
    state = RunState()
    head = {"run_id": "r", "index": 3, "label": "train_probe"}
    state.begin()
    state.take(StepStarted(**head, seq=1, t_ns=0, total=4, params={}, expected_s=20.0, remaining_s=60.0))
    told = {"phase": "measure", "done_s": 10.0, "left_s": 10.0, "remaining_s": 50.0}
    with qtbot.waitSignal(state.progressed), qtbot.assertNotEmitted(state.changed):
        state.take(StepProgressed(**head, **told, seq=2, t_ns=10 * 10**9))
    state.take(TelemetrySampled(run_id="r", seq=3, t_ns=12 * 10**9, samples=()))
    assert state.facts.remaining_s == 48.0
    state.take(StepStarted(**head, seq=4, t_ns=13 * 10**9, total=4, params={}, expected_s=20.0, remaining_s=40.0))
    assert (state.facts.progress, state.facts.remaining_s) == (None, 40.0)


def test_how_much_is_done_follows_the_time(invented):
    started = invented.tune_events()[0]
    facts = RunFacts()
    assert facts.fraction == 0.0
    head = {"run_id": started.run_id, "label": "train_probe", "params": {}, "expected_s": 20.0}
    facts.take(replace(started, t_ns=0))
    facts.take(StepStarted(**head, index=2, seq=2, t_ns=20 * 10**9, total=4, remaining_s=60.0))
    assert facts.fraction == pytest.approx(0.25)
    facts.take(StepStarted(**head, index=3, seq=3, t_ns=40 * 10**9, total=90, remaining_s=40.0))
    assert facts.fraction == pytest.approx(0.5), "more steps in the same time change nothing"


def test_the_number_of_steps_is_said_once_it_is_steady():
    def told(totals):
        facts = RunFacts()
        for index, total in enumerate(totals, start=1):
            facts.take(
                StepStarted(
                    run_id="r",
                    index=index,
                    label="a",
                    seq=index,
                    t_ns=index,
                    total=total,
                    params={},
                    expected_s=1.0,
                    remaining_s=9.0,
                )
            )
        return facts.steady_total

    assert told([112] * 4) is None
    assert told([30] * 5) == 30
    assert told([112] * 4 + [66] * 20) is None, "a number that was wrong once is not said again"


def test_the_bar_says_how_far_the_step_is(open_window, invented, qtbot):
    events = invented.tune_events()
    place = next(i for i, e in enumerate(events) if isinstance(e, StepStarted) and e.label == "train_probe") + 1
    step = events[place - 1]
    told = StepProgressed(
        run_id=step.run_id, seq=step.seq, t_ns=step.t_ns, index=step.index, label=step.label, phase="measure",
        done_s=3.0, left_s=9.0, remaining_s=100.0, done=5, of=20,
    )  # fmt: skip
    run = invented.ScriptedRun([*events[:place], told, *events[place:]], hold=place + 1)
    window = open_window(invented.ports(runs=[run]))
    window.show_page("tune")
    window.tune.start()
    qtbot.waitUntil(lambda: window.conductor.tune.facts.progress == told)
    window.tune.refresh()
    assert window.tune.bar.step_text.endswith(" · this step: 5 of 20 settings, 9 s left")
    assert window.tune.bar.left_text == "about 1 min 40 s left"
    assert window.tune.bar.progress == pytest.approx(window.conductor.tune.facts.fraction)
    run.released.set()
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)


def test_stop_cancels_and_keeps_what_was_measured(open_window, invented, qtbot):
    events = invented.tune_events()
    run = invented.ScriptedRun(events, hold=12)
    window = open_window(invented.ports(runs=[run]))
    window.show_page("tune")
    window.tune.start()
    qtbot.waitUntil(lambda: len(window.conductor.tune.facts.points) >= 2)
    points = len(window.conductor.tune.facts.points)
    window.actions_.find("Stop the run and keep what was measured").trigger()
    assert run.cancelled.is_set()
    assert window.conductor.tune.phase is Phase.STOPPING
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)
    window.tune.refresh()
    assert window.conductor.tune.outcome is Outcome.CANCELLED
    assert len(window.conductor.tune.facts.points) == points
    assert window.tune.bar.step_text == sentences.outcome(Outcome.CANCELLED)
    assert not window.tune.notice.isVisible(), "what is kept is said once, in the bar"
    assert 0.0 < window.tune.bar.progress < 1.0, "the bar stays where the run was stopped"
    assert window.tune.bar.button.text() == "Start"


@pytest.mark.parametrize(
    "error",
    [
        CardBusy("card_busy", card="RTX 4090 48G", processes="python (41822)"),
        CardBusy("running_elsewhere", pid=4711),
        NoPermission("no_permission"),
    ],
)
def test_a_run_that_cannot_start_says_what_to_do(open_window, invented, qtbot, error):
    window = open_window(invented.ports(runs=[error]))
    window.show_page("tune")
    window.tune.start()
    qtbot.waitUntil(lambda: window.conductor.tune.phase is Phase.REFUSED)
    window.tune.refresh()
    told = window.tune.notice.text
    assert refusal(error) in told
    assert "--" not in told, "a window has fields and boxes, no options"
    qtbot.waitUntil(lambda: window.tune.bar.button.isEnabled())


def test_a_run_that_ends_without_a_word_is_a_failure(open_window, invented, qtbot):
    events = [e for e in invented.tune_events() if not isinstance(e, RunFinished)]
    window = open_window(invented.ports(runs=[invented.ScriptedRun(events)]))
    window.show_page("tune")
    window.tune.start()
    qtbot.waitUntil(lambda: window.conductor.tune.phase is Phase.REFUSED)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_is_told(open_window, invented, qtbot, outcome):
    window = open_window(invented.ports(runs=[invented.ScriptedRun(invented.tune_events(outcome=outcome))]))
    window.show_page("tune")
    window.tune.start()
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)
    window.tune.refresh()
    quiet = outcome in (Outcome.COMPLETED, Outcome.CANCELLED)
    assert quiet or sentences.outcome(outcome)[1:] in window.tune.notice.text
    assert window.tune.bar.open_button.isVisible()
    assert window.tune.bar.step_text == sentences.outcome(outcome)


def test_remarks_stand_quietly_in_the_bar_all_of_them(finished):
    told = [sentences.warning(w.code, w.params) for w in finished.conductor.tune.facts.warnings]
    assert told
    assert finished.tune.bar.remarks.splitlines() == list(dict.fromkeys(told))
    assert not finished.tune.notice.isVisible()


def test_a_completed_run_without_remarks_needs_no_panel(open_window, invented, qtbot):
    events = [event for event in invented.tune_events() if not isinstance(event, Warned)]
    window = open_window(invented.ports(runs=[invented.ScriptedRun(events)]))
    window.show_page("tune")
    window.tune.start()
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)
    window.tune.refresh()
    assert not window.tune.notice.isVisible()
    assert window.tune.bar.step_text == sentences.outcome(Outcome.COMPLETED)


def test_error_of_a_failed_run_is_a_sentence(open_window, invented, qtbot):
    events = invented.tune_events(outcome=Outcome.FAILED)[:-1]
    last = RunFinished(
        run_id="r1", seq=999, t_ns=events[-1].t_ns, outcome=Outcome.FAILED, exit_code=7, error_code="card_lost",
        error_params={"card": "RTX 4090 48G"}, settings_restored=False,
    )  # fmt: skip
    window = open_window(invented.ports(runs=[invented.ScriptedRun([*events, last])]))
    window.show_page("tune")
    window.tune.start()
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)
    window.tune.refresh()
    assert sentences.error("card_lost", {"card": "RTX 4090 48G"}) in window.tune.notice.text
    assert "could not all be put back" in window.tune.notice.text


def test_rate_picture_holds_values_and_intervals(finished):
    series = {s.name.split()[0]: s for s in finished.tune.result.pictures.rate.series}
    assert set(series) == {"BF16", "FP16", "TF32"}
    dots = {dot.batch: dot for dot in series["BF16"].dots}
    assert dots[64].value == 1210.0
    assert (dots[64].low, dots[64].high) == pytest.approx((1185.8, 1234.2))
    assert dots[496].checked
    assert not dots[64].checked


def test_labels_collide_neither_with_each_other_nor_with_dots(finished, qtbot):
    for picture in (finished.tune.result.pictures.rate, finished.tune.result.pictures.memory):
        boxes = picture.label_boxes
        assert len(boxes) >= 3
        assert not [(a, b) for a, b in combinations(boxes, 2) if boxes[a].meets(boxes[b])]
        assert not [words for words, box in boxes.items() for x, y in picture.dot_spots if box.meets(Box(x, y, 1, 1))]


def test_memory_picture_has_line_limit_probes_and_the_batch_that_failed(finished):
    memory = {s.name: s for s in finished.tune.result.pictures.memory.series}["BF16"]
    assert [dot.batch for dot in memory.dots if dot.failed] == [520]
    batch, value = memory.line[-1]
    assert value == pytest.approx(1.2 + 0.088 * batch), "the line is the run's own fit"
    dots = {dot.batch: dot.value for dot in memory.dots}
    assert dots[128] == pytest.approx(1.2 + 0.088 * 128, rel=1e-3)


def test_peak_bars_stand_against_the_sheet(finished):
    rows = finished.tune.result.pictures.peaks.groups[0].rows
    row = next(r for r in rows if r.point_id == "matmul-bf16-burst")
    assert row.value == 158e12
    assert row.reference == pytest.approx(165e12)
    assert "96 %" in row.note


def test_together_bars_have_both_baselines(finished):
    rows = finished.tune.result.pictures.together.groups[0].rows
    assert [row.value for row in rows] == [1.0, 1.104, 1.02]


def test_each_pair_is_told_apart_by_its_batch(finished, invented):
    from dataclasses import replace

    from gputuner.gui.results import together_groups

    facts = finished.conductor.tune.facts
    for point in invented.together_points(Origin.MEASURED):
        facts.points.append(replace(point, id=f"{point.id}-512", params={**point.params, "batch": 512}))
    groups = together_groups(facts, finished.theme)
    assert len({group.title for group in groups}) == len(groups) == 3
    assert len({row.name for row in groups[-1].rows}) == 4


def test_load_picture_shows_the_sustained_minute(finished):
    finished.tune.show_picture("load")
    facts = finished.conductor.tune.facts
    t0, t1 = facts.step_stretch("sustained")
    assert t1 - t0 == 60.0
    assert finished.tune.result.pictures.temperature.plot.getPlotItem().getViewBox().viewRange()[0] == [0.0, 60.0]


def test_table_lists_every_figure_with_its_flags(finished):
    rows = finished.tune.result.table.rows
    facts = finished.conductor.tune.facts
    assert rows.keys == [point.id for point in facts.points]
    cells = rows.cells[rows.keys.index("train-bf16-64-probe")]
    assert cells[1].text == "1210 samples/s"
    assert cells[2].text == "1186 … 1234"
    assert sentences.flag(facts.points[0].flags[0] if facts.points[0].flags else "throttled:power") in cells[3].text


def test_evidence_marks_the_figures(finished, qtbot):
    card = finished.tune.advice.cards[0]
    finished.tune.show_picture("peak")
    card.evidence_button.click()
    assert finished.tune.result.name == "batch", "the picture that holds the evidence comes to the front"
    last = finished.tune.advice.cards[-1]
    last.evidence_button.click()
    assert finished.tune.result.name == "peak"


def test_table_follows_the_picture_and_cuts_no_value(finished, qtbot):
    result = finished.tune.result
    metrics = {point.id: point.metric for point in finished.conductor.tune.facts.points}
    for picture, start in (("peak", "matmul"), ("together", "co_run"), ("batch", "train")):
        finished.tune.show_picture(picture)
        first = result.table.rows.keys[result.table.rowAt(0)]
        last = result.table.verticalScrollBar().value() == result.table.verticalScrollBar().maximum()
        assert metrics[first].startswith(start) or last
    for row in range(len(result.table.rows.keys)):
        name = result.table.rows.cells[row][0]
        assert name.text in name.hint, "a name that is shortened is told on hover"
        value = result.table.fontMetrics().horizontalAdvance(result.table.rows.cells[row][1].text)
        assert value <= result.table.columnWidth(1) - 12, "no value is cut"
    assert result.conditions.startswith("torch ")


def test_the_table_shows_whole_rows_only(finished, qtbot):
    table = finished.tune.result.table
    for height in (768, 777, 790):
        finished.resize(1366, height)
        qtbot.waitUntil(lambda: table.viewport().height() % table.verticalHeader().defaultSectionSize() == 0)
        assert table.viewport().height() >= 4 * table.verticalHeader().defaultSectionSize()


def test_remarks_have_a_column_where_there_are_any(finished, invented):
    table = finished.tune.result.table
    remarks = [cells[3].text for cells in table.rows.cells]
    assert table.isColumnHidden(3) is not any(remarks)


def test_nothing_is_cut_in_the_smallest_window(finished, qtbot):
    finished.resize(finished.minimumSize())
    result = finished.tune.result
    qtbot.waitUntil(lambda: result.width() < 480)
    buttons = [*result.segments.values(), result.copy_button, result.save_button]
    qtbot.waitUntil(lambda: all(button.width() >= button.sizeHint().width() for button in buttons))
    qtbot.waitUntil(lambda: result.table.columnWidth(0) >= 200)


def test_snippet_is_copied(finished, qapp):
    finished.tune.advice.cards[1].copy_button.click()
    assert qapp.clipboard().text() == "DataLoader(dataset, batch_size=128)"


def test_markdown_and_csv_carry_every_figure(finished, qapp, tmp_path):
    finished.actions_.find("Copy the figures as Markdown").trigger()
    text = qapp.clipboard().text()
    assert text.count("\n") == 2 + len(finished.conductor.tune.facts.points)
    assert "1210 samples/s" in text
    finished.tune.result.save(tmp_path / "points.csv")
    lines = (tmp_path / "points.csv").read_text().splitlines()
    assert len(lines) == 1 + len(finished.conductor.tune.facts.points)
    assert lines[1].startswith("measured,matmul-bf16-burst")


@pytest.mark.parametrize("name", ["batch", "peak", "load", "together"])
def test_pictures_are_saved(finished, tmp_path, name):
    finished.tune.show_picture(name)
    finished.tune.result.save(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    finished.tune.result.save(tmp_path / "picture.svg")
    assert "<svg" in (tmp_path / "picture.svg").read_text()


def test_simulated_figures_say_so_wherever_they_go(open_window, invented, qtbot, qapp):
    run = invented.ScriptedRun(invented.tune_events(origin=Origin.SIMULATED))
    window = open_window(
        invented.ports([invented.modded_4090(origin=Origin.SIMULATED)], [run], origin=Origin.SIMULATED)
    )
    window.show_page("tune")
    qtbot.waitUntil(lambda: window.tune.result is not None)
    window.tune.start()
    qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)
    assert window.strip.isVisible()
    assert window.strip.words.startswith("Simulated")
    window.tune.result.show_facts(window.conductor.tune.facts, now=True)
    window.tune.copy()
    assert qapp.clipboard().text().startswith("> Simulated")


def test_measured_numbers_have_no_strip(finished):
    assert not finished.strip.isVisible()
