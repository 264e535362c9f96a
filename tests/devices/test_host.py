"""The host as a card, over files laid out as Linux does."""

from pathlib import Path

import pytest

from gputuner.devices.host import HostSource, cpu_name, package_temperature_c
from gputuner.devices.rapl import Rapl
from gputuner.devices.sysfiles import SysFiles
from gputuner.model.cards import CPU_CARD
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reason

S = 1_000_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def put(root: Path, path: str, content: object) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{content}\n", encoding="utf-8")


def test_every_due_quantity_is_a_value_or_a_reason(root: Path) -> None:
    source = HostSource(SysFiles(root))
    for tier in (Tier.FAST, Tier.SLOW):
        sample = source.sample(CPU_CARD, tier, S)
        due = {name for name, info in QUANTITIES.items() if info.tier is tier}
        assert sample.values.keys() | sample.missing.keys() == due
        assert not sample.values.keys() & sample.missing.keys()
    assert sample.values == {}


def test_power_comes_from_the_rapl_counters_of_all_packages(root: Path) -> None:
    for package, start in ((0, 1_000_000), (1, 5_000_000)):
        put(root, f"sys/class/powercap/intel-rapl:{package}/energy_uj", start)
        put(root, f"sys/class/powercap/intel-rapl:{package}/max_energy_range_uj", 262_143_328_850)
    put(root, "sys/class/powercap/intel-rapl:0:0/energy_uj", 999)  # a part of package 0: counted there already
    source = HostSource(SysFiles(root))
    first = source.sample(CPU_CARD, Tier.FAST, 1 * S)
    assert first.missing[Quantity.POWER_AVERAGE_W] is Reason.NOT_READ
    put(root, "sys/class/powercap/intel-rapl:0/energy_uj", 61_000_000)
    put(root, "sys/class/powercap/intel-rapl:1/energy_uj", 45_000_000)
    second = source.sample(CPU_CARD, Tier.FAST, 3 * S)
    assert second.values[Quantity.POWER_AVERAGE_W] == pytest.approx(50.0)  # 60 J + 40 J in 2 s
    assert second.values[Quantity.ENERGY_J] == pytest.approx(100.0)


def test_a_counter_that_wraps_goes_on(root: Path) -> None:
    put(root, "sys/class/powercap/intel-rapl:0/energy_uj", 990_000)
    put(root, "sys/class/powercap/intel-rapl:0/max_energy_range_uj", 1_000_000)
    rapl = Rapl(SysFiles(root))
    assert rapl.energy_j() == 0.0
    put(root, "sys/class/powercap/intel-rapl:0/energy_uj", 30_000)
    assert rapl.energy_j() == pytest.approx(0.04)


def test_no_rapl_and_no_sensor_are_not_supported(root: Path) -> None:
    missing = HostSource(SysFiles(root)).sample(CPU_CARD, Tier.FAST, S).missing
    assert missing[Quantity.POWER_AVERAGE_W] is Reason.NOT_SUPPORTED
    assert missing[Quantity.ENERGY_J] is Reason.NOT_SUPPORTED
    assert missing[Quantity.CORE_TEMPERATURE_C] is Reason.NOT_SUPPORTED


def test_rapl_that_only_root_may_read_has_that_reason(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "sys/class/powercap/intel-rapl:0/energy_uj", 1)
    read = Path.read_text

    def refuse(self: Path, *args: object, **kwargs: object) -> str:
        if self.name == "energy_uj":  # mode 0400 since CVE-2020-8694; root passes any mode, so it is refused here
            raise PermissionError
        return read(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "read_text", refuse)
    assert Rapl(SysFiles(root)).energy_j() is Reason.NO_PERMISSION


def test_the_package_sensor_is_preferred_to_cores_and_other_chips(root: Path) -> None:
    put(root, "sys/class/hwmon/hwmon0/name", "acpitz")
    put(root, "sys/class/hwmon/hwmon0/temp1_input", 27800)
    put(root, "sys/class/hwmon/hwmon1/name", "coretemp")
    put(root, "sys/class/hwmon/hwmon1/temp1_label", "Package id 0")
    put(root, "sys/class/hwmon/hwmon1/temp1_input", 61000)
    put(root, "sys/class/hwmon/hwmon1/temp2_label", "Core 0")
    put(root, "sys/class/hwmon/hwmon1/temp2_input", 64000)
    put(root, "sys/class/hwmon/hwmon2/name", "nvme")
    put(root, "sys/class/hwmon/hwmon2/temp1_input", 99000)
    assert package_temperature_c(SysFiles(root)) == 61.0


def test_of_two_packages_the_hotter_counts(root: Path) -> None:
    for chip, value in ((0, 55000), (1, 66500)):
        put(root, f"sys/class/hwmon/hwmon{chip}/name", "k10temp")
        put(root, f"sys/class/hwmon/hwmon{chip}/temp1_label", "Tctl")
        put(root, f"sys/class/hwmon/hwmon{chip}/temp1_input", value)
    assert package_temperature_c(SysFiles(root)) == 66.5


def test_few_cores_are_asked_for_their_clock(root: Path) -> None:
    for core in range(64):
        put(root, f"sys/devices/system/cpu/cpufreq/policy{core}/scaling_cur_freq", 3_400_000)
    sample = HostSource(SysFiles(root)).sample(CPU_CARD, Tier.FAST, S)
    assert sample.values[Quantity.SM_CLOCK_MHZ] == 3400


def test_memory_is_the_containers_where_that_is_less(root: Path) -> None:
    put(root, "sys/fs/cgroup/memory.max", 2**30)
    put(root, "sys/fs/cgroup/memory.current", 2**28)
    source = HostSource(SysFiles(root))
    assert source.cards()[0].memory_total_bytes == 2**30
    values = source.sample(CPU_CARD, Tier.FAST, S).values
    assert values[Quantity.MEMORY_USED_BYTES] == 2**28
    assert values[Quantity.MEMORY_FREE_BYTES] == 2**30 - 2**28
    put(root, "sys/fs/cgroup/memory.max", "max")
    assert (source.cards()[0].memory_total_bytes or 0) > 2**30


def test_the_name_is_the_processors_own(root: Path) -> None:
    put(root, "proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD Ryzen 9  7950X 16-Core Processor\nflags\t: fpu")
    assert cpu_name(SysFiles(root)) == "AMD Ryzen 9 7950X 16-Core Processor"
    assert HostSource(SysFiles(root)).cards()[0].is_cpu
