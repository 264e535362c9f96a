# pyright: standard
"""Stored sessions that can tell how much memory a new job of the queue needs, as its form offers them."""

from collections.abc import Iterable

from gputuner.gui.ports import SessionEntry
from gputuner.gui.session_words import card_words, experiment_words, started_briefly
from gputuner.model.cards import Origin

MEASURING = frozenset({"watch", "batch", "tune", "switches", "loading", "contend", "try"})
"""Experiments that see how much memory a training takes."""
MOST = 30
"""So many are offered, the newest."""


def offered(entries: Iterable[SessionEntry]) -> tuple[tuple[str, str], ...]:
    """Id and words of each, in the order of ``entries``; of real cards alone, for a job runs on one."""
    told = [entry.summary for entry in entries if entry.summary is not None]
    fitting = [s for s in told if s.experiment in MEASURING and s.origin is Origin.MEASURED and not s.running]
    return tuple(
        (
            summary.run_id,
            f"{experiment_words(summary.experiment)} · {started_briefly(summary)} · "
            + card_words(card.title for card in summary.cards),
        )
        for summary in fitting[:MOST]
    )
