"""Runs and errands in the background."""

import threading

from gputuner.gui.run_worker import Background, RunThread
from gputuner.model.errors import StoreError
from gputuner.model.events import RunFinished


def test_events_arrive_in_order_in_the_windows_thread(qtbot, invented):
    thread, told, where = RunThread(), [], []
    thread.told.connect(lambda event: (told.append(event), where.append(threading.current_thread())))
    events = invented.tune_events()
    with qtbot.waitSignal(thread.finished):
        thread.begin(lambda: invented.ScriptedRun(events))
    assert told == events
    assert set(where) == {threading.main_thread()}
    assert not thread.busy


def test_second_begin_is_ignored_while_one_runs(qtbot, invented):
    thread = RunThread()
    run = invented.ScriptedRun(invented.tune_events(), hold=1)
    thread.begin(lambda: run)
    thread.begin(lambda: (_ for _ in ()).throw(AssertionError("a second run was started")))
    with qtbot.waitSignal(thread.finished):
        run.released.set()


def test_cancel_before_the_start_starts_nothing_or_cancels(qtbot, invented):
    thread = RunThread()
    gate = threading.Event()
    run = invented.ScriptedRun(invented.tune_events(), hold=2)
    told = []
    thread.told.connect(told.append)

    def start():
        gate.wait()
        return run

    thread.begin(start)
    thread.cancel()
    with qtbot.waitSignal(thread.finished):
        gate.set()
    assert run.cancelled.is_set() or told == []
    assert told == [] or isinstance(told[-1], RunFinished)


def test_refusal_reaches_the_window(qtbot):
    thread, refused = RunThread(), []
    thread.refused.connect(refused.append)

    def start():
        raise StoreError("disk_full", path="/data")

    with qtbot.waitSignal(thread.finished):
        thread.begin(start)
    assert [err.code for err in refused] == ["disk_full"]


def test_errands_are_done_in_turn_and_answered_in_the_windows_thread(qtbot):
    background, answers, threads = Background(), [], []

    def call(number):
        threads.append(threading.current_thread())
        if number == 2:
            raise StoreError("disk_full", path="/data")
        return number

    for number in (1, 2, 3):
        background.ask(lambda number=number: call(number), answers.append, lambda err: answers.append(err.code))
    qtbot.waitUntil(lambda: background.pending == 0)
    assert answers == [1, "disk_full", 3]
    assert threading.main_thread() not in threads
    background.stop()
    assert not background.running


def test_many_answers_and_a_quick_end_harm_nothing(qapp):
    """An object of each call's own crashed here: deleted while the other thread still sent its signal."""
    for _round in range(60):
        background, answers = Background(), []
        for number in range(50):
            background.ask(lambda number=number: number, answers.append)
        while background.pending:
            qapp.processEvents()
        background.stop()
        assert answers == list(range(50))
