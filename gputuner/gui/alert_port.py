# pyright: standard
"""What the window needs for alerts; ``assembly.alerts_window`` meets it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from gputuner.engine.alerts import AlertWatch
from gputuner.model.alerts import AlertChange, AlertPlan
from gputuner.model.cards import CardInfo


class AlertPort(Protocol):
    """The alerts of the data folder. But for ``acting`` and ``watch`` a call may take a disk's time."""

    @property
    def acting(self) -> bool:
        """Whether cards are watched: a replay is not."""
        ...

    def listen(self, say: Callable[[str], None], tray: Callable[[str, str], None]) -> None:
        """From any thread: ``say`` gets a sentence about what went wrong, ``tray`` title and text for the desktop."""
        ...

    def read(self) -> tuple[AlertPlan, Exception | None]:
        """The plan to watch by, and why it is not that of the file."""
        ...

    def save(self, plan: AlertPlan) -> None:
        """Store a plan.

        Raises:
            StoreError: it cannot be stored.
        """
        ...

    def watch(self, cards: Iterable[CardInfo]) -> AlertWatch:
        """Rules over these cards, none yet."""
        ...

    def tell(self, changes: Sequence[AlertChange], cards: Sequence[CardInfo]) -> None:
        """Tell hook and desktop, where no other program does."""
        ...

    def tell_run(self, text: str) -> None:
        """Tell the desktop of a run that has ended."""
        ...

    def try_out(self) -> tuple[str, str]:
        """Run the hook and tell the desktop once: the way of ``language.alerts.WAYS``, and what went wrong."""
        ...

    def close(self) -> None:
        """End hooks that run; idempotent."""
        ...
