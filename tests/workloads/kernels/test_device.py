"""The device of our own kernels: memory that is counted, capped and given back; windows; the clock in band."""

import pytest

from tests.workloads.kernels.fake_runtime import FakeRuntime, fake_device


def test_what_a_trial_took_is_given_back():
    runtime = FakeRuntime()
    device = fake_device(runtime)
    device.begin_trial()
    device.allocate(1 << 20)
    device.free(device.allocate(3 << 20))
    assert device.memory()["allocated_peak_bytes"] == 4 << 20
    assert device.memory()["capacity_bytes"] == runtime.total
    device.release()
    assert runtime.held == {}


def test_a_cap_holds():
    device = fake_device(cap=1 << 20)
    device.allocate(1 << 19)
    assert device.free_bytes() == 1 << 19
    with pytest.raises(MemoryError):
        device.allocate(1 << 20)
    device.limit(1 << 22)
    device.allocate(1 << 20)


def test_the_clock_is_that_of_the_spins():
    assert fake_device().clock_mhz() == pytest.approx(1500.0)


def test_windows_are_gapless_and_each_is_told_once():
    runtime = FakeRuntime()
    device = fake_device(runtime)
    windows = device.windows(0.01)

    def iterate():
        runtime.now += 0.002

    found = []
    for _ in range(6):
        found += windows.run(iterate, 3)
    assert windows.running() == 2
    found += windows.drain()
    assert found == pytest.approx([0.002] * 6)


def test_a_source_is_compiled_once():
    runtime = FakeRuntime()
    device = fake_device(runtime)
    device.clock_mhz()
    device.clock_mhz()
    assert len(runtime.sources) == 1
