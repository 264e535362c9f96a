"""The user's alerts while the queue is served: those that meet a running job are told, and kept as a session."""

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from gputuner.assembly.alerts import AlertBook, watch_of
from gputuner.assembly.queue_alert_session import NS, AlertSession
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.alerts import AlertChange
from gputuner.model.cards import CardInfo
from gputuner.model.errors import StoreError
from gputuner.model.events import AlertCleared, AlertRaised, Warned
from gputuner.model.fingerprint import HostFingerprint
from gputuner.sessions.writer import SessionWriter
from gputuner.telemetry.feed import Feed, Tick

LOOK_S = 1.0
PLAN_S = 2.0
"""How often it is looked whether the alerts were changed."""
LINGER_NS = 30 * NS
"""A job counts as there for so long after its end: what ended it may be told a little later."""
Told = Callable[[AlertRaised | AlertCleared, Sequence[CardInfo]], None]
JobsOn = Callable[[str], Sequence[int]]


class JobAlerts:
    """Judges the feed of a runner in a thread of its own, from ``start`` to ``close``.

    An alert is told once it is raised on a card that a job runs on, also where the job came to a card that had it
    already, and told again when it is over.
    """

    def __init__(
        self,
        data_dir: Path,
        feed: Feed,
        cards: Sequence[CardInfo],
        host: Callable[[], HostFingerprint],
        jobs_on: JobsOn,
        tell: Told,
        say: Callable[[str], None],
    ) -> None:
        """Nothing starts yet.

        Args:
            data_dir: whose alerts, and where sessions go.
            feed: the telemetry of the cards.
            cards: those that are served.
            host: the machine around them, asked when a session begins.
            jobs_on: the jobs that run on a card (its UUID).
            tell: gets each alert, in a thread of ours.
            say: is told in a sentence what went wrong.
        """
        self._book = AlertBook(data_dir)
        self._feed, self._jobs_on, self._tell, self._say = feed, jobs_on, tell, say
        self._cards = {card.uuid: card for card in cards}
        self._watch = watch_of(self._book, cards)
        self._met: set[tuple[str, str, str]] = set()
        self._last: dict[str, tuple[int, Sequence[int]]] = {}
        self._session = AlertSession(
            lambda: SessionWriter.create(data_dir, f"{time.strftime('%Y%m%d-%H%M%S')}-record-{secrets.token_hex(2)}"),
            host,
            feed,
        )
        self._broken: set[str] = set()
        self._ticks: SimpleQueue[Tick | None] = SimpleQueue()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="alerts of the queue", daemon=True)

    def start(self) -> None:
        """Begin to judge."""
        self._thread.start()

    def close(self) -> None:
        """Stop, and finish a session that is open; idempotent."""
        self._closing.set()
        self._ticks.put(None)
        if self._thread.ident is not None:
            self._thread.join()
        self._kept(self._session.close)

    def take(self, tick: Tick) -> None:
        """Judge one tick."""
        self._cards |= {card.uuid: card for card in tick.cards if card.uuid in self._cards}
        self._kept(lambda: self._session.take(tick, self._cards, standing=bool(self._met)))
        self._note(self._watch.take(tick), tick.t_ns)

    def _serve(self) -> None:
        stop = self._feed.subscribe(self._ticks.put)
        planned_s, last = time.monotonic(), (time.monotonic_ns(), time.monotonic())
        try:
            while not self._closing.is_set():
                now_s = time.monotonic()
                if now_s - planned_s >= PLAN_S:
                    planned_s = now_s
                    self._follow(last[0])
                try:
                    tick = self._ticks.get(timeout=LOOK_S)
                except Empty:
                    t_ns = last[0] + round((time.monotonic() - last[1]) * NS)
                    self._note(self._watch.look(t_ns), t_ns)
                    continue
                if tick is not None:
                    last = tick.t_ns, time.monotonic()
                    self.take(tick)
        finally:
            stop()

    def _follow(self, t_ns: int) -> None:
        plan, error = self._book.watched()
        if error is not None:
            self._say_once(error.code, sentences.error(error))
        self._note(self._watch.follow(plan.rules, t_ns), t_ns)

    def _note(self, changes: Sequence[AlertChange], t_ns: int) -> None:
        for change in changes:
            if not change.raised and change.key in self._met:
                self._met.discard(change.key)
                self._say_of(change, t_ns)
        fresh = {change.key for change in changes if change.raised}
        for change in self._watch.raised:
            if (change.key in fresh or change.key not in self._met) and (jobs := self._jobs(change.card, t_ns)):
                self._met.add(change.key)
                self._say_of(change, t_ns, jobs)

    def _jobs(self, card: str, t_ns: int) -> Sequence[int]:
        """Jobs that are on the card, or have just been; none on a card that is not served."""
        if card not in self._cards:
            return ()
        if jobs := self._jobs_on(card):
            self._last[card] = t_ns, jobs
        at_ns, known = self._last.get(card, (0, ()))
        return known if t_ns - at_ns <= LINGER_NS else ()

    def _say_of(self, change: AlertChange, t_ns: int, jobs: Sequence[int] = ()) -> None:
        fields: dict[str, Any] = {
            "card": change.card,
            "rule": change.rule.name,
            "alert": change.rule.kind,
            "value": change.value,
            "threshold": change.rule.threshold,
            "detail": change.detail,
        }
        kind: type[AlertRaised | AlertCleared] = AlertRaised if change.raised else AlertCleared
        fields |= {"quiet": change.quiet} if change.raised else {"lasted_s": change.lasted_s}
        self._kept(lambda: self._session.tell(kind, t_ns, fields, self._cards))
        if jobs:
            params = {"jobs": ", ".join(map(str, jobs)), "card": self._cards[change.card].title}
            self._kept(
                lambda: self._session.tell(Warned, t_ns, {"code": "alert_beside_jobs", "params": params}, self._cards)
            )
        self._tell(kind(run_id=self._session.run_id, seq=0, t_ns=t_ns, **fields), tuple(self._cards.values()))

    def _kept(self, call: Callable[[], None]) -> None:
        try:
            call()
        except StoreError as error:
            self._session.drop()
            self._say_once(error.code, _("Alerts are told, but not kept: {why}").format(why=sentences.error(error)))

    def _say_once(self, code: str, text: str) -> None:
        if code not in self._broken:
            self._broken.add(code)
            self._say(text)
