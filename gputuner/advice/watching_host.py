"""A watched training whose card waits for the host: fewer launches, or more work in each."""

from gputuner.advice import watching_snippets as snippets
from gputuner.advice.making import make
from gputuner.advice.watching_seen import WatchedEvidence, gain_of_share
from gputuner.model.advice import Advice, Confidence, Gain
from gputuner.model.readings import Scalar
from gputuner.model.watched import WatchCause

HOST = 0.15
"""Share of the time from which on the host is worth a change."""
ROOM = 0.45
"""Share of the memory that a training takes up to which a doubled batch fits without trying."""


def compile_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.compile``: the host launches many short operations; the compiler merges them, and a graph launches all.

    The interval reaches from nothing to the whole share of the host; half of it is expected.
    """
    main = seen.main
    share = seen.share(WatchCause.HOST_LAUNCH)
    if main is None or share < HOST or main.compiled:
        return []
    params: dict[str, Scalar] = {"share": share}
    operations, operation_s = seen.sign("operations_per_step"), seen.sign("host_s_per_operation")
    if operations is not None and operation_s is not None:
        params |= {"operations": round(operations), "operation_s": operation_s}
    return [
        make(
            "watch.compile",
            seen.card.uuid,
            params,
            seen.ids("watch_step_time", cause=WatchCause.HOST_LAUNCH),
            confidence=Confidence.MODEL,
            gain=gain_of_share(share, 0.5),
            snippet=snippets.merged(cuda=seen.cuda),
        )
    ]


def batch_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.larger_batch``: what the host takes of a step does not grow with the batch.

    A doubled batch takes the card twice as long and the host as long as before: the rate grows by
    2·t / max(t, 2·(1 − h)·t) − 1, h the host's share.
    """
    main = seen.main
    share = seen.share(WatchCause.HOST_LAUNCH)
    if main is None or share < HOST:
        return []
    params: dict[str, Scalar] = {"share": share}
    if main.batch_size is not None:
        params |= {"batch": main.batch_size, "doubled": 2 * main.batch_size}
    taken = seen.sign("peak_of_limit")
    if taken is not None:
        params |= {"taken": taken, "fits": taken <= ROOM}
    expected = 2.0 / max(1.0, 2.0 * (1.0 - share)) - 1.0
    return [
        make(
            "watch.larger_batch",
            seen.card.uuid,
            params,
            seen.ids("watch_step_time", "watch_memory_peak", cause=WatchCause.HOST_LAUNCH),
            confidence=Confidence.MODEL,
            gain=Gain(value=expected, unit="fraction", low=0.0, high=1.0),
        )
    ]


def idle_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.idle``: the program itself waited, using no processor, while no loader was asked."""
    share = seen.share(WatchCause.IDLE)
    if seen.main is None or share < HOST:
        return []
    params: dict[str, Scalar] = {"share": share}
    evidence = seen.ids("watch_step_time", cause=WatchCause.IDLE)
    return [make("watch.idle", seen.card.uuid, params, evidence, confidence=Confidence.MODEL, weight=30.0 * share)]


def optimizer_rule(seen: WatchedEvidence) -> list[Advice]:
    """``watch.fused``: the optimizer launches operations of its own for each parameter (``foreach=False``)."""
    main = seen.main
    share = seen.share(WatchCause.HOST_LAUNCH)
    if main is None or main.fused or main.foreach is not False or share < HOST or main.optimizer not in FUSED:
        return []
    params: dict[str, Scalar] = {"optimizer": main.optimizer or "", "share": share}
    return [
        make(
            "watch.fused",
            seen.card.uuid,
            params,
            seen.ids("watch_step_time", cause=WatchCause.HOST_LAUNCH),
            confidence=Confidence.MODEL,
            gain=gain_of_share(share, 0.25),
            snippet=snippets.fused(main.optimizer or ""),
        )
    ]


FUSED = ("Adam", "AdamW", "SGD", "Adagrad")
"""Optimizers that torch ≥ 2.4 has fused."""
