"""A timer that is put off while a thread waits for it."""

import os
import sys
import threading
import time

import pytest

from gputuner.telemetry.alarm import Alarm


def test_whoever_waits_waits_as_long_as_said() -> None:
    alarm = Alarm()
    began = time.monotonic()
    alarm.wait(0.03)
    assert time.monotonic() - began >= 0.03
    alarm.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread sleeps and cannot be called earlier")
def test_a_waiting_thread_follows_the_last_time_that_was_set() -> None:
    alarm = Alarm()
    waiting = threading.Thread(target=alarm.wait, args=(3600.0,))
    waiting.start()
    while waiting.is_alive():  # put off until it has begun to wait, and then once more
        alarm.put_off(0.001)
        waiting.join(0.01)
    alarm.close()


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors")
def test_closing_gives_the_descriptor_back_and_may_be_repeated() -> None:
    def held() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = held()
    alarm = Alarm()
    assert held() == before + 1
    alarm.close()
    alarm.close()
    alarm.put_off(1.0)
    assert held() == before


def test_without_a_timer_of_the_kernel_it_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    alarm = Alarm()
    alarm.put_off(3600.0)
    began = time.monotonic()
    alarm.wait(0.02)
    assert time.monotonic() - began >= 0.02
    alarm.close()
