"""How well slowdowns were predicted, beside simpler models, and what the card's own counters say of the pressure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputuner.analysis.contention_figures import mixes, newest
from gputuner.language import contention
from gputuner.language.numbers import signed_percent
from gputuner.language.words import N_, _, listed
from gputuner.model.cards import Origin
from gputuner.model.points import Point

if TYPE_CHECKING:
    from gputuner.analysis.contention_held_out import Errors

ACTIVITY, CAUSE, PREDICTED = "co_run_activity", "co_run_cause", "co_run_predicted"
OURS = "pressure"
NAMED = 3
"""More mixes than these are counted, not named."""
MODELS = {
    "probes_alone": N_("the probes alone, no pair measured"),
    "constant": N_("one slowdown for all pairs"),
    "additive": N_("one factor for each job and one for each partner"),
    "equal_sharing": N_("the card shared equally"),
}
COUNTERS = {"sm": N_("SMs active"), "tensor": N_("tensor cores active"), "dram": N_("memory bandwidth in use")}


def model_lines(points: Sequence[Point]) -> list[str]:
    """Sentences that go with the tables of predictions and causes; none where nothing was predicted or judged."""
    return [*_errors(points), *_alternating(points), *_counted(points)]


def round_lines(points: Sequence[Point]) -> list[str]:
    """Which intervals rest on one round, and what that means; none where there are none such."""
    single = [each for each in mixes(points) if each.gain is not None and each.gain.extra.get("rounds") == 1]
    if not any(point.spread and point.spread.ci95_low is not None for each in single for point in each.slowdowns):
        return []
    labels = list(dict.fromkeys(each.label for each in single))
    if len(labels) > NAMED:
        told = _(
            "Of {n} mixes one round was run: their intervals come from the scatter between single trials only, and are "
            "wide; more time runs further rounds."
        )
        return [told.format(n=len(labels))]
    told = _(
        "One round of {mixes}: intervals come from the scatter between single trials only, and are wide; more time "
        "runs further rounds."
    )
    return [told.format(mixes=listed(map(contention.mix, labels)))]


def _errors(points: Sequence[Point]) -> list[str]:
    from gputuner.analysis.contention_stored import predicted_errors  # numpy takes its time to load

    told: list[str] = []
    places = {(p.card, str(p.params.get("mode"))): None for p in points if p.metric == PREDICTED}
    for card, mode in places:
        found = predicted_errors(points, card, mode)
        ours = found.get(OURS)
        if ours is None:
            continue
        told.append(
            _(
                "Predicted from probes, scaled by the measured pairs of other workloads "
                "({mode}, {n} slowdowns): {errors}."
            ).format(mode=contention.mode(mode, card), n=ours.count, errors=_told(ours))
        )
        told += [
            _("For comparison, {model}: {errors}.").format(model=_(name), errors=_told(found[model]))
            for model, name in MODELS.items()
            if model in found
        ]
    return told


def _told(of: "Errors") -> str:
    median, p90, worst = (signed_percent(value).lstrip("+") for value in (of.median, of.p90, of.worst))
    return _("median error {median}, 90 % within {p90}, worst {worst}").format(median=median, p90=p90, worst=worst)


def _alternating(points: Sequence[Point]) -> list[str]:
    judged = [p for p in points if p.metric == CAUSE and p.extra.get("alternating") is True]
    if not any(p.params.get("cause") == "time_slicing" for p in judged):
        return []
    return [
        _("Between processes the jobs take turns on the card: nothing can be said of caches, memory or pipes. MPS can.")
    ]


def _counted(points: Sequence[Point]) -> list[str]:
    """Of real cards only: a simulated card counts by the very rule that expects it, so that agreement says nothing."""
    return [
        _("{counter}, {mix}: the card counts {read}, {expected} follow from each job alone and its slowdown.").format(
            counter=_(COUNTERS[str(p.params["counter"])]),
            mix=contention.mix(str(p.params["mix"])),
            read=signed_percent(p.value).lstrip("+"),
            expected=signed_percent(float(p.extra["expected"])).lstrip("+"),
        )
        for p in newest(p for p in points if p.metric == ACTIVITY and p.origin is not Origin.SIMULATED)
        if p.params.get("counter") in COUNTERS and "expected" in p.extra
    ]
