"""All rules, in one tuple, and the judgement that applies them."""

from collections.abc import Callable, Sequence

from gputuner.advice.accumulate import accumulate_rule
from gputuner.advice.batch import fastest_rule, safe_rule
from gputuner.advice.evidence import Evidence
from gputuner.advice.host import governor_rule, launch_rule, quota_rule, threads_rule
from gputuner.advice.limits import brake_rule, link_rule, memory_rule, power_rule, thermal_rule
from gputuner.advice.others import busy_rule, unowned_rule
from gputuner.advice.precision import layout_rule, precision_rule
from gputuner.advice.questions import questions
from gputuner.advice.sharing import sharing_rule
from gputuner.model.advice import Advice, Question

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
    thermal_rule,
    memory_rule,
    link_rule,
    busy_rule,
    unowned_rule,
    governor_rule,
    quota_rule,
    threads_rule,
    launch_rule,
)


def advise(evidence: Evidence) -> tuple[tuple[Advice, ...], tuple[Question, ...]]:
    """Advice, best first, and what is still to be measured. Pure: the same evidence gives the same advice."""
    found = [advice for rule in RULES for advice in rule(evidence)]
    ranked = sorted(found, key=lambda a: (-a.rank, a.id))
    return tuple(ranked), questions(evidence)
