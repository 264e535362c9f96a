"""A watched training that waits for its data: workers, persistent workers, threads that leave them no core."""

from math import ceil

from gputuner.advice import watching_snippets as snippets
from gputuner.advice.making import make
from gputuner.advice.watching_seen import WatchedEvidence, gain_of_share
from gputuner.model.advice import Advice, Confidence, Gain
from gputuner.model.readings import Scalar
from gputuner.model.watched import LoaderSeen, Observed, WatchCause

WAITING = 0.05
"""Share of the time waiting for data from which on it is worth a change."""
SCATTER = 0.05
"""Part of a process that is not worth a further one."""
FIRST = 0.03
"""The same of the start of epochs."""
QUEUED = 0.15
"""Share of the time without a core from which on threads and workers are too many."""


def workers_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.workers``: more loader processes, as many as hide the loading behind the step (``_short``: fewer).

    A batch takes w·t of one worker's time where w workers (or the training itself, w = 1) make it wait t of each step;
    w' = ⌈w·t_batch / t_rest⌉ of them keep up with a step that only computes for t_rest. On a card the expected gain is
    that of the waiting that so many remove; the interval reaches from nothing (disk or network are the limit) to all.
    """
    main, loader = seen.main, _trained_with(seen)
    waiting = seen.share(WatchCause.DATA)
    if main is None or loader is None or waiting < WAITING or main.step_s is None:
        return []
    own = main.training_s / max(1, main.timed_steps)
    waited_s = waiting * own
    rest_s = max(own - waited_s, 0.02 * own)
    makes = max(1, loader.num_workers)
    batch_s = own * makes if loader.num_workers else waited_s
    wanted = max(makes if loader.num_workers else 1, ceil(batch_s / rest_s - SCATTER))
    most = max(1, seen.cores if seen.cuda else seen.cores - 1)
    told = min(wanted, most)
    params: dict[str, Scalar] = {
        "workers": told,
        "now": loader.num_workers,
        "waiting": waiting,
        "step_s": own,
        "cores": seen.cores,
    }
    if told <= loader.num_workers:
        return [
            make(
                "watch.loading_slow",
                seen.card.uuid,
                params,
                seen.ids("watch_waiting", cause=WatchCause.DATA),
                confidence=Confidence.MODEL,
                gain=gain_of_share(waiting, 0.5),
            )
        ]
    reached_s = max(rest_s, batch_s / told)
    gain = gain_of_share(waiting)
    gain = Gain(value=max(0.0, own / reached_s - 1.0), unit="fraction", low=0.0, high=gain.high)
    evidence = seen.ids("watch_waiting", cause=WatchCause.DATA)
    snippet = snippets.fed(told, pin=seen.cuda)
    card, model = seen.card.uuid, Confidence.MODEL
    if wanted > most:
        return [make("watch.workers_short", card, params, evidence, confidence=model, gain=gain, snippet=snippet)]
    return [make("watch.workers", card, params, evidence, confidence=model, gain=gain, snippet=snippet)]


def persistent_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.persistent_workers``: workers start anew at each epoch, and the training waits for them."""
    main, loader = seen.main, _trained_with(seen)
    if main is None or loader is None or not loader.num_workers or loader.persistent_workers or main.training_s <= 0:
        return []
    first = main.waited_first_s / main.training_s
    if first < FIRST:
        return []
    params: dict[str, Scalar] = {"first": first, "workers": loader.num_workers}
    return [
        make(
            "watch.persistent_workers",
            seen.card.uuid,
            params,
            seen.ids("watch_waiting"),
            confidence=Confidence.MODEL,
            gain=gain_of_share(first, 0.8),
            snippet=snippets.fed(loader.num_workers, pin=seen.cuda),
        )
    ]


def queued_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.cores_taken``: the training was ready to run and had no core; its own threads and workers, or others."""
    main = seen.main
    queued = seen.sign("queued")
    if main is None or queued is None or queued < QUEUED:
        return []
    loader = _trained_with(seen)
    params: dict[str, Scalar] = {"queued": queued, "cores": seen.cores}
    if main.threads is not None:
        workers = loader.num_workers if loader is not None else 0
        params |= {"threads": main.threads, "workers": workers, "own": main.threads + workers > seen.cores}
    return [
        make(
            "watch.cores_taken",
            seen.card.uuid,
            params,
            seen.ids("watch_step_time", cause=WatchCause.SHARED),
            confidence=Confidence.MODEL,
            gain=gain_of_share(queued, 0.5),
        )
    ]


def _trained_with(seen: WatchedEvidence) -> LoaderSeen | None:
    """The loader that the training drew from most."""
    main: Observed | None = seen.main
    return main.loaders[0] if main is not None and main.loaders else None
