# pyright: standard
"""Settings of NVIDIA cards through NVML: an ``Actuator``. Only calls that nvml.h documents; nothing is guarded here.

The setters were not yet run on a real card, only against the tests' library. What nvml.h says of them: the power limit
in mW; locked clocks from Volta on, of the memory from Ampere on, without a getter; offsets per performance state
(driver 555 on), before that by calls that CUDA 14 takes away; a fan that is set goes to manual and stays there. All
need root; all are lost when the driver is loaded anew.
"""

import ctypes
from collections.abc import Iterator
from typing import Any

from gputuner.devices.control_actuator import Heat
from gputuner.devices.control_checks import DRIVER_TOO_OLD, refusal
from gputuner.devices.nvml.binding import INIT_NO_GPUS, Binding, load
from gputuner.devices.nvml.errors import LOST, Code, Failed, error_of
from gputuner.devices.nvml.identity import names
from gputuner.model.control import CardControl, Setting, SettingState, Value
from gputuner.model.errors import DeviceError, DeviceLost

SM, MEMORY = 1, 2
"""``nvmlClockType_t``."""
P0 = 0
"""``nvmlPstates_t``: offsets are those of the highest performance state."""
MANUAL = 1
"""``nvmlFanControlPolicy_t``: 0 by temperature, 1 set by hand."""
MILLI = 1000.0
_LOCK_CALLS = {
    Setting.SM_CLOCK_LOCK: ("nvmlDeviceSetGpuLockedClocks", "nvmlDeviceResetGpuLockedClocks"),
    Setting.MEMORY_CLOCK_LOCK: ("nvmlDeviceSetMemoryLockedClocks", "nvmlDeviceResetMemoryLockedClocks"),
}
_OFFSET_TYPES = {Setting.CORE_OFFSET: 0, Setting.MEMORY_OFFSET: MEMORY}
"""``nvmlClockType_t`` in ``nvmlClockOffset_t``: graphics, memory."""
_OLD_OFFSETS = {
    Setting.CORE_OFFSET: (
        "nvmlDeviceGetGpcClkVfOffset",
        "nvmlDeviceGetGpcClkMinMaxVfOffset",
        "nvmlDeviceSetGpcClkVfOffset",
    ),
    Setting.MEMORY_OFFSET: (
        "nvmlDeviceGetMemClkVfOffset",
        "nvmlDeviceGetMemClkMinMaxVfOffset",
        "nvmlDeviceSetMemClkVfOffset",
    ),
}


class _ClockOffset(ctypes.Structure):
    """``nvmlClockOffset_v1_t``. The binding's own call does not look at the return code, so the library is asked."""

    _fields_ = (
        ("version", ctypes.c_uint),
        ("type", ctypes.c_uint),
        ("pstate", ctypes.c_uint),
        ("offset_mhz", ctypes.c_int),
        ("low_mhz", ctypes.c_int),
        ("high_mhz", ctypes.c_int),
    )


_CLOCK_OFFSET_V1 = ctypes.sizeof(_ClockOffset) | (1 << 24)


class NvmlControl:
    """The cards of this machine as an ``Actuator``; opens NVML, and closes it when told."""

    def __init__(self, binding: Binding | None = None) -> None:
        """Open NVML.

        Raises:
            DeviceError: no binding, no library, no driver, a mismatch of the two, or no permission.
        """
        self._binding = binding or load()
        self._binding.start(INIT_NO_GPUS)
        self._handles: dict[str, Any] = {}
        self._fan_counts: dict[str, int] = {}
        self._cards: tuple[CardControl, ...] = ()
        self._find()

    def close(self) -> None:
        """Release NVML."""
        self._handles.clear()
        self._binding.stop()

    def _find(self) -> None:
        count = self._binding.ask("nvmlDeviceGetCount")
        if type(count) is Failed:
            raise error_of(count.code)
        found: list[CardControl] = []
        for index in range(count):
            handle = self._binding.ask("nvmlDeviceGetHandleByIndex", index)
            info = handle if type(handle) is Failed else names(self._binding, handle, index)
            if isinstance(info, Failed):
                continue
            persistent = self._binding.ask("nvmlDeviceGetPersistenceMode", handle)
            self._handles[info.uuid] = handle
            fans = self._binding.ask("nvmlDeviceGetNumFans", handle)
            if type(fans) is not Failed and fans > 0:
                self._fan_counts[info.uuid] = fans
            found.append(
                CardControl(
                    uuid=info.uuid,
                    index=index,
                    name=info.name,
                    pci_bus_id=info.pci_bus_id,
                    persistent=None if type(persistent) is Failed else bool(persistent),
                )
            )
        self._cards = tuple(found)

    # --- what an Actuator offers ----------------------------------------------------------------------------------

    def cards(self) -> tuple[CardControl, ...]:
        """The cards that answered when NVML was opened."""
        return self._cards

    def state(self, card: str, setting: Setting) -> SettingState:
        """Value, default and range as the driver tells them.

        Raises:
            DeviceLost: the card is gone.
        """
        match setting:
            case Setting.POWER_LIMIT:
                return self._power(card)
            case Setting.SM_CLOCK_LOCK | Setting.MEMORY_CLOCK_LOCK:
                return self._lock(card, setting)
            case Setting.CORE_OFFSET | Setting.MEMORY_OFFSET:
                return self._offset(card, setting)
            case Setting.FAN:
                return self._fan(card)

    def read(self, card: str, setting: Setting) -> Value | None:
        """The value that stands; None: the driver does not tell it.

        Raises:
            DeviceLost: the card is gone.
        """
        match setting:
            case Setting.POWER_LIMIT:
                limit = self._ask(card, "nvmlDeviceGetPowerManagementLimit")
                return None if type(limit) is Failed or not limit else (limit / MILLI,)
            case Setting.CORE_OFFSET | Setting.MEMORY_OFFSET:
                told = self._offsets(card, setting)
                return None if isinstance(told, Failed) else (float(told[0]),)
            case Setting.FAN:
                return self._fan_now(card)
            case _:
                return None

    def enforced_w(self, card: str) -> float | None:
        """The power limit that the card keeps to.

        Raises:
            DeviceLost: the card is gone.
        """
        limit = self._ask(card, "nvmlDeviceGetEnforcedPowerLimit")
        return None if type(limit) is Failed or not limit else limit / MILLI

    def write(self, card: str, setting: Setting, value: Value) -> None:
        """Write a checked value.

        Raises:
            NoPermission: not root.
            NotSupported: not offered by card or driver.
            DeviceError: refused.
        """
        if setting in _OFFSET_TYPES:
            self._write_offset(card, setting, round(value[0]))
            return
        failed: DeviceError | None = None
        for name, arguments in self._calls(card, setting, value):
            answer = self._ask(card, name, *arguments)
            if isinstance(answer, Failed):
                failed = failed or _refused(answer.code, setting, card)
                if value:
                    break  # giving the driver its own way is tried for every fan
        if failed is not None:
            raise failed

    def heat(self, card: str) -> Heat:
        """Core temperature and slowdown threshold; never raises."""
        try:
            core = self._ask(card, "nvmlDeviceGetTemperature", 0)
            slowdown = self._ask(card, "nvmlDeviceGetTemperatureThreshold", 1)
        except DeviceError:
            return Heat(core_c=None)
        return Heat(
            core_c=float(core) if isinstance(core, int) and 0 < core < 127 else None,
            slowdown_c=float(slowdown) if isinstance(slowdown, int) and 0 < slowdown < 127 else None,
        )

    # --- each setting ---------------------------------------------------------------------------------------------

    def _power(self, card: str) -> SettingState:
        pair = self._ask(card, "nvmlDeviceGetPowerManagementLimitConstraints")
        default = self._ask(card, "nvmlDeviceGetPowerManagementDefaultLimit")
        low, high = (0, 0) if isinstance(pair, Failed) else pair
        known = high > 0  # some cards say 0 to 0
        return SettingState(
            setting=Setting.POWER_LIMIT,
            now=self.read(card, Setting.POWER_LIMIT),
            default=None if type(default) is Failed or not default else (default / MILLI,),
            low=low / MILLI if known else None,
            high=high / MILLI if known else None,
            reason=_reason(pair),
        )

    def _lock(self, card: str, setting: Setting) -> SettingState:
        clocks = self._supported(card, setting)
        if not clocks:
            top = self._ask(card, "nvmlDeviceGetMaxClockInfo", SM if setting is Setting.SM_CLOCK_LOCK else MEMORY)
            clocks = [1, top] if isinstance(top, int) and top > 0 else []
        setter, reset = _LOCK_CALLS[setting]
        missing = not hasattr(self._binding.module, setter) or not hasattr(self._binding.module, reset)
        return SettingState(
            setting=setting,
            default=(),
            low=float(min(clocks)) if clocks else None,
            high=float(max(clocks)) if clocks else None,
            reason=DRIVER_TOO_OLD if missing else None,
        )

    def _supported(self, card: str, setting: Setting) -> list[int]:
        memory = self._ask(card, "nvmlDeviceGetSupportedMemoryClocks")
        if isinstance(memory, Failed) or not memory:
            return []
        if setting is Setting.MEMORY_CLOCK_LOCK:
            return list(memory)
        graphics = self._ask(card, "nvmlDeviceGetSupportedGraphicsClocks", max(memory))
        return [] if isinstance(graphics, Failed) else list(graphics)

    def _offset(self, card: str, setting: Setting) -> SettingState:
        told = self._offsets(card, setting)
        if isinstance(told, Failed):
            return SettingState(setting=setting, default=(0.0,), reason=_reason(told))
        now, low, high = told
        return SettingState(
            setting=setting, now=(float(now),), default=(0.0,), low=float(low), high=float(high), reason=None
        )

    def _offsets(self, card: str, setting: Setting) -> tuple[int, int, int] | Failed:
        """Offset now, lowest and highest in MHz."""
        asked = _ClockOffset(version=_CLOCK_OFFSET_V1, type=_OFFSET_TYPES[setting], pstate=P0)
        answer = self._direct(card, "nvmlDeviceGetClockOffsets", asked)
        if answer is None:
            return asked.offset_mhz, asked.low_mhz, asked.high_mhz
        if answer.code != Code.FUNCTION_NOT_FOUND:
            return answer
        getter, limits, _ = _OLD_OFFSETS[setting]
        now, pair = self._ask(card, getter), self._ask(card, limits)
        if isinstance(now, Failed) or isinstance(pair, Failed):
            return now if isinstance(now, Failed) else pair
        return now, pair[0], pair[1]

    def _fans(self, card: str) -> int | Failed:
        """How many fans; told once, a card has them for good, whatever a later call says."""
        if card in self._fan_counts:
            return self._fan_counts[card]
        count = self._ask(card, "nvmlDeviceGetNumFans")
        if not isinstance(count, Failed) and count > 0:
            self._fan_counts[card] = count
        return count

    def _fan(self, card: str) -> SettingState:
        count = self._fans(card)
        if isinstance(count, Failed) or not count:
            return SettingState(setting=Setting.FAN, default=(), reason=_reason(count) or "not_supported")
        pair = self._ask(card, "nvmlDeviceGetMinMaxFanSpeed")
        if isinstance(pair, Failed):
            return SettingState(setting=Setting.FAN, default=(), reason=_reason(pair))
        now = self._fan_now(card)
        return SettingState(setting=Setting.FAN, now=now, default=(), low=pair[0] / 100, high=pair[1] / 100)

    def _fan_now(self, card: str) -> Value | None:
        """Empty while every fan is automatic; else the highest speed that one was set to; None: not told, or no fan."""
        speeds: list[float] = []
        count = self._fans(card)
        if isinstance(count, Failed) or not count:
            return None
        for fan in range(count):
            policy = self._ask(card, "nvmlDeviceGetFanControlPolicy_v2", fan)
            if isinstance(policy, Failed):
                return None
            if policy == MANUAL:
                speed = self._ask(card, "nvmlDeviceGetTargetFanSpeed", fan)
                speed = self._ask(card, "nvmlDeviceGetFanSpeed_v2", fan) if isinstance(speed, Failed) else speed
                if isinstance(speed, Failed):
                    return None
                speeds.append(speed / 100)
        return (max(speeds),) if speeds else ()

    # --- calls ----------------------------------------------------------------------------------------------------

    def _calls(self, card: str, setting: Setting, value: Value) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """The calls that write a value (offsets have a structure of their own), in their order.

        Raises:
            DeviceError: nobody tells how many fans there are.
        """
        match setting:
            case Setting.POWER_LIMIT:
                yield "nvmlDeviceSetPowerManagementLimit", (round(value[0] * MILLI),)
            case Setting.SM_CLOCK_LOCK | Setting.MEMORY_CLOCK_LOCK:
                setter, reset = _LOCK_CALLS[setting]
                yield (setter, tuple(round(mhz) for mhz in value)) if value else (reset, ())
            case _:
                count = self._fans(card)
                if isinstance(count, Failed) or not count:
                    raise _refused(count.code if isinstance(count, Failed) else Code.NOT_SUPPORTED, setting, card)
                for fan in range(count):
                    if value:
                        yield "nvmlDeviceSetFanSpeed_v2", (fan, round(value[0] * 100))
                    else:
                        yield "nvmlDeviceSetDefaultFanSpeed_v2", (fan,)

    def _write_offset(self, card: str, setting: Setting, mhz: int) -> None:
        asked = _ClockOffset(version=_CLOCK_OFFSET_V1, type=_OFFSET_TYPES[setting], pstate=P0, offset_mhz=mhz)
        answer = self._direct(card, "nvmlDeviceSetClockOffsets", asked)
        if answer is not None and answer.code == Code.FUNCTION_NOT_FOUND:
            answer = self._ask(card, _OLD_OFFSETS[setting][2], mhz)
        if isinstance(answer, Failed):
            raise _refused(answer.code, setting, card)

    def _ask(self, card: str, name: str, *args: Any) -> Any:
        """An answer or ``Failed``.

        Raises:
            DeviceLost: the card is gone.
        """
        answer = self._binding.ask(name, self._handle(card), *args)
        if type(answer) is Failed and answer.code in LOST:
            raise error_of(answer.code, card)
        return answer

    def _direct(self, card: str, name: str, structure: ctypes.Structure) -> Failed | None:
        """Ask the library itself; None: it answered into the structure."""
        function = self._binding.pointer(name)
        code = (
            Code.FUNCTION_NOT_FOUND if function is None else int(function(self._handle(card), ctypes.byref(structure)))
        )
        if code in LOST:
            raise error_of(code, card)
        return Failed(code) if code else None

    def _handle(self, card: str) -> Any:
        if card not in self._handles:
            raise DeviceLost("nvml_gpu_lost", "there is no such card", card=card)
        return self._handles[card]


def _reason(answer: Any) -> str | None:
    """Why a setting cannot be set when what describes it was answered so."""
    if not isinstance(answer, Failed):
        return None
    return DRIVER_TOO_OLD if answer.code == Code.FUNCTION_NOT_FOUND else "not_supported"


def _refused(code: int, setting: Setting, card: str) -> DeviceError:
    """The error for a write that was refused."""
    if code == Code.NO_PERMISSION:
        return refusal("no_permission", setting)
    if code == Code.FUNCTION_NOT_FOUND:
        return refusal(DRIVER_TOO_OLD, setting)
    if code == Code.NOT_SUPPORTED:
        return refusal("not_supported", setting)
    if code in LOST:
        return error_of(code, card)
    return DeviceError(
        "control_refused", f"the driver refused {setting} (NVML error {code})", setting=setting.value, nvml_code=code
    )
