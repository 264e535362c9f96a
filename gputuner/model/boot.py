"""What tells one boot of the machine from every other. Standard library only: the supervisor of a job asks too."""

import sys
from collections.abc import Callable
from pathlib import Path

WINDOWS_BOOT_ID = 0x7FFE0000 + 0x2C4
"""Where every process of Windows sees ``KUSER_SHARED_DATA.BootId`` (ntddk.h): counted up at each boot by its loader."""


def boot_id(proc: Path = Path("/proc"), counted: Callable[[], int] | None = None) -> str:
    """Linux's own name of the boot; on Windows the number of the boot; empty: the system does not tell.

    A time of boot would not do: it is reckoned from the clock, and moves with it.

    Args:
        proc: where ``/proc`` is.
        counted: reads Windows' number (default: on Windows, from memory that all processes share). Not tried there.
    """
    try:
        return (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        read = counted or (_windows if sys.platform == "win32" else None)
    if read is None:
        return ""
    number = read()
    return f"windows-{number}" if number > 0 else ""


def _windows() -> int:
    import ctypes

    return ctypes.c_uint32.from_address(WINDOWS_BOOT_ID).value
