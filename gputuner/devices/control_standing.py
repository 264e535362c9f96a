"""Changes that stand: putting them back, reading back, and what the journal says of them."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace

from gputuner.devices.control_actuator import Actuator
from gputuner.devices.control_checks import check, spoken
from gputuner.devices.control_journal import Entry, Journal
from gputuner.model.control import LOCKS, Setting, Told, Value, equal, same
from gputuner.model.errors import DeviceError, GputunerError, StoreError
from gputuner.model.readings import Scalar

READ_BACK = (0.0, 0.05, 0.2, 0.5)
"""A written value is read back after these pauses, in seconds, until it shows."""


class Standing:
    """Writes what was found, and keeps the journal true to the cards."""

    def __init__(
        self,
        actuator: Actuator,
        journal: Journal,
        tell: Callable[[Told], None],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Do nothing yet."""
        self._actuator = actuator
        self._journal = journal
        self._tell = tell
        self._pause = pause

    def put_back(self, card: str, entry: Entry, *, live: bool, told: bool) -> bool:
        """Write what was found, unless it stands or others changed it since; True if it was written.

        Args:
            card: UUID.
            entry: the change.
            live: it was made by this process, which may write even where it cannot read.
            told: say what became of it where nothing is written.

        Raises:
            DeviceError: it cannot be read or written, or does not show afterwards; the entry stays.
            UsageError: what the journal says was found is no value that the card takes.
        """
        setting = entry.setting
        now: Value | None = None
        try:
            now = self._actuator.read(card, setting)
        except DeviceError:
            if not live:
                raise
        if now is not None and equal(setting, now, entry.found):
            self._forget_softly(card, entry)
            if told and not live:
                self._tell(Told(code="control_already_back", card=card, setting=setting))
            return False
        if now is not None and not self.intact(entry, now):
            self.drop(card, entry, "control_dropped_changed", now)
            return False
        if now is None and not live and entry.found:  # the driver's own way is safe to give, another value is not
            raise DeviceError("control_unreadable", f"{setting} cannot be read", setting=setting.value)
        if entry.found and (entry.kept or not live):  # what a file says is checked as what a person says
            check(self._actuator.state(card, setting), entry.found)
        self._write_back(card, setting, entry.found, now)
        self._forget_softly(card, entry)
        if told and not live:
            code = "control_recovered_lock" if setting in LOCKS and not entry.found else "control_recovered"
            self._tell(Told(code=code, card=card, setting=setting, params=value_params(entry.found)))
        return True

    def _write_back(self, card: str, setting: Setting, value: Value, now: Value | None) -> None:
        """Write a value that stood before, and look that it stands again.

        Raises:
            DeviceError: refused, or the card does not show it.
        """
        self._actuator.write(card, setting, value)
        apart = now is None or not same(setting, now, value)
        self.read_back(card, setting, value, enforced_too=False, matches=same if apart else equal)

    def _forget_softly(self, card: str, entry: Entry) -> None:
        """Forget an entry; where the disk is full it stays, and the next look finds the card as it was found."""
        with contextlib.suppress(StoreError):
            self.forget(card, entry.setting, kept=entry.kept)

    def undo(self, card: str, entry: Entry, held: Entry | None) -> bool:
        """After a failure in the midst of a change: what stood before it; False: an entry says what is open."""
        before = held.written[-1] if held is not None else entry.found
        now: Value | None = None
        try:
            now = self._actuator.read(card, entry.setting)
            if now is None or not equal(entry.setting, now, before):
                self._write_back(card, entry.setting, before, now)
        except DeviceError as err:
            self._tell(failed(card, entry, err))
            if now is not None:  # so that what the card shows is not taken for somebody else's
                with contextlib.suppress(StoreError):
                    self.note(card, replace(entry, written=(*entry.written, now)))
            return False
        with contextlib.suppress(StoreError):
            self.withdraw(card, entry, held)
        return True

    def withdraw(self, card: str, entry: Entry, held: Entry | None) -> None:
        """The change was not made: the journal is as it was before."""
        if held is None:
            self.forget(card, entry.setting, kept=False)
        else:
            self.note(card, held)

    def read_back(
        self,
        card: str,
        setting: Setting,
        value: Value,
        *,
        enforced_too: bool = True,
        matches: Callable[[Setting, Value, Value], bool] = same,
    ) -> Value | None:
        """What the card shows after a write; None: it does not tell.

        ``enforced_too``: of a power limit, what the card keeps to must follow. ``matches``: how near it must be.

        Raises:
            DeviceError: it shows something else, though it was given time.
        """
        reads: Value | None = None
        enforced: float | None = None
        for pause_s in READ_BACK:
            if pause_s:
                self._pause(pause_s)
            reads = self._actuator.read(card, setting)
            if reads is None:
                return None
            enforced = self._actuator.enforced_w(card) if enforced_too and setting is Setting.POWER_LIMIT else None
            if matches(setting, reads, value) and (enforced is None or same(setting, (enforced,), value)):
                return reads
        shown = reads if reads is not None and not matches(setting, reads, value) else (enforced or 0.0,)
        raise DeviceError(
            "control_mismatch",
            f"{setting} was set to {value}, but the card shows {shown}",
            setting=setting.value,
            wanted=spoken(value),
            shows=spoken(shown),
        )

    def intact(self, entry: Entry, now: Value | None) -> bool:
        """True if the card shows what was written, or does not tell."""
        return now is None or any(same(entry.setting, now, value) for value in entry.written)

    def note(self, card: str, entry: Entry) -> None:
        """Write an entry into the journal, in the place of the one before it.

        Raises:
            StoreError: the journal cannot be written.
        """
        rest = tuple(e for e in self._journal.entries(card) if (e.setting, e.kept) != (entry.setting, entry.kept))
        self._journal.write(card, (*rest, entry))

    def forget(self, card: str, setting: Setting, *, kept: bool) -> None:
        """Take an entry out of the journal."""
        entries = self._journal.entries(card)
        self._journal.write(card, tuple(e for e in entries if (e.setting, e.kept) != (setting, kept)))

    def drop(self, card: str, entry: Entry, code: str, now: Value | None = None) -> None:
        """Take an entry that is no longer true out of the journal, and tell why."""
        self.forget(card, entry.setting, kept=entry.kept)
        params: dict[str, Scalar] = {
            "found": spoken(entry.found),
            "wrote": spoken(entry.written[-1]),
            "kept": entry.kept,
        }
        if now is not None:
            params["shows"] = spoken(now)
        self._tell(Told(code=code, card=card, setting=entry.setting, params=params))


def value_params(value: Value) -> dict[str, Scalar]:
    """A value for a sentence."""
    return {"value": spoken(value)}


def failed(card: str, entry: Entry, err: GputunerError) -> Told:
    """What was found could not be put back."""
    params: dict[str, Scalar] = {"message": str(err), **value_params(entry.found)}
    return Told(code="control_restore_failed", card=card, setting=entry.setting, params=params)
