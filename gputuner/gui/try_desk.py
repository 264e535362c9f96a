# pyright: standard
"""Where an advice is tried from: one at a time, whatever page shows it; what came of each is kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gputuner.advice.tried import gain_point
from gputuner.gui.desk import Desk
from gputuner.gui.ports import Ports, Run
from gputuner.gui.refusals import refusal
from gputuner.gui.run_state import Phase, RunFacts
from gputuner.gui.run_worker import Background
from gputuner.language import numbers, sentences
from gputuner.language.words import _
from gputuner.model.cards import Origin
from gputuner.model.events import Event, Outcome, RunFinished
from gputuner.model.points import Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of one try: its figure, its session's file, and what its reader must know."""

    point: Point
    path: Path | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """How the advice of one session stands: what can be tried, what is being tried, and what came of it."""

    session: str = ""
    """Id of its run; empty: none of its advice can be tried."""
    blocked: str = ""
    """Why none can be started now; empty: it can."""
    cards: frozenset[str] = frozenset()
    """UUIDs of the session's cards."""
    running: str = ""
    """Name of the advice that is being tried."""
    line: str = ""
    """How far that is."""
    stopping: bool = False
    done: Mapping[str, Tried] = field(default_factory=lambda: {})
    failed: Mapping[str, str] = field(default_factory=lambda: {})
    """Why a try gave nothing, by name."""


class TryDesk(Desk):
    """One try at a time.

    ``changed`` when anything of what is shown may have changed; events of the try come through ``state`` too.
    """

    changed = Signal()

    def __init__(self, ports: Ports, background: Background, parent: QObject | None = None) -> None:
        super().__init__(ports, background, parent)
        self._asked: set[str] = set()
        self._now = ("", "")
        self._done: dict[str, dict[str, Tried]] = {}
        self._failed: dict[str, dict[str, str]] = {}
        self._folders: dict[str, str] = {}
        self._cards_of: dict[str, frozenset[str]] = {}
        self._held: Callable[[frozenset[str]], str] = lambda _cards: ""
        for signal in (self.state.changed, self.state.progressed):
            signal.connect(self.changed)
        self.thread_.finished.connect(self._over)

    def use_held(self, held: Callable[[frozenset[str]], str]) -> None:
        """``held``: who else in this window measures on these cards, in a sentence; empty: none."""
        self._held = held

    def remember_folder(self, run_id: str, folder: str) -> None:
        """Where the recipe of a run lies: a session does not hold it."""
        self._folders[run_id] = folder

    def begin(self, session: str, name: str, share: bool = False) -> None:
        """Try an advice of a stored session; nothing happens while one is tried."""
        if self.thread_.busy:
            return
        self._now = (session, name)
        self._failed.get(session, {}).pop(name, None)
        folder = self._folders.get(session, "")
        self._cards = self._cards_of.get(session, frozenset())
        start: Callable[[], Run] = lambda: self._ports.start_try(session, name, folder, share)  # noqa: E731
        self._begin(start)

    def learn(self, session: str) -> None:
        """Ask (once) what came of a session's advice so far."""
        if session and session not in self._asked:
            self._asked.add(session)
            self._background.ask(lambda: self._ports.tries(session), lambda told: self._learned(session, told))

    def tries(self, facts: RunFacts, origin: Origin) -> Tries:
        """How the advice of a run stands; ``origin``: of the cards that the window is about."""
        started = facts.started
        if started is None or facts.finished is None or started.origin is not origin or origin is Origin.REPLAYED:
            return Tries()
        session = started.run_id
        cards = self._cards_of[session] = frozenset(card.uuid for card in started.cards)
        mine = self.thread_.busy and self._now[0] == session
        return Tries(
            session=session,
            blocked=_("Another advice is being tried") if self.thread_.busy else self._held(cards),
            cards=cards,
            running=self._now[1] if mine else "",
            line=self._line() if mine else "",
            stopping=self.state.phase is Phase.STOPPING,
            done=dict(self._done.get(session, {})),
            failed=dict(self._failed.get(session, {})),
        )

    def _line(self) -> str:
        facts, step = self.state.facts, self.state.facts.step
        if self.state.phase is Phase.STOPPING:
            return _("stopping; what was measured is kept")
        if step is None:
            return _("starting the measuring process…")
        left = _("about {time} left").format(time=numbers.duration(round(facts.remaining_s)))
        return f"{sentences.step(step.label, step.params)} · {left}"

    def _told(self, event: Event) -> None:
        super()._told(event)
        point = gain_point(self.state.facts.points)
        session, name = self._now
        if isinstance(event, RunFinished) and point is not None:
            run = self.thread_.run
            told = dict.fromkeys(sentences.warning(w.code, w.params) for w in self.state.facts.warnings)
            found = Tried(point=point, path=run.session_path if run is not None else None, remarks=tuple(told))
            self._done.setdefault(session, {})[name] = found
        elif isinstance(event, RunFinished):
            self._fail(self._ended_words(event))

    def _ended_words(self, finished: RunFinished) -> str:
        if finished.error_code is not None and finished.outcome is not Outcome.CANCELLED:
            return sentences.error(finished.error_code, finished.error_params, finished.error_text)
        told = [sentences.warning(w.code, w.params) for w in self.state.facts.warnings]
        return "\n".join(dict.fromkeys(told)) or _("It ended before there was a gain to tell")

    def _over(self) -> None:
        if self.state.phase is Phase.REFUSED:
            err = self.state.error
            self._fail(refusal(err) if err is not None else _("It ended before there was a gain to tell"))
        self.changed.emit()

    def _fail(self, words: str) -> None:
        session, name = self._now
        self._failed.setdefault(session, {})[name] = words

    def _learned(self, session: str, told: Mapping[str, tuple[Point, Path]]) -> None:
        known = self._done.setdefault(session, {})
        for name, (point, path) in told.items():
            known.setdefault(name, Tried(point=point, path=path))
        if told:
            self.changed.emit()
