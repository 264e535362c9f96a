"""The simulated worker: speaks the worker's wire messages from a card's model, as a discrete-event process.

States: starting → idle ⇄ trial (setup → warm-up → [armed → go] → measure → result or failed) → gone. Times are the
card's clock; the same seed gives the same run. Two workers on one card share it by time slicing (the card divides).
"""

import random
from collections.abc import Mapping
from typing import Any

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.model.readings import Scalar
from gputuner.model.samples import ProcessOnCard
from gputuner.workloads.bodies.burst_timing import LEAST_BURSTS, PAUSE_OVER_LOAD, burst_length_s
from gputuner.workloads.simulated_build import Message, default_build, device_facts, introduce
from gputuner.workloads.simulated_costs.cost import UnsupportedOnChipError
from gputuner.workloads.simulated_costs.resnet50 import UNRELEASABLE
from gputuner.workloads.simulated_costs.shelf import is_survey, settings_of
from gputuner.workloads.simulated_trial import Phase, SimulatedTrial
from gputuner.workloads.wire import EXIT_OK, EXIT_OUT_OF_MEMORY, EXIT_STICKY

_IMPORT_S, _CONTEXT_S, _SETUP_S = 2.0, 0.4, 0.3
_STEADY_S = 1.5
_PROGRESS_S = 0.5
_LEAST_WINDOWS = 3
_SURVEY_WINDOWS, _BURST_WINDOW_S = 24, 0.002


class SimulatedWorker:
    """One worker on one simulated card.

    ``cuda`` picks a torch build (default: the newest that has code for the card); a build without kernels for the card
    answers ``unusable`` as the real one does.
    """

    def __init__(
        self,
        card: SimulatedCard,
        seed: int = 0,
        worker_id: str = "w1",
        *,
        cuda: str | None = None,
        memory_cap_bytes: int | None = None,
    ) -> None:
        """Begin to start now (on the card's clock)."""
        self._card = card
        self._id = worker_id
        self._seed = seed
        self._pid = 41000 + sum(worker_id.encode())
        self._cuda = cuda or default_build(card.facts.compute_capability)
        self._cap = self._cap_at_start = memory_cap_bytes
        self._ready_ns = card.now_ns + int(_IMPORT_S * 1e9)
        self._started = self._open = False
        self._queue: list[Mapping[str, Any]] = []
        self._trial: SimulatedTrial | None = None
        self._out: list[tuple[int, Message]] = []
        self.exit_code: int | None = None
        """Set when the worker has ended."""

    # --- the pipe -------------------------------------------------------------------------------------------------

    def request(self, message: Mapping[str, Any]) -> None:
        """Take one request at the card's present time."""
        if self.exit_code is not None:
            return
        match message.get("kind"):
            case "exit":
                self._end(EXIT_OK)
            case "go":
                self._go(str(message.get("id")))
            case "stop":
                self._stop(str(message.get("id")))
            case "open" | "trial":
                self._queue.append(message)
                self._serve(self._card.now_ns)
            case _:
                pass

    def next_event_ns(self) -> int | None:
        """When something will happen next; None: not before it is asked."""
        if self._out:
            return self._out[0][0]
        if self.exit_code is not None:
            return None
        if not self._started:
            return self._ready_ns
        if self._trial is not None and self._trial.phase is not Phase.ARMED:
            return self._trial.ends_ns
        return None

    def step(self, until_ns: int) -> list[tuple[int, Message]]:
        """Live until ``until_ns``; the messages sent up to then, with their times."""
        while self.exit_code is None:
            next_ns = self._next_inner_ns()
            if next_ns is None or next_ns > until_ns:
                break
            self._card.advance_to(next_ns)
            self._happen(next_ns)
        self._card.advance_to(until_ns)
        told = [entry for entry in self._out if entry[0] <= until_ns]
        self._out = self._out[len(told) :]
        return told

    def _next_inner_ns(self) -> int | None:
        if not self._started:
            return self._ready_ns
        if self._trial is not None and self._trial.phase is not Phase.ARMED:
            return self._trial.ends_ns
        return None

    def _happen(self, t_ns: int) -> None:
        if not self._started:
            self._start(t_ns)
        elif self._trial is not None:
            self._move(self._trial, t_ns)

    def _tell(self, t_ns: int, kind: str, **fields: Any) -> None:
        self._out.append((t_ns, {"kind": kind, **fields}))

    # --- start and end --------------------------------------------------------------------------------------------

    def _start(self, t_ns: int) -> None:
        self._started = True
        message, code = introduce(self._card, self._cuda, self._pid)
        self._out.append((t_ns, message))
        if code is not None:
            self.exit_code = code
            return
        self._serve(t_ns)

    def _end(self, code: int) -> None:
        self._card.set_load(self._id, None)
        self._card.set_process(self._id, None)
        self._trial = None
        self._queue.clear()
        self.exit_code = code

    def show(self) -> None:
        """Let the process table of the card know this worker, idle, if its context is open."""
        if self._open and self.exit_code is None:
            self._show(0)

    def _show(self, reserved_bytes: int) -> None:
        """Let the process table of the card know this worker."""
        self._card.set_process(
            self._id,
            ProcessOnCard(
                pid=self._pid,
                name="python",
                user=None,
                command=f"simulated worker {self._id}",
                memory_bytes=self._card.model.context_bytes + reserved_bytes,
            ),
        )

    def _serve(self, t_ns: int) -> None:
        """Begin the next request, if free."""
        while self._started and self._trial is None and self._queue and self.exit_code is None:
            message = self._queue.pop(0)
            wait_ns = 0
            if not self._open:
                self._open = True
                self._show(0)
                wait_ns = int(_CONTEXT_S * 1e9)
                free = self._free_bytes()
                capped = {"capacity_bytes": free, "memory_cap_enforced": self._cap is not None, "allocator": ""}
                self._tell(t_ns, "device", **device_facts(self._card), free_bytes=free, **capped)
            if message.get("kind") == "open":
                self._tell(t_ns, "opened")
            if message.get("kind") == "trial":
                self._cap = message.get("memory_cap_bytes") or self._cap_at_start
                self._begin(message, t_ns, t_ns + wait_ns)

    # --- memory ---------------------------------------------------------------------------------------------------

    def _free_bytes(self) -> int:
        """What this worker may still allocate (its own cache counts as free between trials)."""
        free = self._card.free_bytes
        return free if self._cap is None else min(free, self._cap)

    # --- trial ----------------------------------------------------------------------------------------------------

    def _begin(self, message: Mapping[str, Any], asked_ns: int, t_ns: int) -> None:
        trial_id = str(message["id"])
        self._share(message)
        params: dict[str, Scalar] = dict(message.get("params") or {})
        self._tell(asked_ns, "progress", id=trial_id, phase=Phase.SETUP.value, done_s=0.0, left_s=None, rate=None)
        self._show(0)
        try:
            settings = settings_of(self._card, str(message["workload"]), params)
        except UnsupportedOnChipError as err:
            self._fail(asked_ns, trial_id, "unsupported", str(err))
            return
        except (KeyError, ValueError, TypeError) as err:
            self._fail(asked_ns, trial_id, "user_code", f"{type(err).__name__}: {err}", "simulated traceback")
            return
        free = self._free_bytes()
        reserved = max(setting.cost.reserved_bytes for setting in settings)
        budget_s = float(message["budget_s"])
        warmup = message.get("warmup_s")
        known_as = f"{self._seed} {self._id} {message.get('seed', 0)} {trial_id}"
        scatter = max(setting.cost.scatter for setting in settings)
        self._trial = SimulatedTrial(
            id=trial_id,
            settings=settings,
            survey=is_survey(str(message["workload"])),
            measure_s=float(message["measure_s"]),
            budget_s=budget_s,
            warmup_s=None if warmup is None else float(warmup),
            barrier=bool(message.get("barrier", False)),
            deadline_ns=asked_ns + int(budget_s * 1e9),
            capacity_bytes=free,
            reserved_bytes=min(reserved, free),
            retries=1 if reserved > free else 0,
            rng=random.Random(known_as),
            scatter=random.Random(f"{known_as} scatter").lognormvariate(0.0, scatter),
            ends_ns=t_ns + int(_SETUP_S * 1e9),
        )

    def _share(self, message: Mapping[str, Any]) -> None:
        """Share the card as the trial says: in time slices unless it says otherwise."""
        sharing = message.get("sharing")
        if sharing is None:
            self._card.share_by("processes")
        else:
            self._card.share_by(sharing["mode"], thread_shares=sharing["thread_shares"])

    def _move(self, trial: SimulatedTrial, t_ns: int) -> None:
        """The phase or window in hand ended at ``t_ns``."""
        if self._card.lost_since_ns is not None:
            self._break(trial, t_ns)
            return
        match trial.phase:
            case Phase.SETUP:
                self._set_up(trial, t_ns)
            case Phase.WARMUP:
                self._warm(trial, t_ns)
            case Phase.MEASURE:
                self._window(trial, t_ns)
            case Phase.ARMED:
                pass

    def _break(self, trial: SimulatedTrial, t_ns: int) -> None:
        self._trial = None
        self._fail(t_ns, trial.id, "sticky", "CUDA error: unspecified launch failure (simulated: the card is lost)")
        self._end(EXIT_STICKY)

    def _set_up(self, trial: SimulatedTrial, t_ns: int) -> None:
        """Two iterations: memory shows its peak, and an iteration over the budget is recognised."""
        free = self._free_bytes()
        if trial.allocated_bytes * UNRELEASABLE > free:
            self._trial = None
            wanted = trial.allocated_bytes / 2**30
            text = f"CUDA out of memory (simulated). Needed {wanted:.2f} GiB, {free / 2**30:.2f} GiB are free."
            needed = int(trial.allocated_bytes * UNRELEASABLE)
            self._fail(t_ns, trial.id, "out_of_memory", text, free_bytes=free, needed_bytes=needed)
            self._end(EXIT_OUT_OF_MEMORY)
            return
        self._show(trial.reserved_bytes)
        iteration_s = self._card.iteration_s(trial.cost.load)
        if not trial.survey and t_ns + int((1 + _LEAST_WINDOWS) * iteration_s * 1e9) > trial.deadline_ns:
            trial.t0_ns = t_ns
            trial.windows.append(iteration_s)
            trial.clocks.append(self._card.sm_clock_hz() / 1e6)
            self._finish(trial, t_ns + int(iteration_s * 1e9), too_slow=True)
            return
        seconds = 2 * iteration_s
        if trial.settings[0].bursts:
            pass  # a load without pauses would leave the card under its cap
        elif trial.warmup_s is None:
            seconds += min(max(_STEADY_S, 8 * iteration_s), 0.35 * trial.budget_s)
        else:
            seconds += min(trial.warmup_s, 0.35 * trial.budget_s)
        trial.phase = Phase.WARMUP
        self._run(trial, t_ns, int(seconds * 1e9))
        trial.began_ns = t_ns
        self._progress(trial, t_ns, None)

    def _run(self, trial: SimulatedTrial, t_ns: int, duration_ns: int) -> None:
        self._card.set_load(self._id, trial.cost.load)
        trial.done_at_start = self._card.iterations(self._id)
        trial.window_ns = max(1, duration_ns)
        trial.ends_ns = t_ns + trial.window_ns

    def _warm(self, trial: SimulatedTrial, t_ns: int) -> None:
        if not trial.barrier:
            self._measure(trial, t_ns)
            return
        self._card.set_load(self._id, None)
        trial.phase, trial.armed_ns = Phase.ARMED, t_ns
        self._tell(t_ns, "armed", id=trial.id)

    def _go(self, trial_id: str) -> None:
        trial = self._trial
        if trial is not None and trial.id == trial_id and trial.phase is Phase.ARMED:
            t_ns = self._card.now_ns
            trial.deadline_ns += t_ns - trial.armed_ns
            self._measure(trial, t_ns)

    def _measure(self, trial: SimulatedTrial, t_ns: int) -> None:
        trial.phase, trial.t0_ns, trial.began_ns, trial.part_ns = Phase.MEASURE, t_ns, t_ns, t_ns
        self._measure_setting(trial, t_ns)

    def _measure_setting(self, trial: SimulatedTrial, t_ns: int) -> None:
        iteration_s = self._card.iteration_s(trial.cost.load)
        if trial.settings[trial.at].bursts:
            trial.window_ns = int(burst_length_s(trial.setting_s, iteration_s) * 1e9)
            self._rest(trial, t_ns)
            return
        if trial.settings[trial.at].once:
            window_s = iteration_s
        elif trial.survey:
            window_s = min(0.1, trial.setting_s / _SURVEY_WINDOWS)
        elif trial.warmup_s == 0:
            window_s = _BURST_WINDOW_S
        else:
            window_s = min(0.1, max(0.02, trial.setting_s / 100))
        self._run(trial, t_ns, int(max(window_s, iteration_s) * 1e9))

    def _rest(self, trial: SimulatedTrial, t_ns: int) -> None:
        """Leave the card alone for as long as the last burst, or the first to come, asks for."""
        self._card.set_load(self._id, None)
        trial.resting = True
        trial.ends_ns = t_ns + int(PAUSE_OVER_LOAD * trial.window_ns)

    def _window(self, trial: SimulatedTrial, t_ns: int) -> None:
        """Close a timed window: its seconds per iteration, then go on or finish."""
        if trial.resting:
            trial.rested(t_ns, self._card.sm_clock_hz() / 1e6)
            self._run(trial, t_ns, trial.window_ns)
            return
        done = self._card.iterations(self._id) - trial.done_at_start
        if done > 0:
            noise = trial.rng.lognormvariate(0.0, trial.cost.noise) * trial.scatter
            trial.windows.append(trial.window_ns / 1e9 / done * noise)
            trial.clocks.append(self._card.sm_clock_hz() / 1e6)
            trial.host.append(self._card.physics.host_use)
        measured_s = (t_ns - trial.part_ns) / 1e9
        out_of_time = t_ns >= trial.deadline_ns
        setting = trial.settings[trial.at]
        least = LEAST_BURSTS if setting.bursts else _LEAST_WINDOWS
        enough = setting.once or (measured_s >= trial.setting_s and len(trial.windows) >= least)
        if enough or out_of_time:
            too_slow = out_of_time and measured_s < trial.setting_s
            if trial.survey and trial.close_part(t_ns) and not out_of_time:
                self._measure_setting(trial, t_ns)
            else:
                self._finish(trial, t_ns, too_slow=too_slow)
            return
        self._progress(trial, t_ns, trial.windows[-1] if trial.windows else None)
        if setting.bursts:
            self._rest(trial, t_ns)
            return
        trial.done_at_start = self._card.iterations(self._id)
        trial.ends_ns = t_ns + trial.window_ns

    def _progress(self, trial: SimulatedTrial, t_ns: int, iteration_s: float | None) -> None:
        if t_ns - trial.told_ns < _PROGRESS_S * 1e9:
            return
        trial.told_ns = t_ns
        amount = next(iter(trial.cost.work.values()), 0.0)
        rate = amount / iteration_s if amount and iteration_s else None
        self._tell(t_ns, "progress", id=trial.id, rate=rate, **trial.progress(t_ns))

    def _stop(self, trial_id: str) -> None:
        trial = self._trial
        if trial is None or trial.id != trial_id:
            return
        if trial.windows or trial.parts:
            if trial.survey and trial.windows:
                trial.close_part(self._card.now_ns)
            self._finish(trial, self._card.now_ns, too_slow=False, stopped=True)
            return
        self._fail(self._card.now_ns, trial_id, "stopped", "stopped before anything was measured")
        self._settle()

    def _settle(self) -> None:
        """Give the trial's memory back and go on."""
        self._card.set_load(self._id, None)
        self._show(0)
        self._trial = None
        self._serve(self._card.now_ns)

    def _finish(self, trial: SimulatedTrial, t_ns: int, *, too_slow: bool, stopped: bool = False) -> None:
        self._tell(t_ns, "result", **trial.result(t_ns, too_slow=too_slow, stopped=stopped))
        self._settle()

    def _fail(
        self,
        t_ns: int,
        trial_id: str,
        error: str,
        text: str,
        traceback: str = "",
        free_bytes: int | None = None,
        needed_bytes: int | None = None,
    ) -> None:
        told = {"id": trial_id, "error": error, "message": text, "traceback": traceback, "needed_bytes": needed_bytes}
        free = self._free_bytes() if free_bytes is None else free_bytes
        self._tell(t_ns, "failed", **told, free_bytes=free)
