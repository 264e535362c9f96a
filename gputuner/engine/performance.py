"""One performed run, from ``RunStarted`` to ``RunFinished``: what the engine's thread does."""

import time
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gputuner.engine import admission
from gputuner.engine.alert_teller import AlertTeller
from gputuner.engine.commanded import commands_of, told_commands
from gputuner.engine.fingerprints import fingerprint
from gputuner.engine.knowledge import Knowledge
from gputuner.engine.loop import Interrupted, Loop
from gputuner.engine.options import Options
from gputuner.engine.peers import Peers
from gputuner.engine.performer import Performer
from gputuner.engine.safety import SafetyWatch
from gputuner.engine.sensors import SensorWatch
from gputuner.engine.settings import Settings
from gputuner.engine.sharing import Sharing
from gputuner.engine.stage import Stage
from gputuner.engine.teller import Teller
from gputuner.engine.trials import Trials
from gputuner.engine.watched_follow import Follower
from gputuner.engine.workers import Workers, torch_fingerprint
from gputuner.experiments.protocol import Experiment, PlanContext
from gputuner.model.cards import CardInfo
from gputuner.model.codec import to_builtins
from gputuner.model.errors import ExitCode, GputunerError, StoreError
from gputuner.model.events import AdviceGiven, Event, Outcome, RunStarted, TelemetrySampled, TorchFound, Warned
from gputuner.model.fingerprint import Fingerprint
from gputuner.model.readings import Scalar
from gputuner.model.samples import Sample
from gputuner.model.steps import Cancelled, Stopped, told_spec
from gputuner.telemetry.conditions import conditions
from gputuner.telemetry.feed import Tick

GIB = 1 << 30
OVERTIME = 1.5
OVERTIME_S = 120.0
"""A limited run ends after 1.5 times what was expected and two minutes."""


@dataclass(slots=True, kw_only=True)
class Performance:
    """Everything one run needs; :meth:`run` never raises."""

    spec: Experiment
    options: Options
    stage: Stage
    cards: tuple[CardInfo, ...]
    shared: bool
    teller: Teller
    knowledge: Knowledge
    version: str
    logs: Path
    """The folder for what commands of the user's write; made where there are any."""
    data_dir: Path | None = None
    """Where further cards are locked; None: nowhere."""
    _ending: dict[str, object] = field(default_factory=lambda: {})
    _sensors: dict[str, SensorWatch] = field(default_factory=lambda: {})
    _follower: Follower | None = None
    _settings: Settings | None = None
    _alerts: AlertTeller | None = None

    def run(self) -> None:
        """Perform, end all workers on every path, and tell how it ended."""
        card = self.cards[0]
        loop = Loop(self.stage, card.uuid, SafetyWatch(card, self.options.safety), self._tell_tick, self._idle)
        self._alerts = AlertTeller(self.options.alerts, self.cards, self.stage.sampling_hz, self.teller.tell)
        workers = Workers(self.stage, loop, card, self._cap_bytes(card), self.teller.tell)
        users = self.options.users_mps
        sharing = Sharing(self.stage, loop, workers, card, self.teller.tell, self.data_dir, users)
        peers = Peers(self.stage.cards, self.stage.processes, self.data_dir)
        self._settings = Settings(self.stage, card, self.teller.tell, loop.limit_changes)
        try:
            found = self._start(card)
            if self.spec.needs_worker:
                self._measure(card, loop, workers, sharing, peers, found)
            else:
                self._watch(card, loop, found)
        except Interrupted as interrupted:
            self._interrupted(interrupted.result, loop)
        except StoreError as err:
            self._failed(err)
        except GputunerError as err:
            self._failed(err)
        except Exception:
            text = traceback.format_exc()
            self._end(Outcome.FAILED, ExitCode.BUG, "bug", {}, text)
        finally:
            self._end_workers(workers)
            self._ending["settings_restored"] = self._settings.end()
            self._end_sharing(sharing)
            peers.keep(())
            self.teller.end(**self._ending)

    def _start(self, card: CardInfo) -> Fingerprint:
        users = tuple((c, self.stage.processes(c.uuid)) for c in self.cards)
        found = fingerprint(self.stage.host(), users, self.stage.sampling_hz)
        self.teller.tell(
            RunStarted,
            experiment=self.spec.name,
            spec=told_commands(told_spec(to_builtins(self.spec))),
            fingerprint=found,
            cards=self.cards,
            clock=self.stage.clock_kind,
            origin=card.origin,
            source=self.stage.source(card),
            unix_s=time.time(),
            version=self.version,
            memory_cap_bytes=self.options.memory_cap_bytes,
            memory_cap_given=self.options.memory_cap_given,
        )
        for note in self.options.notes:
            self.teller.tell(Warned, code=note.code, params=note.params)
        return found

    def _measure(
        self, card: CardInfo, loop: Loop, workers: Workers, sharing: Sharing, peers: Peers, found: Fingerprint
    ) -> None:
        loop.safety.work_starts()
        sharing.open()
        ready = workers.ready_message or {}
        torch = torch_fingerprint(ready)
        self.teller.tell(TorchFound, torch=torch)
        facts: dict[str, Scalar] = {k: v for k, v in ready.items() if isinstance(v, (str, int, float, bool))}
        context = PlanContext(
            card=card,
            torch=torch,
            fingerprint=found,
            processes=self.stage.processes(card.uuid),
            budget_s=self.spec.expected_s(),
            free_bytes=self._free_bytes(card),
            shared=self.shared,
            published=dict(self.knowledge.reference(card)),
            worker=facts,
            results=self.knowledge.results(card),
            others=self._others(),
            kernels=self.knowledge.kernels(card),
            sheets=self.knowledge.sheets(),
            record=self.knowledge.record(card),
        )
        if self.spec.limited():
            most_s = self.spec.expected_s() * OVERTIME + OVERTIME_S
            loop.deadline_ns = self.stage.clock.now_ns() + int(most_s * 1e9)
        trials = Trials(
            loop,
            workers,
            conditions,
            self.options.seed,
            spares=not card.is_cpu,
            peers=peers,
            commands=commands_of(self.spec, self.logs),
            sharing=sharing,
        )
        self._perform(Performer(loop, trials, self._tell, self.shared, settings=self._settings), context, loop)

    def _watch(self, card: CardInfo, loop: Loop, found: Fingerprint) -> None:
        context = PlanContext(
            card=card,
            torch=None,
            fingerprint=found,
            processes=self.stage.processes(card.uuid),
            budget_s=self.spec.expected_s(),
            free_bytes=None,
            others=self.cards[1:],
        )
        if self.options.following is not None:
            self._follower = Follower(self.options.following, loop, self.stage, self.cards, self.teller.tell)
        follow = None if self._follower is None else self._follower.follow
        self._perform(Performer(loop, None, self.teller.tell, False, follow), context, loop)

    def _perform(self, performer: Performer, context: PlanContext, loop: Loop) -> None:
        interrupted = performer.perform(self.spec.plan(context))
        if interrupted is None:
            self._end(Outcome.COMPLETED, ExitCode.DONE)
        else:
            self._interrupted(interrupted, loop)

    def _interrupted(self, result: Stopped | Cancelled, loop: Loop) -> None:
        if isinstance(result, Stopped):
            params: dict[str, Scalar] = {"trigger": result.trigger}
            params |= {k: v for k, v in (("value", result.value), ("limit", result.limit)) if v is not None}
            if result.card is not None:
                params |= {"card": result.card.title, "card_index": result.card.index}
            self._end(Outcome.STOPPED_FOR_SAFETY, ExitCode.DEVICE, f"safety_{result.trigger}", params)
        elif loop.timed_out:
            self._end(Outcome.TIMED_OUT, ExitCode.DEVICE, "timed_out")
        else:
            self._end(Outcome.CANCELLED, ExitCode.INTERRUPTED, "cancelled")

    def _failed(self, err: GputunerError) -> None:
        params: dict[str, Scalar] = {k: v for k, v in err.params.items() if isinstance(v, (str, int, float, bool))}
        self._end(Outcome.FAILED, err.exit_code, err.code, params, str(err))

    def _end(
        self,
        outcome: Outcome,
        code: int,
        error: str | None = None,
        params: dict[str, Scalar] | None = None,
        text: str = "",
    ) -> None:
        if not self._ending:
            self._ending = {
                "outcome": outcome,
                "exit_code": int(code),
                "error_code": error,
                "error_params": params or {},
                "error_text": text,
            }

    def _end_workers(self, workers: Workers) -> None:
        why = "finished" if self._ending.get("outcome") is Outcome.COMPLETED else "cancelled"
        while True:
            try:
                workers.end_all(why)
                return
            except StoreError as err:
                self._failed(err)
            except Exception:
                workers.kill_all()
                return

    def _end_sharing(self, sharing: Sharing) -> None:
        try:
            sharing.close()
        except StoreError as err:
            self._failed(err)
        except Exception:  # its keeper ends what is left
            self._end(Outcome.FAILED, ExitCode.BUG, "bug", {}, traceback.format_exc())

    def _tell(self, kind: type[Event], **fields: Any) -> None:
        """Tell an event; commands that go on from here keep the cap on memory that was given."""
        cap_bytes = self.options.memory_cap_bytes if self.options.memory_cap_given else None
        if kind is AdviceGiven and cap_bytes is not None:
            keep = f" --memory-cap {cap_bytes / GIB:g}"
            fields["questions"] = tuple(replace(each, command=each.command + keep) for each in fields["questions"])
        self.teller.tell(kind, **fields)

    def _tell_tick(self, tick: Tick) -> None:
        ours = {c.uuid for c in self.cards}
        self.teller.tell(
            TelemetrySampled,
            samples=tuple(s for s in tick.samples if s.card in ours),
            processes=tuple(p for p in tick.processes if p.card in ours),
            gaps=tuple(g for g in tick.gaps if g.card is None or g.card in ours),
            xids=tuple(x for x in tick.xids if x.card in ours),
            cards=tuple(c for c in tick.cards if c.uuid in ours),
        )
        if self._alerts is not None:
            self._alerts.take(tick)
        if self._follower is not None:
            self._follower.take(tick)
        for sample in tick.samples:
            if sample.card in ours:
                self._check_sensors(sample)

    def _idle(self) -> None:
        self.teller.idle()
        if self._alerts is not None:
            self._alerts.look(self.stage.clock.now_ns())

    def _check_sensors(self, sample: Sample) -> None:
        note = self._sensors.setdefault(sample.card, SensorWatch()).take(sample)
        if note is not None:
            card = next(c for c in self.cards if c.uuid == sample.card)
            self.teller.tell(Warned, code=note.code, params={"card": card.title, **note.params})

    def _others(self) -> tuple[CardInfo, ...]:
        """Further cards that this run may use beside its own: those it was offered that are idle now."""
        beside = [c for c in self.stage.cards() if c.uuid in self.options.beside and c not in self.cards]
        return tuple(c for c in beside if admission.idle(c, self.stage.processes(c.uuid)))

    def _cap_bytes(self, card: CardInfo) -> int | None:
        if self.options.memory_cap_bytes is None and not self.shared and not card.is_cpu:
            return None
        return self._free_bytes(card)

    def _free_bytes(self, card: CardInfo) -> int | None:
        sample = self.stage.latest(card.uuid)
        return admission.usable_bytes(card, sample, self.shared, self.options.memory_cap_bytes)
