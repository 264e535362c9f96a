"""The workloads of this room by name."""

import importlib
from collections.abc import Callable
from typing import Any

from gputuner.workloads.bodies.body import Body
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.survey import Survey
from gputuner.workloads.kernels.device import KernelsDevice

BODIES: dict[str, str | Callable[..., Any]] = {
    "stream": "stream:Stream",
    "stream_sweep": "stream_sweep:StreamSweep",
    "chase": "chase:Chase",
    "regions": "regions:Regions",
}
"""Workload → module of this package and class in it (or what makes the body)."""


def make_body(workload: str, device: KernelsDevice, params: dict[str, Any], seed: int) -> Body | Survey:
    """The body or survey of a workload, set up on ``device``.

    Raises:
        UnsupportedError: no such workload, or the device cannot do it.
    """
    if workload not in BODIES:
        raise UnsupportedError(f"no kernels for the workload {workload}")
    make = BODIES[workload]
    if isinstance(make, str):
        module, _, name = make.partition(":")
        make = getattr(importlib.import_module(f"gputuner.workloads.kernels.{module}"), name)
    return make(device, seed=seed, **params)
