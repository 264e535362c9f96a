"""What the CUDA driver says of the one visible card, asked of the driver itself: makes no context, needs no torch."""

import ctypes
import os
from dataclasses import dataclass

COMPUTE_CAPABILITY_MAJOR = 75
COMPUTE_CAPABILITY_MINOR = 76
MULTIPROCESSOR_COUNT = 16
L2_CACHE_SIZE = 38
"""``CUdevice_attribute`` numbers of cuda.h."""

NO_DEVICE = 100


class DriverError(Exception):
    """The driver is not there or does not start.

    Attributes:
        code: ``CUresult`` number; None when there is no library.
    """

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFacts:
    """The visible card. ``cuda`` is the newest CUDA the driver runs, as (major, minor)."""

    cuda: tuple[int, int]
    name: str
    capability: tuple[int, int]
    sm_count: int
    total_bytes: int
    l2_bytes: int


def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError as err:
        raise DriverError(f"no CUDA driver library: {err}") from err


def _check(library: ctypes.CDLL, code: int) -> None:
    if code == 0:
        return
    text = ctypes.c_char_p()
    library.cuGetErrorName(code, ctypes.byref(text))
    raise DriverError((text.value or b"unknown driver error").decode(), code)


def driver_facts() -> DriverFacts:
    """The facts of the first visible card.

    Raises:
        DriverError: no driver, no card, or the driver does not start.
    """
    cuda = _library()
    version = ctypes.c_int()
    _check(cuda, cuda.cuDriverGetVersion(ctypes.byref(version)))
    _check(cuda, cuda.cuInit(0))
    count = ctypes.c_int()
    _check(cuda, cuda.cuDeviceGetCount(ctypes.byref(count)))
    if count.value < 1:
        raise DriverError("no CUDA card is visible", NO_DEVICE)
    card = ctypes.c_int()
    _check(cuda, cuda.cuDeviceGet(ctypes.byref(card), 0))
    name = ctypes.create_string_buffer(256)
    _check(cuda, cuda.cuDeviceGetName(name, len(name), card))
    total = ctypes.c_size_t()
    _check(cuda, cuda.cuDeviceTotalMem_v2(ctypes.byref(total), card))

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        _check(cuda, cuda.cuDeviceGetAttribute(ctypes.byref(value), number, card))
        return value.value

    return DriverFacts(
        cuda=(version.value // 1000, version.value % 1000 // 10),
        name=name.value.decode(errors="replace"),
        capability=(attribute(COMPUTE_CAPABILITY_MAJOR), attribute(COMPUTE_CAPABILITY_MINOR)),
        sm_count=attribute(MULTIPROCESSOR_COUNT),
        total_bytes=total.value,
        l2_bytes=attribute(L2_CACHE_SIZE),
    )
