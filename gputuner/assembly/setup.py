"""The program as the options ask for it: cards, engine, sessions. Nothing starts before its first use."""

import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

import psutil

from gputuner.assembly import feeds, stages
from gputuner.assembly.knowledge import KNOWLEDGE
from gputuner.assembly.rehearsal import rehearse
from gputuner.assembly.visibility import Seen, instance_free_bytes
from gputuner.assembly.watching import begin, elsewhere
from gputuner.catalog import load
from gputuner.devices.selection import ALL, select
from gputuner.engine.engine import Engine
from gputuner.engine.locks import CardMark
from gputuner.engine.options import Options
from gputuner.engine.run import Run
from gputuner.engine.safety import SafetyLimits
from gputuner.engine.stage import Stage
from gputuner.engine.watched import Launch
from gputuner.engine.watched_begun import Begun
from gputuner.experiments.benchmarks.benchmark import Machine
from gputuner.experiments.protocol import Experiment
from gputuner.experiments.subject import own_recipe
from gputuner.model.cards import CPU_CARD, CardInfo, CardState, Origin
from gputuner.model.errors import (
    DeviceError,
    GputunerError,
    ImportLogError,
    NoCard,
    NoPermission,
    StoreError,
    UsageError,
)
from gputuner.model.findings import Finding
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.holders import WATCH
from gputuner.model.planned import PlannedStep, Rehearsed
from gputuner.model.quantities import Quantity
from gputuner.model.steps import Warn
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.writer import SessionWriter
from gputuner.settings.paths import paths
from gputuner.settings.preferences import Preferences
from gputuner.settings.preferences import load as load_preferences
from gputuner.telemetry.feed import Feed, FeedState, Notice
from gputuner.telemetry.joined import JoinedFeed
from gputuner.telemetry.rates import Rates
from gputuner.telemetry.replayed import ReplayFeed

CPU_CAP_BYTES = 4 * 2**30
CPU_CAP_SHARE = 0.25
FIRST_SAMPLE_S = 10.0
NO_CARD_CODES = ("nvml_library_missing", "nvml_driver_not_loaded", "telemetry_no_cards")
"""There is no NVIDIA card that could be asked; any other trouble of the driver is told, never passed over."""
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
    ) -> None:
        """Keep the choice; nothing starts."""
        self.data_dir = data_dir
        self.preferences = preferences
        self.python = python
        self.simulate = tuple(simulate)
        self._replay = replay
        self._memory_cap_bytes = memory_cap_bytes
        self._rates = Rates(fast_hz=preferences.fast_hz, slow_s=preferences.slow_s)
        self._host_beside: Feed | None = None
        self._mark: CardMark | None = None

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        if self.simulate:
            return Origin.SIMULATED
        return Origin.REPLAYED if self._replay else Origin.MEASURED

    @cached_property
    def _main_feed(self) -> Feed:
        if self.simulate:
            return feeds.simulated_feed(self.simulate, self._rates)
        if self._replay is not None:
            return feeds.replay_feed(self.sessions.find(str(self._replay)))
        nvidia = feeds.nvidia_feed(self._rates)
        if nvidia.cards() or nvidia.status().code not in NO_CARD_CODES:
            self._mark = CardMark(self.data_dir, "", WATCH)
            return nvidia
        nvidia.close()
        return feeds.host_feed(self._rates)

    @property
    def feed(self) -> Feed:
        """Telemetry of all cards; starts with its first use."""
        if self._host_beside is not None:
            return JoinedFeed((self._main_feed, self._host_beside))
        return self._main_feed

    @property
    def sessions(self) -> SessionLibrary:
        """The stored sessions of the data folder."""
        return SessionLibrary(self.data_dir)

    def cards(self) -> tuple[CardInfo, ...]:
        """Every card as it stands; ``cpu`` only where there is no other, or it was named."""
        return self.feed.cards()

    def notices(self) -> tuple[Notice, ...]:
        """What the telemetry met that a reader must know, each once; starts nothing."""
        return self._main_feed.status().notices if "_main_feed" in self.__dict__ else ()

    def host(self) -> HostFingerprint:
        """The machine around the cards."""
        return stages.host_of(self.data_dir)()

    def select(self, selection: str | None, *, for_experiment: bool) -> tuple[CardInfo, ...]:
        """The cards of ``--gpu``; without it all for viewing, and for an experiment the one that suits best.

        Experiments keep to ``CUDA_VISIBLE_DEVICES``; viewing shows every card.

        Raises:
            NoCard: there is none, or it is hidden.
            DeviceError: the driver does not answer.
            UsageError: the selection is empty, unknown or ambiguous.
        """
        entries = {entry.strip().lower() for entry in (selection or "").split(",")}
        if CPU_CARD in entries:
            self._with_host()
        cards = self.cards()
        if not cards:
            raise self._no_cards()
        if selection is not None:
            if CPU_CARD in entries and not any(c.is_cpu for c in cards):
                code = "no_processor_simulated" if self.simulate else "no_processor_replayed"
                raise UsageError(code, f"there is no processor among the {self.origin.value} cards")
            if all(c.is_cpu for c in cards) and (cards_named := entries - {CPU_CARD, ALL, ""}):
                raise NoCard("no_nvidia_card", "there is no NVIDIA card here", selector=", ".join(sorted(cards_named)))
            uuids = select(selection, cards)
            chosen = tuple(c for uuid in uuids for c in cards if c.uuid == uuid)
            return self._visible(chosen, all_of_them=entries == {ALL}) if for_experiment else chosen
        return (self._best(self._visible(cards, all_of_them=True)),) if for_experiment else cards

    def seen(self) -> Seen:
        """What ``CUDA_VISIBLE_DEVICES`` leaves to experiments; nothing is hidden on simulated and replayed cards.

        Raises:
            UsageError: an entry is the beginning of several UUIDs.
        """
        return Seen(os.environ if self.origin is Origin.MEASURED else {}, self.cards())

    def _visible(self, cards: tuple[CardInfo, ...], *, all_of_them: bool) -> tuple[CardInfo, ...]:
        """``cards``, without hidden ones where just all were meant and one is left."""
        seen = self.seen()
        shown = seen.shown(cards) if all_of_them else ()
        if not shown:
            seen.require(cards)
        return shown or cards

    def start(self, spec: Experiment, cards: Sequence[CardInfo], *, share: bool = False) -> Run:
        """Start an experiment.

        Raises:
            CardBusy: others compute on the card, or another gputuner uses it.
            NoCard: the card is not there, or hidden by ``CUDA_VISIBLE_DEVICES``.
            StoreError: the session cannot be written.
            UsageError: the cards are replayed or simulated, and the experiment needs to work on them.
        """
        self.check(spec)
        notes: tuple[Warn, ...] = ()
        beside: tuple[CardInfo, ...] = ()
        if spec.needs_worker:
            seen = self.seen()
            seen.require(cards)
            notes, beside = seen.notes(), self._beside(cards)
        options = Options(
            cards=tuple(card.uuid for card in cards),
            share=share,
            memory_cap_bytes=self._cap_bytes(cards[0]),
            safety=SafetyLimits(core_max_c=self.preferences.safety_core_c),
            seed=getattr(spec, "seed", 0),
            notes=notes,
            beside=tuple(card.uuid for card in beside),
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
        return begin(launch, os.environ, hooks=hooks, collector_s=self._collector_s, around=around)

    def watch(self, begun: Begun, cards: Sequence[CardInfo], *, kept: bool = True) -> Run:
        """Follow a command that has been started, and the cards; ends with it. ``kept`` False: no session is made.

        Raises:
            NoCard: a card is not there.
            StoreError: the session cannot be written.
        """
        from gputuner.experiments.watch import WatchCommand

        spec = WatchCommand(command=begun.words, hooks=begun.hooks)
        options = Options(
            cards=tuple(card.uuid for card in cards), following=begun.following, notes=elsewhere(begun.words)
        )
        engine = self.engine if kept else Engine(self._open_stage, None, None, KNOWLEDGE)
        return engine.start(spec, options)

    def _collector_s(self) -> float:
        """Processor time that the telemetry has used so far, in a process of its own."""
        return (self._main_feed.status().own_cpu_s or 0.0) if "_main_feed" in self.__dict__ else 0.0

    def check(self, spec: Experiment) -> None:
        """Refuse what no card here could run.

        Raises:
            UsageError: the cards are replayed, a recipe meets simulated ones, or there is no such Python.
        """
        if not spec.needs_worker:
            return
        self._check_python()
        if self._replay is not None:
            raise UsageError("replay_no_experiment", "a replayed card cannot run an experiment")
        if self.simulate and own_recipe(spec):
            raise UsageError("recipe_simulated", "a recipe runs on a real card or on the processor")

    @cached_property
    def engine(self) -> Engine:
        """The engine; holds nothing until a run starts."""
        return Engine(self._open_stage, self._open_store, self.data_dir, KNOWLEDGE)

    def machine(self, card: CardInfo) -> Machine:
        """What can be told of a card, its neighbours and the software before anything runs."""
        return Machine(card=card, others=self._beside((card,)), kernels=KNOWLEDGE.kernels(card))

    def _beside(self, cards: Sequence[CardInfo]) -> tuple[CardInfo, ...]:
        """The other cards that programs may see."""
        chosen = {card.uuid for card in cards}
        others = tuple(card for card in self.cards() if card.uuid not in chosen and not card.is_cpu)
        return self.seen().shown(others)

    def rehearse(self, spec: Experiment, card: CardInfo) -> Rehearsed:
        """What ``start`` would do and leave out; touches nothing."""
        beside = self._beside((card,)) if spec.needs_worker and not card.is_cpu else ()
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
        if "_main_feed" in self.__dict__:
            self._main_feed.close()
        if self._mark is not None:
            self._mark.release()
        if self._host_beside is not None:
            self._host_beside.close()

    def _check_python(self) -> None:
        if self.python is not None and shutil.which(self.python) is None:
            code = "python_not_executable" if os.path.exists(self.python) else "python_missing"
            raise UsageError(code, f"{self.python} cannot be run as a Python", interpreter=self.python)

    def _with_host(self) -> None:
        wanted = self._host_beside is None and self.origin is Origin.MEASURED
        if wanted and not any(card.is_cpu for card in self._main_feed.cards()):
            self._host_beside = feeds.host_feed(self._rates)

    def _open_stage(self) -> Stage:
        host = stages.host_of(self.data_dir)
        if self.simulate:
            return stages.simulated_stage(self.simulate, self._rates, SIMULATED_SEED, host)
        if self._replay is not None and isinstance(self._main_feed, ReplayFeed):
            return stages.replayed_stage(self._main_feed)
        seen = self.seen()

        def device_uuid(card: CardInfo) -> str:
            device = seen.device(card)
            return device.uuid if device else card.uuid

        return stages.wall_stage(self.feed, self.python, self._rates, host, device_uuid)

    def _open_store(self, run_id: str) -> SessionWriter:
        return SessionWriter.create(self.data_dir, run_id)

    def _cap_bytes(self, card: CardInfo) -> int | None:
        if not card.is_cpu:
            bounds = (self._memory_cap_bytes, instance_free_bytes(self.seen().device(card)))
            return min((bound for bound in bounds if bound is not None), default=None)
        if self._memory_cap_bytes is not None:
            return self._memory_cap_bytes
        return int(min(CPU_CAP_BYTES, CPU_CAP_SHARE * psutil.virtual_memory().available))

    def _no_cards(self) -> GputunerError:
        status = self.feed.status()
        if feeds.interpreter_forbidden(status):
            return NoPermission("interpreter_forbidden", f"{sys.executable} may not be run", path=sys.executable)
        if status.code and status.state is not FeedState.OK:
            params = {name: value for name, value in status.params.items() if name not in ("code", "text")}
            kind = NoPermission if status.code == "nvml_no_permission" else DeviceError
            return kind(status.code, str(status.params.get("text", status.code)), **params)
        return NoCard("no_cards", "no card was found")

    def _best(self, cards: Sequence[CardInfo]) -> CardInfo:
        """The user's preferred card, else the only one, else the idle one with most memory."""
        ready = [card for card in cards if card.state is CardState.READY] or list(cards)
        preferred = next((card for card in ready if card.uuid == self.preferences.selected_card), None)
        if preferred is not None:
            return preferred
        if len(ready) > 1:
            self._await_samples()
        return max(ready, key=lambda card: (not self._busy(card), card.memory_total_bytes or 0, -card.index))

    def _busy(self, card: CardInfo) -> bool:
        processes = self.feed.processes(card.uuid)
        if processes is not None and any(p.compute for p in processes.processes):
            return True
        tick = self.feed.latest()
        sample = next((s for s in tick.samples if s.card == card.uuid), None) if tick else None
        return bool(sample and sample.values.get(Quantity.GPU_UTILISATION, 0.0) > 0.2)

    def _await_samples(self) -> None:
        until_s = time.monotonic() + FIRST_SAMPLE_S
        while self.feed.latest() is None and time.monotonic() < until_s:
            time.sleep(0.02)


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
    return Setup(
        simulate=simulate,
        replay=replay,
        data_dir=where.data_dir,
        python=python,
        memory_cap_bytes=memory_cap_bytes,
        preferences=load_preferences(where.preferences).preferences,
    )
