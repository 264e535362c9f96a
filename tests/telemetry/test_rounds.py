"""The collector's loop in this process: suspend, and sources that tell of themselves."""

import threading
import time
from collections.abc import Callable
from struct import pack
from typing import Any

import pytest

from gputuner.devices.packing import Bundle, Packed, Packing, Read, Swept
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


class Sweeps(Source):
    """Three cards that are read in one go, or one by one where ``troubled`` says so of a sweep (by its count)."""

    def __init__(self, troubled: Callable[[int], bool] = lambda _n: False) -> None:
        super().__init__()
        self.pending = []
        self.asked: list[str] = []
        self.sweeps = 0
        self.troubled = troubled
        self.bundle = Bundle(number=77, packings=tuple(PACKING[card] for card in "abc"))
        self.begun = self.last_ns = 0
        self.longest_s = 0.0

    def cards(self) -> tuple[CardInfo, ...]:
        return tuple(CardInfo(uuid=uuid, index=index, name="A") for index, uuid in enumerate("abc"))

    def xids(self) -> tuple[XidSeen, ...]:
        self.asked.append("xids")
        return super().xids()

    def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
        self.asked.append(f"{card} {tier}")
        return super().sample(card, tier, t_ns)

    def sweep(self, _cards: list[str], _t_ns: int) -> "Sweeps | None":
        return self if len(self.asked) >= 4 else None

    def read_all(self, t_ns: int) -> Swept | None:
        self.longest_s = max(self.longest_s, (t_ns - self.last_ns) / S if self.last_ns else 0.0)
        self.last_ns = t_ns
        self.sweeps += 1
        self.asked.append("all")
        if self.troubled(self.sweeps):
            return None
        data = pack("=qqiii", t_ns + 1, t_ns + 2, 40, 41, 42)
        return Swept(Packed(self.bundle, t_ns, data), ("a", "b", "c"), (t_ns, t_ns + 1, t_ns + 2, t_ns + 3))

    def since_ns(self) -> int | None:
        return self.begun

    def cut(self) -> int:
        return 1


class Sweep:
    """The sweep of ``Sweeps`` (whose own ``read`` reads one card)."""

    def __init__(self, source: Sweeps) -> None:
        self.read, self.since_ns, self.cut = source.read_all, source.since_ns, source.cut


def swept_rounds(source: Sweeps, told: Told, enough: Callable[[], bool], **rates: float) -> None:
    sweep = Sweep(source)
    offered = source.sweep
    source.sweep = lambda cards, t_ns: sweep if offered(cards, t_ns) else None  # pyright: ignore[reportAttributeAccessIssue]
    told.rounds = Rounds(source, Rates(fast_hz=10.0, **rates), told)
    told.enough = enough
    run(told.rounds)


def bundled(told: Told) -> list[PackedTick]:
    return [t for t in told.lines if isinstance(t, PackedTick) and any(p.packing.number == 77 for p in t.packed)]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that a busy machine holds up keeps the lead."""
    monkeypatch.setattr("gputuner.telemetry.crew.HELP_S", 60.0)


@pytest.mark.usefixtures("patient")
def test_cards_that_can_be_are_read_in_one_go_and_all_of_it_is_counted() -> None:
    told, source = Told(), Sweeps()
    swept_rounds(source, told, lambda: source.sweeps >= 16 and bool(told.of(Health)), slow_s=0.4)
    assert source.asked.count("a fast") == source.asked.count("xids") == 1, "before the source could"
    assert len(bundled(told)) >= 15
    assert all(len(tick.packed) == 1 for tick in bundled(told))
    slow = [row.card for tick in bundled(told) if tick.rest for row in tick.rest.samples]
    assert slow[:3] == list("abc"), "slow readings travel with a bundle"
    last = told.of(Health)[-1]
    assert last.ticks > 0
    assert last.ticks % 3 == 0
    assert last.fast_cost is not None


@pytest.mark.usefixtures("patient")
def test_where_a_sweep_tells_nothing_each_card_and_xids_are_asked_in_the_same_round() -> None:
    told, source = Told(), Sweeps(troubled=lambda n: n == 36)

    def enough() -> bool:
        if source.sweeps == 35 and not source.pending:
            source.pending = [XidSeen(card="b", t_ns=1, xid=79)]
        return source.sweeps >= 39

    swept_rounds(source, told, enough, slow_s=60.0)
    place = [place for place, asked in enumerate(source.asked) if asked == "all"][35]
    assert source.asked[place + 1 : place + 6] == ["a fast", "b fast", "c fast", "xids", "all"]
    ticks = [line.tick for line in told.of(Ticked)] + [tick.rest for tick in told.of(PackedTick) if tick.rest]
    assert [xid.xid for tick in ticks for xid in tick.xids] == [79]
    assert not any(tick.gaps for tick in ticks if source.longest_s < 1.0), "what was read in one go counts as read"


def test_a_sweep_that_is_stuck_holds_up_one_card_only() -> None:
    """The second card's call does not come back for a while: the others are read all the time, and it once it is."""
    told = Told()
    gate = threading.Event()
    counts: list[tuple[int, int]] = []

    class Held(Sweeps):
        def count(self) -> None:
            counts.append((self.asked.count("a fast"), self.asked.count("b fast")))

        def read_all(self, t_ns: int) -> Swept | None:
            if self.sweeps != 5:
                return super().read_all(t_ns)
            self.sweeps += 1
            self.count()
            gate.wait(60)
            return None

    source = Held()

    def enough() -> bool:
        if counts and not gate.is_set() and source.asked.count("a fast") >= counts[0][0] + 5:
            source.count()
            gate.set()
        return gate.is_set() and source.sweeps >= 9

    swept_rounds(source, told, enough, slow_s=60.0)
    (a_before, b_before), (a_then, b_then) = counts
    assert (a_then - a_before, b_then - b_before) == (5, 0)
    assert source.asked.count("b fast") > b_before, "read anew once its call is back"
