"""Settings that a plan changes (``Set``): through the guard, each change an event, all put back when the run ends.

What stands after a run is what stood before it, on every path: the end puts back what was set; where this process dies,
the helper does; where both die, the helper's next start does (``devices/control.py``).
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from gputuner.devices.control_checks import spoken
from gputuner.devices.control_client import Control
from gputuner.model.cards import CardInfo
from gputuner.model.control import Setting, Told, Value
from gputuner.model.errors import GputunerError
from gputuner.model.events import SettingChanged, Warned
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Refused, Set

OpenControl = Callable[[], Control]
LOST = frozenset({
    "control_restore_failed", "control_drift", "control_dropped_changed", "control_dropped_boot",
    "control_dropped_driver",
})  # fmt: skip
"""What is told of a setting that is not as it was found."""
UNKNOWN = frozenset({"control_helper_gone", "control_helper_silent"})
"""What is told where nobody knows."""
PUT_BACK = frozenset({"control_recovered", "control_recovered_lock", "control_already_back"})
"""What the next helper tells of a setting that is as it was found."""


@runtime_checkable
class Controllable(Protocol):
    """A stage whose cards' settings can be changed."""

    open_control: OpenControl | None
    """None: they cannot."""


class Settings:
    """The settings of one run's card. Nothing is opened before the first change."""

    def __init__(
        self,
        stage: object,
        card: CardInfo,
        tell: Callable[..., None],
        limited: Callable[[float], None] | None = None,
    ) -> None:
        """``tell(EventClass, **fields)`` stores and passes on; ``limited`` hears of each new power limit, in W."""
        self._limited = limited
        self._open = stage.open_control if isinstance(stage, Controllable) else None
        self._card = card
        self._tell = tell
        self._control: Control | None = None
        self._found: dict[Setting, Value] = {}
        self._now: dict[Setting, Value] = {}
        self._lost: set[str | None] = set()
        """Settings that are not as they were found (None: all may be so)."""

    def apply(self, step: Set) -> Done | Refused:
        """Make a change; what was refused is an outcome that the plan receives."""
        if self._open is None or self._card.is_cpu:
            return Refused(code="control_not_offered")
        try:
            if self._control is None:
                self._control = self._open()
            applied = self._control.set(self._card.uuid, step.setting, step.value, may_forget=step.may_forget)
        except GputunerError as err:
            self._pass_on()
            params = {name: value for name, value in err.params.items() if isinstance(value, (str, int, float, bool))}
            return Refused(code=err.code, params={**params, "message": str(err)})
        if applied.changed:
            before = self._now.get(step.setting, applied.found)
            self._found.setdefault(step.setting, applied.found)
            self._now[step.setting] = applied.written if applied.reads is None else applied.reads
            self._told(step.setting, before, self._now[step.setting])
            if step.setting is Setting.POWER_LIMIT and self._limited is not None:
                self._limited(self._now[step.setting][0])
        self._pass_on()
        return Done()

    def end(self) -> bool | None:
        """Put everything back; None: nothing was changed, False: something could not be put back. Never raises."""
        if self._control is None:
            return None
        try:
            self._control.close()
            self._pass_on()
            if None in self._lost and self._found:
                self._recover()
            for setting, found in reversed(self._found.items()):
                if not self._lost & {None, setting.value}:
                    self._told(setting, self._now[setting], found)
        except GputunerError:  # the store is full, or the helper gone: the settings are the guard's concern
            return False if self._lost else None
        return not self._lost if self._found else None

    def _recover(self) -> None:
        """The helper is gone without a word: the next one puts back what it left, and tells."""
        assert self._open is not None
        left = {setting.value for setting in self._found}
        again = self._control = self._open()
        try:
            again.show()
        finally:
            again.close()
        for entry in self._pass_on():
            if entry.code in PUT_BACK and entry.card == self._card.uuid and entry.setting is not None:
                left.discard(entry.setting.value)
        self._lost.discard(None)
        self._lost |= left

    def _told(self, setting: Setting, old: Value, new: Value) -> None:
        self._tell(SettingChanged, card=self._card.uuid, setting=setting.value, old=_scalar(old), new=_scalar(new))

    def _pass_on(self) -> tuple[Told, ...]:
        """Warn of what happened without being asked for; all of it."""
        told = () if self._control is None else self._control.told()
        for entry in told:
            if entry.code in ("control_restored", "control_already_back"):
                continue
            if entry.code in LOST and entry.setting in (None, *self._found):
                self._lost.add(None if entry.setting is None else entry.setting.value)
            if entry.code in UNKNOWN:
                self._lost.add(None)
            setting = {} if entry.setting is None else {"setting": entry.setting.value}
            self._tell(Warned, code=entry.code, params={**entry.params, **setting, "card": self._card.title})
        return told


def _scalar(value: Value) -> Scalar | None:
    """A value in an event: a number, two as text, None for the driver's own way."""
    if not value:
        return None
    return value[0] if len(value) == 1 else spoken(value)
