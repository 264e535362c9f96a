"""Record telemetry: no load, only watching."""

from dataclasses import dataclass
from typing import ClassVar

from gputuner.experiments.protocol import PlanContext
from gputuner.model.errors import UsageError
from gputuner.model.steps import Plan, Total, Watch

FOR_EVER_S = 10 * 365 * 86400.0
"""Time budget of a recording without an end, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Watch the chosen cards and keep what they report."""

    name: ClassVar[str] = "record"
    needs_worker: ClassVar[bool] = False

    duration_s: float | None = None
    """Seconds to record; None: until stopped."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: a duration that is not above 0 or beyond ten years.
        """
        if self.duration_s is not None and not 0 < self.duration_s <= FOR_EVER_S:
            raise UsageError(
                "duration_out_of_range", "the duration must be above 0 seconds", value=self.duration_s, low=0.0
            )

    def expected_s(self) -> float:
        """The duration, or ten years where there is none."""
        return self.duration_s if self.duration_s is not None else FOR_EVER_S

    def limited(self) -> bool:
        """It ends by itself, or when it is stopped."""
        return False

    def plan(self, context: PlanContext) -> Plan:
        """One step that watches."""
        if self.duration_s is not None:
            yield Total(steps=1, expected_s=self.duration_s)
        yield Watch(label="record", duration_s=self.duration_s)
