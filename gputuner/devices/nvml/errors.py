# pyright: standard
"""NVML's return codes, mapped once: to the reason of a missing reading and to the errors a person meets."""

from dataclasses import dataclass
from enum import IntEnum

from gputuner.model.errors import DeviceError, DeviceLost, NoCard, NoPermission, NotSupported
from gputuner.model.readings import Reason


class Code(IntEnum):
    """``nvmlReturn_t`` of nvml.h, as far as it is told apart here."""

    SUCCESS = 0
    UNINITIALIZED = 1
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    NOT_FOUND = 6
    INSUFFICIENT_SIZE = 7
    INSUFFICIENT_POWER = 8
    DRIVER_NOT_LOADED = 9
    TIMEOUT = 10
    IRQ_ISSUE = 11
    LIBRARY_NOT_FOUND = 12
    FUNCTION_NOT_FOUND = 13
    CORRUPTED_INFOROM = 14
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    OPERATING_SYSTEM = 17
    LIB_RM_VERSION_MISMATCH = 18
    IN_USE = 19
    MEMORY = 20
    NO_DATA = 21
    ARGUMENT_VERSION_MISMATCH = 25
    DEPRECATED = 26
    NOT_READY = 27
    GPU_NOT_FOUND = 28
    INVALID_STATE = 29
    UNKNOWN = 999


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer of a call that failed: the NVML code instead of a value."""

    code: int


_failed: dict[int, Failed] = {}


def failed(code: int) -> Failed:
    """The one ``Failed`` of this code."""
    known = _failed.get(code)
    if known is None:
        known = _failed[code] = Failed(code)
    return known


LOST = frozenset({Code.GPU_IS_LOST, Code.RESET_REQUIRED, Code.GPU_NOT_FOUND})
"""The card is gone: its handle is not used again."""

LASTING = frozenset(
    {
        Code.NOT_SUPPORTED,
        Code.FUNCTION_NOT_FOUND,
        Code.INVALID_ARGUMENT,
        Code.NO_PERMISSION,
        Code.ARGUMENT_VERSION_MISMATCH,
        Code.DEPRECATED,
    }
)
"""The same question gets the same answer for a long time: it is remembered and asked again rarely."""

QUIET = LASTING | {Code.NOT_FOUND, Code.NO_DATA, Code.NOT_READY, Code.INSUFFICIENT_SIZE}
"""Not a sign of a driver in trouble."""

_REASONS: dict[int, Reason] = {
    Code.NOT_SUPPORTED: Reason.NOT_SUPPORTED,
    Code.INVALID_ARGUMENT: Reason.NOT_SUPPORTED,
    Code.DEPRECATED: Reason.NOT_SUPPORTED,
    Code.NO_PERMISSION: Reason.NO_PERMISSION,
    Code.FUNCTION_NOT_FOUND: Reason.DRIVER_TOO_OLD,
    Code.ARGUMENT_VERSION_MISMATCH: Reason.DRIVER_TOO_OLD,
    Code.GPU_IS_LOST: Reason.LOST,
    Code.RESET_REQUIRED: Reason.LOST,
    Code.GPU_NOT_FOUND: Reason.LOST,
    Code.NOT_FOUND: Reason.NOT_READ,
    Code.NO_DATA: Reason.NOT_READ,
    Code.NOT_READY: Reason.NOT_READ,
}


def reason_of(code: int) -> Reason:
    """Why a reading is missing when its call answered ``code``."""
    return _REASONS.get(code, Reason.ERROR)


_ERRORS: dict[int, tuple[type[DeviceError], str, str]] = {
    Code.LIBRARY_NOT_FOUND: (NoCard, "nvml_library_missing", "no NVIDIA driver library (libnvidia-ml.so.1) was found"),
    Code.DRIVER_NOT_LOADED: (DeviceError, "nvml_driver_not_loaded", "the NVIDIA kernel module is not loaded"),
    Code.LIB_RM_VERSION_MISMATCH: (
        DeviceError,
        "nvml_driver_mismatch",
        "the driver's files and the loaded kernel module differ in version: reboot or reload the module",
    ),
    Code.NO_PERMISSION: (NoPermission, "nvml_no_permission", "this user may not ask the NVIDIA driver"),
    Code.GPU_IS_LOST: (DeviceLost, "nvml_gpu_lost", "the card has fallen off the bus"),
    Code.GPU_NOT_FOUND: (DeviceLost, "nvml_gpu_lost", "the card has fallen off the bus"),
    Code.RESET_REQUIRED: (DeviceLost, "nvml_reset_required", "the card must be reset before it can be used"),
    Code.NOT_SUPPORTED: (NotSupported, "nvml_not_supported", "the card or driver does not offer this"),
    Code.FUNCTION_NOT_FOUND: (NotSupported, "nvml_driver_too_old", "the driver is too old for this"),
    Code.INSUFFICIENT_POWER: (DeviceError, "nvml_insufficient_power", "the card's power cables are not all plugged in"),
    Code.IRQ_ISSUE: (DeviceError, "nvml_irq", "the kernel found an interrupt problem with the card"),
    Code.OPERATING_SYSTEM: (
        DeviceError,
        "nvml_system_blocked",
        "the operating system or the container blocks access to the card",
    ),
    Code.TIMEOUT: (DeviceError, "nvml_timeout", "the NVIDIA driver did not answer in time"),
    Code.MEMORY: (DeviceError, "nvml_host_memory", "the NVIDIA driver ran out of host memory"),
    Code.UNINITIALIZED: (DeviceError, "nvml_uninitialised", "the connection to the NVIDIA driver was lost"),
    Code.CORRUPTED_INFOROM: (DeviceError, "nvml_inforom", "the card's infoROM is damaged"),
    Code.IN_USE: (DeviceError, "nvml_in_use", "the card is in use by something that excludes this"),
}


def error_of(code: int, card: str | None = None) -> DeviceError:
    """The error a person meets for ``code`` (``card``: UUID, where one card is meant)."""
    cls, name, text = _ERRORS.get(code, (DeviceError, "nvml_unknown", "the NVIDIA driver answered with an error"))
    params: dict[str, object] = {"nvml_code": int(code)}
    if card is not None:
        params["card"] = card
    return cls(name, f"{text} (NVML error {int(code)})", **params)
