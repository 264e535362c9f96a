"""The page Queue: jobs in order with their reason, moved, added, cancelled, and what the chosen one writes."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import QAbstractSlider

from gputuner.gui.pages.queue import QueuePage
from gputuner.gui.queue_desk import QueueDesk
from gputuner.gui.queue_rows import card_words, job_rows, summary_words, time_words
from gputuner.gui.queue_sessions import MOST, offered
from gputuner.gui.run_worker import Background
from gputuner.gui.stylesheet import stylesheet
from gputuner.gui.theme import LIGHT, Choice
from gputuner.gui.widgets.queue_fields import GIB
from gputuner.gui.widgets.queue_form import QueueForm
from gputuner.gui.widgets.queue_table import QueueTable
from gputuner.language.words import set_language
from gputuner.model.cards import Origin
from gputuner.model.errors import StoreError, UsageError
from gputuner.model.jobs import (
    Job,
    JobState,
    MemoryHolder,
    Needs,
    NeedSource,
    OnReboot,
    QueueCard,
    QueueView,
    Reason,
    RunnerInfo,
)

NOW = 1_800_000_000.0


def job(number: int, state: JobState, **more) -> Job:
    needs = more.pop("needs", Needs(memory_bytes=10 * GIB, source=NeedSource.GIVEN))
    command = ("python", "train.py", "--run", str(number))
    return Job(
        id=number, command=command, folder="/work", needs=needs, state=state, added_unix_s=NOW - 900,
        waiting_since_unix_s=NOW - 600, **more,
    )  # fmt: skip


def view(log: Path | None = None) -> QueueView:
    jobs = (
        job(1, JobState.RUNNING, cards=("GPU-4090",), started_unix_s=NOW - 300, reserved_bytes=8 * GIB,
            peak_bytes=9 * GIB, log=str(log or "")),
        job(2, JobState.WAITING),
        job(3, JobState.WAITING),
        job(4, JobState.WAITING),
        job(5, JobState.DONE, started_unix_s=NOW - 800, ended_unix_s=NOW - 700, exit_code=0),
    )  # fmt: skip
    holder = MemoryHolder(pid=4711, name="jupyter", memory_bytes=11 * GIB, idle_s=7200.0)
    card = QueueCard(
        uuid="GPU-4090", title="RTX 4090 48G", index=0, total_bytes=48 * GIB, free_bytes=26 * GIB,
        reserved_bytes=8 * GIB, jobs=(1,), holders=(holder,),
    )  # fmt: skip
    counts = {JobState.RUNNING: 1, JobState.WAITING: 3, JobState.DONE: 1}
    return QueueView(jobs=jobs, cards=(card,), runner=RunnerInfo(pid=7, since_unix_s=NOW), counts=counts)


@pytest.fixture
def opened(qtbot, invented):
    """The page alone over a queue in memory; opens it and gives both."""
    background = Background()
    queue = invented.InMemoryQueue()

    def make():
        desk = QueueDesk(queue, background)
        page = QueuePage(LIGHT, desk)
        qtbot.addWidget(page)
        page.setStyleSheet(stylesheet(LIGHT))
        page.resize(1200, 760)
        page.desk = desk  # lives as long as the page
        page.show()
        return page, queue

    yield make
    background.stop()


@pytest.fixture
def shown(opened, qtbot, invented, tmp_path):
    """The page with its queue filled."""
    log = tmp_path / "job.log"
    log.write_text("epoch 1\n")
    page, queue = opened()
    queue.view = view(log)
    page.desk.look()
    qtbot.waitUntil(lambda: page.table.rows.keys == ["1", "2", "3", "4", "5"])
    yield page, queue, log
    page.hide()


# --- rows and words ---------------------------------------------------------------------------------------------------


def test_times_are_of_what_the_job_does_now():
    running, waiting, *_others, done = view().jobs
    assert [time_words(each, NOW) for each in (running, waiting, done)] == ["5 min", "10 min", "1 min 40 s"]
    again = replace(running, state=JobState.WAITING)
    assert time_words(again, NOW) == "10 min", "tried again, it waits"


def test_a_row_tells_state_needs_and_place():
    rows = job_rows(view(), NOW)
    assert [key for key, _cells in rows] == ["1", "2", "3", "4", "5"]
    cells = dict(rows)["1"]
    assert cells[1].text.startswith("train.py"), "what every row begins with tells nothing"
    assert cells[1].hint.startswith("python train.py")
    module = replace(view().jobs[1], command=("python3.11", "-m", "train"))
    assert dict(job_rows(QueueView(jobs=(module,)), NOW))["2"][1].text == "python3.11 -m train"
    assert cells[5].text == "0"
    assert "RTX 4090 48G" in cells[5].hint
    assert "1 GiB" in cells[4].hint, "by how much it has grown past what is kept for it"


def test_how_a_job_ended_is_said_once():
    done, broken = job(7, JobState.DONE), job(8, JobState.FAILED, reason=Reason(code="out_of_memory"))
    rows = dict(job_rows(QueueView(jobs=(done, broken)), NOW))
    assert [rows[key][3].text for key in ("7", "8")] == ["", "It ran out of memory."]


def test_job_and_reason_share_the_room_by_what_they_say(table):
    """A long reason leaves the job two fifths; short ones leave it what they do not need."""
    shown, _moves = table
    shown.resize(1100, 300)
    shown.show()
    commands = max(shown.fontMetrics().horizontalAdvance(cells[1].text) for cells in shown.rows.cells)
    assert shown.columnWidth(1) > commands, "no command is cut beside an empty reason"
    long = Reason(code="beside_unknown", params={"jobs": "1", "index": 0})
    waiting = job(2, JobState.WAITING, name="a name that alone takes more room than a third " * 3, reason=long)
    shown.show_jobs(job_rows(QueueView(jobs=(waiting,)), NOW), [2])
    job_width, why_width = shown.columnWidth(1), shown.columnWidth(3)
    assert 1.3 * job_width < why_width < 1.7 * job_width


def test_what_failed_is_not_as_quiet_as_what_is_done():
    jobs = (job(7, JobState.DONE), job(8, JobState.FAILED, priority=3), job(9, JobState.TIMED_OUT))
    rows = dict(job_rows(QueueView(jobs=jobs), NOW))
    assert [rows[key][2].muted for key in ("7", "8", "9")] == [True, False, False]
    assert rows["8"][4].text == "10 GiB"
    assert "priority 3" in rows["8"][4].hint
    two = job(3, JobState.WAITING, needs=Needs(memory_bytes=None, cards=2))
    assert dict(job_rows(QueueView(jobs=(two,)), NOW))["3"][4].text == "2 × —"


def test_the_cards_tell_what_is_free_and_kept():
    card = view().cards[0]
    assert "26 GiB free of 48 GiB" in card_words(card)
    assert "8 GiB kept" in card_words(card)
    assert "11 GiB of others" in card_words(card)
    slots = replace(card, total_bytes=None, free_bytes=None, reserved_bytes=0, slots=4)
    assert "4 slots" in card_words(slots)
    assert summary_words(view()) == "1 runs, 3 wait, 1 has ended"
    assert summary_words(QueueView(counts={JobState.DONE: 2})) == "2 have ended"


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(qtbot):
    made = QueueTable(LIGHT)
    qtbot.addWidget(made)
    made.resize(900, 300)
    made.show_jobs(job_rows(view(), NOW), [2, 3, 4])
    moves: list[tuple] = []
    made.moved.connect(lambda *move: moves.append(move))
    return made, moves


@pytest.mark.parametrize(
    ("key", "row", "move"),
    [
        ("4", 1, (4, 2, None)),
        ("4", 0, (4, 2, None)),
        ("2", 4, (2, None, 4)),
        ("2", 5, (2, None, 4)),
        ("2", 3, (2, 4, None)),
        ("2", 1, None),
        ("2", 2, None),
        ("4", 5, None),
        ("1", 3, None),
        ("5", 1, None),
    ],
)
def test_a_dropped_job_goes_where_it_was_dropped(table, key, row, move):
    made, moves = table
    made.drop_at(key, row)
    assert moves == ([] if move is None else [move])


def test_a_drop_is_told_and_the_rows_wait_for_the_queue(table):
    made, moves = table
    made.show()
    made.setCurrentIndex(made.rows.index(3, 0))
    area = made.visualRect(made.rows.index(1, 0))
    place = QPointF(area.center().x(), area.top() + 1)
    actions, buttons = Qt.DropAction.MoveAction, Qt.MouseButton.LeftButton
    event = QDropEvent(place, actions, QMimeData(), buttons, Qt.KeyboardModifier.NoModifier)
    made.dropEvent(event)
    assert moves == [], "from another widget nothing is taken"
    made.drop_at(made.current_key(), made.row_below(place.toPoint()))
    assert moves == [(4, 2, None)]
    assert made.rows.keys == ["1", "2", "3", "4", "5"]
    flags = [bool(made.rows.flags(made.rows.index(row, 0)) & Qt.ItemFlag.ItemIsDragEnabled) for row in range(5)]
    assert flags == [False, True, True, True, False], "only what waits can be dragged"


def test_keys_move_a_waiting_job(table, qtbot):
    made, moves = table
    made.setCurrentIndex(made.rows.index(2, 0))
    qtbot.keyClick(made, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    qtbot.keyClick(made, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert moves == [(3, 2, None), (3, None, 4)]
    made.setCurrentIndex(made.rows.index(0, 0))
    qtbot.keyClick(made, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert len(moves) == 2, "a running job has no place in the order"


# --- a new job --------------------------------------------------------------------------------------------------------


def test_the_form_makes_the_request(qtbot):
    form = QueueForm(LIGHT)
    qtbot.addWidget(form)
    asked: list = []
    form.wanted.connect(asked.append)
    form.submit()
    assert asked == []
    assert form.problem.text(), "nothing was typed"
    form.line.setText('python train.py --name "my run"')
    form.submit()
    assert asked[0].command == ("python", "train.py", "--name", "my run")
    assert asked[0].needs == Needs(), "what is not said is learned"
    assert asked[0].environment == {}, "the environment is none of the window's business"
    fields = form.fields
    fields.memory.setValue(10.5)
    fields.cards.setValue(2)
    fields.minutes.setValue(90)
    fields.after.setText("3, 5-7")
    fields.retries.setValue(1)
    fields.reboot.setCurrentIndex(1)
    fields.array.setText("1-3")
    fields.timeout.setText("2h")
    fields.start_within.setText("30m")
    fields.workload.setText("resnet50")
    form.submit()
    request = asked[1]
    assert request.needs.memory_bytes == round(10.5 * GIB)
    assert (request.needs.cards, request.needs.minutes, request.needs.source) == (2, 90.0, NeedSource.GIVEN)
    assert (request.after, request.retries) == ((3, 5, 6, 7), 1)
    assert request.on_reboot is OnReboot.RERUN
    assert (request.array, request.needs.label) == ((1, 2, 3), "resnet50")
    assert (request.timeout_s, request.start_within_s) == (7200.0, 1800.0)
    assert form.fields.more.opener.text() == "▸ More options · 7 are set"
    again = QueueForm(LIGHT)
    qtbot.addWidget(again)
    again.keep(form.kept)
    assert again.fields.more.opener.text() == form.fields.more.opener.text()
    assert again.request() == request, "what was typed outlives another theme"
    form.clear_added()
    assert form.fields.array.text() == "", "the next job is no array by oversight"


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_nothing_of_the_form_is_cut_in_the_smallest_window(open_window, invented, language):
    set_language(language)
    window = open_window(invented.ports())
    window.resize(window.minimumSize())
    window.navigate("queue")
    QGuiApplication.processEvents()
    pane = window.queue.form.pane
    assert pane.widget().width() <= pane.viewport().width()
    share = window.queue.form.fields.share
    assert share.accessibleName() in (share.text(), share.toolTip().split("\n")[0])


def test_memory_is_typed_or_that_of_a_session(qtbot):
    form = QueueForm(LIGHT)
    qtbot.addWidget(form)
    form.line.setText("python train.py")
    fields = form.fields
    fields.offer_sessions((("s2", "Watch · 11-30"), ("s1", "Training · 11-29")))
    assert fields.like_session == ""
    fields.like.setCurrentIndex(2)
    assert fields.like_session == "s1"
    assert not fields.memory.isEnabled()
    fields.offer_sessions((("s3", "Watch · 12-01"), ("s2", "Watch · 11-30"), ("s1", "Training · 11-29")))
    assert fields.like_session == "s1", "the choice outlives a new session"
    again = QueueForm(LIGHT)
    qtbot.addWidget(again)
    again.keep(form.kept)
    again.fields.offer_sessions((("s2", "Watch · 11-30"), ("s1", "Training · 11-29")))
    assert again.fields.like_session == "s1", "and another theme"
    fields.like.setCurrentIndex(0)
    fields.memory.setValue(4.0)
    assert not fields.like.isEnabled()
    assert form.request().needs.source is NeedSource.GIVEN


def test_only_sessions_of_trainings_on_real_cards_are_offered(invented):
    def entry(name, experiment, **more):
        return invented.Entry(Path(f"/{name}.gpt"), replace(invented.Summary(name, experiment), **more))

    told = [
        entry("w", "watch"), entry("x", "power"), entry("s", "batch", origin=Origin.SIMULATED),
        entry("r", "batch", running=True), entry("t", "tune"), invented.Entry(Path("/broken")),
    ]  # fmt: skip
    assert [name for name, _words in offered(told)] == ["w", "t"]
    assert offered(told)[0][1].startswith("Watch")
    assert len(offered(told * 40)) == MOST


def test_the_page_offers_sessions_and_adds_like_one(open_window, invented, qtbot):
    ports = invented.ports()
    ports.queue.stored = [invented.Entry(Path("/w.gpt"), invented.Summary("w", "watch"))]
    window = open_window(ports)
    window.navigate("queue")
    fields = window.queue.form.fields
    qtbot.waitUntil(lambda: fields.like.count() == 2)
    fields.like.setCurrentIndex(1)
    window.queue.form.line.setText("python train.py")
    window.queue.form.submit()
    qtbot.waitUntil(lambda: any(asked[0] == "add" for asked in ports.queue.asked))
    assert next(asked for asked in ports.queue.asked if asked[0] == "add")[2] == "w"


@pytest.mark.parametrize(
    ("field", "typed", "name"),
    [
        ("after", "three", "After jobs"),
        ("array", "5-1", "Array of indices"),
        ("timeout", "2 weeks", "Time limit"),
        ("start_within", "0", "Start within"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_field(qtbot, field, typed, name):
    form = QueueForm(LIGHT)
    qtbot.addWidget(form)
    asked: list = []
    form.wanted.connect(asked.append)
    form.line.setText("python train.py")
    getattr(form.fields, field).setText(typed)
    form.submit()
    assert asked == []
    assert name in form.problem.text()
    assert typed in form.problem.text()
    assert "--" not in form.problem.text(), "a window has fields, no options"
    assert form.fields.more.unfolded, "the field that is named is seen"


def test_a_job_is_kept_to_the_ticked_cards(qtbot, invented):
    form = QueueForm(LIGHT)
    qtbot.addWidget(form)
    form.line.setText("python train.py")
    first = invented.modded_4090()
    second = replace(first, uuid="GPU-2", index=1)
    form.fields.offer_cards([first])
    assert form.fields.only == {}, "of one card nothing is to be chosen"
    form.fields.offer_cards([first, second])
    assert form.request().needs.pinned == (), "none ticked: any"
    form.fields.only["GPU-2"].setChecked(True)
    assert form.request().needs.pinned == ("GPU-2",)
    anew = QueueForm(LIGHT)
    qtbot.addWidget(anew)
    anew.keep(form.kept)
    anew.fields.offer_cards([first, second])
    assert anew.request().needs.pinned == ("GPU-2",)


def test_alone_and_beside_others_exclude_each_other(qtbot):
    fields = QueueForm(LIGHT).fields
    qtbot.addWidget(fields)
    fields.share.setChecked(True)
    fields.alone.setChecked(True)
    assert not fields.share.isChecked()
    fields.share.setChecked(True)
    assert not fields.alone.isChecked()


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_log_of_the_chosen_job_grows(shown, qtbot):
    page, _queue, log = shown
    qtbot.waitUntil(lambda: "epoch 1" in page.panel.log.toPlainText())
    assert page.panel.grown.text(), "it has grown past what is kept for it"
    with log.open("a") as file:
        file.write("epoch 2\n")
    qtbot.waitUntil(lambda: "epoch 2" in page.panel.log.toPlainText())
    page.table.selectRow(1)
    assert page.panel.log.toPlainText() == ""
    assert page.panel.title.whole.startswith("2 · python")


def test_the_log_follows_its_end_until_a_reader_leaves_it(shown, qtbot):
    """Whatever takes height away from it: the question before a job is ended, a smaller window."""
    page, _queue, log = shown
    page.table.selectRow(0)
    bar = page.panel.log.verticalScrollBar()
    with log.open("a") as file:
        file.writelines(f"step {number}\n" for number in range(200))
    qtbot.waitUntil(lambda: "step 199" in page.panel.log.toPlainText())
    page.panel.log.setFixedHeight(page.panel.log.height() // 2)
    qtbot.waitUntil(lambda: 0 < bar.value() == bar.maximum())
    bar.triggerAction(QAbstractSlider.SliderAction.SliderPageStepSub)
    left_at = bar.value()
    with log.open("a") as file:
        file.write("and more\n")
    qtbot.waitUntil(lambda: "and more" in page.panel.log.toPlainText())
    assert bar.value() == left_at < bar.maximum()
    bar.triggerAction(QAbstractSlider.SliderAction.SliderToMaximum)
    with log.open("a") as file:
        file.write("the last\n")
    qtbot.waitUntil(lambda: "the last" in page.panel.log.toPlainText())
    assert bar.value() == bar.maximum()


def test_before_a_running_job_is_ended_it_is_asked(shown, qtbot):
    page, queue, _log = shown
    page.table.selectRow(0)
    page.panel.buttons["cancel"].click()
    assert not page.panel.confirm.isHidden()
    page.panel.confirm_no.click()
    page.panel.buttons["cancel"].click()
    page.panel.confirm_yes.click()
    qtbot.waitUntil(lambda: queue.asked == [("cancel", 1)])
    page.table.selectRow(1)
    page.panel.buttons["cancel"].click()
    qtbot.waitUntil(lambda: queue.asked[1:] == [("cancel", 2)])
    assert page.panel.confirm.isHidden(), "what waits is taken out without a question"
    page.table.selectRow(4)
    assert page.panel.buttons["cancel"].isHidden()
    page.panel.buttons["retry"].click()
    qtbot.waitUntil(lambda: queue.asked[2:] == [("retry", 5)])


def test_a_question_does_not_outlive_its_job(shown, qtbot):
    page, queue, _log = shown
    page.table.selectRow(0)
    page.panel.ask_cancel()
    running, *rest = queue.view.jobs
    ended = replace(running, state=JobState.DONE, ended_unix_s=time.time(), exit_code=0)
    queue.view = replace(queue.view, jobs=(*rest, ended))
    qtbot.waitUntil(lambda: page.panel.confirm.isHidden() and page.table.current_key() == "1")
    assert page.panel.job.state is JobState.DONE, "the chosen job stays chosen where it goes"


def test_the_runner_is_started_and_stopped(shown, qtbot):
    page, queue, _log = shown
    page.runner.click()
    qtbot.waitUntil(lambda: queue.view.runner is None)
    qtbot.waitUntil(lambda: "no runner serves" in page.notice.text)
    assert page.runner.isHidden(), "one button starts it, not two"
    page.notice.button.click()
    qtbot.waitUntil(lambda: queue.view.runner is not None)
    assert queue.asked == [("stop",), ("start",)]


def test_what_cannot_be_done_is_said_and_so_is_an_empty_queue(opened, qtbot):
    page, queue = opened()
    qtbot.waitUntil(lambda: "The queue is empty" in page.notice.text)
    assert ("start the runner" in page.notice.text) == (queue.view.runner is None), "nothing starts without one"
    page.form.line.setText("python train.py")
    queue.refusal = UsageError("option_value", "--memory", option="--memory", value="x", expected="GiB")
    page.form.submit()
    qtbot.waitUntil(lambda: "--memory" in page.form.problem.text())
    assert page.form.line.text() == "python train.py", "what was typed stays"
    queue.refusal = None
    page.form.submit()
    qtbot.waitUntil(lambda: page.table.rows.keys == ["1"])
    assert page.form.line.text() == ""
    assert "Added as job 1" in page.form.said.text()
    queue.refusal = StoreError("session_malformed", path="queue.sqlite", message="not a database")
    qtbot.waitUntil(lambda: "cannot be read" in page.notice.text)
    assert page.table.rows.keys == ["1"], "what was read last stays in sight"
    assert "as of" in page.notice.text
    assert not page.table.isEnabled()
    queue.refusal = None
    qtbot.waitUntil(page.table.isEnabled)


def test_in_the_window_it_is_looked_at_only_while_it_is_seen(open_window, invented, qtbot):
    ports = invented.ports()
    ports.queue.acting = False
    window = open_window(ports)
    desk, page = window.conductor.queue, window.queue
    assert desk.view is None
    window.navigate("queue")
    qtbot.waitUntil(lambda: desk.view is not None)
    assert desk.following
    page.refresh()
    assert "real cards" in page.notice.text, "simulated ones take no jobs"
    assert not page.form.add_button.isEnabled()
    assert not page.form.line.isEnabled()
    assert not page.runner.isEnabled()
    page.form.line.setText("python train.py")
    window.choose_theme(Choice.DARK)
    assert window.page == "queue"
    assert window.queue.form.line.text() == "python train.py", "what was typed outlives another theme"
    window.show_page("tune")
    assert not desk.following
    window.actions_.find("Cancel the job").trigger()
    assert window.page == "queue", "what is chosen is seen before anything is done to it"
    assert ports.queue.asked == []


def test_why_it_waits_is_told_in_its_row(invented):
    reason = Reason(code="memory", params={})
    row = dict(job_rows(QueueView(jobs=(job(2, JobState.WAITING, reason=reason),)), NOW))["2"]
    assert row[3].text
