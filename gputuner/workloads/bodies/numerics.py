# pyright: standard
"""One training run for its losses: the same start and the same batches whatever the number format.

A survey whose parts are, in this order: what a forward pass in this format looks like (``numerics_audit``), the
optimizer steps, and the largest activations. ``draw`` 0 is the start that all formats share; others begin with another
seed (weights, dropout) and see the same batches in another order, shuffled anew in each turn. A ``twin`` of a start has
its batches and order and its weights but for a rounding; what steps draw at random (dropout) is drawn anew, since
number formats do not share it either.
"""

import random
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import torch

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.numerics_audit import FP16_MAX, HALF, Audit, Range, Seen, bare_functions, stored_traps
from gputuner.workloads.bodies.numerics_step import ObservedStep
from gputuner.workloads.bodies.precision import switch_tf32
from gputuner.workloads.bodies.survey import Pace, Part

if TYPE_CHECKING:
    from gputuner.workloads.bodies.training import TrainingStep

DRAW, DATA, TWIN = 7919, 104729, 15485863
"""What a draw adds to the seed, what the batches' own seed adds, and what a twin adds for its steps."""
ROUNDING = 2.0**-8
"""The most by which BF16, the coarsest format, rounds a number, as a share of it; a twin's weights differ by it."""
HOPELESS = 30
"""So many skipped steps in a row, or losses that are no numbers, and nothing changes any more."""
SEARCHES = 3
"""So many steps that failed are looked into for the place that overflows."""
PEAKS = 8
"""So many places with the largest activations are told."""


class Numerics:
    """One run.

    Args:
        device: where it runs.
        seed: of the run of the program.
        training: name of the training's body; ``params`` are its own.
        steps: optimizer steps at most.
        batches: different batches, which come in turn.
        draw: which start.
        twin: which run of that start; others than 0 begin with weights that are rounded otherwise.
        audit: look at forward passes too.
    """

    def __init__(
        self,
        device: Device,
        *,
        seed: int,
        training: str,
        steps: int,
        batches: int = 8,
        draw: int = 0,
        twin: int = 0,
        audit: bool = True,
        **params: Any,
    ) -> None:
        self._device, self._steps, self._audited = device, steps, audit
        self._seed = seed + DRAW * draw
        self._order = random.Random(self._seed)
        self._shuffled = draw > 0
        self._batch = int(params["batch"])
        if training == "recipe":
            _seed_all(self._seed)
            self._training = _made(training, device, params, self._seed, self._batch)
            switch_tf32(params["precision"] != "fp32" and device.tf32_native)  # the recipe may have switched it too
            _seed_all(seed + DATA)
            self._batches = [self._training.samples(self._batch) for _ in range(batches)]
        else:
            whole = {**params, "batch": self._batch * batches}
            self._training = _made(training, device, whole, seed, self._batch)
            inputs, targets = self._training.samples(self._batch * batches)
            self._batches = list(zip(inputs.split(self._batch), targets.split(self._batch), strict=True))
            if draw:
                del self._training
                self._training = _made(training, device, params, self._seed, self._batch)
        self._step_seed = self._seed + TWIN * twin
        if twin:
            _round_otherwise(self._training.model, self._step_seed)
        self.work: dict[str, float] = {}
        self._told: dict[str, Fact] = {}
        self._ranges: dict[str, Range] = {}
        self._searches = 0

    def parts(self, pace: Pace) -> "Iterator[Part]":
        """The forward pass looked at, the steps, the largest activations."""
        probe = self._training.probe(pace.left_s())
        if probe and probe.expected_s > pace.left_s():
            self._told["expected_step_s"], self._told["ended"] = probe.expected_s, "time"
            return
        if self._audited:
            yield from self._looked_at()
        _seed_all(self._step_seed)
        yield from self._trained(pace)
        if self._audited:
            yield from self._peaks()
        self._told["weights_finite"] = self._training.weights_finite()

    def notes(self) -> "dict[str, Fact]":
        """How it was trained and how it ended."""
        return {**self._training.facts(), **self._told}

    def _turns(self) -> "Iterator[Any]":
        places = list(range(len(self._batches)))
        while True:
            if self._shuffled:
                self._order.shuffle(places)
            yield from (self._batches[place] for place in places)

    # --- steps ----------------------------------------------------------------------------------------------------

    def _trained(self, pace: Pace) -> "Iterator[Part]":
        turns, lost = self._turns(), 0
        for step in range(self._steps):
            if pace.stopped() or pace.left_s() <= 0.0:
                self._told["ended"] = "time"
                return
            batch = next(turns)
            t0_ns = time.monotonic_ns()
            try:
                told = self._training.step(batch)
            except Exception as err:
                if failures.classify(err, self._device.free_bytes(), self._device.broken()) != failures.USER_CODE:
                    raise
                self._told["ended"] = "failed"
                self._told["failed"], self._told["traceback"] = failures.described(err)
                return
            t1_ns = time.monotonic_ns()
            bad = told.pop("loss_finite") is False
            if (bad or told.get("skipped") is True) and lost == 0 and self._audited and self._searches < SEARCHES:
                self._look_for_overflow(batch)
            lost = lost + 1 if bad or told.get("skipped") is True else 0
            yield Part(
                params={"step": step},
                iteration_s=((t1_ns - t0_ns) / 1e9,),
                t0_ns=t0_ns,
                t1_ns=t1_ns,
                work={"samples": float(self._batch)},
                notes=told,
            )
            pace.tried(step + 1, self._steps)
            if lost > HOPELESS:
                self._told["ended"] = "not_finite"
                return
        if self._audited:
            self._keep(self._watched(self._batches[0]))

    # --- forward passes looked at ---------------------------------------------------------------------------------

    def _watched(self, batch: Any) -> Audit:
        """One forward pass, looked at; the random numbers of the steps stay as they are."""
        model, name = self._training.model, self._device.name
        cards = [] if self._device.name == "cpu" else [torch.cuda.current_device()]
        with torch.random.fork_rng(devices=cards), Audit(model, name, autocast=self._training.autocast) as audit:
            loss = self._training.forward(batch)
        audit.traps.update(bare_functions(loss))
        if loss.dtype in HALF:
            audit.traps.setdefault(("half_loss", str(loss.dtype).rpartition(".")[2]), Seen()).add("loss")
        return audit

    def _keep(self, audit: Audit) -> None:
        for place, seen in audit.ranges.items():
            known = self._ranges.setdefault(place, Range(len(self._ranges), 0.0, True, False))
            known.take(seen.largest, seen.finite, seen.half)

    def _look_for_overflow(self, batch: Any) -> None:
        """The first step that failed, once more: its weights are still those of before where it was skipped."""
        self._searches += 1
        audit = self._watched(batch)
        self._keep(audit)
        first = next((place for place, seen in audit.ranges.items() if not seen.finite), None)
        if first is not None:
            self._told["first_bad_place"] = first

    def _looked_at(self) -> "Iterator[Part]":
        try:
            audit = self._watched(self._batches[0])
        except Exception as err:
            if failures.classify(err, self._device.free_bytes(), self._device.broken()) != failures.USER_CODE:
                raise
            self._audited, self._told["look_failed"] = False, failures.described(err)[0]
            return  # an error of the training itself shows in its steps
        self._keep(audit)
        for kept, table in (("autocast", audit.kept), ("input", audit.unlowered)):
            for name, seen in table.items():
                params: dict[str, Fact] = {"operation": name, "kept": kept}
                yield _seen(params, {"calls": seen.count, "elements": seen.elements, "where": seen.where})
        traps = {**stored_traps(self._training.model), **audit.traps}
        for (trap, name), seen in traps.items():
            yield _seen({"trap": trap, "name": name}, {"count": seen.count, "where": seen.where})

    def _peaks(self) -> "Iterator[Part]":
        """The places with the largest activations, in the order of the forward pass, and the first beyond FP16."""
        order = list(self._ranges)
        largest = sorted(order, key=lambda place: -self._ranges[place].largest)[:PEAKS]
        beyond = [p for p, seen in self._ranges.items() if not seen.finite or (seen.half and seen.largest > FP16_MAX)]
        for place in sorted({*largest, *beyond[:1]}, key=order.index):
            seen = self._ranges[place]
            facts = {"finite": seen.finite, "half": seen.half, "order": order.index(place), "largest": seen.largest}
            yield _seen({"activation": place}, facts)


def _made(training: str, device: Device, params: "dict[str, Any]", seed: int, batch: int) -> ObservedStep:
    """The training's body, whose steps take ``batch`` samples."""
    from gputuner.workloads.bodies.shelf import make_body

    return ObservedStep(cast("TrainingStep", make_body(training, device, params, seed)), batch)


def _seen(params: "dict[str, Fact]", notes: "dict[str, Fact]") -> Part:
    now_ns = time.monotonic_ns()
    return Part(params=params, iteration_s=(), t0_ns=now_ns, t1_ns=now_ns + 1, notes=notes)


def _round_otherwise(model: "torch.nn.Module", seed: int) -> None:
    """Shift each weight by a random share of what the coarsest format rounds it by; up as often as down."""
    random_of = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dtype.is_floating_point:
                share = (2.0 * torch.rand(weight.shape, generator=random_of) - 1.0) * ROUNDING
                weight.mul_(1.0 + share.to(weight.device))


def _seed_all(seed: int) -> None:
    """Every source of random numbers that a recipe may use."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
