"""An advice is tried from its card: started, followed, stopped, and its gain told beside what was predicted."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.model.cards import Origin
from gputuner.model.change import Change, TrainingSetting
from gputuner.model.errors import CardBusy
from gputuner.model.events import AdviceGiven

CHANGE = Change(
    workload="resnet50",
    base=TrainingSetting(batch=128, precision="fp32"),
    advised=TrainingSetting(batch=128, precision="bf16"),
)
NAME, TRIED = "precision.best", Path("/data/sessions/t1.sqlite")


def with_change(events):
    """The stream with an advice that a training can try: the first."""
    return [
        replace(e, advice=(replace(e.advice[0], change=CHANGE), *e.advice[1:])) if isinstance(e, AdviceGiven) else e
        for e in events
    ]


@pytest.fixture
def tuned(open_window, invented, qtbot):
    """Make a window after a run of Tune; further runs are those of tries."""

    def make(*tries):
        events = with_change(invented.tune_events(telemetry=False))
        window = open_window(invented.ports(runs=[invented.ScriptedRun(events), *tries]))
        window.show_page("tune")
        qtbot.waitUntil(lambda: window.tune.result is not None)
        window.tune.start()
        qtbot.waitUntil(lambda: not window.conductor.tune_run.busy)
        window.tune.refresh()
        return window

    return make


def card(window, name=NAME):
    return next(each for each in window.tune.advice.cards if each.name == name)


def test_an_advice_is_tried_again_after_a_refusal_and_its_gain_stands_beside_the_promise(tuned, invented, qtbot):
    busy = CardBusy("card_busy", card="RTX 4090", processes="python 41822")
    run = invented.ScriptedRun(invented.try_events("r1", NAME, 0.88), hold=2, session_path=TRIED)
    window = tuned(busy, run)
    opened = []
    window.tune.advice.trials_wanted.connect(opened.append)
    told = card(window).tried
    assert (told.button.text(), told.button.isHidden(), told.isHidden()) == ("Try it", False, True)
    assert "A B B A" in told.button.toolTip()
    assert card(window, "batch.fastest").tried.button.isHidden(), "it changes nothing that a training could try"
    told.button.click()
    qtbot.waitUntil(lambda: "41822" in told.text and not window.conductor.trying.thread_.busy)
    window.tune.setup.share.setChecked(True)
    told.button.click()
    qtbot.waitUntil(lambda: "about 29 s left" in told.text)
    assert window.ports.tried == [("r1", NAME, "", False), ("r1", NAME, "", True)]
    assert told.text.startswith("as before")
    assert told.button.text() == "Stop"
    run.released.set()
    qtbot.waitUntil(lambda: not window.conductor.trying.thread_.busy)
    assert told.text.splitlines() == [
        "Tried: +88.0 % (+87.0 % … +89.0 %)",
        "predicted: +91.0 % (+86.0 % … +97.0 %)",
        "As predicted, within the intervals.",
    ]
    assert told.button.text() == "Try it again"
    told.trials_button.click()
    assert opened == [TRIED]
    assert window.conductor.tune.facts.points, "the run that advised it is still what the page shows"


def test_a_try_is_stopped_before_a_gain_is_known_and_told_as_slower_when_it_is(tuned, invented, qtbot):
    run = invented.ScriptedRun(invented.try_events("r1", NAME, 0.9), hold=2, session_path=TRIED)
    window = tuned(run, invented.ScriptedRun(invented.try_events("r1", NAME, -0.10), session_path=TRIED))
    told = card(window).tried
    told.button.click()
    qtbot.waitUntil(lambda: told.button.text() == "Stop" and "left" in told.text)
    told.button.click()
    qtbot.waitUntil(lambda: not window.conductor.trying.thread_.busy)
    assert "before there was a gain" in told.text
    assert told.trials_button.isHidden()
    told.button.click()
    qtbot.waitUntil(lambda: "slower than before" in told.text)
    assert "Tried: −10.0 %" in told.text
    window.conductor.tune.facts.started = replace(window.conductor.tune.facts.started, origin=Origin.SIMULATED)
    window.tune.show_tries()
    assert told.button.isHidden(), "what a simulated card advised is not tried on real ones"


def test_a_card_is_measured_by_one_thing_at_a_time_and_no_refusal_takes_a_result_away(tuned, invented, qtbot):
    trying = invented.ScriptedRun(invented.try_events("r1", NAME, 0.88), hold=2, session_path=TRIED)
    own = CardBusy("running_elsewhere", pid=os.getpid())
    bench = invented.ScriptedRun(invented.bench_events(), hold=3)
    window = tuned(trying, own, CardBusy("running_elsewhere", pid=os.getpid() + 1), bench)
    page, told = window.tune, card(window).tried
    points = len(page._state.facts.points)
    told.button.click()
    qtbot.waitUntil(lambda: not page.bar.button.isEnabled() and "being tried on this card" in page.bar.step_text)
    assert not page.can_start
    assert not window.bench.can_start, "it is the same card"
    page.start()
    assert len(window.ports.started) == 1
    trying.released.set()
    qtbot.waitUntil(lambda: page.can_start and not window.conductor.trying.thread_.busy)
    page.start()
    qtbot.waitUntil(lambda: "This window measures on this card already" in page.notice.text)
    assert len(page._state.facts.points) == points
    assert page.advice.cards
    assert told.text.startswith("Tried: +88.0 %")
    told.button.click()
    qtbot.waitUntil(lambda: "Another gputuner" in told.text and not window.conductor.trying.thread_.busy)
    assert told.text.startswith("Tried: +88.0 %"), "what was gained before stays"
    window.bench.start()
    qtbot.waitUntil(lambda: not told.button.isEnabled())
    assert "Benchmarks is measuring" in told.button.toolTip()
    bench.released.set()
    qtbot.waitUntil(lambda: not window.conductor.benching.thread_.busy)
    page.refresh()
    assert told.button.isEnabled()


def test_a_try_that_never_began_is_not_offered_again(tuned, qtbot):
    window = tuned(CardBusy("card_busy", card="RTX 4090", processes="python 41822"))
    told = card(window).tried
    told.button.click()
    qtbot.waitUntil(lambda: "41822" in told.text and not window.conductor.trying.thread_.busy)
    assert told.button.text() == "Try it"


def test_a_stored_session_shows_what_came_of_its_advice(open_window, invented, qtbot):
    ports = invented.with_sessions(invented.ports())
    path = ports.entries[0].path
    ports.kept[path] = invented.KeptSession(with_change(invented.tune_events(run="s1", telemetry=False)))
    ports.known_tries = {"s1": {NAME: (invented.gain_of_try("s1", NAME, 0.30), TRIED)}}
    window = open_window(ports)
    window.show_page("sessions")
    qtbot.waitUntil(lambda: window.sessions.detail is not None and bool(window.sessions.detail.advice.cards))
    window.sessions.detail.show_view("advice")
    first = window.sessions.detail.advice.cards[0]
    qtbot.waitUntil(lambda: "less than was predicted" in first.tried.text)
    assert first.tried.button.text() == "Try it again"
    assert first.tried.trials_button.isVisible()
