"""The time budget of an experiment."""

from gputuner.model.errors import UsageError

LEAST, MOST = 0.2, 120.0
"""Of an experiment that names no other bounds."""


def check_minutes(minutes: float, most: float = MOST) -> None:
    """Refuse a budget that nothing can be done in, or without end.

    Raises:
        UsageError: it lies outside of ``LEAST`` … ``most``.
    """
    if not LEAST <= minutes <= most:
        raise UsageError(
            "minutes_out_of_range",
            f"minutes must lie between {LEAST} and {most:g}",
            value=minutes,
            low=LEAST,
            high=most,
        )
