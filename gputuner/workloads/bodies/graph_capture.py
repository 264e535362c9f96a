# pyright: standard
"""Work captured as a CUDA graph, so that one launch replays it and the host is no part of what is timed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies.device import Device

WARM_STEPS = 3
"""Before a capture, on a stream of their own, as torch's notes on CUDA graphs ask for."""


@dataclass(frozen=True)
class Captured:
    """``replay`` queues the work once more; None: it cannot be captured, and ``failure`` says why.

    ``peak_bytes``: the most that was allocated since peaks were last cleared; what lies in a graph's own pool the
    allocator forgets later.
    """

    replay: "Callable[[], Any] | None" = None
    failure: str = ""
    peak_bytes: int = 0


def captured(device: Device, step: "Callable[[], Any]") -> Captured:
    """``step`` as a graph.

    Raises:
        Exception: memory or the device failed; that it cannot be captured is a result.
    """
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(WARM_STEPS):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            step()
    except RuntimeError as err:
        if failures.classify(err, device.free_bytes(), device.broken()) != failures.USER_CODE:
            raise
        return Captured(failure=failures.described(err)[0])
    return Captured(replay=graph.replay, peak_bytes=torch.cuda.max_memory_allocated())
