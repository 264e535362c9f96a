"""Best rates alone from stored sessions: the second baseline of ``contend`` without a climb."""

from dataclasses import replace
from typing import TYPE_CHECKING

from gputuner.cli.ports import Setup
from gputuner.model.cards import CardInfo
from gputuner.model.errors import GputunerError

if TYPE_CHECKING:
    from gputuner.experiments.contention import Contend
    from gputuner.experiments.contention_tuned import TunedRate

EXPERIMENTS = ("batch", "tune")
"""Those that look for the best batch."""
LOOKED_AT = 20
"""So many of the newest sessions are opened, at most."""


def with_stored_rates(setup: Setup, spec: "Contend", card: CardInfo) -> "Contend":
    """``spec`` with what stored sessions of ``card`` say of its trainings; the newest that does, for each."""
    if spec.fixed_batch or spec.null:
        return spec
    wanted = {job.name or job.recipe for job in spec.asked()}
    found: dict[tuple[str, str], TunedRate] = {}
    for rate in _stored(setup, card):
        key = (rate.workload, str(rate.params.get("precision")))
        if rate.workload in wanted:
            found.setdefault(key, rate)
    return replace(spec, tuned=tuple(found.values()))


def _stored(setup: Setup, card: CardInfo) -> "list[TunedRate]":
    from gputuner.experiments.contention_tuned import tuned_rates

    summaries = [entry.summary for entry in setup.sessions.entries() if entry.summary is not None]
    own = [
        each
        for each in summaries
        if each.experiment in EXPERIMENTS
        and each.origin is setup.origin
        and not each.running
        and any(known.uuid == card.uuid for known in each.cards)
    ]
    found: list[TunedRate] = []
    for summary in own[:LOOKED_AT]:
        try:
            stored = setup.sessions.open(summary.path)
        except GputunerError:
            continue
        try:
            then = next(known for known in summary.cards if known.uuid == card.uuid)
            driver, torch = then.readings.get("driver"), stored.torch()
            found += tuned_rates(
                stored.points(),
                card,
                summary.run_id,
                str(driver.value) if driver is not None and driver.value is not None else "",
                torch.version if torch is not None else "",
            )
        finally:
            stored.close()
    return found
