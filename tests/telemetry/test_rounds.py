"""The collector's loop in this process: suspend, and sources that tell of themselves."""

import threading
import time
from struct import pack
from typing import Any

from gputuner.devices.packing import Packed, Packing, Read
from gputuner.model.cards import CardInfo, CardState, Origin
from gputuner.model.errors import DeviceError, DeviceLost
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.samples import CardProcesses, Sample, XidSeen
from gputuner.telemetry.rates import Rates
from gputuner.telemetry.rounds import Rounds
from gputuner.telemetry.wire import Health, Hello, Line, Noticed, PackedTick, Ticked

S = 1_000_000_000
PACKING = {
    card: Packing(
        number=number,
        card=card,
        tier=Tier.FAST,
        layout="=i",
        reads=(Read(quantity=Quantity.CORE_TEMPERATURE_C, divisor=1, low=1, high=126),),
        sentinel=-1,
        missing={},
    )
    for number, card in enumerate("abc")
}


class Source:
    origin = Origin.MEASURED
    rejected = 3

    def __init__(self) -> None:
        self.opened = 0
        self.notes: tuple[Any, ...] = (("nvml_binding_foreign", {"file": "pynvml/__init__.py"}),)
        self.pending = [XidSeen(card="a", t_ns=1, xid=79)]

    def cards(self) -> tuple[CardInfo, ...]:
        return (CardInfo(uuid="a", index=0, name="A"),)

    def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
        quantity = Quantity.CORE_TEMPERATURE_C if tier is Tier.FAST else Quantity.FAN_FRACTION
        return Sample(card=card, t_ns=t_ns, values={quantity: 1.0})

    def processes(self, card: str, t_ns: int) -> CardProcesses:
        return CardProcesses(card=card, t_ns=t_ns, processes=())

    def xids(self) -> tuple[XidSeen, ...]:
        seen, self.pending = tuple(self.pending), []
        return seen

    def reopen(self) -> None:
        self.opened += 1

    def close(self) -> None:
        pass


class Told:
    """What a loop wrote; ends the loop when ``enough`` holds."""

    def __init__(self) -> None:
        self.lines: list[Line | PackedTick] = []
        self.rounds: Rounds | None = None
        self.enough = lambda: False

    def __call__(self, line: Line | PackedTick) -> None:
        self.lines.append(line)
        if self.enough() and self.rounds is not None:
            self.rounds.stop()

    def of(self, kind: type) -> list[Any]:
        return [line for line in self.lines if isinstance(line, kind)]


def run(rounds: Rounds) -> None:
    thread = threading.Thread(target=rounds.run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


def test_hello_cards_xids_notes_and_health() -> None:
    told, source = Told(), Source()
    told.rounds = Rounds(source, Rates(fast_hz=10.0), told)
    told.enough = lambda: bool(told.of(Health)) and len(told.of(Ticked)) > 3
    run(told.rounds)
    assert [hello.cards for hello in told.of(Hello)] == [1]
    assert [card.uuid for card in told.of(Ticked)[0].tick.cards] == ["a"]
    assert [xid.xid for line in told.of(Ticked) for xid in line.tick.xids] == [79]
    assert [(n.code, n.params) for n in told.of(Noticed)] == [
        ("nvml_binding_foreign", {"file": "pynvml/__init__.py"}),
    ]
    assert told.of(Health)[0].rejected_values == 3


def test_after_a_suspend_sampling_pauses_the_library_is_opened_anew_and_a_gap_is_marked() -> None:
    told, source = Told(), Source()
    slept = 0
    jump = 0

    def clock() -> int:
        return time.monotonic_ns() + jump

    def slept_ns() -> int:
        return slept

    told.rounds = Rounds(source, Rates(fast_hz=10.0), told, clock=clock, slept_ns=slept_ns)

    def enough() -> bool:
        nonlocal slept, jump
        if len(told.of(Ticked)) == 4:
            slept = 3600 * S
        if any(notice.code == "telemetry_suspended" for notice in told.of(Noticed)) and not jump:
            jump = 2 * S  # the two seconds of rest pass
        return any(line.tick.gaps for line in told.of(Ticked))

    told.enough = enough
    run(told.rounds)
    (notice,) = [n for n in told.of(Noticed) if n.code == "telemetry_suspended"]
    assert notice.params["slept_s"] == 3600
    assert source.opened == 1
    gap = next(gap for line in told.of(Ticked) for gap in line.tick.gaps)
    assert gap.t1_ns - gap.t0_ns >= 2 * S


def test_a_call_that_hangs_over_a_suspend_does_not_keep_the_library_closed_in_silence() -> None:
    """Nothing is asked until the library was opened anew, and that waits for the call: it counts as all cards' hang."""
    never = threading.Event()

    class Stuck(Source):
        def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
            if tier is Tier.SLOW:
                never.wait()
            return super().sample(card, tier, t_ns)

    told, source = Told(), Stuck()
    slept = jump = 0

    def clock() -> int:
        return time.monotonic_ns() + jump

    def slept_ns() -> int:
        return slept

    told.rounds = Rounds(source, Rates(fast_hz=10.0, hang_s=0.5), told, clock=clock, slept_ns=slept_ns)

    def enough() -> bool:
        nonlocal slept, jump
        if len(told.of(Ticked)) == 4:
            slept = 3600 * S
        if any(notice.code == "telemetry_suspended" for notice in told.of(Noticed)) and not jump:
            jump = 2 * S
        hopeless = any(health.all_hung_s > 0.5 for health in told.of(Health)) or len(told.of(Health)) > 50
        if hopeless:
            never.set()  # the thread that began the loop is the one that hangs
        return hopeless

    told.enough = enough
    run(told.rounds)
    last = told.of(Health)[-1]
    assert last.all_hung_s > 0.5
    assert [(call.card, call.tier) for call in last.hung_calls] == [("a", Tier.SLOW)]
    assert not any(line.tick.samples for line in told.of(Ticked)[4:])


def test_slow_readings_of_all_cards_come_in_one_round_after_the_fast_ones() -> None:
    class Two(Source):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[tuple[Tier, str]] = []

        def cards(self) -> tuple[CardInfo, ...]:
            return tuple(CardInfo(uuid=uuid, index=index, name="A") for index, uuid in enumerate("ab"))

        def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
            self.asked.append((tier, card))
            return super().sample(card, tier, t_ns)

    told, source = Told(), Two()
    told.rounds = Rounds(source, Rates(fast_hz=10.0, slow_s=0.3), told)
    told.enough = lambda: source.asked.count((Tier.SLOW, "b")) >= 3
    run(told.rounds)
    slow = [place for place, asked in enumerate(source.asked) if asked == (Tier.SLOW, "a")]
    for place in slow[:3]:
        assert source.asked[place - 2 : place + 2] == [
            (Tier.FAST, "a"),
            (Tier.FAST, "b"),
            (Tier.SLOW, "a"),
            (Tier.SLOW, "b"),
        ]
    assert slow[1] - slow[0] > 4  # fast rounds alone lie between
    rows = [sample for line in told.of(Ticked) for sample in line.tick.samples]
    assert {Quantity.CORE_TEMPERATURE_C, Quantity.FAN_FRACTION} in [set(row.values) for row in rows]


def test_calm_rounds_ask_each_card_and_for_xids_once_and_anything_else_ends_them() -> None:
    """Packed readings at 10 Hz; the third card fails once, between rounds in which nothing else is due."""

    class Packs(Source):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[str] = []
            self.pending = []

        def cards(self) -> tuple[CardInfo, ...]:
            return tuple(CardInfo(uuid=uuid, index=index, name="A") for index, uuid in enumerate("abc"))

        def read(self, card: str, tier: Tier, t_ns: int) -> Sample | Packed:
            if tier is Tier.SLOW:
                return self.sample(card, tier, t_ns)
            self.asked.append(card)
            if card == "c" and self.asked.count("c") == 6:
                raise DeviceError("nvml_unknown", "an error")
            return Packed(PACKING[card], t_ns, pack("=i", 40))

        def xids(self) -> tuple[XidSeen, ...]:
            self.asked.append("xids")
            return ()

    told, source = Told(), Packs()
    told.rounds = Rounds(source, Rates(fast_hz=10.0, slow_s=60.0), told)
    told.enough = lambda: source.asked.count("c") >= 12
    run(told.rounds)
    assert source.asked[:44] == ["a", "b", "c", "xids"] * 11
    ticks = [line for line in told.lines if isinstance(line, PackedTick)]
    rows = [[packed.packing.card for packed in tick.packed] for tick in ticks[:11]]
    assert rows == [list("abc")] * 5 + [list("ab")] + [list("abc")] * 5
    assert not any(line.tick.gaps for line in told.of(Ticked))
    times = [packed.t_ns for tick in ticks for packed in tick.packed if packed.packing.card == "a"]
    assert times == sorted(set(times))


def test_a_card_that_is_lost_in_a_calm_round_is_not_asked_again() -> None:
    class Lost(Source):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[str] = []

        def cards(self) -> tuple[CardInfo, ...]:
            return tuple(CardInfo(uuid=uuid, index=index, name="A") for index, uuid in enumerate("abc"))

        def read(self, card: str, tier: Tier, t_ns: int) -> Sample | Packed:
            if tier is Tier.SLOW:
                return self.sample(card, tier, t_ns)
            self.asked.append(card)
            if card == "b" and self.asked.count("b") == 6:
                raise DeviceLost("nvml_gpu_lost", "lost")
            return Packed(PACKING[card], t_ns, pack("=i", 40))

    told, source = Told(), Lost()
    told.rounds = Rounds(source, Rates(fast_hz=10.0, slow_s=60.0), told)
    told.enough = lambda: source.asked.count("c") >= 12
    run(told.rounds)
    assert source.asked.count("b") == 6
    assert source.asked.count("a") >= 12
    changed = [card for line in told.lines if isinstance(line, PackedTick) and line.rest for card in line.rest.cards]
    assert [(card.uuid, card.state) for card in changed if card.state is not CardState.READY] == [("b", CardState.LOST)]
