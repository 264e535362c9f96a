"""What the window is handed: the same setup as the command line's, in the calls that pages make."""

import os
import secrets
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from gputuner.analysis.regression import Key, stored_spread
from gputuner.analysis.session_spread import SessionSpread
from gputuner.analysis.supply_draw import CardDraw
from gputuner.analysis.wear import Wear
from gputuner.assembly import feeds, tries
from gputuner.assembly.alerts import AlertBook
from gputuner.assembly.alerts_window import WindowAlerts
from gputuner.assembly.knowledge import sheets
from gputuner.assembly.offered import Offered, offered
from gputuner.assembly.setup import Setup
from gputuner.assembly.supply import draws_of
from gputuner.assembly.watching import WatchedRun
from gputuner.assembly.wear import wear_of
from gputuner.assembly.window_queue import WindowQueue
from gputuner.engine.in_turn import InTurn
from gputuner.engine.locks import holders
from gputuner.engine.run import Run
from gputuner.experiments.batch import Batch
from gputuner.experiments.bench import Bench
from gputuner.experiments.contention import Contend
from gputuner.experiments.cooling import Cooling
from gputuner.experiments.health import Health
from gputuner.experiments.loading import Loading
from gputuner.experiments.numerics import Numerics
from gputuner.experiments.power import Power
from gputuner.experiments.record import Record
from gputuner.experiments.subject import BUILT_IN
from gputuner.experiments.switches import Switching
from gputuner.experiments.tune import Tune
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import NoCard, UsageError
from gputuner.model.holders import Holder
from gputuner.model.planned import Planned
from gputuner.model.points import Point
from gputuner.sessions.earlier import telling_spread
from gputuner.sessions.library import Entry
from gputuner.sessions.reader import SessionReader
from gputuner.settings import preferences
from gputuner.settings.paths import paths
from gputuner.telemetry.feed import Feed, Notice
from gputuner.telemetry.replayed import ReplayFeed

QUESTIONS = (Switching, Numerics, Loading)
"""What can be asked of a training beside its batch size."""
SPECS = (Tune, Batch, Bench, Contend, Power, Cooling, Health, *QUESTIONS)


class WindowPorts:
    """Meets ``gui.ports.Ports`` over a :class:`Setup`."""

    def __init__(self, setup: Setup) -> None:
        """Take over ``setup``; its maker closes it."""
        self._setup = setup
        self._preferences = paths(setup.data_dir).preferences
        self._queue = WindowQueue(setup)
        self._alerts = WindowAlerts(AlertBook(setup.data_dir), setup.origin)

    @property
    def feed(self) -> Feed:
        """The feed that Monitor starts with."""
        return self._setup.feed

    @property
    def tune_spec(self) -> type[Tune]:
        """Its fields make the form of the page Tune."""
        return Tune

    @property
    def bench_spec(self) -> type[Bench]:
        """The page Benchmarks makes one."""
        return Bench

    @property
    def batch_spec(self) -> type[Batch]:
        """Its fields make the form of the page Training."""
        return Batch

    @property
    def contend_spec(self) -> type[Contend]:
        """Its fields make the form of the page Share."""
        return Contend

    @property
    def power_spec(self) -> type[Power]:
        """Its fields make the form of the page Power."""
        return Power

    @property
    def cooling_spec(self) -> type[Cooling]:
        """Its fields make the form of the page Cooling."""
        return Cooling

    @property
    def health_spec(self) -> type[Health]:
        """Its fields make the form of the page Health."""
        return Health

    @property
    def sold_names(self) -> Mapping[str, str]:
        """Names of the cards of the catalogue, by id."""
        return {card.id: card.name for card in sheets().values()}

    def wear(self, card: str, told: Callable[[int, int], object], stop: Callable[[], bool]) -> Wear | None:
        """The wear of a card from its stored sessions of this origin; None: there is none of it.

        Raises:
            WearStopped: ``stop`` said so.
        """

        def count(done: int, total: int) -> None:
            told(done, total)

        return wear_of(self._setup.sessions, card, origin=self._setup.origin, told=count, stop=stop)

    @property
    def queue(self) -> WindowQueue:
        """The job queue of the data folder."""
        return self._queue

    @property
    def alerts(self) -> WindowAlerts:
        """The user's alerts."""
        return self._alerts

    @property
    def questions(self) -> Mapping[str, type[object]]:
        """The further questions of the page Training."""
        return {spec.name: spec for spec in QUESTIONS}

    @property
    def trainings(self) -> tuple[str, ...]:
        """Names of the built-in trainings."""
        return tuple(BUILT_IN)

    def benchmarks(self, card: str) -> tuple[Offered, ...]:
        """The suite as it stands on a card."""
        chosen = self._chosen((card,))[0]
        return offered(self._setup.machine(chosen))

    def start(self, spec: object, cards: tuple[str, ...], share: bool) -> Run | InTurn:
        """Start on the cards in turn.

        Raises:
            GputunerError: it cannot start on the first.
        """
        assert isinstance(spec, SPECS)
        chosen = self._chosen(cards)
        starts = [partial(self._setup.start, spec, (card,), share=share) for card in chosen]
        return InTurn(starts[0](), starts[1:]) if len(starts) > 1 else starts[0]()

    def dry_run(self, spec: object, cards: tuple[str, ...], share: bool) -> Planned:
        """What ``start`` would do.

        Raises:
            GputunerError: it could not start.
        """
        assert isinstance(spec, SPECS)
        self._setup.check(spec)
        chosen = self._chosen(cards)
        steps = tuple(s for card in chosen for s in self._setup.dry_run(spec, (card,), share=share))
        return Planned(steps=steps, expected_s=sum(s.expected_s for s in steps))

    def start_try(self, session: str, name: str, folder: str, share: bool) -> Run:
        """Try an advice of a stored session on its card.

        Raises:
            GputunerError: there is none such, it cannot be tried here, or it cannot start.
        """
        return tries.start_try(self._setup, session, name, folder, share=share)

    def tries(self, session: str) -> Mapping[str, tuple[Point, Path]]:
        """What came of a session's advice that was tried, by name."""
        return tries.tries_of(self._setup, session)

    def start_record(self, cards: tuple[str, ...]) -> Run:
        """Record telemetry until cancelled.

        Raises:
            GputunerError: it cannot start.
        """
        return self._setup.start(Record(), self._chosen(cards))

    def start_watch(
        self, argv: tuple[str, ...], folder: Path | None, hooks: bool, cards: tuple[str, ...] = ()
    ) -> WatchedRun:
        """Start a command of the user's apart from the window, and follow it; ``cards`` empty: all there are.

        Raises:
            GputunerError: it cannot be started, or the cards are not real.
        """
        if not argv:
            raise UsageError("watch_no_command", "no command was given")
        chosen = self._chosen(cards) if cards else self._setup.cards()
        output = paths(self._setup.data_dir).log / f"watch-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}.log"
        begun = self._setup.launch(argv, hooks=hooks, folder=folder, output=output)
        try:
            run = self._setup.watch(begun, chosen)
        except BaseException:  # nobody would see it, or could end it
            begun.send(signal.SIGTERM)
            begun.forget()
            raise
        return WatchedRun(run, begun, output)

    def sessions(self, also: Sequence[Path] = ()) -> Sequence[Entry]:
        """All stored sessions, newest first, and before them the files named."""
        return self._setup.sessions.entries(also)

    def open_session(self, path: Path) -> SessionReader:
        """Open a session.

        Raises:
            StoreError: it cannot be read.
        """
        return self._setup.sessions.open(path)

    def spreads(self, path: Path, but: str) -> Mapping[Key, SessionSpread]:
        """How far figures of stored sessions lie apart, up to the one at ``path``.

        Raises:
            StoreError: it cannot be read.
        """
        known = self._setup.sessions
        stored = known.open(path)
        try:
            points, started = stored.points(), stored.started
        finally:
            stored.close()
        earlier = telling_spread(known, started.cards[0], started, points, but=but) if started.cards else []
        return stored_spread(earlier)

    def draw(self, card: str) -> CardDraw:
        """What a card drew by its stored sessions.

        Raises:
            GputunerError: it is the processor, there is no such card, or nothing tells its watts.
        """
        return draws_of(self._setup.data_dir, self._chosen((card,)), self._setup.origin)[0]

    def replay(self, path: Path) -> ReplayFeed:
        """Play a session back.

        Raises:
            StoreError: it cannot be read, or holds no telemetry.
        """
        return feeds.replay_feed(path)

    def delete_session(self, path: Path) -> None:
        """Delete a session for good.

        Raises:
            StoreError: it is in use or cannot be deleted.
        """
        self._setup.sessions.delete(path)

    def export_session(self, path: Path, form: str, target: Path) -> tuple[Path, ...]:
        """Write a session out.

        Raises:
            StoreError: it cannot be read or written.
        """
        return self._setup.sessions.export(path, form, target, overwrite=True)

    def elsewhere(self, cards: Sequence[str]) -> Mapping[str, tuple[Holder, ...]]:
        """Which other processes of gputuner use or read each of the cards; of ``""`` which read all (real ones)."""
        real = self._setup.origin is Origin.MEASURED
        found = {card: holders(self._setup.data_dir, card) for card in cards if card or real}
        return {card: tuple(h for h in those if h.pid != os.getpid()) for card, those in found.items()}

    def preference(self, name: str) -> str | None:
        """A stored preference, or None."""
        value = getattr(preferences.load(self._preferences).preferences, name, None)
        return None if value is None else str(value)

    def preference_notices(self) -> tuple[Notice, ...]:
        """What is wrong with the file of the preferences now, whatever it was when the program started."""
        path = str(self._preferences)
        found = preferences.load(self._preferences).problems
        return tuple(Notice(code=each.code, t_ns=0, params={"path": path, "key": each.key or ""}) for each in found)

    def set_preference(self, name: str, value: str) -> None:
        """Store a preference.

        Raises:
            StoreError: it cannot be stored.
        """
        preferences.change(self._preferences, **{name: value})

    def _chosen(self, uuids: tuple[str, ...]) -> tuple[CardInfo, ...]:
        by_uuid = {card.uuid: card for card in self._setup.cards()}
        missing = [uuid for uuid in uuids if uuid not in by_uuid]
        if missing or not uuids:
            raise NoCard("no_such_card", f"no card {', '.join(missing)}", card=", ".join(missing), known="")
        return tuple(by_uuid[uuid] for uuid in uuids)
