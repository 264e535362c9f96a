# pyright: standard
"""Which modules of a training are slower in half precision than in FP32, and which sizes half precision stumbles on.

Each module that computes something itself (convolution, linear layer, normalisation, recurrent layer …) is run forward
and backward alone, on inputs of the shapes that it meets in the training, once in FP32 and once under autocast. There
its inputs have the type that they arrive in under autocast: where the module before gives half precision, nothing is
cast. Of a linear layer with a size that is no multiple of 8 a padded one is timed as well. Modules alike are timed once
and say how many they are. The times do not add up to the step; they tell which operation lost.
"""

import math
from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import nn

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.gaps import attempted
from gputuner.workloads.bodies.precision import HALF, autocast, switch_tf32
from gputuner.workloads.bodies.setting_timing import timed
from gputuner.workloads.bodies.survey import Pace, Part

MULTIPLE = 8
"""Tensor cores multiply FP16 and BF16 in pieces whose sides are multiples of this (NVIDIA's mixed-precision guide)."""
MOST = 24
"""So many kinds of modules are timed at most, those with the most work first."""
LEAST_S, USUAL_S = 0.05, 0.25
"""Seconds for one timing."""


class _Met:
    """A kind of module, and what it met."""

    def __init__(self, name: str, module: nn.Module, inputs: "tuple[torch.Tensor, ...]") -> None:
        self.name, self.module, self.inputs = name, module, inputs
        self.count = 1

    @property
    def weight(self) -> float:
        """Guess of its work: weights times positions, for the order."""
        size = sum(each.numel() for each in self.module.parameters())
        return self.count * size * max(1, self.inputs[0].numel() // max(1, self.inputs[0].shape[-1]))


class ModuleTimes:
    """The modules of one training, as a survey.

    Args:
        device: where.
        seed: of the training.
        training: name of the training's body; ``params`` are its own.
        precision: the half format that is compared with FP32.
    """

    def __init__(self, device: Device, *, seed: int, training: str, precision: str, **params: Any) -> None:
        from gputuner.workloads.bodies.shelf import make_body

        self._body: Any = make_body(training, device, {**params, "precision": precision}, seed)
        self._device, self._precision = device, precision
        self._step_inputs: dict[tuple[Any, ...], _Met] = {}
        self.work: dict[str, float] = {}

    def _look(self) -> None:
        """One forward pass in the half format, to see which shapes and types each module meets."""
        body, self._body = self._body, None  # its batch and its optimizer are not needed afterwards
        model: nn.Module = body.model
        hooks = [
            module.register_forward_pre_hook(self._hook(name))
            for name, module in model.named_modules()
            if not any(module.children()) and any(True for _ in module.parameters())
        ]
        try:
            with torch.no_grad():
                body.forward_once()
        finally:
            for hook in hooks:
                hook.remove()

    def _hook(self, name: str) -> Any:
        def met(module: nn.Module, args: "tuple[Any, ...]") -> None:
            inputs = tuple(each for each in args if isinstance(each, torch.Tensor))
            if len(inputs) != len(args) or not inputs:
                return
            key = (repr(module), *((tuple(each.shape), each.stride(), each.dtype) for each in inputs))
            if key in self._step_inputs:
                self._step_inputs[key].count += 1
            else:
                kept = tuple(each.detach() if not each.is_floating_point() else torch.empty_like(each, device="meta")
                             for each in inputs)  # fmt: skip
                self._step_inputs[key] = _Met(name, module, kept)

        return met

    def parts(self, pace: Pace) -> "Iterator[Part]":
        """Each kind of module in FP32, then in half precision; linear layers with odd sizes padded, too.

        None where a forward pass in the half format takes too long here (processors without it).
        """
        probe = self._body.probe(pace.left_s())
        if probe is not None and probe.expected_s > pace.left_s():
            return
        self._look()
        kinds = sorted(self._step_inputs.values(), key=lambda met: -met.weight)[:MOST]
        each_s = min(USUAL_S, max(LEAST_S, pace.measure_s / max(1, 2 * len(kinds))))
        for place, met in enumerate(kinds):
            for precision in ("fp32", self._precision):
                if pace.stopped() or pace.left_s() < 0:
                    return
                yield self._timed(met, met.module, precision, each_s, {})
            for size, padded, module in _padded(met.module):
                if pace.left_s() < 0:
                    return
                like = met.inputs[0]
                inputs = (torch.empty(*like.shape[:-1], module.in_features, dtype=like.dtype, device="meta"),)
                bigger = _Met(met.name, module.to(self._device.name), inputs)
                yield self._timed(bigger, module, self._precision, each_s, {"size": size, "padded": padded})
            pace.tried(place + 1, len(kinds))

    def notes(self) -> "dict[str, Fact]":
        """How many kinds of modules there are."""
        return {"module_kinds": len(self._step_inputs)}

    def _timed(self, met: _Met, module: nn.Module, precision: str, seconds: float, more: "dict[str, Fact]") -> Part:
        params: dict[str, Fact] = {
            "module": met.name, "kind": type(module).__name__, "precision": precision, "count": met.count, **more,
        }  # fmt: skip

        def measure() -> Part:
            switch_tf32(precision != "fp32" and self._device.tf32_native)
            inputs = [self._input(each, precision) for each in met.inputs]
            trained = [p for p in module.parameters() if p.requires_grad]

            def iterate() -> None:
                with autocast(self._device, precision):
                    output = module(*inputs)
                _first(output).sum().backward()

            windows, (t0_ns, t1_ns) = timed(self._device, iterate, seconds)
            for each in (*trained, *inputs):
                each.grad = None
            return Part(params=params, iteration_s=tuple(windows), t0_ns=t0_ns, t1_ns=t1_ns, work={"calls": 1.0})

        return attempted(self._device, params, measure)

    def _input(self, like: torch.Tensor, precision: str) -> torch.Tensor:
        """An input such as the module meets: what is half under autocast is FP32 without."""
        if like.device.type != "meta":
            return like
        dtype = torch.float32 if precision == "fp32" and like.dtype in HALF else like.dtype
        made = torch.randn(like.shape, dtype=dtype, device=self._device.name)
        if like.dim() == 4 and like.is_contiguous(memory_format=torch.channels_last) and not like.is_contiguous():
            made = made.contiguous(memory_format=torch.channels_last)
        return made.requires_grad_()


def _first(output: Any) -> torch.Tensor:
    """The tensor of an output that may be a tuple (recurrent layers)."""
    return output if isinstance(output, torch.Tensor) else _first(cast("tuple[Any, ...]", output)[0])


def _padded(module: nn.Module) -> "Iterator[tuple[int, int, nn.Linear]]":
    """Of a linear layer each size that is no multiple of 8, what it would be padded to, and such a layer."""
    if not isinstance(module, nn.Linear):
        return
    into, out, bias = module.in_features, module.out_features, module.bias is not None
    for size, larger in odd_sizes(into, out):
        sides = (larger, out) if size == into else (into, larger)
        yield size, larger, nn.Linear(*sides, bias=bias)


def odd_sizes(*sizes: int) -> "list[tuple[int, int]]":
    """Those of ``sizes`` that are no multiple of 8, with the next one; sizes below 8 are left alone."""
    odd = dict.fromkeys(size for size in sizes if size % MULTIPLE and size > MULTIPLE)
    return [(size, MULTIPLE * math.ceil(size / MULTIPLE)) for size in odd]
