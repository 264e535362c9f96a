# pyright: standard
"""How fast a loader of one setting delivers, alone and to the training, and what the training could eat.

``part`` ``demand``: training steps on batches of the loader that lie ready in the host's memory (pinned, where the
loader may pin them) and are copied in each step, as with a loader: samples/s that a loader must deliver. Its notes tell
what the machine has room for, and the setting that the user has today.

``part`` ``supply``: one setting. First its batches are taken as fast as they come (and copied to the card, where there
is one), then the training takes them; the beginning of the first epoch, and of a second one, is timed apart. What its
processes take of cores and memory is read meanwhile.

A worker keeps recipe, data set and training from trial to trial: making them may take longer than a trial.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies import recipe_loading_host as host
from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.gaps import OUT_OF_TIME, gap
from gputuner.workloads.bodies.loader_feed import same_samples
from gputuner.workloads.bodies.loader_room import room
from gputuner.workloads.bodies.packages import has
from gputuner.workloads.bodies.recipe import mapped, tensors
from gputuner.workloads.bodies.recipe_loading_decode import DALI_CARD, decoding
from gputuner.workloads.bodies.recipe_loading_failures import reason_of, said
from gputuner.workloads.bodies.recipe_loading_run import Batches, Measured, batch_bytes, counted
from gputuner.workloads.bodies.recipe_loading_source import Photographs, Source, Wanted
from gputuner.workloads.bodies.recipe_loading_training import Fed, fed
from gputuner.workloads.bodies.survey import Pace, Part

ALONE_SHARE, FED_SHARE, DRAIN_SHARE = 0.35, 0.5, 0.15
"""Of a setting's time: batches as fast as they come, to the training, and those that were made while nobody waited."""
READY_AT_MOST, READY_S = 4, 2.0
"""Batches that lie ready for ``demand``: up to so many, if they are made within so many seconds."""
STEP_WINDOW_S = 0.05
WARM_SHARE = 0.3
LEAST_WINDOWS, LEAST_STEPS = 3, 4
"""Of the demand; steps of a window, at whose end a card is waited for."""
DEMAND, SUPPLY = "demand", "supply"
CARD_TOLERANCE, PROCESSOR_TOLERANCE = 0.15, 1e-6
"""Difference of batches: decoders round and interpolate colours differently (a few of 255 levels)."""


@dataclass(frozen=True)
class _Prepared:
    key: "tuple[Any, ...]"
    training: Fed
    source: Source


class _Kept:
    """What this process made last."""

    prepared: "_Prepared | None" = None


class Loading:
    """The survey of one setting, or of the demand.

    Args:
        device: where the training runs.
        seed: of torch, and of made-up images.
        part: ``demand`` or ``supply``.
        batch: samples of a batch.
        precision: of the training.
        channels_last: layout of images.
        recipe: the user's training and loader; empty: the built-in one.
        folder: what the recipe is looked for in.
        image: side of the built-in's images, in pixels.
        workers: processes of the loader.
        prefetch: batches that each has ready.
        pin: copy batches to pinned memory.
        persistent: keep the processes from epoch to epoch.
        decode: empty: as the loader does; else what decodes on the card.
        alone: measure the loader alone too.
        again: measure what a second epoch's beginning takes.
    """

    def __init__(
        self,
        device: Device,
        *,
        seed: int,
        part: str,
        batch: int,
        precision: str,
        channels_last: bool = False,
        recipe: str = "",
        folder: str = ".",
        image: int = 224,
        workers: int = 0,
        prefetch: int = 2,
        pin: bool = False,
        persistent: bool = False,
        decode: str = "",
        alone: bool = True,
        again: bool = True,
    ) -> None:
        self._device, self._part, self._batch, self._decode = device, part, batch, decode
        self._alone, self._again = alone, again
        self._seed, self._image = seed, image
        self._wanted = Wanted(workers=workers, prefetch=prefetch, pin=pin, persistent=persistent)
        key = (recipe, folder, batch, precision, channels_last, image, seed)
        if _Kept.prepared is None or _Kept.prepared.key != key:
            _Kept.prepared = None
            training, source = fed(
                device, seed=seed, batch=batch, precision=precision, channels_last=channels_last, recipe=recipe,
                folder=folder, image=image,
            )  # fmt: skip
            _Kept.prepared = _Prepared(key=key, training=training, source=source)
        self._training, self._source = _Kept.prepared.training, _Kept.prepared.source
        self._facts: dict[str, Fact] = {}
        self.work: dict[str, float] = {}
        torch.manual_seed(seed)

    def parts(self, pace: Pace) -> "Iterator[Part]":
        """The demand alone; or the setting's rate alone, then with the training."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own words on too many processes, and on pinning without a card
            if self._part == DEMAND:
                yield self._demand(pace)
                return
            yield from self._attempted(pace)

    def notes(self) -> "dict[str, Fact]":
        """How the training went, what the loader is, what the machine has room for."""
        facts: dict[str, Fact] = {**self._training.notes(), **self._facts, "source": self._source.kind}
        if isinstance(self._source, Photographs):
            facts["decode"] = self._source.decoder
        return facts

    # --- demand ---------------------------------------------------------------------------------------------------

    def _demand(self, pace: Pace) -> Part:
        """Training steps on batches that lie ready: one, or some where they differ in shape."""
        self._look_at_machine()
        begun = time.perf_counter()
        ready: list[Any] = []
        pinned = self._device.name == "cuda" and (self._source.usual.pin or "pin_memory" not in self._source.fixed)
        shapes: set[tuple[tuple[int, ...], ...]] = set()
        with Batches(self._source.loader(self._batch, Wanted()), self._batch) as batches:
            self._facts["first_batch_s"] = round(batches.begin(), 4)
            of_epoch = batches.of_epoch
            for batch in batches.some(READY_AT_MOST):
                if _shapes(batch) in shapes or pace.stopped():
                    break
                if not ready:
                    self._facts["loader_batch_bytes"] = batch_bytes(batch)
                shapes.add(_shapes(batch))
                ready.append(mapped(batch, torch.Tensor.pin_memory) if pinned else batch)
                if time.perf_counter() - begun > READY_S:
                    break
        if of_epoch is not None:
            self._facts["epoch_batches"] = of_epoch
        done, span = self._steps(ready, pinned, pace)
        return Part(params={"part": DEMAND}, iteration_s=done, t0_ns=span[0], t1_ns=span[1], work=self._samples())

    def _steps(self, ready: "list[Any]", pinned: bool, pace: Pace) -> "tuple[tuple[float, ...], tuple[int, int]]":
        """Seconds per step of each window, its copy to the device included, after a warm-up."""
        step, least = 0, max(len(ready), LEAST_STEPS if self._device.name == "cuda" else 1)

        def window(least_s: float) -> float:
            nonlocal step
            begun, steps = time.perf_counter(), 0
            while steps < least or time.perf_counter() - begun < least_s:
                self._training.step(self._training.placed(ready[step % len(ready)], pinned))
                step, steps = step + 1, steps + 1
            self._device.synchronise()
            return (time.perf_counter() - begun) / steps

        warm_s, begun = WARM_SHARE * pace.measure_s, time.perf_counter()
        window(0.0)
        while time.perf_counter() - begun < warm_s and not pace.stopped():
            window(STEP_WINDOW_S)
        done: list[float] = []
        t0_ns = time.monotonic_ns()
        while not pace.stopped() and (len(done) < LEAST_WINDOWS or pace.left_s() > 0):
            done.append(window(STEP_WINDOW_S))
        return tuple(done), (t0_ns, time.monotonic_ns())

    def _look_at_machine(self) -> None:
        there, usual = room(), self._source.usual
        self._facts |= {
            "cores": there.cores,
            "usual_workers": usual.workers,
            "usual_prefetch": usual.prefetch,
            "usual_pin": usual.pin,
            "usual_persistent": usual.persistent,
            "fixed": " ".join(self._source.fixed),
            "threads": torch.get_num_threads(),
            "torchvision": has("torchvision"),
            "dali": has("nvidia.dali"),
        }
        if there.memory_bytes is not None:
            self._facts["host_memory_bytes"] = there.memory_bytes
        if there.shared_bytes is not None:
            self._facts["shared_memory_bytes"] = there.shared_bytes

    # --- supply ---------------------------------------------------------------------------------------------------

    def _attempted(self, pace: Pace) -> "Iterator[Part]":
        """The setting's parts; a gap where its processes fail, which says nothing of other settings.

        Raises:
            Exception: it failed in this process, with a setting without processes, or in another way.
        """
        try:
            yield from self._supply(pace)
        except Exception as err:
            reason = reason_of(err, self._wanted.workers)
            if reason is None:
                raise
            message, cause = said(err), self._found_in_worker(err)
            failures.release(err)
            yield gap({"part": SUPPLY}, reason, message=message, **cause)

    @staticmethod
    def _found_in_worker(err: Exception) -> "dict[str, Fact]":
        """The last line of the traceback that a process sent, which says more than its first."""
        lines = [line.strip() for line in str(err).splitlines() if line.strip()]
        return {"cause": lines[-1][:300]} if len(lines) > 1 else {}

    def _supply(self, pace: Pace) -> "Iterator[Part]":
        if self._decode:
            decoder = decoding(
                self._decode, self._source, self._device, self._batch, self._image, self._wanted, self._seed
            )
            with decoder as batches:
                yield from self._measured(batches, decoder.finish, pace)
            return
        with Batches(self._source.loader(self._batch, self._wanted), self._batch) as batches:
            yield from self._measured(batches, lambda batch: batch, pace)

    def _measured(self, batches: Batches, finish: "Callable[[Any], Any]", pace: Pace) -> "Iterator[Part]":
        start_s = batches.begin()
        error = self._compared(batches.first, finish) if self._alone else None
        batches.drain(pace, DRAIN_SHARE * pace.measure_s)
        if self._alone:
            yield self._by_itself(batches, finish, {"start_s": round(start_s, 4)}, pace, error)
        if not pace.stopped():
            yield self._with_training(batches, finish, pace)

    def _compared(self, first: Any, finish: "Callable[[Any], Any]") -> "float | None":
        """How far the first batch of the built-in's photographs is from the same samples made here; None: no reference.

        Raises:
            WrongResultError: they differ by more than decoders do.
        """
        if not isinstance(self._source, Photographs) or self._decode == DALI_CARD:
            return None
        found, expected = finish(first)[0], self._source.expected(self._batch)
        error = same_samples(found, expected) if found.shape == expected.shape else float("inf")
        if not error <= (CARD_TOLERANCE if self._decode else PROCESSOR_TOLERANCE):
            raise failures.WrongResultError(f"the loader's first batch differs by {error:.2g} from its samples")
        return error

    def _by_itself(
        self, batches: Batches, finish: "Callable[[Any], Any]", notes: "dict[str, Fact]", pace: Pace,
        error: "float | None",
    ) -> Part:  # fmt: skip
        """Batches as fast as they come, copied to the device."""
        measured, took = self._watched(
            batches, lambda batch: self._training.placed(finish(batch), self._wanted.pin), pace, ALONE_SHARE
        )
        pids = batches.processes()
        return self._told("alone", measured, {**notes, **took, **self._seen(pids)} if pids else notes, error)

    def _with_training(self, batches: Batches, finish: "Callable[[Any], Any]", pace: Pace) -> Part:
        """The training takes them; then another epoch begins."""
        self._warm(batches, finish, pace)
        waited_s, begun = batches.waited_s, time.perf_counter()
        measured, notes = self._watched(batches, lambda batch: self._train(finish(batch)), pace, FED_SHARE)
        waited = (batches.waited_s - waited_s) / max(time.perf_counter() - begun, 1e-9)
        notes["wait_fraction"] = round(min(1.0, waited), 4)
        if self._again and batches.processes() and not pace.stopped():
            restart_s = batches.again(pace)
            if restart_s is not None:
                notes["restart_s"] = round(restart_s, 4)
        return self._told("fed", measured, notes)

    def _watched(
        self, batches: Batches, use: "Callable[[Any], Any]", pace: Pace, share: float
    ) -> "tuple[Measured, dict[str, Fact]]":
        """What is measured, and what the processes took meanwhile."""
        pids = batches.processes()
        before, begun = host.used(pids), time.perf_counter()
        measured = batches.windows(use, self._device.synchronise, pace, share * pace.measure_s)
        return measured, host.between(before, host.used(pids), time.perf_counter() - begun)

    def _warm(self, batches: Batches, finish: "Callable[[Any], Any]", pace: Pace) -> None:
        """Steps until what was ready beforehand is used up and the kernels are chosen."""
        begun, most_s = time.perf_counter(), DRAIN_SHARE * pace.measure_s
        for _ in range(2 + self._wanted.workers * self._wanted.prefetch):
            if pace.stopped() or time.perf_counter() - begun > most_s:
                break
            try:
                self._train(finish(batches.take()))
            except StopIteration:
                batches.begin()
        self._device.synchronise()

    def _train(self, batch: Any) -> None:
        """A training step; not on a last batch of one sample, which batch norm cannot train on."""
        if counted(batch, self._batch) > 1 or self._batch == 1:
            self._training.step(self._training.placed(batch, self._wanted.pin))

    def _seen(self, pids: "list[int]") -> "dict[str, Fact]":
        """Cores and memory of the loader's processes."""
        facts: dict[str, Fact] = {}
        cores, size = host.fewest_cores(pids), host.largest_bytes(pids)
        if cores is not None:
            facts["worker_cores"] = cores
        if size is not None:
            facts["worker_bytes"] = size
        return facts

    def _samples(self) -> "dict[str, float]":
        return {"samples": float(self._batch)}

    def _told(self, phase: str, measured: Measured, notes: "dict[str, Fact]", error: "float | None" = None) -> Part:
        if not measured.iteration_s:
            return gap({"part": SUPPLY, "phase": phase}, OUT_OF_TIME)
        if measured.whole_epochs:
            notes["whole_epochs"] = True
        return Part(
            params={"part": SUPPLY, "phase": phase},
            iteration_s=measured.iteration_s,
            t0_ns=measured.span[0],
            t1_ns=measured.span[1],
            work=self._samples(),
            relative_error=error,
            notes=notes,
        )


def _shapes(batch: Any) -> "tuple[tuple[int, ...], ...]":
    return tuple(tuple(tensor.shape) for tensor in tensors(batch))
