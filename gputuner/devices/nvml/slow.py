# pyright: standard
"""The slow tier: limits, counters of time in each limit, links, fans, ECC and activity counters."""

from struct import pack
from typing import Any

from gputuner.devices.nvml import gpm, plausible
from gputuner.devices.nvml.binding import FAN_RPM
from gputuner.devices.nvml.card import Asker
from gputuner.devices.nvml.direct import Direct, learned
from gputuner.devices.nvml.errors import Code, Failed, failed
from gputuner.devices.nvml.fast import MEMORY
from gputuner.devices.nvml.layout import Call
from gputuner.devices.nvml.tick import Tick
from gputuner.model.quantities import Quantity as Q
from gputuner.model.quantities import Tier
from gputuner.model.readings import Reason

_COUNTERS: dict[int, Q] = {
    74: Q.LIMITED_POWER_NS,
    76: Q.LIMITED_SYNC_BOOST_NS,
    269: Q.LIMITED_THERMAL_SOFTWARE_NS,
    270: Q.LIMITED_THERMAL_HARDWARE_NS,
    271: Q.LIMITED_POWER_BRAKE_NS,
}
"""NVML_FI_DEV_CLOCKS_EVENT_REASON_*: nanoseconds spent in each limit since the driver was loaded."""
_ENFORCED, _REPLAYS, _CORRECTED, _UNCORRECTED = 190, 94, 3, 4
_REMAPPED = (142, 143)
"""NVML_FI_DEV_REMAPPED_COR and _UNC: memory rows replaced for correctable and for uncorrectable errors."""
_FIELDS = (
    *_COUNTERS,
    _ENFORCED,
    _REPLAYS,
    _CORRECTED,
    _UNCORRECTED,
    *_REMAPPED,
)
_FANS = frozenset({Q.FAN_FRACTION, Q.FAN_RPM})
_DIRECT_FIELDS = {
    **{field: (quantity, plausible.NANOSECONDS) for field, quantity in _COUNTERS.items()},
    _ENFORCED: (Q.POWER_LIMIT_ENFORCED_W, plausible.LIMIT_MILLIWATT),
    _REPLAYS: (Q.PCIE_REPLAYS, plausible.COUNT),
    _CORRECTED: (Q.ECC_CORRECTED, plausible.COUNT),
    _UNCORRECTED: (Q.ECC_UNCORRECTED, plausible.COUNT),
    **dict.fromkeys(_REMAPPED, (Q.REMAPPED_ROWS, plausible.COUNT)),
}


def _number(name: str, quantity: Q, kind: plausible.Kind, *passed: int, answers: tuple[int, ...] = (0,)) -> Call:
    """A call that answers one number of 32 bits (first of ``answers``)."""
    return Call(name=name, asked=passed, passed=passed, answers=answers, layout="I4x", reads=((quantity, kind),))


_DIRECT = (
    _number("nvmlDeviceGetClockInfo", Q.GRAPHICS_CLOCK_MHZ, plausible.MEGAHERTZ, 0),
    _number("nvmlDeviceGetClockInfo", Q.VIDEO_CLOCK_MHZ, plausible.MEGAHERTZ, 3),
    _number("nvmlDeviceGetEncoderUtilization", Q.ENCODER_UTILISATION, plausible.PERCENT, answers=(0, 4)),
    _number("nvmlDeviceGetDecoderUtilization", Q.DECODER_UTILISATION, plausible.PERCENT, answers=(0, 4)),
    Call(
        name=MEMORY[0],
        blank=pack("=I36x", 0x2000028),
        layout="16xQ16x",
        reads=((Q.MEMORY_RESERVED_BYTES, plausible.BYTES),),
    ),
    Call(
        name="nvmlDeviceGetBAR1MemoryInfo",
        blank=bytes(24),
        layout="16xQ",
        reads=((Q.BAR1_USED_BYTES, plausible.BYTES),),
    ),
    _number("nvmlDeviceGetPerformanceState", Q.PSTATE, plausible.PSTATE),
    _number("nvmlDeviceGetCurrPcieLinkGeneration", Q.PCIE_GENERATION, plausible.SMALL),
    _number("nvmlDeviceGetCurrPcieLinkWidth", Q.PCIE_WIDTH, plausible.SMALL),
)
"""The calls of ``read`` on a driver that knows them all; structures and versions as in nvml.h."""
_ROWS = Call(
    name="nvmlDeviceGetRemappedRows",
    answers=(0, 4, 8, 12),
    blank=bytes(16),
    layout="II8x",
    reads=((Q.REMAPPED_ROWS, plausible.COUNT),) * 2,
)
"""Where the fields do not tell them: corrected, uncorrected, pending, failed."""


def ready(asker: Asker, tick: Tick) -> Direct | None:
    """The calls behind an ordinary tick, made ready; None if some of it can only be read the ordinary way."""
    calls, fields = _DIRECT, _DIRECT_FIELDS
    if any(asker.refuses(("field", field)) for field in _REMAPPED):
        calls, fields = (*_DIRECT, _ROWS), {field: read for field, read in fields.items() if field not in _REMAPPED}
    fanless, gpmless = asker.card.fan_count == 0, asker.refuses(gpm.SUPPORT)
    apart = (frozenset[Q]() if fanless else _FANS) | (frozenset[Q]() if gpmless else gpm.QUANTITIES)
    return learned(asker, Tier.SLOW, tick, calls, fields, apart)


def rest(asker: Asker, tick: Tick) -> None:
    """Read what is not among the calls made ready.

    Raises:
        DeviceLost: the card is gone.
    """
    _fans(asker, tick)
    gpm.read(asker, tick)


def read(asker: Asker) -> Tick:
    """One slow tick.

    Raises:
        DeviceLost: the card is gone.
    """
    tick = Tick(asker)
    _fields(asker, tick)
    tick.put(Q.GRAPHICS_CLOCK_MHZ, asker.ask("nvmlDeviceGetClockInfo", 0), plausible.MEGAHERTZ)
    tick.put(Q.VIDEO_CLOCK_MHZ, asker.ask("nvmlDeviceGetClockInfo", 3), plausible.MEGAHERTZ)
    for quantity, call in (
        (Q.ENCODER_UTILISATION, "nvmlDeviceGetEncoderUtilization"),
        (Q.DECODER_UTILISATION, "nvmlDeviceGetDecoderUtilization"),
    ):
        pair = asker.ask(call)
        tick.put(quantity, pair if type(pair) is Failed else pair[0], plausible.PERCENT)
    memory = asker.ask(MEMORY[0])
    tick.attribute(Q.MEMORY_RESERVED_BYTES, memory, "reserved", plausible.BYTES)
    tick.attribute(Q.BAR1_USED_BYTES, asker.ask("nvmlDeviceGetBAR1MemoryInfo"), "bar1Used", plausible.BYTES)
    tick.put(Q.PSTATE, asker.ask("nvmlDeviceGetPerformanceState"), plausible.PSTATE)
    tick.put(Q.PCIE_GENERATION, asker.ask("nvmlDeviceGetCurrPcieLinkGeneration"), plausible.SMALL)
    tick.put(Q.PCIE_WIDTH, asker.ask("nvmlDeviceGetCurrPcieLinkWidth"), plausible.SMALL)
    rest(asker, tick)
    return tick


def _fields(asker: Asker, tick: Tick) -> None:
    fields = asker.fields(_FIELDS)
    for field, quantity in _COUNTERS.items():
        tick.put(quantity, fields[field], plausible.NANOSECONDS)
    enforced = fields[_ENFORCED]
    if type(enforced) is Failed:
        enforced = asker.ask("nvmlDeviceGetEnforcedPowerLimit")
    tick.put(Q.POWER_LIMIT_ENFORCED_W, enforced, plausible.LIMIT_MILLIWATT)
    replays = fields[_REPLAYS]
    if type(replays) is Failed:
        replays = asker.ask("nvmlDeviceGetPcieReplayCounter")
    tick.put(Q.PCIE_REPLAYS, replays, plausible.COUNT)
    tick.put(Q.ECC_CORRECTED, fields[_CORRECTED], plausible.COUNT)
    tick.put(Q.ECC_UNCORRECTED, fields[_UNCORRECTED], plausible.COUNT)
    tick.put(Q.REMAPPED_ROWS, _remapped(asker, fields), plausible.COUNT)


def _remapped(asker: Asker, fields: dict[int, Any]) -> Any:
    """Memory rows replaced by spare ones, for correctable and uncorrectable errors together."""
    corrected, uncorrected = (fields[field] for field in _REMAPPED)
    if type(corrected) is not Failed and type(uncorrected) is not Failed:
        return corrected + uncorrected
    rows = asker.ask("nvmlDeviceGetRemappedRows")
    return rows if type(rows) is Failed else rows[0] + rows[1]


def _asked(speed: Any) -> bool:
    """True if a fan is to turn."""
    return type(speed) is not Failed and speed > 0


def _fans(asker: Asker, tick: Tick) -> None:
    """The intended speed of the fastest fan, and the speed of the first one where the driver tells it.

    Where another one that has been seen turning stands although it is to turn, the speed is that: 0.
    """
    if asker.card.fan_count == 0:
        tick.lack(Reason.NOT_SUPPORTED, Q.FAN_FRACTION, Q.FAN_RPM)
        return
    speeds = [asker.ask("nvmlDeviceGetFanSpeed_v2", fan) for fan in range(asker.card.fan_count or 1)]
    told: list[int] = [speed for speed in speeds if type(speed) is not Failed]
    fastest: Any = max(told) if told else asker.ask("nvmlDeviceGetFanSpeed")
    tick.put(Q.FAN_FRACTION, fastest, plausible.FAN_PERCENT)
    turning: list[Any] = [asker.ask(FAN_RPM), *(asker.ask(FAN_RPM, fan) for fan in range(1, len(speeds)))]
    turned = asker.card.fans_turned
    turned.update(fan for fan, rpm in enumerate(turning) if type(rpm) is int and rpm > 0)
    first: Any = turning[0]
    if first == 0 and told and max(told) > 0 and 0 not in turned:
        first = failed(Code.NOT_SUPPORTED)  # without a tachometer some cards say 0 while they ask for speed
    stands = any(rpm == 0 and fan in turned and _asked(speeds[fan]) for fan, rpm in enumerate(turning))
    rpm: Any = 0 if stands else first
    tick.put(Q.FAN_RPM, rpm, plausible.RPM)
