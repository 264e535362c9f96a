"""What a process that died left changed is put back by the next one, where that still is right."""

from collections.abc import Callable, Iterable

from gputuner.devices.control_journal import Entry, Journal, Moment
from gputuner.devices.control_standing import Standing, failed
from gputuner.model.control import Setting, Told
from gputuner.model.errors import CardBusy, GputunerError, StoreError

TRIES = 3
"""How often putting back is tried at the end, and a card that is locked at the start; between them is a pause."""
TRY_AGAIN_S = 0.2


class Recovery:
    """One look through the journal."""

    def __init__(
        self,
        journal: Journal,
        standing: Standing,
        tell: Callable[[Told], None],
        moment: Callable[[], Moment],
        pause: Callable[[float], None],
    ) -> None:
        """Do nothing yet."""
        self._journal = journal
        self._standing = standing
        self._tell = tell
        self._moment = moment
        self._pause = pause

    def run(self) -> bool:
        """Put back what is left; False: something stays as it is, which was told. Never raises for a card."""
        complete = True
        for page in self._journal.pages():
            try:
                release = self._lock(page.card)
            except (CardBusy, StoreError) as err:
                if any(not entry.kept for entry in page.entries):
                    complete = False
                    code = "control_recovery_busy" if isinstance(err, CardBusy) else "control_recovery_locked_out"
                    pid = str(err.params.get("pid") or "?")
                    self._tell(Told(code=code, card=page.card, params={"pid": pid, "message": str(err)}))
                continue
            try:
                complete = self._card(page.card) and complete
            finally:
                release()
        for path in self._journal.damaged:
            complete = False
            self._tell(Told(code="control_journal_damaged", card="", params={"path": path}))
        self._journal.damaged.clear()
        return complete

    def _lock(self, card: str) -> Callable[[], None]:
        """The lock of a card, which a process that is just ending may hold a moment longer."""
        for _ in range(TRIES - 1):
            try:
                return self._journal.lock(card)
            except CardBusy:
                self._pause(TRY_AGAIN_S)
        return self._journal.lock(card)

    def _card(self, card: str) -> bool:
        """Each entry for itself: one that fails is no reason to leave the others."""
        failures: set[Setting] = set()
        for entry in undone_order(self._journal.entries(card)):
            if entry.setting in failures:
                continue
            try:
                self._entry(card, entry)
            except GputunerError as err:
                failures.add(entry.setting)
                self._tell(failed(card, entry, err))
        return not failures

    def _entry(self, card: str, entry: Entry) -> None:
        moment = self._moment()
        if not entry.moment.boot or entry.moment.boot != moment.boot:
            self._standing.drop(card, entry, "control_dropped_boot")
        elif entry.moment.driver != moment.driver:
            self._standing.drop(card, entry, "control_dropped_driver")
        elif not entry.kept:
            self._standing.put_back(card, entry, live=False, told=True)


def undone_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """What is held before what was kept, the latest first."""
    return tuple(sorted(entries, key=lambda e: (e.kept, -e.at_unix_s)))
