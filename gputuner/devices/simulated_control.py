"""Settings of simulated cards as an ``Actuator``: the same ranges, refusals and missing getters as real ones have."""

from gputuner.devices.control_actuator import Heat
from gputuner.devices.control_checks import refusal
from gputuner.devices.simulated import SimulatedCard, SimulatedCards
from gputuner.model.control import LOCKS, CardControl, Setting, SettingState, Value
from gputuner.model.errors import NoPermission

FAN_LOW = 0.30
"""What vendors let be set at least (peers §4.4); standing still is the automatic's."""
OFFSETS: dict[Setting, tuple[float, float]] = {
    Setting.CORE_OFFSET: (-1000.0, 1000.0),
    Setting.MEMORY_OFFSET: (-2000.0, 6000.0),
}
"""As GeForce cards of the Ada generation tell them."""


class SimulatedControl:
    """Changes simulated cards; ``forbidden``: as a process without rights would be refused."""

    def __init__(self, cards: SimulatedCards, *, forbidden: bool = False) -> None:
        """Work on ``cards``; they live on on their own clock."""
        self._cards = cards
        self._forbidden = forbidden

    def cards(self) -> tuple[CardControl, ...]:
        """The simulated cards."""
        return tuple(
            CardControl(
                uuid=card.uuid,
                index=card.index,
                name=card.info.title,
                pci_bus_id=card.info.pci_bus_id,
                persistent=bool(card.info.readings["persistence"].value),
            )
            for card in self._cards.models
        )

    def state(self, card: str, setting: Setting) -> SettingState:
        """Value, default and range."""
        simulated = self._cards.card(card)
        low, high = self._range(simulated, setting)
        default: Value = ()
        if setting is Setting.POWER_LIMIT:
            default = (simulated.model.power_limit_default_w,)
        elif setting in OFFSETS:
            default = (0.0,)
        return SettingState(
            setting=setting,
            now=None if low is None else self.read(card, setting),
            default=default,
            low=low,
            high=high,
            reason="not_supported" if low is None else None,
        )

    def _range(self, card: SimulatedCard, setting: Setting) -> tuple[float | None, float | None]:
        model = card.model
        match setting:
            case Setting.POWER_LIMIT:
                return model.power_limit_min_w, model.power_limit_max_w
            case Setting.SM_CLOCK_LOCK:
                return model.clock_idle_mhz, model.clock_reported_max_mhz
            case Setting.MEMORY_CLOCK_LOCK:
                return model.memory_clock_idle_mhz, model.memory_clock_mhz
            case Setting.FAN:
                return (FAN_LOW, 1.0) if model.fan_curve is not None else (None, None)
            case Setting.CORE_OFFSET | Setting.MEMORY_OFFSET:
                consumer = card.facts.card_class in {"geforce", "titan"}
                return OFFSETS[setting] if consumer else (None, None)

    def read(self, card: str, setting: Setting) -> Value | None:
        """The value that stands; clock locks have no getter, as with NVML."""
        physics = self._cards.card(card).physics
        match setting:
            case Setting.POWER_LIMIT:
                return (physics.power_limit_w,)
            case Setting.CORE_OFFSET:
                return (physics.settings.core_offset_mhz,)
            case Setting.MEMORY_OFFSET:
                return (physics.settings.memory_offset_mhz,)
            case Setting.FAN:
                return () if physics.settings.fan is None else (physics.settings.fan,)
            case _:
                return None

    def enforced_w(self, card: str) -> float | None:
        """The power limit that the card keeps to."""
        return self._cards.card(card).physics.power_limit_w

    def write(self, card: str, setting: Setting, value: Value) -> None:
        """Write a checked value; the card's physics follow from now on.

        Raises:
            NoPermission: it is forbidden.
        """
        if self._forbidden:
            raise _forbidden(setting)
        simulated = self._cards.card(card)
        self._cards.advance_to(self._cards.clock.now_ns())
        settings = simulated.physics.settings
        lock = (value[0], value[1]) if setting in LOCKS and value else None
        match setting:
            case Setting.POWER_LIMIT:
                simulated.set_power_limit(value[0])
            case Setting.SM_CLOCK_LOCK:
                settings.sm_lock_mhz = lock
            case Setting.MEMORY_CLOCK_LOCK:
                settings.memory_lock_mhz = lock
            case Setting.CORE_OFFSET:
                settings.core_offset_mhz = value[0]
            case Setting.MEMORY_OFFSET:
                settings.memory_offset_mhz = value[0]
            case Setting.FAN:
                settings.fan = value[0] if value else None
        simulated.physics.disturbed()

    def heat(self, card: str) -> Heat:
        """Core temperature and slowdown."""
        self._cards.advance_to(self._cards.clock.now_ns())
        simulated = self._cards.card(card)
        if simulated.lost_since_ns is not None:
            return Heat(core_c=None)
        return Heat(core_c=simulated.physics.core_c, slowdown_c=simulated.model.slowdown_c)


def _forbidden(setting: Setting) -> NoPermission:
    error = refusal("no_permission", setting)
    assert isinstance(error, NoPermission)
    return error
