"""The program as the options ask for it: cards, engine, sessions. Nothing starts before its first use."""

import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

import psutil

from gputuner.assembly import stages
from gputuner.assembly.alerts import rules_of
from gputuner.assembly.choosing import Cards
from gputuner.assembly.control import How
from gputuner.assembly.knowledge import KNOWLEDGE, with_record
from gputuner.assembly.recipes import check_recipes
from gputuner.assembly.rehearsal import rehearse
from gputuner.assembly.visibility import Seen, instance_free_bytes
from gputuner.assembly.watching import begin, elsewhere
from gputuner.catalog import load
from gputuner.engine.engine import Engine
from gputuner.engine.options import Options
from gputuner.engine.run import Run
from gputuner.engine.safety import SafetyLimits
from gputuner.engine.stage import Stage
from gputuner.engine.watched import Launch
from gputuner.engine.watched_begun import Begun
from gputuner.experiments.benchmarks.benchmark import Machine
from gputuner.experiments.protocol import Experiment
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import (
    ImportLogError,
    StoreError,
    UsageError,
)
from gputuner.model.findings import Finding
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.planned import PlannedStep, Rehearsed
from gputuner.model.readings import Scalar
from gputuner.model.steps import Warn
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.writer import SessionWriter
from gputuner.settings.paths import paths
from gputuner.settings.preferences import Preferences, Problem
from gputuner.settings.preferences import load as load_preferences
from gputuner.telemetry.feed import Feed, Notice
from gputuner.telemetry.rates import Rates
from gputuner.telemetry.replayed import ReplayFeed

CPU_CAP_BYTES = 4 * 2**30
CPU_CAP_SHARE = 0.25
SIMULATED_SEED = 1


class Setup:
    """One program: its telemetry, its engine and its stored sessions. Close it."""

    def __init__(
        self,
        *,
        simulate: Sequence[str],
        replay: Path | None,
        data_dir: Path,
        python: str | None,
        memory_cap_bytes: int | None,
        preferences: Preferences,
        problems: Sequence[Problem] = (),
    ) -> None:
        """Keep the choice; nothing starts. ``problems``: what was wrong with the file of ``preferences``."""
        self.data_dir = data_dir
        self.preferences = preferences
        self._problems = tuple(problems)
        self.python = python
        self.simulate = tuple(simulate)
        self._replay = replay
        self._memory_cap_bytes = memory_cap_bytes
        self._rights: How = "auto"
        self._rates = Rates(fast_hz=preferences.fast_hz, slow_s=preferences.slow_s)
        self._cards = Cards(
            simulate=self.simulate,
            replay=replay,
            data_dir=data_dir,
            rates=self._rates,
            preferred=preferences.selected_card,
        )

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        return self._cards.origin

    @property
    def feed(self) -> Feed:
        """Telemetry of all cards; starts with its first use."""
        return self._cards.feed

    @property
    def sessions(self) -> SessionLibrary:
        """The stored sessions of the data folder."""
        return SessionLibrary(self.data_dir)

    def cards(self) -> tuple[CardInfo, ...]:
        """Every card as it stands; ``cpu`` only where there is no other, or it was named."""
        return self._cards.all()

    def notices(self) -> tuple[Notice, ...]:
        """What the telemetry met that a reader must know, and what is wrong with preferences; starts nothing."""
        path = str(paths(self.data_dir).preferences)
        return (
            *(Notice(code=each.code, t_ns=0, params={"path": path, "key": each.key or ""}) for each in self._problems),
            *self._cards.notices(),
        )

    def select(self, selection: str | None, *, for_experiment: bool) -> tuple[CardInfo, ...]:
        """The cards of ``--gpu``; without it all for viewing, and for an experiment the one that suits best.

        Raises:
            NoCard: there is none, or it is hidden by ``CUDA_VISIBLE_DEVICES``.
            DeviceError: the driver does not answer.
            UsageError: the selection is empty, unknown or ambiguous.
        """
        return self._cards.select(selection, for_experiment=for_experiment)

    def seen(self) -> Seen:
        """What ``CUDA_VISIBLE_DEVICES`` leaves to experiments.

        Raises:
            UsageError: an entry is the beginning of several UUIDs.
        """
        return self._cards.seen()

    def host(self) -> HostFingerprint:
        """The machine around the cards."""
        return stages.host_of(self.data_dir)()

    def start(self, spec: Experiment, cards: Sequence[CardInfo], *, share: bool = False) -> Run:
        """Start an experiment.

        Raises:
            CardBusy: others compute on the card, or another gputuner uses it.
            NoCard: the card is not there, or hidden by ``CUDA_VISIBLE_DEVICES``.
            StoreError: the session cannot be written.
            UsageError: the cards are replayed or simulated, and the experiment needs to work on them.
        """
        self.check(spec)
        spec = self._fitted(spec, cards[0])
        self._rights = getattr(spec, "rights", "auto")
        notes: tuple[Warn, ...] = ()
        beside: tuple[CardInfo, ...] = ()
        if spec.needs_worker:
            seen = self.seen()
            seen.require(cards)
            notes, beside = (*seen.notes(), *self._cap_notes(cards[0])), self._cards.beside(cards)
        alerts, broken = rules_of(self.data_dir)
        options = Options(
            cards=tuple(card.uuid for card in cards),
            share=share,
            memory_cap_bytes=self._cap_bytes(cards[0]),
            memory_cap_given=self._memory_cap_bytes is not None,
            safety=SafetyLimits(core_max_c=self.preferences.safety_core_c),
            seed=getattr(spec, "seed", 0),
            users_mps=getattr(spec, "users_mps", False),
            notes=(*notes, *broken),
            beside=tuple(card.uuid for card in beside),
            alerts=alerts,
        )
        return self.engine.start(spec, options)

    def launch(
        self,
        argv: Sequence[str],
        *,
        hooks: bool,
        to_stderr: bool = False,
        folder: Path | None = None,
        output: Path | None = None,
        around: AbstractContextManager[object] | None = None,
    ) -> Begun:
        """Start a command of the user's: on our own streams, or apart where ``output``, a file, takes its words.

        Raises:
            CommandError: it cannot be started.
            UsageError: the cards are simulated or replayed.
        """
        if self.origin is not Origin.MEASURED:
            option = "--simulate" if self.simulate else "--replay"
            raise UsageError("watch_real_only", f"{option}: a command runs on real cards", option=option)
        apart = output is not None
        launch = Launch(argv=tuple(argv), folder=folder, output=output, to_stderr=to_stderr, apart=apart)
        return begin(launch, os.environ, hooks=hooks, collector_s=self._cards.own_cpu_s, around=around)

    def watch(self, begun: Begun, cards: Sequence[CardInfo], *, kept: bool = True) -> Run:
        """Follow a command that has been started, and the cards; ends with it. ``kept`` False: no session is made.

        Raises:
            NoCard: a card is not there.
            StoreError: the session cannot be written.
        """
        from gputuner.experiments.watch import WatchCommand

        spec = WatchCommand(command=begun.words, hooks=begun.hooks)
        alerts, broken = rules_of(self.data_dir)
        options = Options(
            cards=tuple(card.uuid for card in cards),
            following=begun.following,
            notes=(*elsewhere(begun.words), *broken),
            alerts=alerts,
        )
        engine = self.engine if kept else Engine(self._open_stage, None, None, KNOWLEDGE)
        return engine.start(spec, options)

    def check(self, spec: Experiment) -> None:
        """Refuse what no card here could run.

        Raises:
            UsageError: the cards are replayed, a recipe or a command meets simulated ones, a recipe's file is not
                there, or there is no such Python.
        """
        if not spec.needs_worker:
            return
        self._check_python()
        if self._replay is not None:
            raise UsageError("replay_no_experiment", "a replayed card cannot run an experiment")
        check_recipes(spec, simulated=bool(self.simulate))
        if self.simulate and getattr(spec, "commands", ()):
            raise UsageError("watch_real_only", "a command runs on real cards", option="--simulate")

    @cached_property
    def engine(self) -> Engine:
        """The engine; holds nothing until a run starts."""
        return Engine(self._open_stage, self._open_store, self.data_dir, with_record(self.sessions))

    def machine(self, card: CardInfo) -> Machine:
        """What can be told of a card, its neighbours and the software before anything runs."""
        return Machine(card=card, others=self._cards.beside((card,)), kernels=KNOWLEDGE.kernels(card))

    def rehearse(self, spec: Experiment, card: CardInfo) -> Rehearsed:
        """What ``start`` would do and leave out; touches nothing.

        Raises:
            UsageError: a recipe on a simulated card, or one whose file is not there.
        """
        check_recipes(spec, simulated=bool(self.simulate))
        spec = self._fitted(spec, card)
        beside = self._cards.beside((card,)) if spec.needs_worker and not card.is_cpu else ()
        return rehearse(spec, card, self._cap_bytes(card), beside)

    def dry_run(self, spec: Experiment, cards: Sequence[CardInfo], *, share: bool = False) -> Sequence[PlannedStep]:
        """The steps that ``start`` would take; touches nothing."""
        return self.rehearse(spec, cards[0]).steps

    def doctor(self) -> tuple[Finding, ...]:
        """What on this machine stands in the way."""
        from gputuner.assembly.doctor import examine

        return examine(self)

    def close(self) -> None:
        """Stop telemetry and its child; idempotent."""
        self._cards.close()

    def _fitted(self, spec: Experiment, card: CardInfo) -> Experiment:
        """``spec`` as it suits the card, with what stored sessions know."""
        if not spec.needs_worker:
            return spec
        from gputuner.assembly.fitted import fitted  # every experiment with its benchmarks, which viewing needs not

        return fitted(spec, card, self.sessions, self.origin)

    def _check_python(self) -> None:
        if self.python is not None and shutil.which(self.python) is None:
            code = "python_not_executable" if os.path.exists(self.python) else "python_missing"
            raise UsageError(code, f"{self.python} cannot be run as a Python", interpreter=self.python)

    def _open_stage(self) -> Stage:
        host = stages.host_of(self.data_dir)
        if self.simulate:
            return stages.simulated_stage(self.simulate, self._rates, SIMULATED_SEED, host)
        if self._replay is not None and isinstance(self._cards.main, ReplayFeed):
            return stages.replayed_stage(self._cards.main)
        seen = self.seen()

        def device_uuid(card: CardInfo) -> str:
            device = seen.device(card)
            return device.uuid if device else card.uuid

        return stages.wall_stage(self.feed, self.python, self._rates, host, device_uuid, self._rights)

    def _open_store(self, run_id: str) -> SessionWriter:
        return SessionWriter.create(self.data_dir, run_id)

    def _cap_notes(self, card: CardInfo) -> tuple[Warn, ...]:
        """What is to be said of a cap on memory above what there is."""
        asked, there = self._memory_cap_bytes, card.memory_total_bytes
        if asked is None or there is None or asked <= there:
            return ()
        params: dict[str, Scalar] = {"card": card.title, "cap_bytes": asked, "total_bytes": there}
        return (Warn(code="memory_cap_beyond", params=params),)

    def _cap_bytes(self, card: CardInfo) -> int | None:
        """The cap on memory; one above what there is caps nothing."""
        asked = None if self._cap_notes(card) else self._memory_cap_bytes
        if not card.is_cpu:
            bounds = (asked, instance_free_bytes(self.seen().device(card)))
            return min((bound for bound in bounds if bound is not None), default=None)
        if self._memory_cap_bytes is not None:
            return asked or card.memory_total_bytes
        return int(min(CPU_CAP_BYTES, CPU_CAP_SHARE * psutil.virtual_memory().available))


def open_setup(
    *,
    simulate: tuple[str, ...] = (),
    replay: Path | None = None,
    data_dir: Path | None = None,
    python: str | None = None,
    memory_cap_bytes: int | None = None,
) -> Setup:
    """Put the program together; touches no card.

    Raises:
        UsageError: ``simulate`` names no card of the catalogue, or options exclude each other.
        ImportLogError: ``replay`` is a folder, a pipe or a device.
        StoreError: the data folder is no folder.
    """
    if simulate and replay is not None:
        raise UsageError("simulate_or_replay", "--simulate and --replay exclude each other")
    if replay is not None and os.path.exists(replay) and not os.path.isfile(replay):
        raise ImportLogError("no_session_file", f"{replay} is no session file", path=str(replay))
    for card_id in simulate:
        load().card(card_id)
    where = paths(data_dir)
    if os.path.exists(where.data_dir) and not os.path.isdir(where.data_dir):
        raise StoreError("data_dir_no_folder", f"{where.data_dir} is not a folder", path=str(where.data_dir))
    preferred = load_preferences(where.preferences)
    return Setup(
        simulate=simulate,
        replay=replay,
        data_dir=where.data_dir,
        python=python,
        memory_cap_bytes=memory_cap_bytes,
        preferences=preferred.preferences,
        problems=preferred.problems,
    )
