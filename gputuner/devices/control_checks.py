"""Is a value one that may be written? Checked against what the card itself says, where it is written."""

from math import isfinite

from gputuner.model.control import LOCKS, OWN_WAY, UNITS, Setting, SettingState, Value, numbers_in
from gputuner.model.errors import DeviceError, NoPermission, NotSupported, UsageError

DRIVER_TOO_OLD = "driver_too_old"
NO_PERMISSION = "no_permission"
LOST = "lost"
"""The card does not answer any more."""


def check(state: SettingState, value: Value) -> None:
    """Refuse a value that the card does not take.

    Raises:
        UsageError: outside the card's own range, the wrong count of numbers, or no way of the driver's own.
        NotSupported: this card or driver does not offer the setting, or does not tell its range.
    """
    setting = state.setting
    if state.reason is not None:
        raise refusal(state.reason, setting)
    if not value:
        if setting in OWN_WAY:
            return
        raise _malformed(setting)
    if len(value) != numbers_in(setting) or not all(isfinite(number) for number in value):
        raise _malformed(setting)
    if state.low is None or state.high is None or state.low > state.high:
        raise NotSupported(
            "control_range_unknown", f"the card does not tell the range of {setting}", setting=setting.value
        )
    if any(not state.low <= number <= state.high for number in value):
        raise UsageError(
            "control_out_of_range",
            f"{setting} must lie between {state.low:g} and {state.high:g} {UNITS[setting]}, not {value}",
            setting=setting.value,
            value=spoken(value),
            low=state.low,
            high=state.high,
        )
    if setting in LOCKS and value[0] > value[1]:
        raise UsageError(
            "control_lock_order", "the lowest clock is above the highest", setting=setting.value, value=spoken(value)
        )


def refusal(reason: str, setting: Setting) -> DeviceError:
    """The error for a setting that cannot be set."""
    if reason == NO_PERMISSION:
        return NoPermission("control_no_permission", f"this process may not set {setting}", setting=setting.value)
    code = "control_driver_too_old" if reason == DRIVER_TOO_OLD else "control_not_supported"
    return NotSupported(code, f"{setting} cannot be set here: {reason}", setting=setting.value, reason=reason)


def _malformed(setting: Setting) -> UsageError:
    return UsageError("control_value", f"no value of {setting}", setting=setting.value)


def spoken(value: Value) -> str:
    """A value in figures, its numbers joined by commas; empty for the driver's own way."""
    return ",".join(f"{number:g}" for number in value)
