"""All rules, in one tuple, and the judgement that applies them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gputuner.advice.accumulate import accumulate_rule
from gputuner.advice.batch import fastest_rule, safe_rule
from gputuner.advice.contention import contention_questions, contention_rules, is_contention
from gputuner.advice.contention_pair import sharing_rule
from gputuner.advice.cooling import cooling_questions, cooling_rules, is_cooling
from gputuner.advice.evidence import Evidence
from gputuner.advice.health import health_questions, health_rules, is_health
from gputuner.advice.host import governor_rule, launch_rule, quota_rule, threads_rule
from gputuner.advice.limits import brake_rule, link_rule, memory_rule, power_rule, slowdown_rule, thermal_rule
from gputuner.advice.loading import loading_rule
from gputuner.advice.numerics import is_numerics, numerics_questions, numerics_rules
from gputuner.advice.others import busy_rule, unowned_rule
from gputuner.advice.power import is_power, power_questions, power_rules
from gputuner.advice.precision import doubts, layout_rule, precision_rule
from gputuner.advice.questions import command, questions
from gputuner.advice.switches import RULES as SWITCHES
from gputuner.model.advice import Advice, Question
from gputuner.model.change import Change

Rule = Callable[[Evidence], Sequence[Advice]]

RULES: tuple[Rule, ...] = (
    fastest_rule,
    safe_rule,
    accumulate_rule,
    precision_rule,
    layout_rule,
    sharing_rule,
    power_rule,
    brake_rule,
    slowdown_rule,
    thermal_rule,
    memory_rule,
    link_rule,
    busy_rule,
    unowned_rule,
    governor_rule,
    quota_rule,
    threads_rule,
    launch_rule,
    *SWITCHES,
    loading_rule,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """Who judges the figures of one kind of experiment."""

    meant: Callable[[Evidence], bool]
    rules: tuple[Rule, ...]
    questions: Callable[[Evidence], tuple[Question, ...]]


USUAL = Judges(meant=lambda _: True, rules=RULES, questions=questions)
APART = (
    Judges(meant=is_numerics, rules=(numerics_rules,), questions=numerics_questions),
    Judges(meant=is_health, rules=(health_rules,), questions=health_questions),
    Judges(meant=is_cooling, rules=(cooling_rules,), questions=cooling_questions),
    Judges(meant=is_power, rules=(power_rules,), questions=power_questions),
    Judges(meant=is_contention, rules=(contention_rules,), questions=contention_questions),
)
"""Experiments that have rules of their own."""

OF_FORMATS = ("precision.best", "switches.best")


def advise(evidence: Evidence) -> tuple[tuple[Advice, ...], tuple[Question, ...]]:
    """Advice, best first by gain × probability as the record of tries has it, and what is still to be measured.

    Pure: the same evidence gives the same advice.

    A gain whose evidence scattered and whose interval is missing or holds no gain is no advice but a question.
    """
    own, found = _found(evidence)
    settled = [advice for advice in found if not _unsettled(advice)]
    ranked = sorted(map(evidence.record.ranked, settled), key=lambda a: (-a.rank, a.id))
    asked = own.questions(evidence)
    if len(settled) < len(found):
        again = command(evidence.card, f"{evidence.command} --minutes 10")
        asked = (Question(id="scattered", card=evidence.card.uuid, command=again), *asked)
    return tuple(ranked), asked


def undecided(evidence: Evidence) -> tuple[Change, ...]:
    """Comparisons whose figures scattered: formats, layouts, and what would else be advised.

    Measured again in turns (``advice.turns``) they can be told after all.
    """
    _, found = _found(evidence)
    asked = [advice.change for advice in found if _unsettled(advice) and advice.change is not None]
    told = doubts(evidence)
    return (*told, *(change for change in asked if change not in told))


def _found(evidence: Evidence) -> tuple[Judges, list[Advice]]:
    own = next((each for each in APART if each.meant(evidence)), USUAL)
    found = [replace(advice, origin=evidence.card.origin) for rule in own.rules for advice in rule(evidence)]
    if _formats_say_nothing(evidence):
        found = [advice for advice in found if advice.id not in OF_FORMATS]
    return own, found


def _unsettled(advice: Advice) -> bool:
    gain = advice.gain
    if gain is None or advice.params.get("scattered") is not True:
        return False
    return gain.low is None or gain.high is None or gain.low <= 0.0


def _formats_say_nothing(evidence: Evidence) -> bool:
    """Whether no row is of the format that it names (weights in half by themselves), or no loss was a number."""
    finite = [point.extra["loss_finite"] for point in evidence.points if "loss_finite" in point.extra]
    return (bool(finite) and not any(finite)) or any("half_weights" in point.extra for point in evidence.points)
