"""Several jobs in one process, seen from the device that they share."""

from typing import ClassVar

import pytest

pytestmark = pytest.mark.torch

JOB = {"id": "t.1", "workload": "plain", "params": {}, "measure_s": 0.02, "budget_s": 60.0, "warmup_s": 0.0,
       "barrier": True, "seed": 0, "memory_cap_bytes": None}  # fmt: skip


class Plain:
    """Does nothing, and is measured."""

    work: ClassVar = {"samples": 1.0}

    def probe(self, left_s):
        return None

    def iterate(self):
        pass

    def mark(self):
        pass

    def relative_error(self):
        return None

    def notes(self):
        return {}


class Shared:
    """A device that keeps in order what it was asked for."""

    name, bf16_native, tf32_native, cache_bytes = "card", True, True, 0

    def __init__(self):
        self.asked = []

    def limit(self, cap_bytes):
        self.asked.append(("limit", cap_bytes))
        return {}

    def begin_trial(self):
        self.asked.append(("begin",))

    def memory(self):
        return {}

    def windows(self, length_s):
        from gputuner.workloads.bodies.cpu import HostWindows

        return HostWindows()


@pytest.mark.parametrize("cap", [None, 5 << 30])
def test_the_process_gets_its_cap_once_before_any_job(cap):
    from gputuner.workloads.bodies.together import perform
    from gputuner.workloads.bodies.trial import Control

    device = Shared()
    message = {"id": "t", "memory_cap_bytes": cap, "jobs": [JOB, {**JOB, "id": "t.2"}]}
    control = Control(send=lambda _: None, stopped=lambda: False, wait_for_go=lambda: True)
    result = perform(message, device, lambda *_: Plain(), control)
    assert len(result["trials"]) == 2
    assert device.asked == [("limit", cap), ("begin",)], "a trial before may have left it a part only"
