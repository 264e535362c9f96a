# pyright: standard
"""A training step captured in a CUDA graph: one launch replays it all.

Forward, backward and the optimizer's step are captured; of a training with a gradient scaler the optimizer's step stays
outside, since the scaler decides on the host whether to take it. The batch must lie at the same place in each step.
"""

from collections.abc import Callable

import torch

from gputuner.workloads.bodies.training_switches import blamed_on

WARM_STEPS = 3
"""Before a capture, on a stream of their own, as torch's notes on CUDA graphs ask for."""


def make_capturable(optimizer: torch.optim.Optimizer) -> None:
    """Let the optimizer keep its counts on the card, where it can; it has not stepped yet."""
    for group in (optimizer.defaults, *optimizer.param_groups):
        if "capturable" in group:
            group["capturable"] = True


class GraphedStep:
    """A captured step.

    ``peak_bytes`` is the peak of what was allocated over the steps before the capture and the capture itself. Replays
    allocate nothing: what they compute in stays in the graph's own pool, which the allocator no longer counts as
    allocated, so that a peak read later holds neither activations nor gradients.

    Args:
        step: a whole step as it is run before the capture; it queues work only.
        captured: forward and backward, and the optimizer's step where ``after`` does not do it; gives the loss.
        after: what follows each replay on the host.

    Raises:
        UnsupportedError: the step cannot be captured, e.g. because it reads a value back to the host.
    """

    def __init__(
        self, step: "Callable[[], None]", captured: "Callable[[], torch.Tensor]", after: "Callable[[], None]"
    ) -> None:
        torch.cuda.reset_peak_memory_stats()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_STEPS):
                step()
        torch.cuda.current_stream().wait_stream(side)
        self._after = after
        self._graph = torch.cuda.CUDAGraph()
        with blamed_on("the step cannot be captured in a CUDA graph"), torch.cuda.graph(self._graph):
            self.loss = captured()
        self.peak_bytes = torch.cuda.max_memory_allocated()

    def replay(self) -> torch.Tensor:
        """Queue one step; the loss, which the next replay overwrites."""
        self._graph.replay()
        self._after()
        return self.loss
