"""The workloads by name."""

from collections.abc import Callable
from typing import Any

from gputuner.workloads.bodies.body import Body
from gputuner.workloads.bodies.copy import Copy
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.matmul import Matmul
from gputuner.workloads.bodies.resnet50 import ResNet50Training

BODIES: "dict[str, Callable[..., Body]]" = {"matmul": Matmul, "copy": Copy, "resnet50": ResNet50Training}


def make_body(workload: str, device: Device, params: "dict[str, Any]", seed: int) -> Body:
    """The body of a workload, set up on ``device``.

    Raises:
        UnsupportedError: no such workload, or the device cannot do it.
    """
    if workload not in BODIES:
        raise UnsupportedError(f"unknown workload: {workload}")
    return BODIES[workload](device, seed=seed, **params)
