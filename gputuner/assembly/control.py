"""How settings of cards are reached: simulated cards directly, real ones through a helper with the rights it needs."""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gputuner.assembly.children import child_command
from gputuner.devices.control import Guard
from gputuner.devices.control_client import Control, HelperControl, LocalControl
from gputuner.devices.control_journal import Journal, Moment
from gputuner.devices.control_socket import SocketHelper
from gputuner.model.control import Applied, CardControl, Setting, Told, Value

if TYPE_CHECKING:
    from gputuner.devices.simulated import SimulatedCards

How = Literal["auto", "sudo", "pkexec"]
HELPER = "--helper"
INSTALLED = Path("/usr/libexec/gputuner-helper")
"""The starter that ``packaging/helper`` installs: root's own file, which the polkit policy names."""
SOCKET = Path("/run/gputuner/helper.sock")
"""Where the systemd unit listens."""


def open_control(simulate: Sequence[str] = (), how: How = "auto") -> Control:
    """Settings of the machine's cards, or of simulated ones.

    ``auto``: the service's socket where this user may use it, else a helper with this process's own rights: reading
    needs none, and what the driver does not let it set is told. ``sudo`` and ``pkexec`` ask for rights themselves.

    Raises:
        UsageError: no such simulated card.
        NoPermission: sudo or pkexec did not let the helper start.
        DeviceError: it does not start, or there is no driver.
    """
    if simulate:
        from gputuner.devices.simulated import SimulatedCards, SimulatedClock

        return simulated_control(SimulatedCards(simulate, SimulatedClock()))
    if how == "auto" and os.access(SOCKET, os.W_OK):
        return HelperControl(SocketHelper(SOCKET))
    return HelperControl(helper_command(how))


def helper_command(how: How) -> list[str]:
    """The command line of a helper; one with more rights gets nothing from the caller's folder or environment.

    ``auto`` without root's rights finds gputuner where this process did, a user's own installation too.
    """
    if how == "auto":
        return _isolated() if getattr(os, "geteuid", lambda: 1)() == 0 else [*child_command(), HELPER]
    own = [str(INSTALLED)] if INSTALLED.exists() else _isolated()
    return [how, "--", *own] if how == "sudo" else [how, *own]


def _isolated() -> list[str]:
    if getattr(sys, "frozen", False):
        return [sys.executable, HELPER]
    return [sys.executable, "-I", "-m", "gputuner", HELPER]


class PretendedControl:
    """Settings in a dry run: each change is taken, and none is made."""

    privileged = True

    def show(self) -> tuple[CardControl, ...]:
        """No card is looked at."""
        return ()

    def set(
        self, card: str, setting: Setting, value: Value, *, may_forget: bool = False, for_s: float | None = None
    ) -> Applied:
        """As if the card had stood so already."""
        return Applied(card=card, setting=setting, found=value, written=value, reads=value, changed=False)

    def keep(self, card: str, setting: Setting) -> None:
        """There is nothing to keep."""

    def restore(self, card: str, setting: Setting | None = None) -> tuple[Setting, ...]:
        """There is nothing to put back."""
        return ()

    def wait(self, seconds: float) -> None:
        """Nothing is held."""

    def told(self) -> tuple[Told, ...]:
        """Nothing happens."""
        return ()

    def close(self) -> None:
        """There is nothing to put back."""


def simulated_control(cards: "SimulatedCards") -> LocalControl:
    """Settings of simulated cards; what is set lives as long as they do."""
    from gputuner.devices.simulated_control import SimulatedControl

    folder = tempfile.TemporaryDirectory(prefix="gputuner-simulated-")
    clock = cards.clock

    def wait(seconds: float) -> None:
        clock.advance_to_ns(clock.now_ns() + int(seconds * 1e9))
        cards.advance_to(clock.now_ns())

    def make(tell: Callable[[Told], None]) -> Guard:
        return Guard(
            SimulatedControl(cards),
            Journal(Path(folder.name)),
            tell=tell,
            moment=lambda: Moment(boot="simulated"),
            now_s=lambda: clock.now_ns() / 1e9,
            pause=wait,
        )

    return LocalControl(make, wait, folder.cleanup)
