# pyright: standard
"""Settings of a survey that cannot be measured: told with the reason, and the survey goes on."""

import time
from collections.abc import Callable

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.survey import Part

OUT_OF_TIME = "out_of_time"
"""Reason for a setting whose iterations would not end within the time left."""


def gap(params: "dict[str, Fact]", reason: str, **facts: Fact) -> Part:
    """A part without windows; ``notes["gap"]`` says why, further ``facts`` say how much."""
    now_ns = time.monotonic_ns()
    return Part(params=params, iteration_s=(), t0_ns=now_ns, t1_ns=now_ns, notes={"gap": reason, **facts})


def attempted(device: Device, params: "dict[str, Fact]", measure: Callable[[], Part]) -> Part:
    """What ``measure`` gives, or a gap where this one setting does not fit into memory or is not supported.

    Raises:
        Exception: whatever else went wrong; a wrong result too.
    """
    try:
        return measure()
    except Exception as err:
        broken = device.broken()
        reason = failures.classify(err, None if broken else device.free_bytes(), broken)
        if reason not in (failures.OUT_OF_MEMORY, failures.UNSUPPORTED):
            raise
        message, _ = failures.described(err)
        failures.release(err)
    device.release()
    return gap(params, reason, message=message)
