# pyright: standard
"""The fast tier: temperatures, power, energy, clocks, limit reasons, utilisation and memory in about nine calls."""

from gputuner.devices.nvml import plausible
from gputuner.devices.nvml.card import Asker
from gputuner.devices.nvml.errors import Failed
from gputuner.devices.nvml.tick import Tick
from gputuner.model.quantities import Quantity as Q
from gputuner.model.readings import Reason

MEMORY_TEMPERATURE, ENERGY, POWER_AVERAGE, POWER_INSTANT = 82, 83, 185, 186
"""NVML_FI_DEV_MEMORY_TEMP (°C), _TOTAL_ENERGY_CONSUMPTION (mJ), _POWER_AVERAGE and _POWER_INSTANT (mW)."""
_FIELDS = (MEMORY_TEMPERATURE, ENERGY, POWER_AVERAGE, POWER_INSTANT)
_TEMPERATURE = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")
REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
"""The newer name first; before driver 535 they were called throttle reasons."""
MEMORY = ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo")
"""The second counts what the driver reserves as used."""


def read(asker: Asker) -> Tick:
    """One fast tick.

    Raises:
        DeviceLost: the card is gone.
    """
    tick = Tick(asker)
    tick.put(Q.CORE_TEMPERATURE_C, asker.first(_TEMPERATURE, 0), plausible.TEMPERATURE)
    tick.lack(Reason.NOT_SUPPORTED, Q.HOTSPOT_TEMPERATURE_C)
    _margin(asker, tick)
    _fields(asker, tick)
    tick.put(Q.SM_CLOCK_MHZ, asker.ask("nvmlDeviceGetClockInfo", 1), plausible.MEGAHERTZ)
    tick.put(Q.MEMORY_CLOCK_MHZ, asker.ask("nvmlDeviceGetClockInfo", 2), plausible.MEGAHERTZ)
    tick.put(Q.LIMIT_BITS, asker.first(REASONS), plausible.BITS)
    rates = asker.ask("nvmlDeviceGetUtilizationRates")
    tick.attribute(Q.GPU_UTILISATION, rates, "gpu", plausible.PERCENT)
    tick.attribute(Q.MEMORY_UTILISATION, rates, "memory", plausible.PERCENT)
    memory = asker.first(MEMORY)
    tick.attribute(Q.MEMORY_USED_BYTES, memory, "used", plausible.BYTES)
    tick.attribute(Q.MEMORY_FREE_BYTES, memory, "free", plausible.BYTES)
    return tick


def _margin(asker: Asker, tick: Tick) -> None:
    """Distance to the nearest slowdown: as told, else slowdown threshold minus core temperature."""
    margin = asker.ask("nvmlDeviceGetMarginTemperature")
    core = tick.values.get(Q.CORE_TEMPERATURE_C)
    slowdown = asker.card.info.number("slowdown_c")
    if type(margin) is Failed and core is not None and slowdown is not None:
        margin = slowdown - core
    tick.put(Q.SLOWDOWN_MARGIN_C, margin, plausible.OFFSET)


def _fields(asker: Asker, tick: Tick) -> None:
    fields = asker.fields(_FIELDS)
    tick.put(Q.MEMORY_TEMPERATURE_C, fields[MEMORY_TEMPERATURE], plausible.TEMPERATURE)
    energy = fields[ENERGY]
    if type(energy) is Failed:
        energy = asker.ask("nvmlDeviceGetTotalEnergyConsumption")
    tick.put(Q.ENERGY_J, energy, plausible.MILLIJOULE)
    average, instant = fields[POWER_AVERAGE], fields[POWER_INSTANT]
    if type(average) is Failed or type(instant) is Failed:
        usage = asker.ask("nvmlDeviceGetPowerUsage")
        if usage_is_average(asker):
            average = usage if type(average) is Failed else average
        else:
            instant = usage if type(instant) is Failed else instant
    tick.put(Q.POWER_AVERAGE_W, average, plausible.MILLIWATT)
    tick.put(Q.POWER_INSTANT_W, instant, plausible.MILLIWATT)


def usage_is_average(asker: Asker) -> bool:
    """True if ``nvmlDeviceGetPowerUsage`` is the average over a second.

    It is on Ampere and later except GA100; on GA100 and older it is instant (nvml.h).
    """
    major, _, minor = (asker.card.info.compute_capability or "0.0").partition(".")
    return (int(major), int(minor)) > (8, 0)
