# pyright: standard
"""The fast tier: temperatures, power, energy, clocks, limit reasons, utilisation and memory in about nine calls."""

from struct import pack

from gputuner.devices.nvml import plausible
from gputuner.devices.nvml.card import Asker
from gputuner.devices.nvml.direct import Direct, learned
from gputuner.devices.nvml.errors import Failed
from gputuner.devices.nvml.layout import Call
from gputuner.devices.nvml.tick import Tick
from gputuner.model.quantities import Quantity as Q
from gputuner.model.quantities import Tier
from gputuner.model.readings import Reason

MEMORY_TEMPERATURE, ENERGY, POWER_AVERAGE, POWER_INSTANT = 82, 83, 185, 186
"""NVML_FI_DEV_MEMORY_TEMP (°C), _TOTAL_ENERGY_CONSUMPTION (mJ), _POWER_AVERAGE and _POWER_INSTANT (mW)."""
_FIELDS = (MEMORY_TEMPERATURE, ENERGY, POWER_AVERAGE, POWER_INSTANT)
_TEMPERATURE = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")
REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
"""The newer name first; before driver 535 they were called throttle reasons."""
MEMORY = ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo")
"""The second counts what the driver reserves as used."""
_DIRECT_FIELDS = {
    MEMORY_TEMPERATURE: (Q.MEMORY_TEMPERATURE_C, plausible.TEMPERATURE),
    ENERGY: (Q.ENERGY_J, plausible.MILLIJOULE),
    POWER_AVERAGE: (Q.POWER_AVERAGE_W, plausible.MILLIWATT),
    POWER_INSTANT: (Q.POWER_INSTANT_W, plausible.MILLIWATT),
}
_DIRECT = (
    Call(
        name=_TEMPERATURE[0],
        asked=(0,),
        blank=pack("=I12x", 0x100000C),
        layout="8xi4x",
        reads=((Q.CORE_TEMPERATURE_C, plausible.TEMPERATURE),),
    ),
    Call(
        name="nvmlDeviceGetMarginTemperature",
        blank=pack("=I4x", 0x1000008),
        layout="4xi",
        reads=((Q.SLOWDOWN_MARGIN_C, plausible.OFFSET),),
    ),
    Call(
        name="nvmlDeviceGetClockInfo",
        asked=(1,),
        passed=(1,),
        layout="I4x",
        reads=((Q.SM_CLOCK_MHZ, plausible.MEGAHERTZ),),
    ),
    Call(
        name="nvmlDeviceGetClockInfo",
        asked=(2,),
        passed=(2,),
        layout="I4x",
        reads=((Q.MEMORY_CLOCK_MHZ, plausible.MEGAHERTZ),),
    ),
    Call(name=REASONS[0], layout="Q", reads=((Q.LIMIT_BITS, plausible.BITS),)),
    Call(
        name="nvmlDeviceGetUtilizationRates",
        layout="II",
        reads=((Q.GPU_UTILISATION, plausible.PERCENT), (Q.MEMORY_UTILISATION, plausible.PERCENT)),
    ),
    Call(
        name=MEMORY[0],
        blank=pack("=I36x", 0x2000028),
        layout="24xQQ",
        reads=((Q.MEMORY_FREE_BYTES, plausible.BYTES), (Q.MEMORY_USED_BYTES, plausible.BYTES)),
    ),
)
"""The calls of ``read`` on a driver that knows them all; structures and versions as in nvml.h."""


def ready(asker: Asker, tick: Tick) -> Direct | None:
    """The calls behind an ordinary tick, made ready; None if some of it can only be read the ordinary way."""
    return learned(asker, Tier.FAST, tick, _DIRECT, _DIRECT_FIELDS)


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
