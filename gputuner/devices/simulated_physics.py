"""The physics of a simulated card: power, clock control, heat and fan, integrated in steps that follow what happens."""

from collections import deque
from dataclasses import dataclass

from gputuner.analysis.heat import HeatState, lag_step
from gputuner.catalog.facts import CardFacts
from gputuner.devices.simulated_load import Load, Share
from gputuner.devices.simulated_models import FAN_EXPONENT, STILL_AIR, SimulatedModel, fan_at
from gputuner.devices.simulated_settings import CardSettings
from gputuner.devices.simulated_sharing import Divider, Sharing, host_in_use
from gputuner.model.quantities import LimitBit

_HOLD_S = 0.1
"""The power controller looks at a window this long before it acts (recorded: 846 W for about 0.1 s on a 700 W card)."""
_CONTROL_TAU_S = 0.15
_SLACK_MHZ = 7.5
"""Half a clock step: below this a limit does not show."""
_THERMAL_P, _THERMAL_I = 25.0, 6.0
"""Software thermal control in MHz/K and MHz/(K·s)."""
_FAN_TAU_S = 6.0
_HISTORY_S = 1.2


@dataclass(slots=True, kw_only=True)
class Totals:
    """What only grows: energy (J), seconds in use, seconds in each limit, iterations per load."""

    t_s: float = 0.0
    energy_j: float = 0.0
    busy_s: float = 0.0
    dram_s: float = 0.0
    tensor_s: float = 0.0
    power_limited_s: float = 0.0
    thermal_software_s: float = 0.0
    thermal_hardware_s: float = 0.0


class CardPhysics:
    """State of one card. ``advance(dt)`` integrates; everything else reads."""

    def __init__(self, facts: CardFacts, model: SimulatedModel) -> None:
        """Start asleep and at rest."""
        self.model = model
        self.bandwidth = facts.memory_bandwidth_gb_s * 1e9 * model.copy_efficiency
        self.loads: dict[str, Load] = {}
        self.sharing = Sharing(cache_bytes=facts.l2_mib * 2**20)
        self._divider = Divider()
        self.contexts: set[str] = set()
        self.iterations: dict[str, float] = {}
        self.power_limit_w = model.power_limit_default_w
        self.settings = CardSettings()
        self.air_c = self.air_target_c = model.air_c
        self.fan_stopped = False
        self.totals = Totals()
        self.history: deque[tuple[float, float, float, float]] = deque([(0.0, 0.0, 0.0, 0.0)])
        self.die, self.memory, self.sink = HeatState(model.die), HeatState(model.memory), HeatState(model.sink)
        self.fan = 0.0 if model.zero_rpm else fan_at(model.fan_curve, model.air_c)
        self.bits = LimitBit.IDLE
        self.clock_mhz = self._slow_mhz = model.clock_max_mhz
        self.power_w = model.idle_w
        self._over_s = self._thermal_sum = self._since_change_s = 0.0
        self._quiet_s = 1e9
        self._hot = False
        self._last_cap_mhz = model.clock_max_mhz
        self._shares: dict[str, Share] = {}
        self.sink.settle(model.idle_w, self.cooling)
        self.memory.settle(0.5 * model.memory_idle_w)
        self.die.settle(0.3 * model.idle_w)

    # --- what is read ---------------------------------------------------------------------------------------------

    @property
    def core_c(self) -> float:
        """Core temperature in °C."""
        return self.air_c + self.sink.rise_k + self.die.rise_k

    @property
    def memory_c(self) -> float:
        """Memory temperature in °C (whether or not the card reports it)."""
        return self.air_c + self.sink.rise_k + self.memory.rise_k + self.model.memory_offset_c

    @property
    def asleep(self) -> bool:
        """True while the card runs at idle clocks."""
        if self.loads:
            return False
        pause = self.model.sleeps_with_context_s
        return self._quiet_s > (1.0 if not self.contexts else 1e12 if pause is None else pause)

    @property
    def memory_clock_mhz(self) -> float:
        """Memory clock now (as NVML counts it: half the transfer rate)."""
        if self.asleep:
            return self.model.memory_clock_idle_mhz
        return self.settings.memory_clock_mhz(self.model.memory_clock_compute_mhz)

    @property
    def memory_rate(self) -> float:
        """Rate of the memory under load, as a share of its rated one."""
        return self.settings.memory_clock_mhz(self.model.memory_clock_compute_mhz) / self.model.memory_clock_mhz

    @property
    def cooling(self) -> float:
        """Factor on the sink's resistance by fan speed."""
        if self.model.fan_curve is None:
            return STILL_AIR if self.fan_stopped else 1.0
        return min(STILL_AIR, max(self.fan, 1e-3) ** -FAN_EXPONENT)

    @property
    def host_use(self) -> float:
        """Share (0 … 1) of the host's processor time in use by the loads now."""
        return host_in_use(self.loads, self._shares)

    def window(self, seconds: float) -> tuple[float, float, float]:
        """Mean power (W), use of the card and use of its memory (fractions) over the last ``seconds``."""
        t1 = self.totals.t_s
        t0 = max(t1 - seconds, 0.0)
        if t1 <= t0:
            return self.power_w, 0.0, 0.0
        start = self._at(t0)
        now = (self.totals.energy_j, self.totals.busy_s, self.totals.dram_s)
        power, busy, dram = ((b - a) / (t1 - t0) for a, b in zip(start, now, strict=True))
        return power, min(1.0, busy), min(1.0, dram)

    def _at(self, t_s: float) -> tuple[float, ...]:
        before = self.history[0]
        for entry in self.history:
            if entry[0] > t_s:
                part = (t_s - before[0]) / (entry[0] - before[0]) if entry[0] > before[0] else 1.0
                return tuple(a + part * (b - a) for a, b in zip(before[1:], entry[1:], strict=True))
            before = entry
        return before[1:]

    # --- what is changed ------------------------------------------------------------------------------------------

    def open_context(self, worker: str) -> None:
        """A process prepares the card for work: the clocks go up."""
        self.contexts.add(worker)
        self._quiet_s = 0.0
        self.disturbed()

    def close_context(self, worker: str) -> None:
        """A process leaves the card, and its load with it."""
        self.contexts.discard(worker)
        self.loads.pop(worker, None)
        self.disturbed()

    def disturbed(self) -> None:
        """Something changed: integrate finely for a while."""
        self._since_change_s = 0.0

    def advance(self, seconds: float) -> None:
        """Integrate ``seconds`` of the card's life, in steps from 10 ms after a change up to 0.5 s in steady work."""
        left = seconds
        while left > 1e-12:
            dt = min(left, self._step_s())
            self._step(dt)
            left -= dt
            self._since_change_s += dt

    def _step_s(self) -> float:
        since = self._since_change_s
        return 0.01 if since < 0.6 else 0.05 if since < 3 else 0.1 if since < 15 else 0.25 if since < 60 else 0.5

    def _step(self, dt: float) -> None:
        self._quiet_s = 0.0 if self.loads else self._quiet_s + dt
        asleep = self.asleep
        if asleep:
            idle_mhz = self.settings.idle_clock_mhz(self.model.clock_idle_mhz)
            self.clock_mhz, self.bits, self._shares = idle_mhz, LimitBit.IDLE, {}
            self._slow_mhz = self._allowed_mhz()
        else:
            self._control(dt)
        self.power_w = self._power(self.clock_mhz, self._shares, asleep)
        self._count(dt)
        self._heat(dt, asleep)

    # --- power and clock ------------------------------------------------------------------------------------------

    def _shares_at(self, clock_mhz: float) -> dict[str, Share]:
        return self._divider.shares(self.loads, clock_mhz * 1e6, self.bandwidth * self.memory_rate, self.sharing)

    def _leakage(self) -> float:
        return self.model.leakage_w * 2.0 ** ((self.core_c - 60.0) / 40.0)

    def _power(self, clock_mhz: float, at: dict[str, Share], asleep: bool) -> float:
        """Board power in W: idle + leakage + switching (∝ f·V²) + memory traffic."""
        model = self.model
        leakage = self._leakage() - model.leakage_w * 2.0**-0.625
        if asleep:
            return model.idle_w + 0.2 * leakage
        switching = sum(at[name].switching(load) for name, load in self.loads.items())
        traffic = min(1.0, sum(share.dram for share in at.values()))
        x = clock_mhz / model.clock_max_mhz
        voltage = max(0.72, 0.6 + 0.4 * self.settings.voltage_clock_mhz(clock_mhz) / model.clock_max_mhz)
        return (
            model.active_idle_w
            + leakage * voltage
            + model.dynamic_w * switching * x * voltage * voltage
            + model.memory_active_w * traffic
        )

    def _highest_below(self, limit_w: float, top_mhz: float) -> float:
        """Highest clock whose power stays within ``limit_w`` (bisection, first near the last answer)."""
        if self._power_at(top_mhz) <= limit_w:
            return top_mhz
        low, high = 0.15 * self.model.clock_max_mhz, top_mhz
        near = self._last_cap_mhz
        if low < 0.995 * near and 1.005 * near < high and self._power_at(0.995 * near) <= limit_w:
            low = 0.995 * near
            high = 1.005 * near if self._power_at(1.005 * near) > limit_w else high
        while high - low > 1.0:
            middle = 0.5 * (low + high)
            if self._power_at(middle) > limit_w:
                high = middle
            else:
                low = middle
        self._last_cap_mhz = low
        return low

    def _power_at(self, clock_mhz: float) -> float:
        return self._power(clock_mhz, self._shares_at(clock_mhz), False)

    def _allowed_mhz(self) -> float:
        allowed = self.model.clock_max_mhz
        start = self.model.boost_drop_from_c
        if start is not None:
            allowed -= 15.0 * max(0, int((self.core_c - start) / 6.0))
        return self.settings.sm_clock_mhz(allowed)

    def _control(self, dt: float) -> None:
        """Choose the clock: boost table, power cap (slow), instant power limit, thermal control, hardware slowdown."""
        allowed = self._allowed_mhz()
        cap = self._highest_below(self.power_limit_w, allowed)
        if cap < self._slow_mhz - 1e-6:
            self._over_s += dt
            if self._over_s > _HOLD_S:
                self._slow_mhz = lag_step(self._slow_mhz, cap, _CONTROL_TAU_S, dt)
        else:
            self._slow_mhz = lag_step(self._slow_mhz, cap, _CONTROL_TAU_S, dt)
            if self._slow_mhz > allowed - _SLACK_MHZ:
                self._over_s = 0.0
        clock = min(self._slow_mhz, allowed)
        if self._over_s <= _HOLD_S + 4 * _CONTROL_TAU_S and clock > cap:
            clock = self._highest_below(self.power_limit_w * self.model.peak_ratio, clock)
        power_limited = clock < allowed - _SLACK_MHZ
        thermal = self._thermal_mhz(dt)
        by_heat = thermal < min(clock, allowed) - _SLACK_MHZ
        clock = min(clock, thermal)
        bits = LimitBit.SW_POWER_CAP if power_limited and not by_heat else 0
        bits |= LimitBit.SW_THERMAL if by_heat else 0
        bits |= LimitBit.USER_CLOCKS if self.settings.sm_lock_mhz is not None and not bits else 0
        if self._too_hot():
            clock *= 0.5
            bits |= LimitBit.HW_SLOWDOWN | LimitBit.HW_THERMAL
        self.clock_mhz, self.bits = clock, bits
        self._shares = self._shares_at(clock)

    def _thermal_mhz(self, dt: float) -> float:
        """Clock that software thermal control allows: proportional-integral on the worse of core and memory margin."""
        excess = max(self.core_c - self.model.target_c, self.memory_c - self.model.memory_limit_c)
        top = self.model.clock_max_mhz + max(0.0, self.settings.core_offset_mhz)
        self._thermal_sum = min(0.7 * top, max(0.0, self._thermal_sum + _THERMAL_I * excess * dt))
        reduction = self._thermal_sum + (_THERMAL_P * excess if self._thermal_sum > 0 else 0.0)
        return max(0.2 * top, top - max(0.0, reduction)) if reduction > 0 else top + _SLACK_MHZ * 2

    def _too_hot(self) -> bool:
        """Hardware slowdown, released 5 °C below where it sets in."""
        margin = self.core_c - self.model.slowdown_c
        self._hot = margin >= 0 or (self._hot and margin > -5)
        return self._hot

    # --- bookkeeping ----------------------------------------------------------------------------------------------

    def _count(self, dt: float) -> None:
        totals = self.totals
        totals.t_s += dt
        totals.energy_j += self.power_w * dt
        for name, share in self._shares.items():
            self.iterations[name] = self.iterations.get(name, 0.0) + share.iterations_per_s * dt
            totals.busy_s += share.busy * dt
            totals.dram_s += min(share.dram, share.busy) * dt
            totals.tensor_s += min(share.compute, share.busy) * dt if self.loads[name].tensor else 0.0
        totals.power_limited_s += dt if self.bits & LimitBit.SW_POWER_CAP else 0.0
        totals.thermal_software_s += dt if self.bits & LimitBit.SW_THERMAL else 0.0
        totals.thermal_hardware_s += dt if self.bits & LimitBit.HW_THERMAL else 0.0
        self.history.append((totals.t_s, totals.energy_j, totals.busy_s, totals.dram_s))
        while len(self.history) > 2 and self.history[1][0] < totals.t_s - _HISTORY_S:
            self.history.popleft()

    def _heat(self, dt: float, asleep: bool) -> None:
        model = self.model
        traffic = min(1.0, sum(share.dram for share in self._shares.values()))
        memory_w = model.memory_idle_w * (0.5 if asleep else 1.0) + model.memory_active_w * traffic
        board_w = 0.1 * (model.idle_w if asleep else self.power_w)
        self.die.advance(max(0.0, self.power_w - memory_w - board_w), dt)
        self.memory.advance(memory_w, dt)
        self.sink.advance(self.power_w, dt, self.cooling)
        self.air_c = lag_step(self.air_c, self.air_target_c, 10.0, dt)
        self.fan = lag_step(self.fan, self._fan_target(), _FAN_TAU_S, dt)

    def _fan_target(self) -> float:
        if self.fan_stopped:
            return 0.0
        if self.settings.fan is not None:
            return self.settings.fan
        curve = self.model.fan_curve
        if curve is not None and self.model.zero_rpm:
            start = curve[0][0]
            turning = self.fan > 0.15
            if self.core_c < (start - 8 if turning else start):
                return 0.0
        return fan_at(curve, self.core_c)
