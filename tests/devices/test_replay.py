"""Frames of a recording."""

import pytest

from gputuner.devices.replay import Replay
from gputuner.model.cards import CardInfo, CardState, Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import ClockKind, Event, RunStarted, TelemetrySampled
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample


def frame(t_ns: int, card: str = "a", cards: tuple[CardInfo, ...] = ()) -> TelemetrySampled:
    sample = Sample(card=card, t_ns=t_ns, values={Quantity.CORE_TEMPERATURE_C: 50.0})
    return TelemetrySampled(run_id="r", seq=t_ns, t_ns=t_ns, samples=(sample,), cards=cards)


def started(*cards: CardInfo) -> RunStarted:
    return RunStarted(
        run_id="r",
        seq=0,
        t_ns=0,
        experiment="record",
        spec={},
        fingerprint=Fingerprint(host=HostFingerprint(readings={})),
        cards=cards,
        clock=ClockKind.WALL,
        origin=Origin.MEASURED,
        unix_s=0.0,
        version="0",
    )


def test_cards_come_from_the_start_of_the_run_and_are_marked() -> None:
    lost = CardInfo(uuid="b", index=1, name="B", state=CardState.LOST, lost_since_ns=7)
    replay = Replay([started(CardInfo(uuid="a", index=0, name="A"), lost), frame(5)])
    assert [(c.uuid, c.origin, c.state) for c in replay.cards()] == [
        ("a", Origin.REPLAYED, CardState.READY),
        ("b", Origin.REPLAYED, CardState.READY),
    ]
    assert replay.start_ns == 5


def test_frames_keep_their_times_and_what_comes_from_the_past_is_left_out() -> None:
    found = CardInfo(uuid="a", index=0, name="A")
    events: list[Event] = [frame(5), frame(7), frame(6), frame(9, cards=(found,))]
    frames = list(Replay(events))
    assert [f.t_ns for f in frames] == [5, 7, 9]
    assert frames[2].cards[0].origin is Origin.REPLAYED


def test_a_card_without_an_entry_still_has_a_name() -> None:
    assert [card.uuid for card in Replay([frame(1, card="GPU-x")]).cards()] == ["GPU-x"]


def test_a_recording_without_telemetry_is_refused() -> None:
    with pytest.raises(StoreError) as caught:
        Replay([started()])
    assert caught.value.code == "replay_empty"
