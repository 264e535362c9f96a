"""What the guard needs of cards whose settings it changes; NVML, simulated cards and the tests' cards offer it."""

from dataclasses import dataclass
from typing import Protocol

from gputuner.model.control import CardControl, Setting, SettingState, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """Core temperature now and where the card begins to slow down, in °C; None: not told."""

    core_c: float | None
    slowdown_c: float | None = None


class Actuator(Protocol):
    """Reads and writes settings, no more: it guards nothing. Any call may raise ``DeviceError``."""

    def cards(self) -> tuple[CardControl, ...]:
        """The cards there are, without their settings."""
        ...

    def state(self, card: str, setting: Setting) -> SettingState:
        """Value now, default and range of one setting, or why it cannot be set."""
        ...

    def read(self, card: str, setting: Setting) -> Value | None:
        """The value that stands; None: the driver does not tell it."""
        ...

    def enforced_w(self, card: str) -> float | None:
        """The power limit that the card keeps to, in W; None: not told."""
        ...

    def write(self, card: str, setting: Setting, value: Value) -> None:
        """Write a value that has been checked.

        Raises:
            NoPermission: this process may not.
            NotSupported: the card or the driver does not offer it.
            DeviceError: the driver refused it.
        """
        ...

    def heat(self, card: str) -> Heat:
        """How warm the card is; never raises."""
        ...
