"""Tune, third part: what scattered figures left undecided is measured again in turns, so that a drift cancels."""

from collections.abc import Generator, Sequence
from dataclasses import replace

from gputuner.advice.making import setting_of
from gputuner.advice.rules import undecided
from gputuner.analysis.turns import LEAST_ROUNDS, TURN, is_turn, with_turns
from gputuner.experiments.advised import evidence_of
from gputuner.experiments.course import Course
from gputuner.experiments.trained import Setting, Trained, train_point, train_work
from gputuner.experiments.tune_shape import Shape
from gputuner.experiments.tune_training import refine, skipped
from gputuner.model.change import Change, TrainingSetting
from gputuner.model.steps import Done, Step, StepResult
from gputuner.workloads.specs import PRECISIONS, Precision

TURN_S = 0.8
"""Measured in a turn: short, so that little drifts between a round's trials."""
LEAST_STEPS = 2
WARM_STEPS = 1
SETUP_S = 0.6
"""Making model and inputs anew."""
MOST_ROUNDS = 5

Turn = tuple[Setting, int]
"""Format and layout, and batch."""


def turns(course: Course, shape: Shape, known: Trained, keep_s: float) -> Generator[Step, StepResult, None]:
    """Rounds over the settings of all comparisons that scattered: forth, back, forth (A B B A A B), as many as fit.

    The comparisons share their settings and their rounds. The last of them are left out where the time is short;
    ``keep_s`` seconds of the budget stay for the parts after the check of the limit, which comes next.
    """
    keep_s += shape.verify_s()
    changes = [change for change in undecided(evidence_of(course)) if change.workload == shape.subject.name]
    settings = _settings(changes, known)
    while changes and not course.fits(LEAST_ROUNDS * _round_s(shape, known, settings), keep_s):
        if len(changes) == 1:
            yield from skipped(course, "turns", LEAST_ROUNDS * _round_s(shape, known, settings), keep_s)
        changes.pop()
        settings = _settings(changes, known)
    if settings and (yield from _rounds(course, shape, known, settings, keep_s)):
        _keep(course, known)
        yield from refine(course, shape, known, keep_s)


def _rounds(
    course: Course, shape: Shape, known: Trained, settings: Sequence[Turn], keep_s: float
) -> Generator[Step, StepResult, bool]:
    """Whether there were enough."""
    for number in range(1, MOST_ROUNDS + 1):
        if number > LEAST_ROUNDS and not course.fits(_round_s(shape, known, settings), keep_s):
            break
        for setting, batch in settings if number % 2 else reversed(settings):
            if not (yield from _turn(course, shape, known, (setting, batch), number)):
                return number > LEAST_ROUNDS
    return True


def _keep(course: Course, known: Trained) -> None:
    """From here on the rates of these settings are those of the turns, as the rules have it."""
    for point in filter(is_turn, with_turns(course.points)):
        setting, batch = _turn_of(setting_of(point))
        known.rates[setting][batch] = point.value


def _settings(changes: Sequence[Change], known: Trained) -> tuple[Turn, ...]:
    """All settings of the comparisons, each once; of batches also the advised one's neighbour, which may do as well."""
    found: list[Turn] = []
    for change in changes:
        base, advised = _turn_of(change.base), _turn_of(change.advised)
        found += [base, advised]
        half = advised[1] // 2
        if base[0] == advised[0] and base[1] < half and half in known.rates.get(advised[0], {}):
            found.append((advised[0], half))
    return tuple(dict.fromkeys(found))


def _turn_of(setting: TrainingSetting) -> Turn:
    precision: Precision = next(each for each in PRECISIONS if each == setting.precision)
    return Setting(precision=precision, channels_last=setting.channels_last), setting.batch


def _measure_s(known: Trained, turn: Turn) -> float:
    return max(TURN_S, LEAST_STEPS * (known.step_s(*turn) or 0.0))


def _warm_s(known: Trained, turn: Turn) -> float:
    return WARM_STEPS * (known.step_s(*turn) or 0.0)


def _round_s(shape: Shape, known: Trained, settings: Sequence[Turn]) -> float:
    """Expected seconds of a round; on a card the worker warms up until the rate is steady."""
    warm = {turn: _warm_s(known, turn) if shape.cpu else shape.warmup_s for turn in settings}
    return sum(SETUP_S + warm[turn] + _measure_s(known, turn) for turn in settings)


def _turn(course: Course, shape: Shape, known: Trained, turn: Turn, number: int) -> Generator[Step, StepResult, bool]:
    """One trial; tells its figure. False where it did not end well: the rounds end then."""
    (setting, batch), measure_s = turn, _measure_s(known, turn)
    warm = _warm_s(known, turn) if shape.cpu else None
    work = train_work(shape, setting, batch, "train_turn", measure_s, warmup_s=warm)
    result = yield from course.attempt(work, SETUP_S + (warm or shape.warmup_s) + measure_s)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].iteration_s:
        return False
    point = train_point(course, shape, work, result.trials[0], result.conditions, TURN)
    yield from course.tell(replace(point, params={**point.params, "round": number}))
    return True
