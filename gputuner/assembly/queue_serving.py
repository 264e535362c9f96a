"""A runner over the telemetry of a setup, for as long as it serves."""

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from gputuner.analysis.placement import Limits
from gputuner.assembly.children import child_command
from gputuner.assembly.feeds import simulated_feed
from gputuner.assembly.queue_alerts import JobAlerts
from gputuner.assembly.queue_alerts import Told as AlertTold
from gputuner.assembly.queue_pairs import StoredPairs
from gputuner.assembly.stages import host_of
from gputuner.assembly.visibility import Seen
from gputuner.jobs.lease import RunnerLease
from gputuner.jobs.runner import Runner
from gputuner.jobs.seeing import FeedCards, default_slots
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import UsageError
from gputuner.model.jobs import RunnerNote
from gputuner.telemetry.feed import Feed
from gputuner.telemetry.rates import Rates

FIRST_SAMPLE_S = 10.0
PAIRS_EVERY_S = 60.0


class Served(Protocol):
    """What is needed of a setup."""

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        ...

    @property
    def data_dir(self) -> Path:
        """Whose queue."""
        ...

    @property
    def feed(self) -> Feed:
        """The telemetry of all cards."""
        ...

    def cards(self) -> tuple[CardInfo, ...]:
        """Every card as it stands."""
        ...


@contextmanager
def serving(
    setup: Served,
    cards: Sequence[CardInfo],
    *,
    slots: int | None,
    slowdown: float,
    share: bool,
    tell: Callable[[RunnerNote], None],
    alert: AlertTold,
    say: Callable[[str], None],
) -> Generator[Runner]:
    """A runner that has the right to serve the queue of the setup's data folder.

    ``alert`` gets the user's alerts that meet its jobs, and ``say`` a sentence on what went wrong with them, both in
    another thread.

    Raises:
        CardBusy: another runner serves it.
        StoreError: it cannot be opened.
        UsageError: the cards are replayed.
    """
    if setup.origin is Origin.REPLAYED:
        raise UsageError("replay_no_experiment", "a queue cannot be served on a replay")
    shown = cards
    if setup.origin is Origin.MEASURED:
        shown = Seen(os.environ, cards).shown(cards) or cards  # a scheduler that started us may have given us some only
    wanted = {card.uuid for card in shown}
    lease = RunnerLease(setup.data_dir)
    feed, own = setup.feed, None
    try:
        if setup.origin is Origin.SIMULATED:
            feed = own = _empty_cards(setup.cards())
        _await_first_sample(feed, shown)
        looked_at = FeedCards(
            feed,
            lambda: tuple(card for card in setup.cards() if card.uuid in wanted),
            default_slots() if slots is None else slots,
        )
        runner = Runner(
            setup.data_dir,
            looked_at,
            child_command(),
            limits=Limits(slowdown=slowdown, share=share),
            pairs=StoredPairs(setup.data_dir, PAIRS_EVERY_S),
            tell=tell,
        )
        alerts = JobAlerts(setup.data_dir, feed, shown, host_of(setup.data_dir), runner.jobs_on, alert, say)
        alerts.start()
        try:
            yield runner
        finally:
            alerts.close()
            runner.close()
    finally:
        if own is not None:
            own.close()
        lease.release()


def _empty_cards(cards: Sequence[CardInfo]) -> Feed:
    """The same simulated cards without the load that whoever looks at them is shown: nobody is there but our jobs."""
    ids = [
        card.catalog.catalog_id for card in cards if card.catalog is not None and card.catalog.catalog_id is not None
    ]
    return simulated_feed(ids, Rates(), demo=False)


def _await_first_sample(feed: Feed, cards: Sequence[CardInfo]) -> None:
    until = time.monotonic() + FIRST_SAMPLE_S
    while any(not card.is_cpu for card in cards) and feed.latest() is None and time.monotonic() < until:
        time.sleep(0.02)
