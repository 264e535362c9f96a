"""Which of the collector's calls hang: told once, counted until they come back."""

from collections.abc import Callable, Iterable
from operator import attrgetter

from gputuner.model.quantities import Tier
from gputuner.telemetry.calls import Job
from gputuner.telemetry.feed import HungCall, Notice
from gputuner.telemetry.schedule import NS

Asking = Callable[[str, Tier], str | None]
"""Name of the driver's function that a reading of a card and tier is in, where the source knows."""


def _nothing_known(_card: str, _tier: Tier) -> str | None:
    return None


class Hangs:
    """Calls that are out for longer than the deadline.

    A card's tiers are calls of their own: while a slow one hangs, the fast ones of the same card go on.
    """

    def __init__(self, hang_s: float, source: object, tell: Callable[[Notice], None]) -> None:
        """``tell`` gets each hanging call once; a ``source`` that has ``asking`` names the driver's function."""
        self._limit_ns = hang_s * NS
        self._asking: Asking = getattr(source, "asking", _nothing_known)
        self._tell = tell
        self._known: dict[Job[object], str] = {}

    def __bool__(self) -> bool:
        """True if a call hung when it was last looked."""
        return bool(self._known)

    def look(self, jobs: Iterable[Job[object]], now_ns: int) -> bool:
        """Tell of calls that hang by now; True if there is a new one or one has come back."""
        hung = [job for job in jobs if job.asked_ns is not None and now_ns - job.asked_ns > self._limit_ns]
        known, self._known = self._known, {}
        for job in hung:
            self._known[job] = function = known[job] if job in known else self._function(job)
            if job not in known:
                params = {"card": job.card, "call": str(job.kind)}
                named = {"function": function} if function else {}
                self._tell(Notice(code="telemetry_call_hung", t_ns=now_ns, params={**params, **named}))
        return self._known.keys() != known.keys()

    def calls(self) -> tuple[HungCall, ...]:
        """The readings of cards among them, fast tier first."""
        found = (
            HungCall(card=job.card, tier=Tier(job.kind), function=function)
            for job, function in self._known.items()
            if job.kind in (Tier.FAST, Tier.SLOW)
        )
        return tuple(sorted(found, key=attrgetter("tier")))

    def _function(self, job: Job[object]) -> str:
        return (self._asking(job.card, Tier(job.kind)) or "") if job.kind in (Tier.FAST, Tier.SLOW) else ""
