"""Alerts put together: where the plan lies, who tells of them on this machine, and what a hook is handed.

Rules are judged wherever telemetry is read (``engine/alerts.py``). Hook and desktop are told by one program at a time
for each data folder: the one that holds ``locks/alerts.lock``. What is told also stands, a line of JSON each, in
``log/alerts.jsonl``.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

from gputuner.assembly import alerts_desktop
from gputuner.engine.alert_hook import ENDS_WITHIN_S, LOOK_S, HookEnded, Hooks
from gputuner.engine.alerts import AlertWatch
from gputuner.engine.locks import CardLock, holders
from gputuner.language import alerts as words
from gputuner.language import terms
from gputuner.language.words import _
from gputuner.model.alerts import KINDS, AlertChange, AlertKind, AlertPlan, AlertRule, default_rule
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import CardBusy, StoreError
from gputuner.model.events import AlertCleared, AlertRaised
from gputuner.model.steps import Warn
from gputuner.settings import alerts as stored
from gputuner.settings.paths import paths
from gputuner.settings.preferences import load as load_preferences
from gputuner.telemetry.rates import Rates

LOCK = "alerts"
LOG_BYTES = 1 << 20
Json = dict[str, object]
_TOLD = ("event", "alert", "kind", "value", "threshold", "unit", "message", "origin")
Say = Callable[[str], None]


class AlertBook:
    """The plan of a data folder, read anew when asked."""

    def __init__(self, data_dir: Path) -> None:
        """Nothing is read yet."""
        self.path = stored.alerts_file(paths(data_dir).preferences)
        self.log = paths(data_dir).log
        self.data_dir = data_dir
        self._seen: tuple[tuple[int, int] | None, AlertPlan, StoreError | None] | None = None

    def load(self) -> AlertPlan:
        """The plan.

        Raises:
            StoreError: it cannot be understood.
        """
        return stored.load(self.path)

    def watched(self) -> tuple[AlertPlan, StoreError | None]:
        """The plan to watch by, the last good one where the file is broken, and why; read only when it has changed."""
        now = self._stamp()
        if self._seen is None or self._seen[0] != now or now is None:
            self._seen = (now, *stored.watched(self.path))
        return self._seen[1], self._seen[2]

    def save(self, plan: AlertPlan) -> None:
        """Store the plan.

        Raises:
            StoreError: it cannot be stored, or what lies there is not understood.
        """
        stored.save(self.path, plan)

    def _stamp(self) -> tuple[int, int] | None:
        with contextlib.suppress(OSError):
            status = self.path.stat()
            return status.st_mtime_ns, status.st_ino
        return None


def rules_of(data_dir: Path) -> tuple[tuple[AlertRule, ...], tuple[Warn, ...]]:
    """The rules that are on, for a run; and what is to be said where they are not those of the file."""
    book = AlertBook(data_dir)
    plan, error = book.watched()
    notes = () if error is None else (Warn(code="alerts_last_good", params={"path": str(book.path)}),)
    return plan.active, notes


class Announcer:
    """Tells hook and desktop of what is raised and cleared, if no other program of this folder does already."""

    def __init__(
        self,
        book: AlertBook,
        plan: AlertPlan,
        origin: Origin,
        say: Say,
        notify: Callable[[str, str], object] | None = None,
    ) -> None:
        """``say`` is told in a sentence what went wrong, from any thread; ``notify(title, text)`` tells the desktop."""
        self._book = book
        self._origin = origin
        self._say = say
        self._notify = notify
        self._lock: CardLock | None = None
        self._holder = ""
        self._plan = plan
        self._hooks = self._make(plan)
        self._retired: list[Hooks] = []

    @property
    def mine(self) -> bool:
        """True if this program tells; takes over where the one that did has ended.

        In a folder that cannot be written nobody can say who does, so every program does.
        """
        if self._lock is None:
            try:
                self._lock = CardLock(self._book.data_dir, LOCK, LOCK)
            except CardBusy as error:
                self._holder = str(error.params.get("pid", ""))
            except StoreError:
                return True
        return self._lock is not None

    @property
    def holder(self) -> str:
        """Process that tells instead; empty where that is not known."""
        return self._holder

    def follow(self, plan: AlertPlan) -> None:
        """Use another plan from now on; a command that runs goes on, also where another is to run from now on."""
        same = (plan.hook, plan.hook_timeout_s) == (self._plan.hook, self._plan.hook_timeout_s)
        self._plan = plan
        if same:
            return
        before, self._hooks = self._hooks, self._make(plan)
        self._retired = [*(each for each in self._retired if not each.wait(0.0)), before]
        for key, (document, told) in before.retire().items():
            self._hooks.run(key, document, told)

    def tell(self, changes: Iterable[AlertChange], cards: Iterable[CardInfo]) -> None:
        """Tell of these changes; returns at once."""
        known = {card.uuid: card for card in cards}
        for change in changes:
            if change.quiet or not self.mine:
                continue
            card = known.get(change.card)
            document = change_document(change, card, self._origin)
            self._keep(document)
            self._hooks.run(change.key, document, variables(document))
            if self._plan.notify and change.raised:
                self._desktop(heading(self._origin), str(document["message"]))

    def try_out(self, plan: AlertPlan, card: CardInfo | None) -> HookEnded | None:
        """Run the hook once with a change that says it is a test; None: there is no hook. Waits for its end."""
        if not plan.hook:
            return None
        document = example_document(card, self._origin)
        return self._hooks.try_once(document, variables(document))

    def close(self, patient: Callable[[], bool] | None = None) -> None:
        """End hooks that run, and let another program tell; idempotent.

        They get two seconds; while ``patient`` says so, which is asked often, their whole time-out. Ctrl-C ends that.
        """
        running = [hooks for hooks in (self._hooks, *self._retired) if not hooks.wait(0.0)]
        if running and patient is not None:
            with contextlib.suppress(KeyboardInterrupt):
                self._wait(running, patient)
        for hooks in (self._hooks, *self._retired):
            hooks.close(0.0 if patient is not None else ENDS_WITHIN_S)
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _wait(self, running: list[Hooks], patient: Callable[[], bool]) -> None:
        now_s = time.monotonic()
        until_s, say_s = now_s + self._plan.hook_timeout_s + ENDS_WITHIN_S, now_s + ENDS_WITHIN_S
        while running and patient() and now_s < until_s:
            running = [hooks for hooks in running if not hooks.wait(LOOK_S)]
            now_s = time.monotonic()
            if running and now_s >= say_s and self._plan.hook:
                say_s = until_s
                self._say(words.waiting(self._plan.hook[0], self._plan.hook_timeout_s))

    def _make(self, plan: AlertPlan) -> Hooks:
        log = hook_log(self._book)

        def told(ended: HookEnded) -> None:
            self._say(hook_trouble(plan, ended, log))

        return Hooks(plan.hook, plan.hook_timeout_s, log, told)

    def _desktop(self, title: str, text: str) -> None:
        if self._notify is not None:
            self._notify(title, text)
        else:
            alerts_desktop.notify_soon(title, text, urgent=True)

    def _keep(self, document: Json) -> None:
        """Add a line to the log, which makes way for a new one when it is large."""
        path = self._book.log / "alerts.jsonl"
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and path.stat().st_size > LOG_BYTES:
                path.replace(path.with_name(f"{path.name}.1"))
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(document, allow_nan=False) + "\n")


def heading(origin: Origin) -> str:
    """Head of a notification: who tells, and whether the card is real."""
    return "gputuner" if origin is Origin.MEASURED else f"gputuner · {terms.origin(origin)}"


def hook_trouble(plan: AlertPlan, ended: HookEnded, log: Path) -> str:
    """What went wrong with a run of the hook, in a sentence."""
    return words.trouble(
        ended.trouble,
        program=plan.hook[0],
        message=ended.message,
        exit_code=ended.exit_code,
        timeout_s=plan.hook_timeout_s,
        log=str(log),
    )


def change_document(change: AlertChange, card: CardInfo | None, origin: Origin, event: str | None = None) -> Json:
    """What a hook reads and ``--json`` tells of a change."""
    title, detail = (card.title if card is not None else change.card), change.detail
    if change.rule.kind is AlertKind.XID and change.value is not None:
        detail = words.xid(round(change.value))
    return {
        "schema": "gputuner.alert/1",
        "event": event or ("raised" if change.raised else "cleared"),
        "alert": change.rule.name,
        "kind": change.rule.kind.value,
        "card": {"uuid": change.card, "index": None if card is None else card.index, "title": title},
        "value": change.value,
        "threshold": change.rule.threshold,
        "unit": KINDS[change.rule.kind].unit or None,
        "detail": detail,
        "lasted_s": change.lasted_s,
        "quiet": change.quiet,
        "message": words.told(change, title),
        "unix_s": time.time(),
        "origin": origin.value,
        "simulated": origin is Origin.SIMULATED,
    }


def change_of(event: AlertRaised | AlertCleared) -> AlertChange:
    """What a run told, as a change."""
    rule = AlertRule(name=event.rule, kind=event.alert, threshold=event.threshold)
    raised = isinstance(event, AlertRaised)
    return AlertChange(
        rule=rule,
        card=event.card,
        t_ns=event.t_ns,
        raised=raised,
        value=event.value,
        detail=event.detail,
        quiet=isinstance(event, AlertRaised) and event.quiet,
        lasted_s=event.lasted_s if isinstance(event, AlertCleared) else None,
    )


def example_document(card: CardInfo | None, origin: Origin) -> Json:
    """A change as it could be, marked as a test."""
    rule = default_rule(AlertKind.TEMPERATURE)
    uuid = card.uuid if card is not None else ""
    change = AlertChange(rule=rule, card=uuid, t_ns=0, raised=True, value=rule.threshold)
    return change_document(change, card, origin, event="test")


def variables(document: Json) -> dict[str, str]:
    """The same in variables of the environment, for hooks that read no JSON."""
    card = cast("Json", document["card"])
    told = {name.upper(): document[name] for name in _TOLD}
    told |= {"CARD": card["uuid"], "CARD_INDEX": card["index"], "CARD_NAME": card["title"]}
    return {f"GPUTUNER_{name}": "" if value is None else str(value) for name, value in told.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How alerts reach the user from here (``desktop`` or ``terminal``), and which process tells of them now."""

    way: str
    teller: int | None


def standing(book: AlertBook) -> Standing:
    """How it stands now; asks no card."""
    way = "desktop" if alerts_desktop.program() is not None else "terminal"
    held = holders(book.data_dir, LOCK)
    return Standing(way=way, teller=held[0].pid if held else None)


def rates_of(book: AlertBook) -> Rates:
    """How often the user wants the cards read."""
    preferences = load_preferences(paths(book.data_dir).preferences).preferences
    return Rates(fast_hz=preferences.fast_hz, slow_s=preferences.slow_s)


def watch_of(book: AlertBook, cards: Iterable[CardInfo]) -> AlertWatch:
    """The rules of the plan over these cards."""
    return AlertWatch(book.watched()[0].rules, cards, rates_of(book))


def hook_log(book: AlertBook) -> Path:
    """Where the hook's words go."""
    return book.log / "alert-hook.log"


def tell_test(plan: AlertPlan, origin: Origin) -> str:
    """Tell the desktop of a test; the way that works here (``language.alerts.WAYS``)."""
    if not plan.notify:
        return "off"
    return "desktop" if alerts_desktop.notify(heading(origin), test_words(), urgent=False) else "terminal"


def test_words() -> str:
    """What a test says."""
    return _("This is a test of alerts; no card is in danger.")


def bell(stream: TextIO) -> str:
    """The terminal's bell; nothing for a pipe."""
    return "\a" if stream.isatty() else ""
