import pytest

from gputuner.workloads.bodies import loader_room
from gputuner.workloads.bodies.loader_room import (
    Room,
    candidates,
    memory_left_bytes,
    quota_cores,
    refusal,
    shared_left_bytes,
    usable_cores,
)

MIB = 1 << 20
FREE = Room(cores=64, memory_bytes=1 << 40, shared_bytes=1 << 40)
BATCH = 64 * 3 * 224 * 224 * 4


def machine(tmp_path, files):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_without_control_groups_there_is_no_quota(tmp_path):
    assert quota_cores(tmp_path) is None
    assert memory_left_bytes(tmp_path) is None


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000"}, None),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "250000 100000"}, 2.5),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000",
                "sys/fs/cgroup/a/cpu.max": "150000 100000",
            },
            1.5,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "300000 100000"}, 3.0),
        (
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/docker/x\n0::/\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us": "800000",
                "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000",
            },
            8.0,
        ),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, None),
    ],
)
def test_the_tightest_quota_from_the_own_group_to_the_root_counts(tmp_path, files, cores):
    assert quota_cores(machine(tmp_path, files)) == cores


def test_cores_are_those_of_affinity_and_quota(tmp_path, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)))
    assert usable_cores(tmp_path) == 16
    files = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "350000 100000"}
    assert usable_cores(machine(tmp_path, files)) == 3
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("50000 100000")
    assert usable_cores(tmp_path) == 1
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {5})
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("max 100000")
    assert usable_cores(tmp_path) == 1


def test_memory_is_what_is_available_within_the_group(tmp_path):
    files = {
        "proc/meminfo": "MemTotal:       64000000 kB\nMemAvailable:   32000000 kB\n",
        "proc/self/cgroup": "0::/job\n",
    }
    assert memory_left_bytes(machine(tmp_path, files)) == 32000000 * 1024
    group = {"sys/fs/cgroup/job/memory.max": str(8 << 30), "sys/fs/cgroup/job/memory.current": str(3 << 30)}
    assert memory_left_bytes(machine(tmp_path, group)) == 5 << 30
    machine(tmp_path, {"sys/fs/cgroup/job/memory.max": "max"})
    assert memory_left_bytes(tmp_path) == 32000000 * 1024


def test_version_1_writes_a_huge_number_where_there_is_no_limit(tmp_path):
    files = {
        "proc/meminfo": "MemAvailable: 1000 kB\n",
        "proc/self/cgroup": "4:memory:/x\n",
        "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712",
        "sys/fs/cgroup/memory/x/memory.usage_in_bytes": "5",
    }
    assert memory_left_bytes(machine(tmp_path, files)) == 1024000


def test_shared_memory_is_that_of_dev_shm(tmp_path):
    assert shared_left_bytes(tmp_path) is None
    (tmp_path / "dev/shm").mkdir(parents=True)
    assert shared_left_bytes(tmp_path) > 0


def test_a_container_with_64_mib_of_shared_memory_takes_no_process():
    # 64 images of 3 × 224 × 224 FP32 are 36.75 MiB; one process with two batches ready needs 73.5 MiB
    small = Room(cores=8, memory_bytes=1 << 40, shared_bytes=64 * MIB)
    assert BATCH == 36.75 * MIB
    assert refusal(small, 0, 2, BATCH) is None
    assert refusal(small, 1, 2, BATCH) == ("shared_memory", {"needs_bytes": int(73.5 * MIB), "free_bytes": 64 * MIB})
    assert refusal(small, 1, 1, BATCH) is None


def test_never_more_processes_than_cores():
    assert refusal(Room(cores=4, memory_bytes=None, shared_bytes=None), 4, 2, BATCH) is None
    assert refusal(Room(cores=4, memory_bytes=None, shared_bytes=None), 5, 2, BATCH) == ("cores", {"cores": 4})


def test_host_memory_bounds_the_processes():
    each = loader_room.WORKER_BYTES + 2 * BATCH
    there = Room(cores=64, memory_bytes=int(4 * each / 0.7) + 1, shared_bytes=None)
    assert refusal(there, 4, 2, BATCH) is None
    reason, figures = refusal(there, 5, 2, BATCH)
    assert (reason, figures["needs_bytes"]) == ("host_memory", 5 * each)


def test_what_was_seen_of_a_process_counts_and_a_present_setting_may_exceed_the_cores():
    there = Room(cores=4, memory_bytes=2 << 30, shared_bytes=None)
    assert refusal(there, 4, 2, MIB) is None
    assert refusal(there, 5, 2, MIB, beyond_cores=True) is None
    reason, figures = refusal(there, 4, 2, MIB, worker_bytes=400 * MIB)
    assert (reason, figures["needs_bytes"]) == ("host_memory", 4 * 402 * MIB)


@pytest.mark.parametrize(
    ("cores", "most", "expected"),
    [
        (1, 16, [0, 1]),
        (2, 16, [0, 1, 2]),
        (6, 16, [0, 1, 2, 4, 6]),
        (16, 16, [0, 1, 2, 4, 8, 16]),
        (128, 16, [0, 1, 2, 4, 8, 16]),
        (128, 12, [0, 1, 2, 4, 8, 12]),
    ],
)
def test_numbers_that_are_tried(cores, most, expected):
    assert candidates(cores, most) == expected
