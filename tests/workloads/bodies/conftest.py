"""Surveys without a worker."""

import pytest


@pytest.fixture
def pace():
    """``pace(seconds)``: what is left stays the same; ``stop_after``: stopped once asked that often.

    One thread meanwhile: tiny operations on several wait for each other on a busy machine.
    """
    import torch

    from gputuner.workloads.bodies.survey import Pace

    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def make(seconds=0.2, stop_after=None):
        asked = iter(range(10**9))
        return Pace(
            measure_s=seconds,
            left_s=lambda: seconds,
            stopped=lambda: stop_after is not None and next(asked) >= stop_after,
        )

    yield make
    torch.set_num_threads(threads)
