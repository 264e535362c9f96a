"""The one place that changes settings of cards, and always puts them back.

A change goes: range (the card's own) → lock of the card → value found → journal on disk → write → read back. It then is

- *held* until it is kept, put back, or its time is over. ``close`` (end of input, signal) puts back what is held; after
  a crash ``recover``, at the next start, does, if it is the same boot and the card still shows what was written here.
- *kept*: it stays when this process ends, and the journal remembers what was found before it until it is put back.

States of an entry: written to the journal → held → kept → gone, or held → gone; an entry that no longer is true (other
boot, driver loaded anew, changed by others) is dropped and told. What cannot be read back (clock locks, fans that were
set by hand) is taken only if the caller says that it may be lost, and is put back by giving the driver its own way.
What could not be put back is tried again at every look and a few times at the end, and stays in the journal.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from gputuner.devices.control_actuator import Actuator
from gputuner.devices.control_checks import LOST, check
from gputuner.devices.control_journal import Entry, Journal, Moment, moment_now
from gputuner.devices.control_recovery import TRIES, TRY_AGAIN_S, Recovery, undone_order
from gputuner.devices.control_standing import Standing, failed, value_params
from gputuner.model.control import (
    LOCKS,
    OWN_WAY,
    Applied,
    CardControl,
    Setting,
    SettingState,
    Told,
    Value,
    equal,
)
from gputuner.model.errors import (
    DeviceError,
    DeviceLost,
    GputunerError,
    NoPermission,
    NotSupported,
    StoreError,
    UsageError,
)

HOT_C = 3.0
"""A fan set by hand goes back to automatic this near to the card's slowdown temperature (methods §13)."""
HOT_ANYWAY_C = 80.0
"""Where the card does not tell that temperature."""
SLEPT_S = 1.0


@dataclass(slots=True, kw_only=True)
class _Timer:
    """When a held change is put back by itself, and what is told then; ``failed``: that was told."""

    due_s: float
    code: str = "control_time_over"
    failed: bool = False


def _nothing(_told: Told) -> None:
    pass


class Guard:
    """Settings of cards, guarded. Used from one thread."""

    def __init__(
        self,
        actuator: Actuator,
        journal: Journal,
        *,
        tell: Callable[[Told], None] = _nothing,
        moment: Callable[[], Moment] = moment_now,
        now_s: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Change nothing yet; ``tell`` hears what happens without being asked for."""
        self._actuator = actuator
        self._journal = journal
        self._tell = tell
        self._moment = moment
        self._now_s = now_s
        self._pause = pause
        self._standing = Standing(actuator, journal, tell, pause)
        self._locks: dict[str, Callable[[], None]] = {}
        self._timers: dict[tuple[str, Setting], _Timer] = {}
        self._ended: set[tuple[str, Setting]] = set()
        """What was held and no longer is, without anyone having asked for it."""
        self._slept_s = moment().suspended_s

    # --- what is asked --------------------------------------------------------------------------------------------

    def show(self) -> tuple[CardControl, ...]:
        """Every card with the state of every setting; writes nothing."""
        return tuple(
            replace(card, states=tuple(self._shown(card.uuid, setting) for setting in Setting))
            for card in self._actuator.cards()
        )

    def _shown(self, card: str, setting: Setting) -> SettingState:
        try:
            state = self._actuator.state(card, setting)
        except DeviceLost:  # the others are still to be seen and to be put back
            return SettingState(setting=setting, reason=LOST)
        entries = [e for e in self._journal.seen(card) if e.setting is setting and e.moment.boot == self._moment().boot]
        if not entries:
            return state
        last = next((e for e in entries if not e.kept), entries[-1])
        first = next((e for e in entries if e.kept), entries[0])
        return replace(state, found=first.found, kept=last.kept, intact=self._standing.intact(last, state.now))

    # --- changing -------------------------------------------------------------------------------------------------

    def set(
        self, card: str, setting: Setting, value: Value, *, may_forget: bool = False, for_s: float | None = None
    ) -> Applied:
        """Write a value and hold it; ``for_s``: at most so many seconds, then it is put back.

        ``may_forget``: what stands there may be lost where it cannot be read.

        Raises:
            UsageError: out of the card's range, malformed, or ``may_forget`` is needed.
            NotSupported: not offered, no range, or the present value cannot be read.
            NoPermission: this process may not; nothing was changed.
            CardBusy: another process changes settings of the card.
            StoreError: the journal cannot be written; nothing was changed, or what was found is back.
            DeviceError: the driver refused it, or the card shows another value (what was found is back); or a fan
                while nobody can tell the temperature; or it failed and could not be undone (``control_left_changed``).
        """
        self._own(self._known(card))
        state = self._actuator.state(card, setting)
        check(state, value)
        if setting is Setting.FAN and value and self._fan_danger(card) is not None:
            raise DeviceError("control_fan_unsafe", "the temperature is unknown or too high", setting=setting.value)
        entries = self._true_entries(card, setting)
        held = next((e for e in entries if not e.kept), None)
        kept = next((e for e in entries if e.kept), None)
        found = held.found if held is not None else self._found(state, kept, may_forget)
        if held is None and state.now is not None and equal(setting, state.now, value):
            return self._applied(card, setting, found, value, state.now, changed=False)
        written = (*(held.written[-1:] if held is not None else ()), value)
        entry = Entry(
            setting=setting, found=found, written=written, moment=self._moment(), at_unix_s=round(time.time(), 1)
        )
        self._standing.note(card, entry)
        before = self._time(card, setting, for_s)
        try:
            self._actuator.write(card, setting, value)
            reads = self._standing.read_back(card, setting, value)
            self._settle(card, replace(entry, written=(value if reads is None else reads,)))
        except (DeviceError, StoreError) as err:
            self._undo(card, entry, held, err)
            if before is None:
                self._timers.pop((card, setting), None)
            else:
                self._timers[card, setting] = before
            raise _after_write(err, setting) from err
        self._ended.discard((card, setting))
        return self._applied(card, setting, found, value, reads)

    def _settle(self, card: str, entry: Entry) -> None:
        """Note what the card shows after a write; as it was found: nothing stands."""
        if equal(entry.setting, entry.written[0], entry.found):
            self._standing.forget(card, entry.setting, kept=False)
        else:
            self._standing.note(card, entry)

    def _undo(self, card: str, entry: Entry, held: Entry | None, err: GputunerError) -> None:
        """After a failed write: what stood before it.

        Raises:
            DeviceError: it could not be put back; that is tried again at each look.
        """
        setting = entry.setting
        if isinstance(err, (NoPermission, NotSupported)) and setting is not Setting.FAN:
            self._standing.withdraw(card, entry, held)
        elif not self._standing.undo(card, entry, held):
            self._timers[card, setting] = _Timer(due_s=self._now_s(), code="control_restored", failed=True)
            raise DeviceError(
                "control_left_changed",
                f"{setting} could not be put back: {err}",
                setting=setting.value,
                message=str(err),
                **value_params(entry.found),
            ) from err

    def keep(self, card: str, setting: Setting) -> None:
        """Let a held change last beyond this process; what was found before it stays in the journal.

        Where nothing is held because the card stands so anyway, nothing happens.

        Raises:
            UsageError: it is a fan, which is never left on its own.
            DeviceError: it is no longer held: its time was over, or others changed it.
        """
        if setting is Setting.FAN:
            raise UsageError("control_fan_kept", "a fan is held, never left behind", setting=setting.value)
        entries = self._journal.entries(self._known(card))
        held = next((e for e in entries if e.setting is setting and not e.kept), None)
        if held is None:
            if (card, setting) in self._ended:
                raise DeviceError("control_not_held", f"{setting} is no longer held", setting=setting.value)
            return
        before = next((e for e in entries if e.setting is setting and e.kept), None)
        found = before.found if before is not None else held.found
        rest = tuple(e for e in entries if e.setting is not setting)
        gone = equal(setting, found, held.written[-1])
        self._journal.write(card, rest if gone else (*rest, replace(held, kept=True, found=found)))
        self._timers.pop((card, setting), None)

    def restore(self, card: str, setting: Setting | None = None) -> tuple[Setting, ...]:
        """Put back what was found, of kept changes too; which of them were put back.

        Raises:
            CardBusy: another process changes settings of the card.
            DeviceError: it could not be written; the journal keeps it.
        """
        if not any(setting in (None, e.setting) for e in self._journal.entries(self._known(card))):
            return ()
        self._own(card)
        asked = [e for e in undone_order(self._journal.entries(card)) if setting in (None, e.setting)]
        done: list[Setting] = []
        failures: dict[Setting, GputunerError] = {}
        for entry in asked:  # one that fails is no reason to leave the others
            if entry.setting in failures:
                continue
            try:
                done += [entry.setting] if self._standing.put_back(card, entry, live=True, told=False) else []
            except GputunerError as err:
                failures[entry.setting] = err
                continue
            self._timers.pop((card, entry.setting), None)
        for err in failures.values():
            raise err
        return tuple(dict.fromkeys(done))

    # --- what happens by itself -----------------------------------------------------------------------------------

    def recover(self) -> bool:
        """Put back what a process that died left; False: something stays as it is (told). Never raises for a card."""
        return Recovery(self._journal, self._standing, self._tell, self._moment, self._pause).run()

    def tick(self) -> None:
        """Look after what is held: its time, its heat, changes by others. To be called each second or two."""
        for card, entry in self._held():
            timer = self._timers.get((card, entry.setting))
            if timer is not None and self._now_s() >= timer.due_s:
                self._give_back(card, entry, timer.code)
            elif entry.setting is Setting.FAN and (why := self._fan_danger(card)):
                self._give_back(card, entry, why)
            else:
                self._look(card, entry)
        slept = self._moment().suspended_s
        if slept > self._slept_s + SLEPT_S:
            for card, entry in self._held():
                self._tell(Told(code="control_suspended", card=card, setting=entry.setting))
        self._slept_s = slept

    def close(self) -> None:
        """Put back all that is held, and let go of the cards; idempotent, never raises for a card."""
        for left in range(TRIES - 1, -1, -1):
            done = [self._give_back(card, entry, "control_restored") for card, entry in reversed(self._held())]
            if all(done):
                break
            if left:
                self._pause(TRY_AGAIN_S)
        for release in self._locks.values():
            release()
        self._locks.clear()

    def _give_back(self, card: str, entry: Entry, code: str) -> bool:
        """Put one change back and tell it. A failure is told once, stays in the journal, and is due again at once."""
        where = (card, entry.setting)
        timer = self._timers.setdefault(where, _Timer(due_s=self._now_s(), code=code))
        timer.due_s, timer.code = min(timer.due_s, self._now_s()), code
        try:
            written = self._standing.put_back(card, entry, live=True, told=True)
        except GputunerError as err:
            if not timer.failed:
                timer.failed = True
                self._tell(failed(card, entry, err))
            return False
        self._timers.pop(where, None)
        self._ended.add(where)
        if written:
            self._tell(Told(code=code, card=card, setting=entry.setting, params=value_params(entry.found)))
        return True

    def _look(self, card: str, entry: Entry) -> None:
        """Notice that others changed what is held; their value stays."""
        with contextlib.suppress(DeviceError, StoreError):
            now = self._actuator.read(card, entry.setting)
            if now is not None and not self._standing.intact(entry, now):
                self._standing.drop(card, entry, "control_drift", now)
                self._timers.pop((card, entry.setting), None)
                self._ended.add((card, entry.setting))

    def _fan_danger(self, card: str) -> str | None:
        heat = self._actuator.heat(card)
        if heat.core_c is None:
            return "control_fan_blind"
        hot_c = HOT_ANYWAY_C if heat.slowdown_c is None else heat.slowdown_c - HOT_C
        return "control_fan_hot" if heat.core_c >= hot_c else None

    def _known(self, card: str) -> str:
        if all(card != known.uuid for known in self._actuator.cards()):
            raise UsageError("control_no_card", "no such card", card=card)
        return card

    def _own(self, card: str) -> None:
        if card not in self._locks:
            self._locks[card] = self._journal.lock(card)

    def _true_entries(self, card: str, setting: Setting) -> tuple[Entry, ...]:
        """The entries of a setting after those that are no longer true were dropped (told)."""
        moment, now = self._moment(), self._actuator.read(card, setting)
        for entry in undone_order(self._journal.entries(card)):  # what is held is judged first: it may cover the kept
            if entry.setting is not setting:
                continue
            if entry.moment.boot != moment.boot:
                self._standing.drop(card, entry, "control_dropped_boot")
            elif entry.moment.driver != moment.driver:
                self._standing.drop(card, entry, "control_dropped_driver")
            elif (
                now is not None
                and not self._standing.intact(entry, now)
                and not self._has_held(card, setting, above=entry)
            ):
                self._standing.drop(card, entry, "control_dropped_changed", now)
        return tuple(e for e in self._journal.entries(card) if e.setting is setting)

    def _has_held(self, card: str, setting: Setting, above: Entry) -> bool:
        return above.kept and any(e.setting is setting and not e.kept for e in self._journal.entries(card))

    def _found(self, state: SettingState, kept: Entry | None, may_forget: bool) -> Value:
        """What must be put back later: what the card shows, or what was written here where it does not tell.

        Raises:
            UsageError: it cannot be read, and the caller does not say that it may be lost.
            NotSupported: it cannot be read, and there is no other way back.
        """
        setting = state.setting
        if kept is not None and state.now is None:
            return kept.written[-1]
        if setting in OWN_WAY:
            if state.now != () and not may_forget:
                code = "control_lock_unread" if setting in LOCKS else "control_fan_taken"
                raise UsageError(code, f"what {setting} is now would be lost", setting=setting.value)
            return ()
        if state.now is None:
            raise NotSupported("control_unreadable", f"{setting} cannot be read", setting=setting.value)
        return state.now

    def _held(self) -> list[tuple[str, Entry]]:
        return [(card, e) for card in self._locks for e in self._journal.entries(card) if not e.kept]

    def _time(self, card: str, setting: Setting, for_s: float | None) -> _Timer | None:
        """Set or stop the clock of a change; the one that ran before."""
        before = self._timers.pop((card, setting), None)
        if for_s is not None:
            self._timers[card, setting] = _Timer(due_s=self._now_s() + for_s)
        return before

    def _applied(
        self, card: str, setting: Setting, found: Value, value: Value, reads: Value | None, *, changed: bool = True
    ) -> Applied:
        enforced = self._actuator.enforced_w(card) if setting is Setting.POWER_LIMIT else None
        return Applied(
            card=card, setting=setting, found=found, written=value, reads=reads, enforced_w=enforced, changed=changed
        )


def _after_write(err: GputunerError, setting: Setting) -> GputunerError:
    """A journal that failed only after the card was written is another story than one that failed before."""
    if not isinstance(err, StoreError):
        return err
    return StoreError("control_journal_late", str(err), setting=setting.value, **err.params)
