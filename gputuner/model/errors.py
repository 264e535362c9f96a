"""Errors that a person meets: each says what happened, what it means and what to do.

Sentences are made by the room ``language`` from ``code`` and ``params``; the text given here is the English fallback
and goes to the log. Cancelled is an outcome, not an error.
"""

from collections.abc import Mapping
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line (one list for all commands)."""

    DONE = 0
    BUG = 1
    USAGE = 2
    NO_CARD = 3
    NO_PERMISSION = 4
    DOES_NOT_FIT = 5
    USER_CODE = 6
    DEVICE = 7
    BAD_INPUT = 8
    CHECK_FAILED = 9
    COMMAND_NOT_EXECUTABLE = 126
    """A command to be watched cannot be run; this and the next as shells tell it."""
    COMMAND_NOT_FOUND = 127
    INTERRUPTED = 130


class GputunerError(Exception):
    """Root of all expected errors.

    Attributes:
        code: stable key of the message in the catalogue of sentences.
        params: values the sentence needs.
        exit_code: what the command line ends with.
    """

    exit_code: ExitCode = ExitCode.BUG

    def __init__(self, code: str, text: str = "", **params: object) -> None:
        """Keep the code, its values and the English fallback text."""
        super().__init__(text or code)
        self.code = code
        self.params: Mapping[str, object] = params


class DeviceError(GputunerError):
    """The card or its driver failed."""

    exit_code = ExitCode.DEVICE


class NoCard(DeviceError):
    """No card that can do what was asked."""

    exit_code = ExitCode.NO_CARD


class NotSupported(DeviceError):
    """The card, driver or platform does not offer this."""

    exit_code = ExitCode.NO_CARD


class NoPermission(DeviceError):
    """The user may not do this."""

    exit_code = ExitCode.NO_PERMISSION


class DeviceLost(DeviceError):
    """The card has fallen off the bus or must be reset."""


class CardBusy(DeviceError):
    """Others compute on the card, or another run of ours holds it."""

    exit_code = ExitCode.NO_CARD


class WorkloadError(GputunerError):
    """A workload could not be run."""

    exit_code = ExitCode.USER_CODE


class DoesNotFit(WorkloadError):
    """Not even the smallest size fits in memory."""

    exit_code = ExitCode.DOES_NOT_FIT


class UserCodeError(WorkloadError):
    """The user's own code raised; the traceback is in ``params['traceback']``."""


class StoreError(GputunerError):
    """The session could not be written or read (disk full, read-only, newer version)."""

    exit_code = ExitCode.BAD_INPUT


class StoreForbidden(StoreError):
    """A file or folder that this user may not write."""

    exit_code = ExitCode.NO_PERMISSION


class ImportLogError(GputunerError):
    """A file handed in cannot be understood."""

    exit_code = ExitCode.BAD_INPUT


class UsageError(GputunerError):
    """An option or selection that makes no sense."""

    exit_code = ExitCode.USAGE
