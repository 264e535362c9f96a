"""A spec as it suits a card: shorter on the processor, and with what stored sessions know. For whichever front end."""

from collections.abc import Iterator
from dataclasses import replace

from gputuner.experiments.bench import Bench
from gputuner.experiments.contention import Contend
from gputuner.experiments.contention_tuned import TunedRate, tuned_rates
from gputuner.experiments.power import Power
from gputuner.experiments.power_dial import StoredVisit
from gputuner.experiments.power_stored import stored_visits
from gputuner.experiments.protocol import Experiment
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import GputunerError
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.summary import SessionSummary

TUNED_BY = ("batch", "tune")
"""Experiments that look for the best batch."""
LOOKED_AT = 20
"""So many of the newest sessions are opened, at most."""


def fitted(spec: Experiment, card: CardInfo, sessions: SessionLibrary, origin: Origin) -> Experiment:
    """``spec`` for this card: what the user asked for, with what need not be asked.

    Args:
        spec: as it was asked for; what it holds of stored sessions already stays.
        card: the one that it will run on.
        sessions: those of the data folder.
        origin: of this run; sessions of another say nothing of it.
    """
    match spec:
        case Bench():
            return replace(spec, cpu=card.is_cpu)
        case Contend() if not (spec.fixed_batch or spec.null or spec.tuned):
            return replace(spec, tuned=_rates(spec, card, sessions, origin))
        case Power() if spec.passive and not (spec.null or spec.clocks or spec.stored):
            told = _stored(card, sessions, origin)
            return replace(spec, stored=tuple(visit for each in told for visit in _visits(*each, card)))
        case _:
            return spec


def _rates(spec: Contend, card: CardInfo, sessions: SessionLibrary, origin: Origin) -> tuple[TunedRate, ...]:
    """Of each training and number format the best rate alone by the newest session that knows one."""
    wanted = {job.name or job.recipe for job in spec.asked()}
    found: dict[tuple[str, str], TunedRate] = {}
    for summary, stored in _stored(card, sessions, origin, TUNED_BY):
        driver = _then(summary, card).readings.get("driver")
        told = str(driver.value) if driver is not None and driver.value is not None else ""
        for rate in tuned_rates(stored.points(), card, summary.run_id, told, _torch(stored)):
            if rate.workload in wanted:
                found.setdefault((rate.workload, str(rate.params.get("precision"))), rate)
    return tuple(found.values())


def _visits(summary: SessionSummary, stored: SessionReader, card: CardInfo) -> tuple[StoredVisit, ...]:
    return stored_visits(stored.points(), _then(summary, card), summary.run_id, _torch(stored))


def _stored(
    card: CardInfo, sessions: SessionLibrary, origin: Origin, experiments: tuple[str, ...] = ()
) -> Iterator[tuple[SessionSummary, SessionReader]]:
    """The newest sessions of the card, each open until the next is asked for; one that cannot be read is left out."""
    own = [
        each
        for each in sessions.list()
        if each.origin is origin
        and not each.running
        and each.point_count
        and (not experiments or each.experiment in experiments)
        and any(known.uuid == card.uuid for known in each.cards)
    ]
    for summary in own[:LOOKED_AT]:
        try:
            stored = sessions.open(summary.path)
        except GputunerError:
            continue
        try:
            yield summary, stored
        finally:
            stored.close()


def _then(summary: SessionSummary, card: CardInfo) -> CardInfo:
    """The card as it stood in that session."""
    return next(known for known in summary.cards if known.uuid == card.uuid)


def _torch(stored: SessionReader) -> str:
    found = stored.torch()
    return "" if found is None else found.version
