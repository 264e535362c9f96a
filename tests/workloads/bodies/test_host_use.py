"""Processor time in use of what the process may have, from the kernel's counters."""

import pytest

from gputuner.workloads.bodies import host_use
from gputuner.workloads.bodies.host_use import Quota, Times, allowed_cores, processor_times, quota_of, share_in_use

ONE = "cpu3 100 10 40 800 50 1 2 7 90 5"


def stat(tmp_path, *lines: str, only=frozenset({3})):
    path = tmp_path / "stat"
    path.write_text("\n".join(("cpu 9 9 9 9 9 9 9 9 9 9", *lines, "intr 1 2 3")) + "\n")
    told = processor_times(str(path), only)
    return told and (told.used, told.whole)


def test_work_is_all_that_is_neither_idle_nor_waiting_for_disks(tmp_path):
    """user 100, nice 10, system 40, idle 800, iowait 50, irq 1, softirq 2, steal 7; guests are in user already."""
    assert stat(tmp_path, ONE) == (160, 1010)


def test_only_processors_that_the_process_may_run_on_count(tmp_path):
    """Processor 0 is full and 1 idle; 10 is not taken for 1."""
    lines = ("cpu0 100 0 0 0 0 0 0 0", "cpu1 0 0 0 100 0 0 0 0", "cpu10 100 0 0 0 0 0 0 0")
    assert stat(tmp_path, *lines, only=frozenset({0})) == (100, 100)
    assert stat(tmp_path, *lines, only=frozenset({1})) == (0, 100)
    assert stat(tmp_path, *lines, only=frozenset({0, 1})) == (100, 200)


@pytest.mark.parametrize("line", ["", "cpu3", "cpu3 a b c d e", "intr 1 2 3 4 5 6"])
def test_what_cannot_be_read_is_not_known(tmp_path, line):
    assert stat(tmp_path, line) is None


def test_no_such_file_is_not_known(tmp_path):
    assert processor_times(str(tmp_path / "missing")) is None


def test_share_between_two_readings():
    assert share_in_use(Times(100, 1000), Times(190, 1100)) == pytest.approx(0.9)
    assert share_in_use(Times(100, 1000), Times(100, 1000)) is None
    assert share_in_use(None, Times(1, 2)) is None
    assert share_in_use(Times(100, 1000), Times(90, 1100)) == 0.0


def groups(tmp_path, path: str, **quotas: str):
    of = tmp_path / "cgroup"
    of.write_text(f"1:name=systemd:/other\n0::{path}\n")
    for folder, told in quotas.items():
        at = tmp_path / "fs" / folder.replace("__", "/").replace("root", "")
        at.mkdir(parents=True, exist_ok=True)
        (at / "cpu.max").write_text(f"{told}\n")
    return quota_of(str(of), str(tmp_path / "fs"))


def test_the_tightest_quota_on_the_way_up_counts(tmp_path):
    found = groups(tmp_path, "/job/step", job="150000 100000", job__step="400000 100000")
    assert found == Quota(1.5, str(tmp_path / "fs" / "job"))


def test_a_container_sees_its_quota_at_the_root(tmp_path):
    found = groups(tmp_path, "/", root="200000 100000")
    assert found is not None
    assert found.cores == 2.0


def test_no_quota_is_none(tmp_path):
    assert groups(tmp_path, "/job", job="max 100000") is None
    assert quota_of(str(tmp_path / "missing")) is None


def test_a_quota_that_is_used_up_is_a_full_processor(tmp_path):
    """Two of 64 cores allowed by quota, both in use for 10 s: the machine is 3 % busy, the job's share is all of it."""
    before, after = (
        Times(used, whole, group_s, 2.0, at_s)
        for used, whole, group_s, at_s in ((0, 0, 5.0, 1.0), (20, 640, 25.0, 11.0))
    )
    assert share_in_use(before, after) == pytest.approx(1.0)
    assert share_in_use(before, after._replace(group_s=15.0)) == pytest.approx(0.5)


def test_a_reading_notes_what_the_group_has_used(tmp_path):
    (tmp_path / "stat").write_text(f"{ONE}\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    told = processor_times(str(tmp_path / "stat"), frozenset({3}), Quota(1.5, str(tmp_path)))
    assert told is not None
    assert (told.group_s, told.quota_cores) == (2.5, 1.5)


def test_cores_are_those_allowed_or_the_quota(monkeypatch):
    monkeypatch.setattr(host_use, "allowed", lambda: frozenset(range(8)))
    monkeypatch.setattr(host_use, "quota_of", lambda: Quota(2.5, ""))
    assert allowed_cores() == 2.5
    monkeypatch.setattr(host_use, "quota_of", lambda: None)
    assert allowed_cores() == 8.0
