"""Estimates for a processor against a dry run, whose simulated processor is as fast as two measured cores."""

import pytest

from gputuner.assembly.rehearsal import rehearse
from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.benchmark import Machine
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS
from gputuner.model.cards import CPU_CARD, CardInfo

CPU = CardInfo(uuid=CPU_CARD, index=0, name="Test processor", memory_total_bytes=24 << 30)
HERE = [b.name for b in BENCHMARKS if b.unavailable(Machine(card=CPU)) is None]
BY_NAME = {benchmark.name: benchmark for benchmark in BENCHMARKS}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", HERE)
def test_what_is_told_beforehand_is_about_what_it_takes(name, full):
    """Training costs more on real cores than the model says, never less: the bound below is the sharper one."""
    steps = rehearse(Bench(names=(name,), full=full, cpu=True), CPU, None).steps
    took_s = sum(step.expected_s for step in steps)
    told_s = BY_NAME[name].expected_s(full=full, cpu=True)
    assert took_s > 0.0
    assert 0.8 * took_s <= told_s <= 2.0 * took_s + 2.0


def test_with_full_a_processor_has_an_estimate_of_its_own():
    read, lstm = BY_NAME["memory-read"], BY_NAME["lstm"]
    assert read.expected_s(full=True, cpu=True) - read.expected_s(full=False, cpu=True) == pytest.approx(4.5)
    assert lstm.expected_s(full=True, cpu=True) == lstm.expected_s(full=False, cpu=True) == lstm.cpu_s
    assert read.expected_s(full=True, cpu=False) == read.full_s
