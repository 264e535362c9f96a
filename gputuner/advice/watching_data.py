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
LEAST_WAIT_S, HANDING_S = 3e-3, 2e-3
"""Waiting for a batch (s) below which a process of its own costs more than it saves, and what handing one over costs.

Samples in memory at 1.7 ms a step: one process made training 1.5 times as long, 1.4 ms a step.
"""
LIKELY = 0.8
"""Part of what could be hidden that is expected to be."""
BUSY_LOADING = 0.5
"""Share of the waiting in which the processor worked from which on loading computes."""
MOSTLY = 0.5
LEAST_PROCESSES, PER_CORE = 8, 4
"""Most loader processes where they wait: so many, or so many a core."""
SCATTER = 0.05
"""Part of a process that is not worth a further one."""
FIRST = 0.03
"""The same of the start of epochs."""
QUEUED = 0.15
"""Share of the time without a core from which on threads and workers are too many."""


def workers_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.workers``: more loader processes, as many as hide the loading behind the step (``_short``: fewer).

    A batch takes w·t of one worker's time where w workers (or the training itself, w = 1) make it wait t of each step;
    w' = ⌈w·t_batch / t_rest⌉ of them keep up with a step that only computes for t_rest. Cores bound them only where
    loading computes: one that waits for storage or network has room beside it. The start of epochs is left out. The
    interval ends at what so many could hide at most and begins below zero: each batch that a process hands over costs
    something, and storage may be the limit.
    """
    main, loader = seen.main, _trained_with(seen)
    if main is None or loader is None or main.step_s is None or main.training_s <= 0:
        return []
    waiting = max(0.0, seen.share(WatchCause.DATA) - main.waited_first_s / main.training_s)
    own = main.training_s / max(1, main.timed_steps)
    if waiting < WAITING or waiting * own < LEAST_WAIT_S:
        return []
    rest_s = max((1.0 - waiting) * own, 0.02 * own)
    makes = max(1, loader.num_workers)
    batch_s = own * makes if loader.num_workers else waiting * own
    wanted = max(makes if loader.num_workers else 1, ceil(batch_s / rest_s - SCATTER))
    computes = _computes(seen, main, loader)
    most = max(1, seen.cores if seen.cuda else seen.cores - 1)
    if computes is False:
        most = max(LEAST_PROCESSES, PER_CORE * seen.cores, makes)
    told = min(wanted, most)
    params: dict[str, Scalar] = {
        "workers": told,
        "now": loader.num_workers,
        "waiting": waiting,
        "step_s": own,
        "cores": seen.cores,
        "waits": computes is False,
    }
    evidence = seen.ids("watch_waiting", cause=WatchCause.DATA)
    card, model = seen.card.uuid, Confidence.MODEL
    if told <= loader.num_workers:
        return [make("watch.loading_slow", card, params, evidence, confidence=model, weight=30.0 * waiting)]
    reached_s = max(rest_s, batch_s / told)
    gain = Gain(
        value=max(0.0, own / (own - LIKELY * (own - reached_s)) - 1.0),
        unit="fraction",
        low=-min(0.5, HANDING_S / own),
        high=max(0.0, own / reached_s - 1.0),
    )
    snippet = snippets.fed(told, pin=seen.cuda)
    identity = "watch.workers_short" if wanted > most else "watch.workers"
    return [make(identity, card, params, evidence, confidence=model, gain=gain, snippet=snippet)]


def _computes(seen: WatchedEvidence, main: Observed, loader: LoaderSeen) -> bool | None:
    """Whether loading uses the processor while it is waited for; None: not known.

    Loading within the training is timed there. Processes of the loader are known only with all others together, so no
    more is told than that cores were left over the whole command, or were not.
    """
    if not loader.num_workers:
        waited_s = main.waited_s / main.training_s * main.covered_s
        return main.loading_cpu_s >= BUSY_LOADING * waited_s if waited_s > 0 and main.cpu_s is not None else None
    use = seen.use
    if use.cpu_s is None or main.training_s < MOSTLY * use.duration_s:
        return None
    return use.cpu_s / use.duration_s >= BUSY_LOADING * min(seen.cores, loader.num_workers)


def persistent_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.persistent_workers``: workers start anew at each epoch, and the training waits for them.

    Of a run of two epochs they would have saved one start; the gain is that of the run as it was.
    """
    main, loader = seen.main, _trained_with(seen)
    if main is None or loader is None or not loader.num_workers or loader.persistent_workers or main.training_s <= 0:
        return []
    first = main.waited_first_s / main.training_s if main.epoch_starts is None else main.epoch_starts
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
