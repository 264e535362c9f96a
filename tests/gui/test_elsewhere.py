"""Monitor tells quietly what other gputuner programs do with the cards shown, and stops when they end."""

from datetime import datetime
from threading import Event as Flag

import pytest

from gputuner.language.words import set_language
from gputuner.model.holders import WATCH, Holder

NOON = datetime(2020, 5, 17, 12, 3).timestamp()
BENCH = Holder(pid=4711, command="gputuner --cli bench", purpose="bench", since_unix_s=NOON)


@pytest.fixture
def window(open_window, invented):
    return open_window(invented.ports())


def shown(window, qtbot):
    """What Monitor says once it has asked anew."""
    elsewhere = window.conductor.elsewhere
    qtbot.waitUntil(lambda: not elsewhere._out)
    elsewhere.ask(window.conductor.live.cards)
    qtbot.waitUntil(lambda: not elsewhere._out)
    window.monitor.refresh_if_needed()
    return window.monitor.standing.texts


def test_nobody_else_nothing_said(window, qtbot):
    assert shown(window, qtbot) == ()
    assert window.monitor.standing.isHidden()


def test_an_experiment_elsewhere_is_told_with_process_command_and_time_until_it_ends(window, qtbot):
    window.ports.holders["GPU-3090"] = (BENCH,)
    title = window.conductor.live.cards["GPU-3090"].info.title
    window.monitor.pause_button.setFocus()
    (said,) = shown(window, qtbot)
    assert said.startswith(f"{title} is being measured by another gputuner")
    for part in ("process 4711", "gputuner --cli bench", "since 2020-05-17 12:03"):
        assert part in said
    assert window.focusWidget() is window.monitor.pause_button
    assert not window.monitor.notice.isVisible()
    window.ports.holders.clear()
    assert shown(window, qtbot) == ()


def test_what_is_not_known_of_it_is_left_out(window, qtbot):
    window.ports.holders["GPU-3090"] = (Holder(),)
    (said,) = shown(window, qtbot)
    assert said.endswith("is being measured by another gputuner")


def test_recording_and_mere_reading_are_said_as_such_and_each_program_once(window, qtbot):
    record = Holder(pid=5, command="gputuner --cli record", purpose="record")
    watch = Holder(pid=6, command="gputuner", purpose=WATCH)
    own_watch = Holder(pid=4711, command="gputuner --cli bench", purpose=WATCH)
    window.ports.holders |= {"GPU-4090": (record,), "GPU-3090": (BENCH,), "": (watch, own_watch)}
    measured, recorded, read = shown(window, qtbot)
    assert "measured" in measured
    assert "recorded" in recorded
    assert "reads the cards too" in read
    assert "process 6" in read


def test_times_that_cannot_be_are_a_dash(window, qtbot):
    window.ports.holders["GPU-3090"] = (Holder(pid=1, since_unix_s=1e300),)
    (said,) = shown(window, qtbot)
    assert "since —" in said


def test_it_is_said_in_chinese(window, qtbot):
    set_language("zh_CN")
    window.ports.holders["GPU-3090"] = (BENCH,)
    (said,) = shown(window, qtbot)
    assert "另一个 gputuner" in said
    assert "4711" in said


def test_the_window_never_waits_and_asks_one_question_at_a_time(window, qtbot):
    """The folder does not answer (a network disk): the page goes on, nothing queues up."""
    elsewhere, answer, asked = window.conductor.elsewhere, Flag(), []
    qtbot.waitUntil(lambda: not elsewhere._out)

    def slow(cards):
        asked.append(tuple(cards))
        answer.wait()
        return {}

    window.ports.elsewhere = slow
    elsewhere.ask(window.conductor.live.cards)
    elsewhere._asked_s = float("-inf")
    for _ in range(5):
        window.monitor.refresh_if_needed()
    qtbot.waitUntil(lambda: bool(asked))
    assert asked == [("", "GPU-4090", "GPU-3090")]
    answer.set()
    qtbot.waitUntil(lambda: not elsewhere._out)


def test_a_folder_that_cannot_be_read_is_no_word(window, qtbot):
    window.ports.holders["GPU-3090"] = (BENCH,)
    assert shown(window, qtbot)

    def broken(_cards):
        raise OSError(5, "input/output error")

    window.ports.elsewhere = broken
    assert shown(window, qtbot) == ()


def test_a_replay_has_no_neighbours(window, qtbot):
    window.ports.holders["GPU-3090"] = (BENCH,)
    assert shown(window, qtbot)
    window.monitor.show_replayed(True)
    window.monitor.refresh()
    assert window.monitor.standing.texts == ()
