"""The page Share: what is asked, what its pictures show of the figures, and what leaves the program."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QToolTip

from gputuner.experiments.contention import Contend
from gputuner.gui.pages.contention_pictures import PairsPicture
from gputuner.gui.pages.contention_result import contention_result
from gputuner.gui.pages.contention_sensitivity import SensitivityPicture
from gputuner.gui.picture_names import contention_titles
from gputuner.gui.plots.bar_marks import Sign
from gputuner.gui.plots.pair_matrix import PairCell, PairMatrix, PairTable
from gputuner.gui.results_contention import cause_groups, claim_words, gain_groups, slowdown_groups
from gputuner.gui.results_pairs import pair_markdown, pair_modes, pair_table, pressure_series, probed
from gputuner.gui.run_state import Phase, RunFacts
from gputuner.gui.theme import DARK, LIGHT, contrast, readable, text_on
from gputuner.gui.widgets.contention_form import ContentionForm
from gputuner.model.cards import Origin
from gputuner.model.points import Flag


def test_each_job_stands_against_itself_alone(contention):
    points = contention.mix_points((("resnet50", 16), ("edsr", 8)), (1.62, 1.31))
    (group,) = slowdown_groups(points, LIGHT)
    shown = [end for row in group.rows for end in (row.value, row.low, row.high)]
    assert shown == pytest.approx([1.62, 1.58, 1.66, 1.31, 1.27, 1.35])
    assert group.line == 1.0
    assert "ResNet-50" in group.title
    assert "EDSR" in group.title


def test_few_gains_stand_beside_both_baselines_and_many_have_a_mark(contention):
    pair = contention.mix_points((("resnet50", 16), ("edsr", 8)), (1.62, 1.31), tuned=1.5)
    (group,) = gain_groups(pair, LIGHT)
    assert [round(row.value, 3) for row in group.rows] == [1.0, 1.5, round(1 / 1.62 + 1 / 1.31, 3)]
    unknown = contention.mix_points((("resnet50", 16), ("edsr", 8)), (1.62, 1.31), tuned=None)
    assert len(gain_groups(unknown, LIGHT)[0].rows) == 2, "a baseline that was not measured is left out"
    many = gain_groups(contention.pair_points(), LIGHT)
    assert {row.mark for group in many for row in group.rows} == {1.2}
    assert len({row.top for group in many for row in group.rows}) == 1


def test_a_gain_says_whether_it_pays(contention):
    pair, jobs = (1.62, 1.31), (("resnet50", 16), ("edsr", 8))
    for tuned, told, colour in (
        (1.2, Sign.PAYS, LIGHT.blue), (1.5, Sign.PAYS_NOT, LIGHT.muted), (None, None, LIGHT.blue)
    ):  # fmt: skip
        row = gain_groups(contention.mix_points(jobs, pair, tuned=tuned), LIGHT)[0].rows[-1]
        assert (row.signs, row.colour) == (() if told is None else (told,), colour)
    spoilt = [replace(each, flags=(Flag.IMPLAUSIBLE,)) for each in contention.mix_points(jobs, pair)]
    assert Sign.PAYS not in gain_groups(spoilt, LIGHT)[0].rows[-1].signs, "what does not hold is no verdict"


def test_the_slowest_steps_do_not_read_as_a_slowdown(contention):
    points = contention.mix_points((("resnet50", 16), ("edsr", 8)), (1.62, 1.31))
    assert [row.note for row in slowdown_groups(points, LIGHT)[0].rows] == ["p95 +40\u00a0%"] * 2


def test_a_figure_told_anew_counts_once(contention):
    jobs = (("lstm", 256), ("lstm", 256))
    first, later = (contention.mix_points(jobs, slow) for slow in ((1.9, 1.9), (1.7, 1.8)))
    (group,) = slowdown_groups([*first, *later], LIGHT)
    assert [row.value for row in group.rows] == [1.7, 1.8]
    assert [row.name[0] for row in group.rows] == ["1", "2"], "alike jobs are told apart by number"


def test_beside_an_idle_partner_is_apart(contention):
    points = contention.mix_points((("edsr", 8),), (1.01,), null=True, round=1)
    (group,) = slowdown_groups(points, LIGHT)
    assert "idle" in group.title
    assert gain_groups(points, LIGHT) == [], "a check of the method is no gain"


def test_the_row_is_the_job_and_the_column_its_partner(contention):
    table = pair_table(contention.pair_points(), "processes")
    at = {name.split()[0]: number for number, name in enumerate(table.names)}
    resnet, edsr, lstm = at["ResNet-50"], at["EDSR"], at["LSTM"]
    assert table.cells[resnet, edsr].value == 1.62
    assert table.cells[edsr, resnet].value == 1.31
    assert table.cells[lstm, edsr].value == 2.35
    assert table.cells[edsr, edsr].value == 1.95, "beside itself the slower of the two"
    assert len(table.cells) == 9


def test_what_was_not_run_is_predicted_and_looks_it(contention):
    points = contention.pair_points()
    table = pair_table(points, "processes")
    forecast = {place: cell for place, cell in table.cells.items() if cell.predicted}
    assert sorted(cell.value for cell in forecast.values()) == [1.05, 1.44], "by the program's model, not by another"
    assert all(cell.low is None for cell in forecast.values())
    assert pair_markdown(points, "processes").count("≈") == 3, "two cells, and what the sign means"
    assert not any(
        cell.predicted for cell in pair_table(contention.pair_points(predicted=False), "processes").cells.values()
    )


def test_rows_of_the_table_differ_where_they_begin(qtbot, contention):
    """Ratios have their sign; what all rows say, and the kind of figure, comes last or not at all."""
    view = contention_result(LIGHT)
    qtbot.addWidget(view)
    view.show_facts(RunFacts(points=contention.pair_points()), now=True)
    rows = [cells for cells in view.table.rows.cells if " ×" in cells[1].text]
    assert len(rows) > 5
    assert len({cells[0].text[:4] for cells in rows}) > 1, "they begin with the job, not with the metric"
    assert all("time slicing" not in cells[0].text for cells in rows), "there is one way of sharing"


def test_each_way_of_sharing_has_a_matrix_of_its_own(contention):
    mps = contention.mix_points((("resnet50", 16), ("edsr", 8)), (1.3, 1.22), mode="mps")
    points = [*contention.pair_points(), *mps]
    assert pair_modes(points) == ["processes", "mps"]
    assert {cell.value for cell in pair_table(points, "mps").cells.values()} == {1.3, 1.22}


def test_causes_are_shares_with_names(contention):
    groups = cause_groups(contention.pair_points(), LIGHT)
    row = next(row for group in groups for row in group.rows if "1.62" in row.text)
    assert [round(share.value, 2) for share in row.shares] == [0.7, 0.2, 0.1]
    assert row.shares[-1].pattern is not Qt.BrushStyle.SolidPattern, "what nothing explains has a name and a pattern"
    assert all(sum(share.value for share in row.shares) == pytest.approx(1.0) for group in groups for row in group.rows)
    unknown = next(row for group in groups for row in group.rows if len(row.shares) == 1)
    assert unknown.shares[0].pattern is not Qt.BrushStyle.SolidPattern, "unknown is hatched"


def test_a_curve_for_each_probe(contention):
    points = contention.pressure_points()
    jobs = probed(points)
    assert len(jobs) == 3
    curves = pressure_series(points, "pressure_sensitivity", jobs[1], LIGHT)
    assert len(curves) == len(contention.PROBES)
    assert all([dot.x for dot in curve.dots] == [0.0, 0.25, 0.5, 0.75, 1.0] for curve in curves)
    assert len({(curve.colour, curve.symbol) for curve in curves}) == len(curves)


def test_a_slowdown_that_nothing_explains_says_so(contention):
    params = {"batch": 8, "mix": "edsr:batch=8+edsr:batch=8", "mode": "mps", "job": 1, "cause": "sm"}
    (group,) = cause_groups(
        [contention.point("co_run_cause", "edsr", 0.0, params, verdict="unknown", slowdown=1.5)], LIGHT
    )
    (share,) = group.rows[0].shares
    assert (share.value, share.pattern) == (1.0, Qt.BrushStyle.BDiagPattern)
    assert group.rows[0].text == "1.50 ×"
    assert "%" not in group.rows[0].hint


def test_what_never_pauses_ends_the_curve_of_every_burst(contention):
    label = {"job_label": "edsr:batch=8", "probe": "slices", "mode": "processes"}
    told = [(0.25, 0.5), (0.5, 0.5), (0.25, 5.0), (0.5, 5.0), (1.0, None)]
    points = [
        contention.point(
            "pressure_sensitivity",
            "edsr",
            1 + dial,
            {**label, "dial": dial, **({} if ms is None else {"burst_ms": ms})},
        )
        for dial, ms in told
    ]
    curves = pressure_series(points, "pressure_sensitivity", probed(points)[0], LIGHT)
    assert [[dot.x for dot in curve.dots] for curve in curves] == [[0.25, 0.5, 1.0]] * 2
    assert [curve.name.split()[-2] for curve in curves] == ["0.5", "5"]


def test_the_claim_on_three_edsr_is_told_where_they_ran(contention):
    assert claim_words(contention.pair_points()) == ""
    assert "EDSR" in claim_words(contention.mix_points((("edsr", 8),) * 3, (1.67,) * 3))


@pytest.mark.parametrize("predicted", [True, False])
def test_how_predictions_are_made_is_said_where_a_cell_is_predicted(qtbot, contention, predicted):
    picture = PairsPicture(LIGHT)
    qtbot.addWidget(picture)
    picture.show_points(contention.pair_points(predicted=predicted))
    assert bool(picture.lines.text()) is predicted


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_cell_can_be_read(qtbot, theme):
    matrix = PairMatrix(theme)
    qtbot.addWidget(matrix)
    cells = {(0, n): PairCell(value=value) for n, value in enumerate((0.98, 1.0, 1.4, 2.0, 7.5))}
    matrix.show_table(PairTable(names=tuple("abcde"), cells=cells))
    for cell in cells.values():
        ground = matrix.fill(cell.value)
        assert contrast(readable(text_on(ground), ground), ground) >= 4.5
    assert matrix.fill(7.5) == theme.vermilion.lower()
    assert matrix.fill(0.98) == matrix.fill(1.0)
    before = matrix.fill(1.4)
    matrix.show_table(PairTable(names=("a",), cells={(0, 0): PairCell(value=1.4)}))
    assert matrix.fill(1.4) == before, "the same slowdown has the same colour in every run"


def test_keys_go_from_cell_to_cell_and_tell_the_pair(qtbot, monkeypatch):
    monkeypatch.setattr(QToolTip, "showText", lambda *_told: None)  # the offscreen plugin cannot raise a window
    matrix = PairMatrix(LIGHT)
    qtbot.addWidget(matrix)
    cells = {(0, 1): PairCell(value=1.5, predicted=True, hint="why"), (1, 0): PairCell(value=1.25)}
    matrix.show_table(PairTable(names=("one", "two"), cells=cells))
    matrix.resize(400, 300)
    qtbot.keyClick(matrix, Qt.Key.Key_Right)
    assert matrix.accessibleName() == "one beside two: ≈ 1.50"
    assert matrix.accessibleDescription() == "why"
    qtbot.keyClick(matrix, Qt.Key.Key_Right)
    qtbot.keyClick(matrix, Qt.Key.Key_Left)
    qtbot.keyClick(matrix, Qt.Key.Key_Down)
    assert "1.25" in matrix.accessibleName()


# --- the form ---------------------------------------------------------------------------------------------------------


def test_the_form_makes_the_spec(qtbot):
    form = ContentionForm(LIGHT, Contend, ("resnet50", "edsr", "lstm"))
    qtbot.addWidget(form)
    assert form.spec() == Contend(jobs=("resnet50",), folder=form.values()["folder"])
    form.mix.add_button.click()
    assert form.mix.texts == ("resnet50", "edsr"), "one more is another training"
    form.mix.rows[0].batch.setValue(16)
    form.mix.rows[1].precision.setCurrentIndex(form.mix.rows[1].precision.findData("fp16"))
    form.modes["mps"].setChecked(True)
    form.mix.rows[1].percent.setValue(40)
    form.controls["matrix"].setChecked(True)
    spec = form.spec()
    assert spec.jobs == ("resnet50:batch=16", "edsr:precision=fp16")
    assert (spec.modes, spec.thread_percentages, spec.matrix) == (("processes", "mps"), (100, 40), True)
    assert (spec.causes, spec.minutes) == (True, 10.0), "as on the command line"
    assert form.controls["causes"].isChecked()
    assert not form.controls["causes"].isEnabled(), "all pairs are asked with their causes"
    form.modes["mps"].setChecked(False)
    assert form.spec().thread_percentages == ()
    form.mix.rows[1].remove.click()
    assert not form.spec().matrix, "one job has no pairs"
    assert form.mix.rows[0].remove.isHidden(), "one job stays"


def test_what_was_asked_survives_another_theme(qtbot):
    form, anew = (ContentionForm(LIGHT, Contend, ("resnet50", "edsr")) for _number in range(2))
    for each in (form, anew):
        qtbot.addWidget(each)
    form.mix.show_texts(("edsr:batch=8,compile=true", "mine.py:make:batch=4"), (("python", "a b.py", "--lr", "1"),))
    form.modes["processes"].setChecked(False)
    form.modes["mps"].setChecked(True)
    form.one_fault.setChecked(True)
    anew.set_values(form.kept())
    assert anew.spec() == form.spec()
    assert anew.spec().commands == (("python", "a b.py", "--lr", "1"),)
    form.mix.rows[2].line.setText('python "a')
    assert form.problem().code == "watch_no_command"
    form.mix.rows[1].recipe.setText("")
    assert form.problem().code == "recipe_missing"


# --- in the window ----------------------------------------------------------------------------------------------------


def test_a_run_fills_every_picture_and_evidence_leads_to_one(open_window, invented, contention, qtbot, tmp_path):
    events = contention.contend_events(origin=Origin.SIMULATED)
    ports = invented.ports([invented.modded_4090(origin=Origin.SIMULATED)], [invented.ScriptedRun(events)])
    ports.contend_spec = Contend
    window = open_window(ports)
    window.navigate("contention")
    page, desk = window.experiments["contention"], window.desks["contention"]
    assert "Nothing measured yet" in page.notice.text
    page.load_plots()
    page.start()
    qtbot.waitUntil(lambda: desk.state.phase is Phase.OVER)
    page.refresh()
    page.result.show_facts(desk.state.facts, now=True)
    names = [name for name, button in page.result.segments.items() if button.isEnabled()]
    assert names == [name for name in contention_titles() if name != "card"], "no telemetry in this run"
    assert page.result.name == "pairs", "of three jobs or more in pairs the matrix is the answer"
    assert isinstance(ports.started[0][0], Contend)
    cell = page.result.pictures.pairs.matrix.table.cells[0, 1]
    page.advice.evidence_wanted.emit((cell.point_id,))
    assert page.result.name in ("pairs", "slowdown")
    keys = page.result.table.rows.keys
    assert cell.point_id in keys
    assert not any(key.startswith("pressure") for key in keys), "curves are seen in their picture"
    told = {}
    for name in names:
        page.show_picture(name)
        told[name] = page.result.pictures.markdown(desk.state.facts)
    assert all("simulated" in text.lower() for text in told.values())
    assert "1.38 × (1.33 … 1.43)" in told["slowdown"]
    assert told["pairs"].count("≈") == 3
    for name in names:
        page.show_picture(name)
        page.result.save(tmp_path / f"{name}.png")
        assert not QImage(str(tmp_path / f"{name}.png")).isNull()
    page.result.save(tmp_path / "figures.csv")
    assert "pressure_exerted" in (tmp_path / "figures.csv").read_text()


def test_a_stored_run_is_drawn_as_it_was(qtbot, invented, contention):
    from gputuner.gui.pages.tune_result import RESULTS

    view = RESULTS["contend"](LIGHT)
    qtbot.addWidget(view)
    facts = RunFacts()
    for event in contention.contend_events():
        facts.take(event)
    view.show_facts(facts, now=True)
    assert view.name == "pairs"
    assert view.segments["causes"].isEnabled()


def test_in_a_low_window_the_bars_have_the_room_of_their_table(open_window, invented, contention, qtbot):
    ports = invented.ports([invented.modded_4090()], [invented.ScriptedRun(contention.contend_events())])
    ports.contend_spec = Contend
    window = open_window(ports)
    window.navigate("contention")
    page, desk = window.experiments["contention"], window.desks["contention"]
    page.load_plots()
    page.start()
    qtbot.waitUntil(lambda: desk.state.phase is Phase.OVER)
    page.refresh()
    result = page.result
    result.show_facts(desk.state.facts, now=True)
    result.show_name("slowdown")
    bars, gain = result.pictures.slowdown, result.pictures.gain
    qtbot.waitUntil(lambda: result.pictures.height() > 0.8 * result.height())
    QGuiApplication.processEvents()
    seen = bars.visibleRegion().boundingRect().height()
    row = bars.sizeHint().height() / sum(len(group.rows) + 1 for group in bars.groups)
    assert not result.table.isVisible()
    assert seen >= 3.5 * 3 * row, "more than three pairs of six, each a title and two bars"
    assert seen > gain.visibleRegion().boundingRect().height(), "more bars, more room"
    result.show_name("pairs")
    assert result.table.isVisible()
    window.resize(1920, 1200)
    result.show_name("slowdown")
    qtbot.waitUntil(result.table.isVisible)


def test_what_each_job_gets_under_mps_is_told_and_kept_out_of_the_matrix(contention):
    jobs = (("resnet50", 16), ("edsr", 8))
    points = [
        *contention.mix_points(jobs, (1.3, 1.2), "mps"),
        *contention.mix_points(jobs, (1.1, 2.0), "mps", shares="70,30"),
    ]
    assert slowdown_groups(points, LIGHT)[1].title.endswith("70 / 30 %")
    assert {cell.value for cell in pair_table(points, "mps").cells.values()} == {1.3, 1.2}


def test_a_doubtful_pair_is_marked(contention):
    points = contention.mix_points((("resnet50", 16), ("edsr", 8)), (0.9, 1.31))
    spoilt = [replace(point, flags=(Flag.IMPLAUSIBLE,)) for point in points]
    assert all(cell.doubtful for cell in pair_table(spoilt, "processes").cells.values())
    assert not any(cell.doubtful for cell in pair_table(points, "processes").cells.values())
    assert gain_groups(spoilt, LIGHT)[0].rows[-1].note == "alone changed meanwhile"


def test_curves_of_probes_have_their_ticks_where_the_probes_stood(qtbot, invented, contention):
    picture = SensitivityPicture(LIGHT)
    qtbot.addWidget(picture)
    facts = RunFacts()
    for event in contention.contend_events():
        facts.take(event)
    picture.show_points(facts.points)
    stood = {dot.x for series in picture.suffers.series for dot in series.dots}
    axis = picture.suffers.plot.getAxis("bottom")
    assert {*stood, 0.0} == set(axis.wanted)
    (_spacing, places) = axis.tickValues(0.0, 1.0, 600)[0]
    assert set(places) == set(axis.wanted)
    assert axis.tickStrings(sorted(places), 1.0, 1.0)[-1] == "100"
