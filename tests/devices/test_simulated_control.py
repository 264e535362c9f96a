"""Settings of simulated cards: the physics follow, and ranges and missing getters are as those of real cards."""

import pytest

from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.devices.simulated_control import SimulatedControl
from gputuner.devices.simulated_load import Load
from gputuner.model.control import Setting

HEAVY = Load(compute_cycles=2e7, dram_bytes=1e7)
STREAMING = Load(compute_cycles=1e4, dram_bytes=5e9)


class Bench:
    """A card under load whose settled clock, power and rate can be read."""

    def __init__(self, load: Load = HEAVY, card: str = "rtx-4090-48g") -> None:
        self.cards = SimulatedCards([card], SimulatedClock())
        self.card = self.cards.models[0]
        self.control = SimulatedControl(self.cards)
        self.card.set_load("w", load)
        self.clock = self.cards.clock

    def live(self, seconds: float) -> None:
        self.clock.advance_to_ns(self.clock.now_ns() + int(seconds * 1e9))
        self.cards.advance_to(self.clock.now_ns())

    def settled(self) -> tuple[float, float, float]:
        """Clock in MHz, power in W, iterations per second."""
        self.live(20)
        before = self.card.iterations("w")
        self.live(5)
        return self.card.physics.clock_mhz, self.card.physics.power_w, (self.card.iterations("w") - before) / 5

    def set(self, setting: Setting, *value: float) -> None:
        self.control.write(self.card.uuid, setting, value)


def test_a_lower_cap_lowers_power_clock_and_rate() -> None:
    bench = Bench()
    clock, power, rate = bench.settled()
    bench.set(Setting.POWER_LIMIT, 250)
    capped = bench.settled()
    assert power > 300
    assert capped[1] == pytest.approx(250, abs=3)
    assert capped[0] < 0.95 * clock
    assert capped[2] < 0.95 * rate


def test_a_clock_lock_bounds_the_clock_and_a_reset_frees_it() -> None:
    bench = Bench()
    free = bench.settled()
    bench.set(Setting.SM_CLOCK_LOCK, 300, 1200)
    locked = bench.settled()
    assert locked[0] == 1200
    assert locked[2] == pytest.approx(free[2] * 1200 / free[0], rel=0.02)
    bench.set(Setting.SM_CLOCK_LOCK)
    assert bench.settled()[0] == pytest.approx(free[0], rel=0.01)


def test_an_offset_gives_more_clock_at_the_same_power() -> None:
    bench = Bench()
    bench.set(Setting.POWER_LIMIT, 250)
    clock, power, _ = bench.settled()
    bench.set(Setting.CORE_OFFSET, 150)
    more = bench.settled()
    assert more[1] == pytest.approx(power, abs=2)
    assert clock + 20 < more[0] < clock + 150


def test_the_memory_clock_moves_what_waits_for_the_memory() -> None:
    bench = Bench(STREAMING)
    rate = bench.settled()[2]
    now = bench.card.physics.memory_clock_mhz
    bench.set(Setting.MEMORY_OFFSET, 1000)
    assert bench.settled()[2] == pytest.approx(rate * (now + 500) / now, rel=0.01)
    bench.set(Setting.MEMORY_OFFSET, 0)
    bench.set(Setting.MEMORY_CLOCK_LOCK, 405, now / 2)
    assert bench.settled()[2] == pytest.approx(rate / 2, rel=0.02)


def test_a_slower_fan_lets_the_card_warm_up() -> None:
    bench = Bench()
    bench.set(Setting.POWER_LIMIT, 250)
    bench.live(600)
    warm = bench.card.physics.core_c
    bench.set(Setting.FAN, 0.35)
    bench.live(600)
    assert bench.card.physics.fan == pytest.approx(0.35, abs=0.01)
    assert bench.card.physics.core_c > warm + 2
    bench.set(Setting.FAN)
    bench.live(600)
    assert bench.card.physics.core_c == pytest.approx(warm, abs=1)


def test_what_a_card_lacks_has_a_reason_and_locks_have_no_getter() -> None:
    passive = SimulatedControl(SimulatedCards(["a100-pcie-80g"], SimulatedClock()))
    (card,) = passive.cards()
    assert passive.state(card.uuid, Setting.FAN).reason == "not_supported"
    assert passive.state(card.uuid, Setting.CORE_OFFSET).reason == "not_supported"
    lock = passive.state(card.uuid, Setting.SM_CLOCK_LOCK)
    assert lock.now is None
    assert lock.reason is None
