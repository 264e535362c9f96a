"""Tiers, missed ticks, breaker, lost and sleeping cards on times that are handed in."""

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gputuner.model.cards import CardInfo, CardState, Origin
from gputuner.model.errors import DeviceError, DeviceLost
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import CardProcesses, Sample, XidSeen
from gputuner.telemetry.feed import Notice, Tick
from gputuner.telemetry.sampler import Sampler
from gputuner.telemetry.schedule import Backoff, Schedule

S = 1_000_000_000
T, F = Quantity.CORE_TEMPERATURE_C, Quantity.FAN_FRACTION


@dataclass
class Source:
    """Cards whose fast answers a test decides."""

    answer: Callable[[str, int], float | None] = lambda _card, _t_ns: 50.0
    origin: Origin = Origin.SIMULATED
    infos: dict[str, CardInfo] = field(
        default_factory=lambda: {u: CardInfo(uuid=u, index=i, name=u) for i, u in enumerate("ab")}
    )
    asked: list[tuple[str, Tier, int]] = field(default_factory=list)

    def cards(self) -> tuple[CardInfo, ...]:
        return tuple(self.infos.values())

    def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
        self.asked.append((card, tier, t_ns))
        if tier is Tier.SLOW:
            return Sample(card=card, t_ns=t_ns, values={F: 0.5})
        value = self.answer(card, t_ns)
        if value is None:
            return Sample(card=card, t_ns=t_ns, values={}, missing={T: Reason.ERROR})
        return Sample(card=card, t_ns=t_ns, values={T: value})

    def processes(self, card: str, t_ns: int) -> CardProcesses:
        return CardProcesses(card=card, t_ns=t_ns, processes=())

    def xids(self) -> tuple[XidSeen, ...]:
        return ()

    def close(self) -> None:
        pass


def play(sampler: Sampler, until_s: float) -> list[Tick]:
    ticks: list[Tick] = []
    while sampler.next_due_ns <= until_s * S:
        tick = sampler.due(sampler.next_due_ns)
        if tick is not None:
            ticks.append(tick)
    return ticks


def times_s(ticks: list[Tick], card: str) -> list[float]:
    return [s.t_ns / S for tick in ticks for s in tick.samples if s.card == card and T in s.values]


def test_fast_at_its_rate_slow_at_its_period_in_one_row() -> None:
    ticks = play(Sampler(Source(), fast_hz=2, slow_s=5), 10)
    assert times_s(ticks, "a") == [i / 2 for i in range(21)]
    slow = [(s.t_ns / S, set(s.values)) for tick in ticks for s in tick.samples if s.card == "b" and F in s.values]
    assert slow == [(0, {T, F}), (5, {T, F}), (10, {T, F})]
    assert [c.uuid for tick in ticks for c in tick.cards] == ["a", "b"]
    assert sum(len(tick.processes) for tick in ticks) == 6


def test_nothing_before_it_is_due() -> None:
    sampler = Sampler(Source(), start_ns=S)
    assert sampler.due(S - 1) is None
    assert sampler.due(S) is not None
    assert sampler.due(S + S // 2 - 1) is None


def test_time_that_passed_unread_is_missed_not_made_up_for() -> None:
    sampler = Sampler(Source(), fast_hz=2)
    sampler.due(0)
    assert sampler.due(round(3.3 * S)) is None  # nearer to the next time than to the last
    tick = sampler.due(round(3.6 * S))
    assert tick is not None
    assert len(tick.samples) == 2
    assert sampler.missed_ticks == 6
    assert sampler.next_due_ns == 4 * S
    assert [(gap.t0_ns, gap.t1_ns, gap.reason) for gap in tick.gaps] == [(0, round(3.6 * S), Reason.NOT_READ)] * 2


def test_every_tenth_call_taking_three_and_a_half_intervals_gives_460_samples_of_600() -> None:
    """C-026, on the source's own clock."""
    now = 0
    source = Source(infos={"a": CardInfo(uuid="a", index=0, name="a")})

    def answer(_card: str, _t_ns: int) -> float:
        nonlocal now
        slow = len([1 for _, tier, _ in source.asked if tier is Tier.FAST]) % 10 == 0
        now += round(3.5 * S) if slow else 1000
        return 50.0

    source.answer = answer
    sampler = Sampler(source, fast_hz=1, slow_s=1e6)
    taken: list[int] = []
    while max(now, sampler.next_due_ns) < 600 * S:
        now = max(now, sampler.next_due_ns)
        tick = sampler.due(now)
        taken += [sample.t_ns for sample in tick.samples] if tick else []
    assert len(taken) == 462  # ten in 13 s
    assert all(b - a >= S for a, b in pairwise(taken))
    assert len(taken) + sampler.missed_ticks == 600


def test_an_hour_of_sampling_holds_on_to_nothing() -> None:
    """C-026: 1 h at 1 Hz grows memory by less than a few MB."""
    source = Source()
    sampler = Sampler(source, fast_hz=1)

    def hour(start_s: int) -> None:
        while sampler.next_due_ns <= (start_s + 3600) * S:
            sampler.due(sampler.next_due_ns)
            source.asked.clear()

    hour(0)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        hour(3600)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 200_000


def test_the_breaker_asks_a_failing_card_ever_more_rarely_and_leaves_a_gap() -> None:
    """C-030: the last good value is not repeated, one notice, recovery by itself."""
    told: list[Notice] = []
    source = Source(answer=lambda card, t_ns: None if card == "a" and 2 * S <= t_ns < 30 * S else 50.0)
    sampler = Sampler(source, fast_hz=2, tell=told.append)
    ticks = play(sampler, 60)
    tried = [t / S for card, tier, t in source.asked if card == "a" and tier is Tier.FAST and t >= 2 * S]
    assert tried[:7] == [2, 2.5, 3, 4, 6, 10, 18]
    gaps = [gap for tick in ticks for gap in tick.gaps]
    assert [(gap.card, gap.t0_ns / S, gap.t1_ns / S, gap.reason) for gap in gaps] == [("a", 1.5, 34.0, Reason.ERROR)]
    assert not [t for t in times_s(ticks, "a") if 1.5 < t < 34]
    assert len(times_s(ticks, "b")) == 121
    assert [notice.code for notice in told] == ["telemetry_card_failing", "telemetry_card_recovered"]


def test_a_lost_card_is_not_asked_until_a_scan_finds_it() -> None:
    """C-024: the others keep their places and are read on."""
    source = Source()

    def answer(card: str, t_ns: int) -> float:
        if card == "a" and 3 * S <= t_ns < 20 * S:
            source.infos["a"] = CardInfo(uuid="lost-0", index=0, name="NVIDIA", state=CardState.LOST)
            raise DeviceLost("nvml_gpu_lost")
        return 50.0

    source.answer = answer
    sampler = Sampler(source, fast_hz=2)
    ticks = play(sampler, 22)
    lost = next(card for tick in ticks for card in tick.cards if card.state is CardState.LOST)
    assert (lost.uuid, lost.index, lost.lost_since_ns) == ("a", 0, 3 * S)
    assert [t for card, tier, t in source.asked if card == "a" and t > 3 * S] == []
    source.infos["a"] = CardInfo(uuid="a", index=0, name="a")
    ticks = play(sampler, 60)
    assert [(gap.card, gap.t0_ns / S, gap.reason) for tick in ticks for gap in tick.gaps] == [("a", 2.5, Reason.LOST)]
    assert {card.uuid: card.state for card in sampler.cards()} == {"a": CardState.READY, "b": CardState.READY}


def test_a_card_lost_from_the_start_keeps_its_place_and_gets_its_name_when_found() -> None:
    source = Source()
    source.infos["a"] = CardInfo(uuid="lost-0", index=0, name="NVIDIA", state=CardState.LOST)
    sampler = Sampler(source)
    ticks = play(sampler, 1)
    assert [(c.uuid, c.index) for tick in ticks for c in tick.cards] == [("lost-0", 0), ("b", 1)]
    assert {card for card, _, _ in source.asked} == {"b"}
    source.infos["a"] = CardInfo(uuid="a", index=0, name="a")
    play(sampler, 10)
    assert {card.uuid for card in sampler.cards()} == {"a", "b"}
    assert {card for card, _, _ in source.asked} == {"a", "b"}


def test_a_sleeping_card_is_never_asked() -> None:
    source = Source()
    source.infos["a"] = replace(source.infos["a"], state=CardState.ASLEEP)
    play(Sampler(source), 30)
    assert {card for card, _, _ in source.asked} == {"b"}


def test_errors_raised_count_as_failures() -> None:
    def answer(card: str, _t_ns: int) -> float:
        if card == "a":
            raise DeviceError("nvml_unknown")
        return 50.0

    source = Source(answer=answer)
    play(Sampler(source, fast_hz=2), 4)
    assert len([1 for card, _, _ in source.asked if card == "a"]) == 5  # 0, 0.5, 1, then 2 and 4 s


def test_a_scan_that_fails_is_told_and_tried_again() -> None:
    source = Source()
    found = source.cards

    def fails() -> tuple[CardInfo, ...]:
        raise DeviceError("nvml_unknown")

    source.cards = fails  # type: ignore[method-assign]
    sampler = Sampler(source)
    play(sampler, 1)
    assert sampler.error is not None
    source.cards = found  # type: ignore[method-assign]
    assert times_s(play(sampler, 120), "a")
    assert sampler.error is None


@given(st.lists(st.integers(0, 10 * S), min_size=1, max_size=50), st.booleans())
def test_due_times_taken_and_missed_add_up(delays: list[int], punctual: bool) -> None:
    schedule = Schedule(0.5, 0, punctual)
    now, taken = 0, 0
    for delay in delays:
        now += delay
        taken += schedule.take(now)
        assert schedule.next_ns > now
    assert taken + schedule.missed == now // (S // 2) + 1


def test_pauses_double_up_to_a_minute_and_begin_anew() -> None:
    backoff = Backoff()
    assert [backoff.pause_s() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    backoff.reset()
    assert backoff.pause_s() == 1
