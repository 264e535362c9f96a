"""The machine around the card: every fact that makes two results comparable or not, each a value or a reason."""

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from gputuner.devices.host import cpu_name, package_temperature_c
from gputuner.devices.rapl import Rapl
from gputuner.devices.sysfiles import SysFiles, reading_of
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.readings import Reading, Reason, Scalar

_HYPERVISORS = {
    "kvm": "kvm",
    "qemu": "qemu",
    "vmware": "vmware",
    "virtualbox": "virtualbox",
    "innotek": "virtualbox",
    "xen": "xen",
    "microsoft corporation virtual": "hyper-v",
    "amazon ec2": "ec2",
    "google compute": "gce",
    "bochs": "bochs",
    "parallels": "parallels",
}
"""Words in the firmware's vendor and product names (DMI), and what they mean."""
_CONTAINERS = {
    "docker": "docker",
    "containerd": "containerd",
    "kubepods": "kubernetes",
    "libpod": "podman",
    "lxc": "lxc",
    "machine.slice/machine-": "nspawn",
}


def host_fingerprint(data_dir: Path | None = None, files: SysFiles | None = None) -> HostFingerprint:
    """The machine as it is now.

    Args:
        data_dir: where sessions are kept; the free disk space is that of its file system.
        files: the system's files (replaced in tests).
    """
    files = files or SysFiles()
    memory = psutil.virtual_memory()
    rapl = Rapl(files).energy_j()
    readings: dict[str, Reading] = {
        "cpu": reading_of(cpu_name(files)),
        "cores_physical": reading_of(psutil.cpu_count(logical=False)),
        "cores_logical": reading_of(psutil.cpu_count()),
        "smt": reading_of(smt(files)),
        "governor": reading_of(governor(files)),
        "cgroup_quota_cores": reading_of(quota_cores(files), "cores"),
        "numa_nodes": reading_of(len(files.folders("sys/devices/system/node/node[0-9]*")) or None),
        "memory_total_bytes": reading_of(memory.total, "bytes"),
        "memory_available_bytes": reading_of(memory.available, "bytes"),
        "load_1m": reading_of(_load()),
        "virtual_machine": reading_of(virtual_machine(files)),
        "wsl": reading_of(wsl(files)),
        "container": reading_of(container(files)),
        "iommu": reading_of(iommu(files)),
        "os": reading_of(_os_name(files)),
        "kernel": reading_of(platform.release() or None),
        "python": reading_of(platform.python_version()),
        "gputuner": reading_of(_own_version()),
        "disk_free_bytes": reading_of(_disk_free(data_dir), "bytes"),
        "cpu_temperature_c": reading_of(package_temperature_c(files), "degC"),
        "rapl_readable": reading_of(rapl if rapl is Reason.NOT_SUPPORTED else not isinstance(rapl, Reason)),
        "boot_id": reading_of(files.text("proc/sys/kernel/random/boot_id")),
    }
    return HostFingerprint(readings=readings)


def governor(files: SysFiles) -> str | Reason:
    """The cores' frequency governor; several are joined by ``+``."""
    paths = files.folders("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    found = {text for path in paths if not isinstance(text := files.text(path), Reason)}
    return "+".join(sorted(found)) if found else Reason.NOT_SUPPORTED


def smt(files: SysFiles) -> bool | Reason:
    """True if cores run several threads each."""
    active = files.text("sys/devices/system/cpu/smt/active")
    if not isinstance(active, Reason):
        return active == "1"
    siblings = files.text("sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    return siblings if isinstance(siblings, Reason) else ("," in siblings or "-" in siblings)


def quota_cores(files: SysFiles) -> float | str | Reason:
    """Processor time that the cgroup grants, in cores; ``unlimited`` where it sets no limit."""
    unified = _own_quota(files)
    if unified is not None:
        return unified
    quota = files.number("sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    period = files.number("sys/fs/cgroup/cpu/cpu.cfs_period_us")
    if isinstance(quota, Reason) or isinstance(period, Reason):
        return quota if isinstance(quota, Reason) and quota is not Reason.NOT_SUPPORTED else "unlimited"
    return quota / period if quota > 0 and period > 0 else "unlimited"


def _own_quota(files: SysFiles) -> float | str | None:
    """The tightest limit from our own cgroup (version 2) up to the root; None without such files."""
    path = ""
    listing = files.text("proc/self/cgroup")
    for line in "" if isinstance(listing, Reason) else listing.splitlines():
        if line.startswith("0::"):
            path = line[3:].strip("/")
    limits: list[float] = []
    seen = False
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts) + 1):
        content = files.text("/".join(["sys/fs/cgroup", *parts[:depth], "cpu.max"]))
        if isinstance(content, Reason):
            continue
        seen = True
        quota, _, period = content.partition(" ")
        if quota.isdigit() and period.isdigit() and int(period) > 0:
            limits.append(int(quota) / int(period))
    return min(limits) if limits else "unlimited" if seen else None


def virtual_machine(files: SysFiles) -> str | bool | Reason:
    """Name of the hypervisor, True if there is one of unknown name, False on bare metal."""
    names = [files.text(f"sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name", "bios_vendor")]
    words = " ".join(name for name in names if not isinstance(name, Reason)).lower()
    for word, meaning in _HYPERVISORS.items():
        if word in words:
            return meaning
    kind = files.text("sys/hypervisor/type")
    if not isinstance(kind, Reason) and kind:
        return kind
    content = files.text("proc/cpuinfo")
    if isinstance(content, Reason):
        return content
    flags = next((line for line in content.splitlines() if line.startswith(("flags", "Features"))), "")
    return "hypervisor" in flags.split()


def wsl(files: SysFiles) -> bool | Reason:
    """True inside the Windows Subsystem for Linux."""
    kernel = files.text("proc/version")
    return kernel if isinstance(kernel, Reason) else "microsoft" in kernel.lower()


def container(files: SysFiles) -> str | bool | Reason:
    """Kind of container this runs in, False outside one."""
    if (files.root / ".dockerenv").exists():
        return "docker"
    if (files.root / "run/.containerenv").exists():
        return "podman"
    told = files.text("run/systemd/container")
    if not isinstance(told, Reason) and told:
        return told
    groups = [files.text(path) for path in ("proc/1/cgroup", "proc/self/cgroup")]
    words = " ".join(text for text in groups if not isinstance(text, Reason))
    for word, meaning in _CONTAINERS.items():
        if word in words:
            return meaning
    return groups[1] if isinstance(groups[1], Reason) else False


def iommu(files: SysFiles) -> str | Reason:
    """``off``, ``passthrough``, ``translated`` or ``on`` (kind unknown): translation slows transfers between cards."""
    if not files.folders("sys/class/iommu/*"):
        return "off" if not isinstance(files.text("proc/cmdline"), Reason) else Reason.NOT_SUPPORTED
    kinds = [files.text(path) for path in files.folders("sys/kernel/iommu_groups/*/type")]
    if "identity" in kinds:
        return "passthrough"
    return "translated" if any(kind.startswith("DMA") for kind in kinds) else "on"


def _os_name(files: SysFiles) -> str:
    content = files.text("etc/os-release")
    if not isinstance(content, Reason):
        for line in content.splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip('"')
    return f"{platform.system()} {platform.version()}" if sys.platform == "win32" else platform.platform()


def _own_version() -> Scalar | None:
    try:
        return version("gputuner")
    except PackageNotFoundError:
        return None


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _disk_free(data_dir: Path | None) -> int | Reason:
    place = (data_dir or Path.home()).absolute()
    for folder in (place, *place.parents):
        try:
            return shutil.disk_usage(folder).free
        except FileNotFoundError:
            continue
        except OSError:
            return Reason.ERROR
    return Reason.ERROR
