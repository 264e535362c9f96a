"""The machine's processor time in use, from the kernel's counters."""

import pytest

from gputuner.workloads.bodies.host_use import processor_times, share_in_use


def stat(tmp_path, line: str):
    path = tmp_path / "stat"
    path.write_text(f"{line}\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    return processor_times(str(path))


def test_work_is_all_that_is_neither_idle_nor_waiting_for_disks(tmp_path):
    """user 100, nice 10, system 40, idle 800, iowait 50, irq 1, softirq 2, steal 7; guests are in user already."""
    assert stat(tmp_path, "cpu 100 10 40 800 50 1 2 7 90 5") == (160, 1010)


@pytest.mark.parametrize("line", ["", "cpu", "cpu a b c d e", "intr 1 2 3 4 5 6"])
def test_what_cannot_be_read_is_not_known(tmp_path, line):
    assert stat(tmp_path, line) is None


def test_no_such_file_is_not_known(tmp_path):
    assert processor_times(str(tmp_path / "missing")) is None


def test_share_between_two_readings():
    assert share_in_use((100, 1000), (190, 1100)) == pytest.approx(0.9)
    assert share_in_use((100, 1000), (100, 1000)) is None
    assert share_in_use(None, (1, 2)) is None
    assert share_in_use((100, 1000), (90, 1100)) == 0.0
