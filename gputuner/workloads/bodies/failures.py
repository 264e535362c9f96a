"""From an exception in a trial to the word the engine understands."""

import re
import traceback

OUT_OF_MEMORY = "out_of_memory"
USER_CODE = "user_code"
UNSUPPORTED = "unsupported"
EXTRA_MISSING = "extra_missing"
STICKY = "sticky"
WRONG_RESULT = "wrong_result"

MEMORY_WORDS = (
    "defaultcpuallocator: can't allocate",
    "defaultcpuallocator: not enough memory",
    "could not create a primitive",
    "could not create a memory",
    "cannot allocate memory",
    "std::bad_alloc",
    "bad allocation",
    "out of memory",
    "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
    "allocation_failed",
    "can't start new thread",
)
"""Texts that mean memory and nothing else (oneDNN says less, but fails so only when its scratchpad does not fit)."""

NEAR_MEMORY_WORDS = (
    "cublas_status_not_initialized",
    "cudnn_status_not_initialized",
    "cudnn_status_internal_error",
    "unable to find an engine",
    "cudnn_status_execution_failed",
)
"""Texts of library calls that fail for want of workspace, but also otherwise: memory only if hardly any is left."""

NO_IMPLEMENTATION = "could not create a primitive descriptor"
"""oneDNN has no such operation in this format: an LSTM in FP16, say. Its memory errors name the primitive alone."""

UNSUPPORTED_WORDS = (
    "no kernel image is available",
    "not implemented for",
    "cublas_status_not_supported",
    "cudnn_status_not_supported",
    "cublas_status_arch_mismatch",
)

STICKY_WORDS = (
    "illegal memory access",
    "device-side assert",
    "unspecified launch failure",
    "uncorrectable ecc",
    "launch timed out",
    "misaligned address",
    "illegal instruction",
    "invalid program counter",
    "hardware stack error",
    "fallen off the bus",
    "device is lost",
)

LITTLE_BYTES = 512 << 20
"""Less free device memory than this makes an ambiguous library failure one of memory."""

TRACEBACK_CHARS = 8000

REQUESTED = re.compile(r"tried to allocate (\d+(?:\.\d+)?) ?(bytes|[KMGT]?i?B)\b", re.IGNORECASE)
UNIT_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class UnsupportedError(Exception):
    """This torch or chip cannot do what the trial asks."""


class WrongResultError(Exception):
    """The result differs from the float64 reference by more than rounding explains."""


def _named(err: BaseException, *names: str) -> bool:
    return any(cls.__name__ in names for cls in type(err).__mro__)


def classify(err: BaseException, free_bytes: int | None = None, broken: bool = False) -> str:
    """The class of ``err``.

    Args:
        err: what the trial raised.
        free_bytes: memory the device has left, in bytes; None: not known.
        broken: the device did not answer after the error.
    """
    text = str(err).lower()
    if isinstance(err, UnsupportedError | NotImplementedError):
        return UNSUPPORTED
    if isinstance(err, WrongResultError):
        return WRONG_RESULT
    if isinstance(err, ModuleNotFoundError):
        return EXTRA_MISSING
    if isinstance(err, MemoryError) or _named(err, "OutOfMemoryError"):
        return OUT_OF_MEMORY
    if not isinstance(err, RuntimeError | OSError):
        return USER_CODE
    if NO_IMPLEMENTATION in text:
        return UNSUPPORTED
    if any(words in text for words in MEMORY_WORDS):
        return OUT_OF_MEMORY
    if any(words in text for words in UNSUPPORTED_WORDS):
        return UNSUPPORTED
    if any(words in text for words in STICKY_WORDS):
        return STICKY
    scarce = free_bytes is not None and free_bytes < LITTLE_BYTES
    if scarce and any(words in text for words in NEAR_MEMORY_WORDS):
        return OUT_OF_MEMORY
    return STICKY if broken else USER_CODE


def requested_bytes(err: BaseException) -> "int | None":
    """What an allocator could not give, as torch's allocators tell it; None where they do not."""
    found = REQUESTED.search(str(err))
    if found is None:
        return None
    unit = found[2].lower()
    return int(float(found[1]) * UNIT_BYTES[unit[:-2] if unit.endswith("ib") else ""])


def described(err: BaseException) -> tuple[str, str]:
    """First line of the message, and the end of the traceback."""
    message = str(err).strip().splitlines()
    if isinstance(err, SystemExit):
        message = [f"sys.exit({'' if err.code is None else repr(err.code)}) ended the program"]
    text = "".join(traceback.format_exception(type(err), err, err.__traceback__))
    return (message[0] if message else type(err).__name__), text[-TRACEBACK_CHARS:]


def release(err: BaseException) -> None:
    """Drop the frames that ``err`` and its causes hold, and with them the body and its memory."""
    chain: BaseException | None = err
    while chain is not None:
        traceback.clear_frames(chain.__traceback__)
        chain.__traceback__ = None
        chain = chain.__context__
