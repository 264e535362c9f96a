"""What the rules for a watched training judge from."""

from dataclasses import dataclass

from gputuner.model.advice import Gain
from gputuner.model.cards import CardInfo
from gputuner.model.fingerprint import Fingerprint
from gputuner.model.points import Point
from gputuner.model.watched import Observed, TimeSpent, TreeUse, WatchCause

MOST_SHARE = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedEvidence:
    """One watched command: its points, its processes, where the time went, the card and the host."""

    card: CardInfo
    points: tuple[Point, ...]
    observed: tuple[Observed, ...]
    use: TreeUse
    spent: TimeSpent
    fingerprint: Fingerprint | None = None

    @property
    def main(self) -> Observed | None:
        """The process that advice speaks of: of those that trained the one of rank 0, else the longest."""
        trained = [each for each in self.observed if each.steps > 0]
        firsts = [each for each in trained if each.rank == 0]
        return max(firsts or trained, key=lambda each: each.training_s, default=None)

    @property
    def cuda(self) -> bool:
        """Whether it trains on a CUDA card."""
        main = self.main
        return main.device == "cuda" if main is not None else not self.card.is_cpu

    def share(self, cause: WatchCause) -> float:
        """Share of the time (0–1)."""
        return next((part.share for part in self.spent.parts if part.cause is cause), 0.0)

    def sign(self, name: str) -> float | None:
        """A sign's value."""
        return next((sign.value for sign in self.spent.signs if sign.name == name), None)

    def ids(self, *metrics: str, cause: WatchCause | None = None) -> list[str]:
        """Ids of the points of these metrics (and of a cause's share); never empty."""
        wanted = [point.id for point in self.points if point.metric in metrics]
        if cause is not None:
            wanted += [p.id for p in self.points if p.metric == "watch_part" and p.params.get("cause") == cause.value]
        return wanted or [f"{self.card.uuid}:processes"]

    @property
    def cores(self) -> int:
        """Cores that the command may use, at least 1."""
        return max(1, int(self.use.cores or 1))


def gain_of_share(share: float, likely: float = 1.0) -> Gain:
    """What is gained where a ``likely`` part (0–1) of a share of the time goes away; from nothing to all of it.

    No more than four times the rate is promised from a share alone: what stands behind it is not known then.
    """
    bounded = min(MOST_SHARE, max(0.0, share))
    return Gain(value=1.0 / (1.0 - bounded * likely) - 1.0, unit="fraction", low=0.0, high=1.0 / (1.0 - bounded) - 1.0)
