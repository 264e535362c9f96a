"""Monitor says what the cards say, and says why where they say nothing."""

import numpy as np
import pytest

from gputuner.gui.pages.monitor_numbers import limited_words
from gputuner.gui.widgets.chips import chip_names
from gputuner.language import sentences
from gputuner.model.cards import CardState
from gputuner.model.quantities import LimitBit, Limiter, Quantity
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample
from gputuner.telemetry.feed import FeedState, FeedStatus, Tick

S = 1_000_000_000


@pytest.fixture
def monitor(open_window, invented, qtbot):
    """A window that has seen five minutes of training with a gap and an XID."""
    window = open_window(invented.ports())
    for tick in invented.monitor_ticks():
        window.ports.feed.push(tick)
    last = invented.monitor_ticks()[-1].t_ns
    qtbot.waitUntil(lambda: window.conductor.live.now_ns == last)
    qtbot.waitUntil(lambda: window.monitor.plots is not None)
    window.monitor.refresh()
    return window


def test_numbers_are_those_of_the_last_tick(monitor, invented):
    sample = invented.monitor_ticks()[-1].samples[0]
    numbers = monitor.monitor.head.numbers
    assert numbers["core"].text == f"{sample.values[Quantity.CORE_TEMPERATURE_C]:.0f}"
    assert numbers["power"].text == f"{sample.values[Quantity.POWER_INSTANT_W]:.0f}"
    assert numbers["memory"].text == "38.2"
    assert numbers["memory"].caption.startswith("of 48.0 GiB")
    assert "12 °C to slowdown" in numbers["core"].caption, "slowdown at 83 °C, core at 71 °C"


def test_identity_names_mod_link_and_driver(monitor):
    identity = monitor.monitor.head.identity
    assert "memory mod of RTX 4090" in identity
    assert "PCIe 4.0 × 16" in identity
    assert "driver 580.95" in identity


def test_a_narrow_link_is_told(monitor):
    monitor.monitor.choose("GPU-3090")
    assert "PCIe 4.0 × 8 (of × 16)" in monitor.monitor.head.identity


def test_limiter_follows_the_reason_bits(monitor, invented):
    feed = monitor.ports.feed
    for bits, limiter in ((LimitBit.SW_THERMAL, Limiter.THERMAL_SOFTWARE), (0, Limiter.NONE), (0x400, Limiter.UNKNOWN)):
        t_ns = monitor.conductor.live.now_ns + S
        sample = Sample(card="GPU-4090", t_ns=t_ns, values={Quantity.LIMIT_BITS: float(bits)})
        feed.push(Tick(t_ns=t_ns, samples=(sample,)))
        monitor.conductor.live.take(Tick(t_ns=t_ns, samples=(sample,)))
        monitor.monitor.refresh()
        assert monitor.monitor.head.pill.words == limited_words(limiter)


def test_ribbon_shares_are_times_in_each_limit(open_window, invented):
    window = open_window(invented.ports([invented.modded_4090()]))
    pattern = [LimitBit.SW_POWER_CAP] * 30 + [0] * 10
    for second, bits in enumerate(pattern):
        sample = Sample(card="GPU-4090", t_ns=(1000 + second) * S, values={Quantity.LIMIT_BITS: float(bits)})
        window.conductor.live.take(Tick(t_ns=sample.t_ns, samples=(sample,)))
    window.monitor.refresh()
    assert window.monitor.head.shares_text == "power limit 77 %, not limited 23 %", "30 s and 9 s of 39 s"


def test_missing_reading_is_a_dash_with_its_reason(monitor):
    plots = monitor.monitor.plots
    temperature = plots.pictures["temperature"].plot
    assert temperature.legends[Quantity.HOTSPOT_TEMPERATURE_C.value] == "hotspot —"
    reason = sentences.reason(Reason.NOT_SUPPORTED)
    assert reason in temperature.legend_hint(Quantity.HOTSPOT_TEMPERATURE_C.value)


def test_missing_number_shows_the_reason_in_sight_and_on_hover(open_window, invented):
    window = open_window(invented.ports([invented.modded_4090()]))
    sample = Sample(card="GPU-4090", t_ns=S, values={}, missing={Quantity.CORE_TEMPERATURE_C: Reason.NO_PERMISSION})
    window.conductor.live.take(Tick(t_ns=S, samples=(sample,)))
    window.monitor.refresh()
    tile = window.monitor.head.numbers["core"]
    reason = sentences.reason(Reason.NO_PERMISSION)
    assert tile.text == "—"
    assert reason in tile.caption
    assert reason in tile.toolTip()


def test_a_picture_without_any_value_says_why(monitor):
    monitor.monitor.choose("GPU-3090")
    power = monitor.monitor.plots.pictures["power"].plot
    assert power.hint == "", "the averaged power is there"
    assert power.legends[Quantity.POWER_INSTANT_W.value] == "instant —"
    assert sentences.reason(Reason.DRIVER_TOO_OLD) in power.legend_hint(Quantity.POWER_INSTANT_W.value)


def test_gap_and_xid_are_marked_and_the_curve_is_broken(monitor):
    card = monitor.conductor.live.cards["GPU-4090"]
    texts = [mark.text for mark in monitor.monitor.plots.pictures["power"].plot.marks]
    assert "XID 79" in texts
    assert any(text.startswith("no telemetry") for text in texts)
    _times, values = card.history.tracks[Quantity.POWER_INSTANT_W].window(0, 1e9)
    assert np.isnan(values).sum() == 1


def test_cursor_shows_the_values_of_its_time(monitor, invented):
    page = monitor.monitor
    page.head.ribbon.pointed.emit(-290.0)
    value = page.plots.pictures["clock"].plot.legends[Quantity.SM_CLOCK_MHZ.value]
    assert value == "SM 210", "idle at the begin"
    page.head.ribbon.pointed.emit(None)
    assert page.plots.pictures["clock"].plot.legends[Quantity.SM_CLOCK_MHZ.value] != value


def test_pause_freezes_the_pictures_and_resume_catches_up(monitor):
    page, live = monitor.monitor, monitor.conductor.live
    page.toggle_pause()
    frozen = page.shown_until_s
    t_ns = live.now_ns + 60 * S
    live.take(Tick(t_ns=t_ns, samples=(Sample(card="GPU-4090", t_ns=t_ns, values={Quantity.SM_CLOCK_MHZ: 1000.0}),)))
    page.refresh()
    assert page.shown_until_s == frozen
    page.toggle_pause()
    assert page.shown_until_s == t_ns * 1e-9


def test_lost_card_keeps_its_last_readings_and_says_when(monitor, invented):
    live = monitor.conductor.live
    before = monitor.monitor.head.numbers["power"].text
    monitor.ports.feed.change("GPU-4090", live.now_ns, state=CardState.LOST, lost_since_ns=live.now_ns)
    missing = dict.fromkeys((Quantity.POWER_INSTANT_W, Quantity.CORE_TEMPERATURE_C), Reason.LOST)
    live.learn(monitor.ports.feed.cards())
    live.take(
        Tick(t_ns=live.now_ns + S, samples=(Sample(card="GPU-4090", t_ns=live.now_ns + S, values={}, missing=missing),))
    )
    monitor.monitor.refresh()
    assert monitor.monitor.head.numbers["power"].text == before
    assert monitor.monitor.head.pill.words == "lost"
    assert "was lost at" in monitor.monitor.notice.text
    plots = [picture.plot for picture in monitor.monitor.plots.pictures.values()]
    grey = monitor.theme.muted
    assert {colour for plot in plots for colour in plot.colours.values()} == {grey}
    assert monitor.monitor.processes.note == "The card is lost: its processes cannot be read"
    assert "lost" in monitor.monitor.chips.buttons["GPU-4090"].text()
    monitor.ports.feed.change("GPU-4090", live.now_ns, state=CardState.READY, lost_since_ns=None)
    live.learn(monitor.ports.feed.cards())
    monitor.monitor.refresh()
    assert grey not in {colour for plot in plots for colour in plot.colours.values()}


def test_sleeping_card_is_said_to_sleep(monitor, invented):
    live = monitor.conductor.live
    monitor.ports.feed.change("GPU-4090", live.now_ns, state=CardState.ASLEEP)
    live.learn(monitor.ports.feed.cards())
    monitor.monitor.refresh()
    assert "asleep" in monitor.monitor.notice.text
    assert monitor.monitor.head.numbers["power"].text == "—"


def test_no_card(open_window, invented):
    window = open_window(invented.ports([]))
    window.monitor.refresh()
    assert window.monitor.notice.text.startswith("No card here")
    assert not window.monitor.head.isVisible()
    assert not window.monitor.processes.isVisible()


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (FeedState.ABSENT, "nvml_library_missing"),
        (FeedState.MISMATCH, "nvml_driver_mismatch"),
        (FeedState.FAILING, "nvml_no_permission"),
    ],
)
def test_no_driver_names_the_remedy(open_window, invented, state, code):
    window = open_window(invented.ports([], status=FeedStatus(state=state, code=code)))
    window.monitor.refresh()
    assert sentences.error(code) in window.monitor.notice.text
    assert code not in window.monitor.notice.text, "a sentence, not a code"


def test_a_card_that_comes_later_appears(open_window, invented):
    window = open_window(invented.ports([]))
    window.monitor.refresh()
    window.ports.feed.find(invented.modded_4090())
    window.monitor.refresh_if_needed()
    assert window.monitor.current == "GPU-4090"
    assert window.tune.setup.card is not None


def test_eight_cards_wrap_and_tell_themselves_apart(open_window, invented, qtbot):
    window = open_window(invented.ports(invented.h200s()))
    window.monitor.refresh()
    qtbot.waitUntil(lambda: len(window.monitor.chips.buttons) == 8)
    buttons = list(window.monitor.chips.buttons.values())
    assert len({button.text() for button in buttons}) == 8
    qtbot.waitUntil(lambda: len({button.y() for button in buttons}) >= 2)
    chips = window.monitor.chips
    assert all(chips.rect().contains(button.geometry()) for button in buttons), "no chip is cut off"
    assert window.width() == 1366


@pytest.mark.parametrize(
    ("cards", "names"),
    [
        ([(0, "RTX 3090")], ["RTX 3090"]),
        ([(0, "RTX 3090"), (1, "RTX 3090")], ["0 · RTX 3090", "1 · RTX 3090"]),
        ([(i, "H200") for i in range(4)], ["GPU 0", "GPU 1", "GPU 2", "GPU 3"]),
        (
            [(0, "NVIDIA H200"), (1, "NVIDIA H200"), (2, "GeForce RTX 3090"), (3, "L4")],
            ["0 · H200", "1 · H200", "2 · RTX 3090", "3 · L4"],
        ),
    ],
)
def test_names_on_chips_are_short_where_cards_are_many(cards, names):
    assert chip_names(cards) == names


def test_keys_go_through_the_cards(open_window, invented):
    window = open_window(invented.ports(invented.h200s()))
    window.actions_.find("Next card").trigger()
    assert window.monitor.current == "GPU-h200-1"
    window.actions_.find("Previous card").trigger()
    window.actions_.find("Previous card").trigger()
    assert window.monitor.current == "GPU-h200-7"


def test_processor_as_card(open_window, invented):
    window = open_window(invented.ports([invented.cpu_card()]))
    t_ns = S
    values = {Quantity.GPU_UTILISATION: 0.42, Quantity.MEMORY_USED_BYTES: 8.0 * 2**30}
    window.conductor.live.take(Tick(t_ns=t_ns, samples=(Sample(card="cpu", t_ns=t_ns, values=values),)))
    window.monitor.refresh()
    assert "the host's own processor" in window.monitor.head.identity
    assert window.monitor.head.numbers["busy"].text == "42"
    assert window.monitor.head.numbers["power"].text == "—"
    window.monitor.load_plots()
    window.monitor.refresh()
    shown = {name: each.plot for name, each in window.monitor.plots.pictures.items() if each.plot.isVisible()}
    assert {plot.shown_title for plot in shown.values()} <= {"Clock", "Memory of the host", "Processor in use"}
    assert "memory_clock" not in shown
    assert shown["busy"].legends == {"gpu_utilisation": "processor 42 %"}
    for widget in (window.monitor.head.pill, window.monitor.head.ribbon, window.monitor.processes):
        assert not widget.isVisible(), "nothing tells limits or processes of a processor"
    assert [button.text() for button in window.monitor.chips.buttons.values()] == ["AMD Ryzen 9 7950X"]
    window.show_page("tune")
    assert not [word for word in ("XID", "fan", "card") if word in window.tune.setup.kept_text]


def test_names_of_a_card_come_back_after_those_of_a_processor(open_window, invented):
    window = open_window(invented.ports([invented.cpu_card(), invented.modded_4090()]))
    window.monitor.load_plots()
    window.monitor.refresh()
    window.actions_.find("Next card").trigger()
    window.monitor.refresh()
    pictures = window.monitor.plots.pictures
    assert [each.plot.shown_title for each in pictures.values()][2] == "SM clock"
    assert all(each.plot.isVisible() for each in pictures.values())
    assert window.monitor.head.ribbon.isVisible()


def test_processes_name_who_and_why_not(monitor):
    table = monitor.monitor.processes.table.rows
    rows = dict(zip(table.keys, table.cells, strict=True))
    training, desktop = rows["41822"], rows["1911"]
    assert training[6].text == "python train.py --config edsr_x2.yaml"
    assert training[2].text == "37.4 GiB"
    assert desktop[2].text == "—"
    assert desktop[2].hint == sentences.reason(Reason.NO_PERMISSION)


def test_hidden_page_does_not_repaint(monitor):
    assert monitor.monitor.repainting
    monitor.show_page("tune")
    assert not monitor.monitor.repainting
    monitor.show_page("monitor")
    assert monitor.monitor.repainting
    monitor.monitor.set_awake(False)
    assert not monitor.monitor.repainting


def test_numbers_do_not_move_their_neighbours(monitor, invented):
    tiles = list(monitor.monitor.head.numbers.values())
    before = [tile.x() for tile in tiles]
    t_ns = monitor.conductor.live.now_ns + S
    values = {Quantity.CORE_TEMPERATURE_C: 5.0, Quantity.POWER_INSTANT_W: 1111.0, Quantity.SM_CLOCK_MHZ: 1.0}
    monitor.conductor.live.take(Tick(t_ns=t_ns, samples=(Sample(card="GPU-4090", t_ns=t_ns, values=values),)))
    monitor.monitor.refresh()
    monitor.monitor.head.layout().activate()
    assert [tile.x() for tile in tiles] == before


def test_recording_is_started_shown_and_stopped(monitor, qtbot):
    monitor.actions_.find("Start or stop recording").trigger()
    qtbot.waitUntil(lambda: monitor.conductor.record_run.run is not None)
    assert monitor.ports.recorded == [("GPU-4090", "GPU-3090")]
    assert "Recording" in monitor.monitor.record_button.text()
    monitor.actions_.find("Start or stop recording").trigger()
    qtbot.waitUntil(lambda: not monitor.conductor.record_run.busy)
    assert monitor.ports.recording.cancelled.is_set()
    assert monitor.monitor.record_button.text() == "Record"
