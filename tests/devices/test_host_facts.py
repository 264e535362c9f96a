"""Facts of the host over files laid out as Linux does."""

from pathlib import Path

import pytest

from gputuner.devices.host_facts import (
    container,
    governor,
    host_fingerprint,
    iommu,
    quota_cores,
    smt,
    virtual_machine,
    wsl,
)
from gputuner.devices.sysfiles import SysFiles
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.readings import Reason


def put(root: Path, path: str, content: object) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{content}\n", encoding="utf-8")


def test_every_name_of_the_fingerprint_is_there(tmp_path: Path) -> None:
    names = {word.strip("`,. \n") for word in (HostFingerprint.__doc__ or "").partition("Names:")[2].split()}
    readings = host_fingerprint(tmp_path / "not" / "there").readings
    assert readings.keys() == names
    for name in ("memory_total_bytes", "cores_logical", "python", "disk_free_bytes"):
        assert readings[name].value, name
    empty = host_fingerprint(tmp_path, SysFiles(tmp_path)).readings
    assert empty.keys() == names
    assert empty["boot_id"].reason is Reason.NOT_SUPPORTED


def test_governors_that_differ_are_all_told(tmp_path: Path) -> None:
    files = SysFiles(tmp_path)
    assert governor(files) is Reason.NOT_SUPPORTED
    for core, kind in enumerate(["powersave", "performance", "powersave"]):
        put(tmp_path, f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor", kind)
    assert governor(files) == "performance+powersave"


@pytest.mark.parametrize(("siblings", "expected"), [("0", False), ("0,64", True), ("0-1", True)])
def test_smt_from_siblings_where_the_switch_is_missing(tmp_path: Path, siblings: str, expected: bool) -> None:
    put(tmp_path, "sys/devices/system/cpu/cpu0/topology/thread_siblings_list", siblings)
    assert smt(SysFiles(tmp_path)) is expected
    put(tmp_path, "sys/devices/system/cpu/smt/active", "1")
    assert smt(SysFiles(tmp_path)) is True


def test_the_tightest_quota_on_the_way_to_the_root_counts(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/user.slice/job")
    put(tmp_path, "sys/fs/cgroup/user.slice/job/cpu.max", "max 100000")
    assert quota_cores(SysFiles(tmp_path)) == "unlimited"
    put(tmp_path, "sys/fs/cgroup/user.slice/cpu.max", "350000 100000")
    assert quota_cores(SysFiles(tmp_path)) == 3.5
    put(tmp_path, "sys/fs/cgroup/user.slice/job/cpu.max", "50000 100000")
    assert quota_cores(SysFiles(tmp_path)) == 0.5


def test_quota_of_the_older_cgroup_files(tmp_path: Path) -> None:
    put(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1)
    put(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_period_us", 100000)
    assert quota_cores(SysFiles(tmp_path)) == "unlimited"
    put(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", 200000)
    assert quota_cores(SysFiles(tmp_path)) == 2.0


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("sys/class/dmi/id/sys_vendor", "QEMU", "qemu"),
        ("sys/class/dmi/id/product_name", "VMware Virtual Platform", "vmware"),
        ("sys/class/dmi/id/sys_vendor", "Xen", "xen"),
        ("proc/cpuinfo", "flags\t\t: fpu hypervisor sse", True),
        ("proc/cpuinfo", "flags\t\t: fpu sse", False),
        ("none", "", Reason.NOT_SUPPORTED),
    ],
)
def test_virtual_machines(tmp_path: Path, path: str, content: str, expected: object) -> None:
    put(tmp_path, path, content)
    assert virtual_machine(SysFiles(tmp_path)) == expected


def test_a_real_board_named_after_its_maker_is_no_virtual_machine(tmp_path: Path) -> None:
    put(tmp_path, "sys/class/dmi/id/sys_vendor", "ASUSTeK COMPUTER INC.")
    put(tmp_path, "sys/class/dmi/id/product_name", "Pro WS WRX90E-SAGE SE")
    put(tmp_path, "proc/cpuinfo", "flags : fpu")
    assert virtual_machine(SysFiles(tmp_path)) is False


def test_wsl_tells_itself_in_the_kernels_name(tmp_path: Path) -> None:
    put(tmp_path, "proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2 (gcc) #1 SMP")
    assert wsl(SysFiles(tmp_path)) is True
    put(tmp_path, "proc/version", "Linux version 6.8.0-45-generic (buildd@host)")
    assert wsl(SysFiles(tmp_path)) is False


def test_containers(tmp_path: Path) -> None:
    assert container(SysFiles(tmp_path)) is Reason.NOT_SUPPORTED
    put(tmp_path, "proc/self/cgroup", "0::/user.slice/user-1000.slice")
    assert container(SysFiles(tmp_path)) is False
    put(tmp_path, "proc/1/cgroup", "0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-1.scope")
    assert container(SysFiles(tmp_path)) in ("kubernetes", "containerd")
    put(tmp_path, "run/systemd/container", "lxc")
    assert container(SysFiles(tmp_path)) == "lxc"
    put(tmp_path, "run/.containerenv", "")
    assert container(SysFiles(tmp_path)) == "podman"
    put(tmp_path, ".dockerenv", "")
    assert container(SysFiles(tmp_path)) == "docker"


def test_iommu(tmp_path: Path) -> None:
    files = SysFiles(tmp_path)
    assert iommu(files) is Reason.NOT_SUPPORTED
    put(tmp_path, "proc/cmdline", "quiet")
    assert iommu(files) == "off"
    put(tmp_path, "sys/class/iommu/dmar0/x", "")
    assert iommu(files) == "on"
    put(tmp_path, "sys/kernel/iommu_groups/0/type", "DMA-FQ")
    assert iommu(files) == "translated"
    put(tmp_path, "sys/kernel/iommu_groups/1/type", "identity")
    assert iommu(files) == "passthrough"
