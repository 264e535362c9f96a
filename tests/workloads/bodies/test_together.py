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


class Allocator(Shared):
    """A card whose allocator counts what the bodies take."""

    def __init__(self):
        super().__init__()
        self.held = self.peak = 0

    def memory(self):
        return {"allocated_peak_bytes": self.peak}

    def from_here(self):
        self.peak = self.held
        return self.held

    def take(self, lasting, passing):
        self.held += lasting
        self.peak = max(self.peak, self.held + passing)


class Holding(Plain):
    """Keeps some memory, and takes more in each step."""

    def __init__(self, device, lasting, passing):
        self.device, self.passing = device, passing
        device.take(lasting, 0)

    def iterate(self):
        self.device.take(0, self.passing)


def test_each_job_has_the_memory_that_it_held_while_it_alone_was_set_up(monkeypatch):
    from gputuner.workloads.bodies import together
    from gputuner.workloads.bodies.trial import Control

    device = Allocator()
    monkeypatch.setattr(together, "peak_from_here", lambda _: device.from_here())
    sizes = iter([(100, 40), (300, 10)])
    message = {"id": "t", "memory_cap_bytes": None, "jobs": [JOB, {**JOB, "id": "t.2"}]}
    control = Control(send=lambda _: None, stopped=lambda: False, wait_for_go=lambda: True)
    result = together.perform(message, device, lambda *_: Holding(device, *next(sizes)), control)
    assert [trial["memory"]["allocated_peak_bytes"] for trial in result["trials"]] == [140, 310]
    whole = {trial["notes"]["process_peak_bytes"] for trial in result["trials"]}
    assert whole == {440}, "both keep theirs, and the larger step comes on top"


def test_where_memory_is_only_the_processs_no_job_has_one():
    from gputuner.workloads.bodies.together import perform
    from gputuner.workloads.bodies.trial import Control

    control = Control(send=lambda _: None, stopped=lambda: False, wait_for_go=lambda: True)
    message = {"id": "t", "memory_cap_bytes": None, "jobs": [JOB, {**JOB, "id": "t.2"}]}
    result = perform(message, Shared(), lambda *_: Plain(), control)
    assert all("allocated_peak_bytes" not in trial["memory"] for trial in result["trials"])
