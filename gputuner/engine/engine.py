"""``engine.start(spec) → Run``: admit the card, open the session, perform the plan in a thread of its own.

States of a run: *starting* (admission; errors are raised to the caller, nothing half-made stays) → *running* →
*ending* (workers end, nothing interrupts) → *finished* (``RunFinished`` stored, then told).
"""

import secrets
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from gputuner.engine import admission
from gputuner.engine.inbox import CancelRequested
from gputuner.engine.knowledge import Knowledge
from gputuner.engine.locks import CardLock, CardMark
from gputuner.engine.options import Options
from gputuner.engine.performance import Performance
from gputuner.engine.run import Run
from gputuner.engine.stage import Stage
from gputuner.engine.teller import Teller
from gputuner.experiments.protocol import Experiment
from gputuner.model.cards import CardInfo
from gputuner.model.errors import NoCard
from gputuner.model.events import Event
from gputuner.model.samples import CardProcesses
from gputuner.model.steps import private_folders
from gputuner.sessions.files import output_folder

PROCESS_TABLE_WAIT_S = 8.0


class Store(Protocol):
    """Where events are kept."""

    path: Path

    def write(self, event: Event) -> None:
        """Keep an event; raises ``StoreError``."""
        ...

    def flush(self) -> None:
        """Commit all that was written; raises ``StoreError``."""
        ...

    def tick(self) -> None:
        """Commit what is due; raises ``StoreError``."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...


class Engine:
    """Starts runs. Holds no CUDA context and no NVML handle."""

    def __init__(
        self,
        open_stage: Callable[[], Stage],
        open_store: Callable[[str], Store] | None,
        data_dir: Path | None,
        knowledge: Knowledge | None = None,
    ) -> None:
        """``open_store(run_id)`` None: nothing is kept. ``knowledge`` None: of no card is anything known."""
        self._open_stage = open_stage
        self._open_store = open_store
        self._data_dir = data_dir
        self._knowledge = knowledge or Knowledge()

    def start(self, spec: Experiment, options: Options) -> Run:
        """Begin; returns at once after admission.

        Raises:
            NoCard: no such card.
            CardBusy: others compute on the card, or another gputuner runs on it.
            StoreError: the session cannot be written.
        """
        stage = self._open_stage()
        locks: list[CardLock | CardMark] = []
        store: Store | None = None
        try:
            cards = _chosen(stage, options.cards)
            shared = False
            if spec.needs_worker:
                for card in cards:
                    shared = admission.admit(card, _await_processes(stage, card), options.share) or shared
                    if self._data_dir is not None:
                        locks.append(CardLock(self._data_dir, card.uuid, spec.name))
            elif self._data_dir is not None:
                locks += [CardMark(self._data_dir, card.uuid, spec.name) for card in cards]
            run_id = _run_id(spec.name)
            store = self._open_store(run_id) if self._open_store else None
        except BaseException:
            _release(stage, locks)
            raise
        run = Run(run_id, store.path if store else None, lambda force: stage.inbox.put(CancelRequested(force=force)))
        teller = Teller(run, store, stage.clock, private_folders(spec))
        performance = Performance(
            spec=spec,
            options=options,
            stage=stage,
            cards=cards,
            shared=shared,
            teller=teller,
            knowledge=self._knowledge,
            version=version("gputuner"),
            logs=output_folder(store.path if store else Path(tempfile.gettempdir(), run_id)),
            data_dir=self._data_dir,
        )

        def body() -> None:
            try:
                performance.run()
            finally:
                _release(stage, locks)
                teller.finish()

        threading.Thread(target=body, name=f"run-{run_id}", daemon=False).start()
        return run


def _chosen(stage: Stage, wanted: tuple[str, ...]) -> tuple[CardInfo, ...]:
    by_uuid = {c.uuid: c for c in stage.cards()}
    missing = [uuid for uuid in wanted if uuid not in by_uuid]
    if missing or not wanted:
        raise NoCard("no_such_card", f"no card {', '.join(missing)}", card=", ".join(missing))
    return tuple(by_uuid[uuid] for uuid in wanted)


def _await_processes(stage: Stage, card: CardInfo) -> CardProcesses | None:
    """The process table; waits for the collector's first slow tick (wall clock only, never on a simulated card)."""
    until_ns = stage.clock.now_ns() + int(PROCESS_TABLE_WAIT_S * 1e9)
    while not card.is_cpu and stage.processes(card.uuid) is None and stage.clock.now_ns() < until_ns:
        stage.inbox.get(min(until_ns, stage.clock.now_ns() + 10**8))
    return stage.processes(card.uuid)


def _run_id(name: str) -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{name}-{secrets.token_hex(2)}"


def _release(stage: Stage, locks: list[CardLock | CardMark]) -> None:
    stage.close()
    for lock in locks:
        lock.release()
