"""What the telemetry met is said in Monitor while it holds, in the words of the command line; it takes no focus."""

from dataclasses import replace

import pytest

from gputuner.gui.standing import TOLD_FOR_NS
from gputuner.gui.widgets.notice import MOST_LINES, NoticeLines
from gputuner.language import sentences
from gputuner.model.cards import CardState
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample
from gputuner.telemetry.feed import FeedState, FeedStatus, HungCall, Notice, Tick

S = 1_000_000_000
T0 = 1000 * S
OK = FeedStatus(state=FeedState.OK)


class Scripted:
    """A window over a feed whose status and samples a test sets, one second apart."""

    def __init__(self, window):
        self.window, self.feed, self.live = window, window.ports.feed, window.conductor.live
        self.t_ns = T0
        self.read()

    def read(self, *cards, after_s=1.0, values=None, missing=None):
        """One more answer of ``cards`` (default: of all)."""
        self.t_ns += int(after_s * S)
        values = {Quantity.CORE_TEMPERATURE_C: 50.0} if values is None else values
        uuids = cards or ("GPU-4090", "GPU-3090")
        samples = [Sample(card=uuid, t_ns=self.t_ns, values=values, missing=missing or {}) for uuid in uuids]
        self.live.take(Tick(t_ns=self.t_ns, samples=tuple(samples)))

    def tell(self, code, *, status=OK, **params):
        """The collector tells something now."""
        notices = (*self.feed.status().notices, Notice(code=code, t_ns=self.t_ns, params=params))
        self.feed.set_status(replace(status, notices=notices))

    def shows(self):
        """What the page says beside its own notice."""
        self.window.monitor.refresh_if_needed()
        assert self.window.monitor.standing.isHidden() == (not self.window.monitor.standing.texts)
        return self.window.monitor.standing.texts

    def title(self, uuid="GPU-3090"):
        return self.live.cards[uuid].info.title


@pytest.fixture
def scripted(open_window, invented):
    return Scripted(open_window(invented.ports()))


def test_nothing_told_nothing_shown(scripted):
    assert scripted.shows() == ()


def test_a_foreign_pynvml_is_told_as_long_as_the_window_is_open(scripted):
    path = "/env/site-packages/pynvml.py"
    scripted.tell("nvml_impostor", path=path)
    assert scripted.shows() == (sentences.warning("nvml_impostor", {"path": path}),)
    scripted.read(after_s=10_000.0)
    assert len(scripted.shows()) == 1


def test_a_failing_card_is_named_until_it_answers(scripted):
    scripted.tell("telemetry_card_failing", card="GPU-3090", error="nvml_timeout")
    scripted.read("GPU-4090")
    said = sentences.warning("telemetry_card_failing", {"card": scripted.title(), "error": "nvml_timeout"})
    assert scripted.shows() == (said,)
    assert "RTX 3090" in said
    scripted.read("GPU-3090", values={}, missing={Quantity.CORE_TEMPERATURE_C: Reason.ERROR})
    assert scripted.shows() == (said,), "an answer without a value is no answer"
    scripted.read("GPU-3090")
    assert scripted.shows() == ()


def test_a_hung_call_of_another_card_is_told_until_it_comes_back(scripted):
    hung = replace(OK, hung_calls=(HungCall(card="GPU-3090", tier=Tier.FAST),))
    scripted.tell("telemetry_call_hung", status=hung, card="GPU-3090", call="fast")
    scripted.read("GPU-4090", after_s=200.0)
    assert scripted.shows() == (sentences.warning("telemetry_call_hung", {"card": scripted.title()}),)
    scripted.feed.set_status(replace(scripted.feed.status(), hung_calls=()))
    assert scripted.shows() == ()


def test_a_hung_call_of_the_chosen_card_is_said_once(scripted):
    function = "nvmlDeviceGetTemperatureV"
    hung = replace(OK, hung_calls=(HungCall(card="GPU-4090", tier=Tier.FAST, function=function),))
    scripted.tell("telemetry_call_hung", status=hung, card="GPU-4090", call="fast", function=function)
    assert scripted.shows() == ()
    params = {"card": scripted.title("GPU-4090"), "call": "fast", "function": function}
    sentence = sentences.warning("telemetry_call_hung", params)
    assert function in sentence
    assert sentence in scripted.window.monitor.notice.text


@pytest.mark.parametrize("card", ["GPU-4090", "GPU-3090"])
def test_a_hung_slow_call_is_a_quiet_line_until_it_comes_back_and_the_card_is_said_to_answer(scripted, card):
    function = "nvmlDeviceGetFanSpeed_v2"
    hung = replace(OK, hung_calls=(HungCall(card=card, tier=Tier.SLOW, function=function),))
    scripted.tell("telemetry_call_hung", status=hung, card=card, call="slow", function=function)
    scripted.read(card, after_s=100.0)
    params = {"card": scripted.title(card), "call": "slow", "function": function}
    assert scripted.shows() == (sentences.warning("telemetry_call_hung", params),), "the fast tier does not end it"
    assert not scripted.window.monitor.notice.isVisible()
    scripted.feed.set_status(replace(scripted.feed.status(), hung_calls=()))
    assert scripted.shows() == ()


def test_a_restarted_collector_is_the_pages_own_notice_and_then_told_for_a_minute(scripted):
    params = {"signal": "SIGSEGV", "exit_code": -11}
    down = FeedStatus(state=FeedState.RESTARTING, code="telemetry_collector_crashed", params=params)
    scripted.tell("telemetry_collector_crashed", status=down, **params)
    assert scripted.shows() == ()
    assert "starts again" in scripted.window.monitor.notice.text
    scripted.feed.set_status(replace(OK, notices=scripted.feed.status().notices))
    scripted.read()
    assert scripted.shows() == (sentences.warning("telemetry_collector_crashed", params),)
    assert not scripted.window.monitor.notice.isVisible()
    scripted.read(after_s=TOLD_FOR_NS / S)
    assert scripted.shows() == ()


def test_a_mismatch_is_over_once_the_driver_answers(scripted):
    down = FeedStatus(state=FeedState.MISMATCH, code="nvml_driver_mismatch")
    scripted.tell("nvml_driver_mismatch", status=down)
    assert scripted.shows() == ()
    assert sentences.error("nvml_driver_mismatch") in scripted.window.monitor.notice.text
    scripted.feed.set_status(replace(OK, notices=scripted.feed.status().notices))
    assert scripted.shows() == ()


def test_a_lost_card_that_is_not_chosen_is_told_until_it_is_back(scripted):
    scripted.feed.change("GPU-3090", scripted.t_ns, state=CardState.LOST, lost_since_ns=scripted.t_ns)
    scripted.live.learn(scripted.feed.cards())
    scripted.tell("telemetry_card_lost", card="GPU-3090")
    assert scripted.shows() == (sentences.warning("telemetry_card_lost", {"card": scripted.title()}),)
    scripted.window.monitor.choose("GPU-3090")
    assert scripted.shows() == (), "the page's own notice says it"
    scripted.window.monitor.choose("GPU-4090")
    scripted.feed.change("GPU-3090", scripted.t_ns, state=CardState.READY, lost_since_ns=None)
    scripted.live.learn(scripted.feed.cards())
    scripted.tell("telemetry_card_found", card="GPU-3090")
    assert scripted.shows() == (sentences.warning("telemetry_card_found", {"card": scripted.title()}),)


def test_rejected_values_are_named_until_one_can_be(scripted):
    scripted.read("GPU-3090", values={}, missing={Quantity.MEMORY_TEMPERATURE_C: Reason.IMPLAUSIBLE})
    name = sentences.quantity(Quantity.MEMORY_TEMPERATURE_C)
    (said,) = scripted.shows()
    assert name in said
    assert scripted.title() in said
    scripted.read("GPU-3090", values={Quantity.MEMORY_TEMPERATURE_C: 80.0})
    assert scripted.shows() == ()


def test_what_holds_for_many_cards_alike_is_one_line(scripted):
    for card in ("GPU-3090", "GPU-4090"):
        scripted.tell("nvml_memory_includes_reserved", card=card)
    assert scripted.shows() == (sentences.warning("nvml_memory_includes_reserved", {}),)


def test_notices_come_and_go_without_taking_the_focus(scripted):
    window = scripted.window
    window.monitor.pause_button.setFocus()
    scripted.tell("telemetry_suspended", slept_s=4000.0)
    assert len(scripted.shows()) == 1
    assert window.focusWidget() is window.monitor.pause_button
    scripted.read(after_s=61.0)
    assert scripted.shows() == ()
    assert window.focusWidget() is window.monitor.pause_button


def test_many_lines_are_counted_and_kept_on_hover(qtbot):
    panel = NoticeLines()
    qtbot.addWidget(panel)
    panel.say([f"sentence {number}" for number in range(1, 6)])
    assert panel.text.splitlines() == ["sentence 1", "sentence 2", "and 3 more"]
    assert len(panel.text.splitlines()) == MOST_LINES
    assert panel.findChildren(type(panel._lines[0]))[-1].toolTip() == "sentence 3\nsentence 4\nsentence 5"
    panel.say(["one"])
    assert panel.text == "one"
    panel.say([])
    assert panel.isHidden()


def test_a_replay_at_its_end_says_so(open_window, invented):
    window = open_window(invented.ports(status=FeedStatus(state=FeedState.ENDED)))
    window.monitor.refresh()
    assert "played to its end" in window.monitor.notice.text
