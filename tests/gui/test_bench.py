"""Benchmarks: choose, run in a thread, pictures, what held it back, comparison, and what leaves the window."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from gputuner.analysis.regression import Verdict, key_of
from gputuner.analysis.session_spread import SessionSpread
from gputuner.experiments.bench import MINUTES_MOST
from gputuner.gui.plots.labelling import Box
from gputuner.gui.results_compare import headline
from gputuner.gui.results_curves import size_sweep
from gputuner.gui.run_state import Phase
from gputuner.gui.theme import LIGHT
from gputuner.language import sentences
from gputuner.model.cards import CPU_CARD, Origin
from gputuner.model.errors import CardBusy
from gputuner.model.events import Outcome, PointMeasured, StepStarted

PICTURES = ["bars", "sizes", "latency", "regions", "roofline", "compare"]
OTHER = Path("/data/sessions/b2.sqlite")


@pytest.fixture
def opened(open_window, invented):
    window = open_window(invented.ports())
    window.show_page("bench")
    window.bench.refresh()
    return window


@pytest.fixture
def finished(open_window, invented, qtbot):
    """A window after a whole run, with a slower session beside it."""
    ports = invented.ports(runs=[invented.ScriptedRun(invented.bench_events())])
    slower = invented.bench_events(run="b2", faster=0.9)
    ports.kept[OTHER] = invented.KeptSession(slower)
    ports.entries.append(
        invented.Entry(OTHER, invented.Summary("b2", experiment="bench", cards=slower[0].cards))
    )  # fmt: skip
    ports.entries.append(invented.Entry(Path("/data/t.sqlite"), invented.Summary("t", cards=slower[0].cards)))
    window = open_window(ports)
    window.show_page("bench")
    qtbot.waitUntil(lambda: window.bench.result is not None)
    window.bench.start()
    qtbot.waitUntil(lambda: not window.conductor.benching.thread_.busy)
    window.bench.refresh()
    window.bench.result.show_facts(window.conductor.benching.state.facts, now=True)
    return window


def pictures(window):
    return window.bench.result.pictures


def test_nothing_measured_yet_has_one_sentence_and_one_button(opened):
    assert opened.bench.notice.text.startswith("Nothing measured yet")
    assert opened.bench.notice.button.text() == "Start"
    assert opened.bench.bar.button.isEnabled()


def test_default_suite_is_ticked_and_named_by_no_name(opened):
    form = opened.bench.form
    assert form.chooser.chosen == {"gemm-bf16", "gemm-fp8", "memory-copy", "resnet50"}
    assert form.values() == {"names": (), "full": False, "minutes": None}
    assert form.count_text == "4 of 7 benchmarks"


def test_full_suite_has_everything_that_can_run(opened):
    form = opened.bench.form
    form.suites[True].click()
    assert form.chooser.chosen == form.chooser.available
    assert form.values()["full"] is True
    assert form.values()["names"] == ()
    assert form.count_text == "6 of 7 benchmarks"


def test_the_tabulator_goes_down_the_form(opened):
    form = opened.bench.form
    stops = [form.suites[True], *form.chooser.stops, form.minutes, opened.bench.setup.share]
    for group in form.chooser.groups.values():
        group.unfold(True)
    place, seen = form.suites[True], []
    for _step in range(400):
        if place in stops:
            seen.append(place)
        place = place.nextInFocusChain()
        if place is form.suites[True]:
            break
    assert seen == stops


def test_ticks_become_names_in_the_order_of_the_suite(opened):
    form = opened.bench.form
    form.chooser.boxes["gemm-fp8"].click()
    form.chooser.boxes["memory-triad"].click()
    assert form.values()["names"] == ("gemm-bf16", "memory-copy", "memory-triad", "resnet50")


def test_a_groups_box_ticks_all_that_can_run_then_none(opened):
    form = opened.bench.form
    group = form.chooser.groups["gemm"]
    group.box.click()
    assert {"gemm-fp64", "gemm-bf16", "gemm-fp8"} <= form.chooser.chosen
    group.box.click()
    assert not [name for name in form.chooser.chosen if name.startswith("gemm")]


def test_what_cannot_run_says_why_and_cannot_be_ticked(opened):
    form = opened.bench.form
    box = form.chooser.boxes["latency"]
    assert not box.isEnabled()
    assert "needs the extra kernels" in box.toolTip()
    form.set_values({"names": ("latency", "gemm-bf16")})
    assert form.chooser.chosen == {"gemm-bf16"}


def test_nothing_ticked_cannot_start(opened, qtbot):
    form = opened.bench.form
    form.set_values({"names": ("latency",)})
    form.changed.emit()
    assert not opened.bench.can_start
    assert not opened.bench.bar.button.isEnabled()
    qtbot.waitUntil(lambda: sentences.error("no_benchmark_chosen") in opened.bench.setup.plan_text)


def test_another_card_has_another_suite(open_window, invented):
    window = open_window(invented.ports([invented.modded_4090(), invented.cpu_card()]))
    window.show_page("bench")
    window.bench.refresh()
    window.bench.setup.choose_card("cpu")
    window.bench.refresh()
    assert window.bench.form.chooser.available == {"gemm-fp64", "gemm-bf16", "memory-copy", "memory-triad", "resnet50"}
    assert window.bench.form.values()["names"] == (), "the default suite stays the default suite"


def test_no_card_cannot_start(open_window, invented):
    window = open_window(invented.ports([]))
    window.show_page("bench")
    window.bench.refresh()
    assert not window.bench.bar.button.isEnabled()
    assert "No card to measure" in window.bench.notice.text


def test_start_hands_over_what_was_set(open_window, invented, qtbot):
    window = open_window(invented.ports(runs=[invented.ScriptedRun(invented.bench_events())]))
    window.show_page("bench")
    window.bench.refresh()
    qtbot.waitUntil(lambda: "4 steps" in window.bench.setup.plan_text)
    window.bench.form.set_values({"names": ("resnet50",), "minutes": 3.0})
    window.bench.setup.share.setChecked(True)
    window.actions_.find("Start the run").trigger()
    qtbot.waitUntil(lambda: not window.conductor.benching.thread_.busy)
    spec, cards, share = window.ports.started[0]
    assert spec == invented.BenchSpec(names=("resnet50",), minutes=3.0)
    assert cards == ("GPU-4090",)
    assert share is True
    assert window.conductor.tune.phase is Phase.IDLE, "Tune knows nothing of it"


def test_figures_appear_while_it_runs(open_window, invented, qtbot):
    events = invented.bench_events()
    place = [i for i, e in enumerate(events) if isinstance(e, PointMeasured)][20] + 2
    run = invented.ScriptedRun(events, hold=place)
    window = open_window(invented.ports(runs=[run]))
    window.show_page("bench")
    qtbot.waitUntil(lambda: window.bench.result is not None)
    window.bench.start()
    state = window.conductor.benching.state
    qtbot.waitUntil(lambda: len(state.facts.points) == 21)
    window.bench.refresh()
    window.bench.result.show_facts(state.facts, now=True)
    step = next(e for e in reversed(events[:place]) if isinstance(e, StepStarted))
    assert f"step {step.index} " in window.bench.bar.step_text
    assert "about" in window.bench.bar.left_text
    assert window.bench.result.name == "sizes", "the picture that the step feeds"
    assert len(pictures(window).sizes.dot_spots) > 1
    assert not window.bench.form.isEnabled()
    window.actions_.find("Stop the run and keep what was measured").trigger()
    qtbot.waitUntil(lambda: not window.conductor.benching.thread_.busy)
    assert state.outcome is Outcome.CANCELLED
    assert len(state.facts.points) == 21


def test_a_run_that_cannot_start_says_what_to_do(open_window, invented, qtbot):
    error = CardBusy("running_elsewhere", pid=4711)
    window = open_window(invented.ports(runs=[error]))
    window.show_page("bench")
    window.bench.refresh()
    window.bench.start()
    qtbot.waitUntil(lambda: window.conductor.benching.state.phase is Phase.REFUSED)
    window.bench.refresh()
    assert sentences.error(error) in window.bench.notice.text


def test_bars_stand_against_peak_sheet_and_what_was_published(finished):
    groups = {group.title: group.rows for group in pictures(finished).bars.groups}
    assert list(groups)[:3] == ["Matrix multiplication", "Memory bandwidth", "Memory bandwidth (no peak known)"]
    rows = {row.point_id: row for row in groups["Matrix multiplication"]}
    assert "gemm-bf16-search" not in rows, "a shape search is left out once there is a result"
    burst = rows["gemm-bf16-burst"]
    assert burst.reference == pytest.approx(166e12)
    assert burst.value / burst.reference == pytest.approx(0.953)
    assert burst.mark == pytest.approx(166e12 / 1.005)
    assert (burst.band.low, burst.band.middle, burst.band.high) == pytest.approx((132.8e12, 149.4e12, 161.02e12))
    assert burst.note == "95 % · beats 6 of 9"
    assert burst.name == "BF16 · from cold"
    assert burst.hollow
    assert not burst.hatched, "hatching is for another run"
    tops = {round(row.top / row.reference, 6) for row in groups["Matrix multiplication"]}
    assert len(tops) == 1, "the peaks of a group stand in one line"


def test_each_level_and_the_worst_region_have_a_bar(finished):
    rows = {row.point_id: row for group in pictures(finished).bars.groups for row in group.rows}
    names = {row.name for row in rows.values() if row.point_id.startswith("memory-read")}
    assert names == {"read · L2", "read · DRAM"}
    regions = [row for row in rows.values() if row.point_id.startswith("region")]
    values = [p.value for p in finished.conductor.benching.state.facts.points if p.metric == "region_bandwidth"]
    assert [row.value for row in regions] == [max(values), min(values)]


def test_size_sweep_has_a_curve_for_each_operation_and_marks_levels(finished):
    plot = pictures(finished).sizes
    assert {series.name for series in plot.series} == {"read", "write", "copy", "scale", "triad"}
    assert [stretch.name for stretch in plot.stretches] == ["L2", "DRAM"]
    assert plot.stretches[0].x1 == pytest.approx((2**25 * 2**26) ** 0.5), "half-way between the levels"
    assert [(u.name, u.x) for u in plot.uprights] == [("L2 72 MiB", 72 * 2**20)]
    read = next(series for series in plot.series if series.name == "read")
    assert [dot.x for dot in read.dots] == [2**power for power in range(20, 35)]
    assert read.dots[-1].y == pytest.approx(945, rel=0.01), "in GB/s"


def test_latency_curve_marks_levels(finished):
    plot = pictures(finished).latency
    assert [stretch.name for stretch in plot.stretches] == ["L1", "L2", "DRAM"]
    assert plot.series[0].dots[0].y == pytest.approx(14 * 1.06), "in ns"


def test_roofline_has_ceilings_at_the_measured_clock_and_the_figures_below_them(finished):
    plot = pictures(finished).roofline
    slope, *ceilings = [series for series in plot.series if series.path]
    assert slope.path[1] == pytest.approx((332e12 / 1.008e12, 332.0)), "up to the highest ceiling"
    assert ceilings[1].name == "BF16, FP16 166 TFLOP/s"
    assert [series.path[-1][1] for series in ceilings] == pytest.approx([332, 166, 84, 1.31])
    knee = ceilings[1].path[0]
    assert knee == pytest.approx((166e12 / 1.008e12, 166.0)), "the ridge: peak over bandwidth"
    dots = {dot.point_id: dot for series in plot.series for dot in series.dots}
    named = {series.name for series in plot.series if series.dots}
    assert not {"BF16", "BF16 sustained", "BF16 from cold"} & named, "the ceiling in their colour names them"
    assert ceilings[1].path[1][0] == pytest.approx(1.6 * max(dot.x for dot in dots.values())), "ends near the figures"
    bf16 = dots["gemm-bf16-sustained"]
    assert bf16.x == pytest.approx(8192 / 3), "2 N³ operations over 3 N² elements of 2 bytes"
    assert bf16.y == pytest.approx(166 * 0.953 * 0.94)
    assert dots["gemm-bf16-burst"].hollow


@pytest.mark.parametrize("name", ["sizes", "latency", "roofline"])
def test_labels_collide_neither_with_each_other_nor_with_dots(finished, name):
    finished.bench.show_picture(name)
    plot = getattr(pictures(finished), name)
    boxes = plot.label_boxes
    assert boxes
    assert not [(a, b) for a, b in combinations(boxes, 2) if boxes[a].meets(boxes[b])]
    assert not [words for words, box in boxes.items() for x, y in plot.dot_spots if box.meets(Box(x, y, 1, 1))]


def test_table_tells_share_of_peak_and_conditions(finished):
    rows = finished.bench.result.table.rows
    assert rows.keys == [point.id for point in finished.conductor.benching.state.facts.points]
    cells = rows.cells[rows.keys.index("gemm-bf16-burst")]
    assert [cell.text for cell in cells[3:]] == ["95.3", "2\u2009565", "446", "68", ""]
    assert "beats 6 of 9 published (stored tables)" in cells[0].hint
    assert cells[0].text.startswith("BF16 · from cold · 8192³")
    assert "Matrix multiplication · BF16 · from cold · 8192³ (gemm-bf16)" in cells[0].hint
    latency = rows.cells[rows.keys.index("latency-13")]
    assert latency[1].text == "14.8 ns"
    assert "L1" in latency[0].text


def test_what_held_it_back_is_said_with_its_figures(finished):
    column = finished.bench.held_back
    assert column.isVisible()
    assert list(column.causes) == ["power_cap"]
    assert {point.id for point in column.causes["power_cap"]} >= {"gemm-bf16-sustained", "gemm-fp64-sustained"}
    table = finished.bench.result.table
    table.selectRow(table.rows.keys.index("gemm-bf16-sustained"))
    assert "78 % of the time, 17 % below its maximum" in column.sentence.text()
    assert "Matrix multiplication · BF16 · sustained" in column.sentence.text()
    finished.bench.show_picture("latency")
    column.evidence_wanted.emit(("gemm-bf16-sustained",))
    assert finished.bench.result.name == "bars"


def test_evidence_is_scrolled_into_sight(finished, qapp):
    last = [row.point_id for group in pictures(finished).bars.groups for row in group.rows if row.top][-1]
    finished.bench.held_back.evidence_wanted.emit((last,))
    qapp.processEvents()
    bars = pictures(finished).bars
    top, bottom = bars.marked_span()
    assert bars.row_at((top + bottom) / 2).point_id == last
    assert bars.visibleRegion().contains(bars.rect().adjusted(0, top, 0, bottom - bars.height()).center())


def test_the_table_follows_every_picture(finished, qtbot):
    rows = finished.bench.result.table
    finished.bench.show_picture("regions")
    below = rows.rowAt(2)
    finished.bench.show_picture("roofline")
    assert rows.rows.keys[rows.rowAt(2)].startswith("gemm-")
    assert below != rows.rowAt(2)


def choose_other(window, qtbot, index=1):
    window.bench.show_picture("compare")
    compare = pictures(window).compare
    qtbot.waitUntil(lambda: compare.chooser.count() == 2)
    compare.chooser.setCurrentIndex(index)
    compare.chooser.activated.emit(index)
    return compare


def test_another_session_is_compared_figure_by_figure(finished, qtbot):
    compare = choose_other(finished, qtbot)
    qtbot.waitUntil(lambda: bool(compare.differences))
    by_id = {each.after.id: each for each in compare.differences}
    pair = by_id["gemm-bf16-sustained"]
    assert pair.change == pytest.approx(1 / 0.9 - 1)
    assert pair.verdict is Verdict.BETTER
    assert by_id["pcie-both"].verdict is Verdict.SAME
    rows = [row for group in compare.bars.groups for row in group.rows if row.point_id == "gemm-bf16-sustained"]
    assert "+11.1 %" in rows[0].note
    assert "▼ 0 worse" in compare.said.text()
    assert compare.headline.text() == headline(compare.differences)


def test_sessions_that_lie_far_apart_make_a_difference_uncertain(finished, qtbot, invented):
    """A comparison knows the spread between stored sessions: 11 % is none where they lie 8 % apart."""
    ports = finished.ports
    first, second = invented.bench_points(1.0), invented.bench_points(1 / 0.9)
    ports.spread = {key_of(p): SessionSpread(deviation=0.08, freedom=9.0, known=True) for p in [*first, *second]}
    compare = choose_other(finished, qtbot)
    qtbot.waitUntil(lambda: bool(compare.differences))
    pair = {each.after.id: each for each in compare.differences}["gemm-bf16-sustained"]
    assert pair.spread == ports.spread[key_of(pair.before)]
    assert pair.verdict is Verdict.SAME
    assert ports.compared == [(compare.chooser.currentData(), finished.conductor.benching.state.facts.started.run_id)]


def test_the_last_cache_of_a_processor_is_not_called_l2(invented):
    points = [replace(p, card=CPU_CARD) for p in invented.bench_points() if p.metric == "stream_bandwidth"]
    picture = size_sweep(points, [invented.cpu_card()], LIGHT)
    assert {stretch.name for stretch in picture.stretches} == {"last-level cache", "DRAM"}
    assert picture.uprights == ()


def test_the_time_may_be_as_long_as_the_experiment_allows(opened):
    assert opened.bench.form.minutes.maximum() == MINUTES_MOST


def test_the_table_goes_to_the_first_pair_of_a_comparison(finished, qtbot):
    finished.bench.show_picture("regions")
    compare = choose_other(finished, qtbot)
    qtbot.waitUntil(lambda: bool(compare.differences))
    table = finished.bench.result.table
    first = compare.bars.groups[0].rows[0].point_id
    qtbot.waitUntil(lambda: table.rows.keys[table.rowAt(2)] == first)


def test_sessions_of_other_experiments_and_this_very_run_are_not_offered(finished, qtbot):
    finished.bench.show_picture("compare")
    chooser = pictures(finished).compare.chooser
    qtbot.waitUntil(lambda: chooser.count() == 2)
    assert chooser.itemData(1) == OTHER


def test_a_session_that_cannot_be_read_says_so(finished, qtbot):
    del finished.ports.kept[OTHER]
    compare = choose_other(finished, qtbot)
    qtbot.waitUntil(lambda: "cannot be read" in compare.said.text() or "database" in compare.said.text())
    assert compare.differences == ()


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        ([], ""),
        ([Verdict.SAME] * 3, "Nothing changed: all 3 figures are within noise"),
        ([Verdict.SAME, Verdict.UNCERTAIN], "No change shown: 1 of 2 figures are within noise, the others are open"),
        ([Verdict.SAME, Verdict.BETTER, Verdict.WORSE], "1 of 3 figures better, 1 worse"),
    ],
)
def test_a_comparison_says_first_what_came_of_it(finished, qtbot, kinds, told):
    compare = choose_other(finished, qtbot)
    qtbot.waitUntil(lambda: bool(compare.differences))
    assert headline([replace(compare.differences[0], verdict=kind) for kind in kinds]) == told


def test_two_cards_of_one_run_are_compared(finished, invented):
    facts = finished.conductor.benching.state.facts
    card = invented.rtx_3090()
    facts.started = replace(facts.started, cards=(*facts.cards, card), run_id="two")
    for point in invented.bench_points(0.5):
        facts.points.append(replace(point, id=f"{point.id}-3090", card=card.uuid))
    finished.bench.show_picture("compare")
    compare = pictures(finished).compare
    compare.show_facts(facts)
    compare.chooser.setCurrentIndex(1)
    compare.chooser.activated.emit(1)
    pair = next(each for each in compare.differences if each.after.id == "gemm-bf16-sustained")
    assert (pair.before.card, pair.change) == ("GPU-3090", pytest.approx(1.0))


def test_a_comparison_is_copied_as_markdown(finished, qtbot, qapp):
    compare = choose_other(finished, qtbot)
    qtbot.waitUntil(lambda: bool(compare.differences))
    finished.bench.copy()
    lines = qapp.clipboard().text().splitlines()
    assert len(lines) == 2 + len(compare.differences)
    line = next(line for line in lines if "Matrix multiplication · BF16 · sustained" in line)
    assert "| 149 TFLOP/s | 134 TFLOP/s | +11.1 % ▲ better |" in line


def test_markdown_and_csv_carry_every_figure(finished, qapp, tmp_path):
    finished.actions_.find("Copy the figures as Markdown").trigger()
    text = qapp.clipboard().text()
    count = len(finished.conductor.benching.state.facts.points)
    assert text.count("\n") == 2 + count
    line = next(line for line in text.splitlines() if "Matrix multiplication · BF16 | from cold" in line)
    assert "| 158 TFLOP/s | 157 … 159 | 95.3 | 95.8 | 2565 | 446 | 68 | beats 6 of 9 published" in line
    finished.bench.result.save(tmp_path / "points.csv")
    lines = (tmp_path / "points.csv").read_text().splitlines()
    assert len(lines) == 1 + count
    assert lines[0].endswith("fraction_of_peak_at_clock,fraction_of_sheet")


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_saved(finished, tmp_path, name):
    finished.bench.show_picture(name)
    finished.bench.result.save(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    finished.bench.result.save(tmp_path / "picture.svg")
    assert "<svg" in (tmp_path / "picture.svg").read_text()


def test_bars_are_saved_with_those_out_of_sight(finished, tmp_path):
    from PySide6.QtGui import QImage

    finished.bench.show_picture("bars")
    finished.bench.result.save(tmp_path / "bars.png")
    least = 2 * pictures(finished).bars.sizeHint().height()
    assert QImage(str(tmp_path / "bars.png")).height() >= least


def test_a_stored_bench_session_opens_with_its_own_pictures(open_window, invented, qtbot):
    ports = invented.with_sessions(invented.ports())
    events = invented.bench_events(run="b2")
    ports.kept[OTHER] = invented.KeptSession(events)
    ports.entries.append(invented.Entry(OTHER, invented.Summary("b2", experiment="bench", cards=events[0].cards)))
    window = open_window(ports)
    window.open_file(OTHER)
    qtbot.waitUntil(lambda: window.sessions.detail is not None and window.sessions.detail.isVisible())
    detail = window.sessions.detail
    qtbot.waitUntil(lambda: list(detail.result.segments) == PICTURES)
    detail.show_view("figures")
    assert detail.result.isVisible()
    assert detail.result.pictures.sizes.series
    window.sessions.select(Path("/data/sessions/s1.sqlite"))
    qtbot.waitUntil(lambda: list(detail.result.segments) != PICTURES)
    assert detail.result.isVisible(), "the figures stay open"


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_is_told(open_window, invented, qtbot, outcome):
    window = open_window(invented.ports(runs=[invented.ScriptedRun(invented.bench_events(outcome=outcome))]))
    window.show_page("bench")
    window.bench.refresh()
    window.bench.start()
    qtbot.waitUntil(lambda: not window.conductor.benching.thread_.busy)
    window.bench.refresh()
    assert window.bench.bar.step_text == sentences.outcome(outcome)


def test_simulated_figures_say_so(open_window, invented, qtbot, qapp):
    run = invented.ScriptedRun(invented.bench_events(origin=Origin.SIMULATED))
    window = open_window(
        invented.ports([invented.modded_4090(origin=Origin.SIMULATED)], [run], origin=Origin.SIMULATED)
    )
    window.show_page("bench")
    qtbot.waitUntil(lambda: window.bench.result is not None)
    window.bench.start()
    qtbot.waitUntil(lambda: not window.conductor.benching.thread_.busy)
    assert window.strip.isVisible()
    window.bench.result.show_facts(window.conductor.benching.state.facts, now=True)
    window.bench.copy()
    assert qapp.clipboard().text().startswith("> Simulated")


def test_language_and_theme_keep_what_was_chosen_and_measured(finished, qtbot):
    finished.bench.form.set_values({"names": ("memory-triad",), "full": True, "minutes": 7.0})
    finished.choose_language("zh_CN")
    assert finished.bench.form.values() == {"names": ("memory-triad",), "full": True, "minutes": 7.0}
    qtbot.waitUntil(lambda: finished.bench.result is not None)
    finished.bench.refresh()
    finished.bench.result.show_facts(finished.conductor.benching.state.facts, now=True)
    assert pictures(finished).bars.groups


@pytest.mark.parametrize("size", [(1366, 768), (1060, 680)])
def test_nothing_is_cut(finished, qtbot, size):
    finished.resize(*size)
    result = finished.bench.result
    buttons = [*result.segments.values(), result.copy_button, result.save_button]
    qtbot.waitUntil(lambda: all(button.width() >= button.sizeHint().width() for button in buttons))
    qtbot.waitUntil(lambda: result.table.columnWidth(0) >= 140)
    table = result.table
    for row in range(len(table.rows.keys)):
        value = table.fontMetrics().horizontalAdvance(table.rows.cells[row][1].text)
        assert value <= table.columnWidth(1) - 12, "no value is cut"
    bars = pictures(finished).bars
    left, value, note, _end = bars.columns
    assert value - left >= 40
    assert note > value
