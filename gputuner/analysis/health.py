"""The verdict on a card's health, from the figures of one run or from what any stress test counted."""

from collections.abc import Sequence
from typing import Literal

from gputuner.model.points import Point

Verdict = Literal["pass", "fail", "not_tested", "incomplete"]
ERRORS = ("vram_errors", "burn_errors")
ALARMING = ("ecc_uncorrected", "remapped_rows")
"""Counters that no healthy card moves within a test."""
BROKEN = ("lost", "wrong_result")
"""Ends of a stage that are the card's fault."""
DEADLY = ("safety_xid", "safety_card_lost", "card_lost")
"""Errors with which a run ends that are the card's fault."""
NOT_AS_SOLD = ("other_card", "less_memory")


def stress_verdict(*, started: bool, died: bool, done: int, errors: int) -> Verdict:
    """What a stress test of a card shows.

    Args:
        started: the card could begin.
        died: it was lost on the way.
        done: iterations, or bytes, that it worked through.
        errors: as counted; a negative count (a counter that wrapped) is no count of none.
    """
    if died or errors != 0:
        return "fail"
    return "pass" if started and done > 0 else "not_tested"


def verdict(points: Sequence[Point], error: str | None = None) -> Verdict:
    """The verdict on a card from the figures of a health test; what was never tested is never called good.

    Args:
        points: what the run told.
        error: code of the error that ended it; None: it came to its end, or is still at its last step.
    """
    errors = sum(abs(int(p.value)) for p in points if p.metric in ERRORS)
    stages = [p for p in points if p.metric == "health_stage"]
    died = error in DEADLY or any(p.params.get("outcome") in BROKEN for p in stages)
    alarmed = any(p.metric == "counter_change" and p.params["counter"] in ALARMING and p.value > 0 for p in points)
    tested = [p for p in points if p.metric == "vram_errors" and int(p.extra.get("checked_bytes", 0)) > 0]
    found = stress_verdict(
        started=bool(tested),
        died=died or alarmed,
        done=sum(int(p.extra["checked_bytes"]) for p in tested),
        errors=errors,
    )
    return "incomplete" if found == "pass" and not _whole(points, stages) else found


def _whole(points: Sequence[Point], stages: Sequence[Point]) -> bool:
    """Whether all stages came to their end: the coverage is told after the last."""
    if any(p.params.get("outcome") != "done" for p in stages):
        return False
    return any(p.metric == "vram_coverage" for p in points) and _burned(points)


def _burned(points: Sequence[Point]) -> bool:
    return any(p.metric == "burn_errors" and int(p.extra.get("products", 0)) > 0 for p in points)


def as_sold(points: Sequence[Point]) -> bool:
    """False if the figures say that this is another card, or that its memory is not all there.

    Another memory size than the sheet's is a mod that the catalogue does not know, unless the seller named the card.
    """
    found = [p.params for p in points if p.metric == "identity_verdict"]
    return not any(
        params["verdict"] in NOT_AS_SOLD or (params["verdict"] == "other_memory" and "sold_as" in params)
        for params in found
    )
