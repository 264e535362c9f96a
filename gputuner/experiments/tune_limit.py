"""Tune, third part: the largest batch that runs: predicted from the memory line, confirmed below, checked above."""

from collections.abc import Generator
from dataclasses import dataclass
from math import ceil

from gputuner.advice.evidence import RATE_PHASES
from gputuner.analysis.memory import FIXED_MULTIPLE, NEAR, SAFE_MARGIN, MemoryLine, round_down, safe_batch
from gputuner.analysis.statistics import spread
from gputuner.analysis.throughput import fastest, fit_step_cost, knee
from gputuner.experiments.course import Course
from gputuner.experiments.trained import SAFE, Setting, Trained, check, check_cost
from gputuner.experiments.tune_shape import Shape
from gputuner.experiments.tune_training import skipped
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Lost, OutOfMemory, Step, StepResult, UserCodeFailed

BELOW = 0.975
ABOVE = 1.02
LOWER = 0.95
HIGHER = 1.05
TRIES = 8
"""Sizes tried for the limit at most."""
CLOSE, TIGHT = 0.03, 0.06
"""Sizes are tried, while time allows, until the smallest that failed lies the first share above the largest that ran;
the limit counts as found from the second on."""
ROUNDED = 0.02
"""Rounding may move a size tried for the limit by this share: what was found should lie within 3 % of the truth."""
SAFE_TRIES = 3
"""Sizes tried for the safe batch at most."""


@dataclass(slots=True, kw_only=True)
class Bracket:
    """The largest batch known to run and the smallest larger one known to fail."""

    ran: set[int]
    fails: int | None = None
    size_limit: bool = False
    """True if a size fails with an error that does not name memory."""

    @property
    def runs(self) -> int:
        """The largest batch that ran below what failed; 0 where none did."""
        return max((b for b in self.ran if self.fails is None or b < self.fails), default=0)

    @property
    def tight(self) -> bool:
        """Whether both ends are known and close (neighbours, or within 6 %)."""
        return self._within(TIGHT)

    @property
    def close(self) -> bool:
        """Whether nothing more need be tried."""
        return self._within(CLOSE)

    def _within(self, share: float) -> bool:
        return self.fails is not None and self.runs > 0 and self.fails - self.runs <= max(1.0, share * self.fails)

    def failed(self, batch: int, *, size_limit: bool) -> None:
        """Take in that ``batch`` did not run, whatever ran before."""
        self.ran.discard(batch)
        self.fails = batch if self.fails is None else min(self.fails, batch)
        self.size_limit |= size_limit


def limit(
    course: Course, shape: Shape, known: Trained, setting: Setting, keep_s: float, *, counted: bool = False
) -> Generator[Step, StepResult, None]:
    """Predict, verify if the time allows, and tell limit, safe and fastest batch apart.

    The limit is verified only where a size that ran and one that failed lie close together, the safe batch only where
    that very batch ran. Nothing is told of memory where no size was tried near what a line predicts that samples hardly
    show in. ``counted``: the peaks known come from memory probes already.
    """
    if shape.cpu and not counted:
        yield from _count(course, shape, known, setting, keep_s)
    yield from _probe_above_fixed(course, shape, known, setting, keep_s)
    line, predicted = known.line(setting), known.limit(setting)
    if line is None or predicted is None or predicted < 1:
        yield from _untold(course, shape, known, setting)
        return
    told = line.tells(min(predicted, known.most))
    if told:
        yield from course.tell(_line_point(course, shape, setting, line))
    bracket = Bracket(ran=set(known.ran[setting]))
    if predicted >= known.most:
        ended = yield from _without_limit(course, shape, known, setting, predicted, bracket, keep_s, told)
        if ended:
            return
        predicted = known.most
    if line.is_line:
        cost = check_cost(shape, known, setting, predicted)
        if course.fits(2 * (cost + shape.restart_s), keep_s):
            yield from _verify(course, shape, known, setting, predicted, bracket, keep_s)
        else:
            yield from skipped(course, "limit", 2 * (cost + shape.restart_s))
    if not (told or _tried_near(bracket, predicted)):
        yield from _untold(course, shape, known, setting)
        return
    value = bracket.runs if bracket.fails is not None else max(predicted, bracket.runs)
    safe = yield from _safe(course, shape, known, setting, value, bracket, keep_s)
    if bracket.fails is not None:
        value = bracket.runs
        if safe not in bracket.ran and safe > value:  # a size above what ran is not safe because a line says so
            safe = (
                value if value <= (1.0 - SAFE_MARGIN) * bracket.fails else safe_batch(value, multiple=_multiple(value))
            )
    yield from course.tell(
        _limit_point(course, shape, known, setting, value, predicted, bracket),
        _safe_point(course, shape, known, setting, value, safe, bracket),
    )


def _untold(course: Course, shape: Shape, known: Trained, setting: Setting) -> Generator[Step, StepResult, None]:
    """Say why no limit is told: no two sizes ran whose memory is known, or the samples hardly show in it."""
    sizes = sorted(known.peaks.get(setting, {}))
    code = "limit_untold" if len(sizes) > 1 else "limit_untold_few"
    yield from course.warn(code, workload=shape.subject.name, largest=max(sizes, default=0))


def _tried_near(bracket: Bracket, predicted: int) -> bool:
    """Whether sizes that ran or failed bound the limit, whatever the line says."""
    return bracket.fails is not None or NEAR * bracket.runs >= predicted


def _count(
    course: Course, shape: Shape, known: Trained, setting: Setting, keep_s: float
) -> Generator[Step, StepResult, None]:
    """Peaks of a few measured batches from memory probes, in place of those that came with the rates.

    On a processor an allocator that is fast keeps freed blocks, which makes peaks 15 % too high.
    """
    measured = sorted(known.rates[setting])
    batches = sorted({measured[0], measured[len(measured) // 2], measured[-1]})
    cost = shape.restart_s + sum(check_cost(shape, known, setting, batch) for batch in batches)
    if not course.fits(cost, keep_s):
        return
    known.peaks[setting] = {}
    for batch in batches:
        yield from check(course, shape, known, setting, batch, label="train_memory", phase="memory")


def _probe_above_fixed(
    course: Course, shape: Shape, known: Trained, setting: Setting, keep_s: float
) -> Generator[Step, StepResult, None]:
    """One more probe where all so far are small against the fixed part (such a line is biased)."""
    line, predicted = known.line(setting), known.limit(setting)
    if line is None or predicted is None or line.fixed_bytes <= 0:
        return
    wanted = ceil(FIXED_MULTIPLE * line.fixed_bytes / line.per_sample_bytes)
    batch = min(1 << (wanted - 1).bit_length(), predicted // 2, known.most)
    if wanted <= max(known.peaks[setting]) or batch <= max(known.ran[setting]):
        return
    if course.fits(3 * check_cost(shape, known, setting, batch), keep_s):
        yield from check(course, shape, known, setting, batch, label="train_memory", phase="memory")


def _without_limit(
    course: Course,
    shape: Shape,
    known: Trained,
    setting: Setting,
    predicted: int,
    bracket: Bracket,
    keep_s: float,
    told: bool,
) -> Generator[Step, StepResult, bool]:
    """Try the largest batch there is (the whole data set) and tell it; False where it does not run after all.

    Not ``told``: the line does not tell whether it runs, so nothing is said unless it ran.
    """
    most = known.most
    roomy = most <= (1.0 - SAFE_MARGIN) * predicted
    if most not in bracket.ran and course.fits(check_cost(shape, known, setting, most) + shape.restart_s, keep_s):
        phase = "safe" if roomy else "limit"
        yield from _check(course, shape, known, setting, most, bracket, SAFE, phase=phase)
        if bracket.fails is not None:
            return False
    if not (told or most in bracket.ran):
        yield from _untold(course, shape, known, setting)
        return True
    safe = most if roomy else (yield from _safe(course, shape, known, setting, most, bracket, keep_s))
    yield from course.tell(
        _limit_point(course, shape, known, setting, most, predicted, bracket, whole=True),
        _safe_point(course, shape, known, setting, most, safe, bracket),
    )
    return True


def _multiple(batch: int) -> int:
    return 8 if batch >= 64 else 1


def _step_of(batch: int) -> int:
    """Sizes are tried in steps of this: eights where rounding to them moves a size little."""
    return 8 if batch * ROUNDED >= 8 else 1


def _verify(
    course: Course, shape: Shape, known: Trained, setting: Setting, predicted: int, bracket: Bracket, keep_s: float
) -> Generator[Step, StepResult, None]:
    """Run just below the prediction, then just above in a fresh process, and close in from there while time allows."""
    for _ in range(TRIES):
        batch, label = _next(predicted, bracket)
        if batch is None or not course.fits(check_cost(shape, known, setting, batch) + shape.restart_s, keep_s):
            return
        above = label == "train_limit_above"
        told = yield from _check(course, shape, known, setting, batch, bracket, label, phase="limit", fresh=above)
        if not told:
            return


def _next(predicted: int, bracket: Bracket) -> tuple[int | None, str]:
    """The next size to try, with the label of its step; None where the limit is found or nothing is left to try.

    Just below the prediction, then just above it (higher where even that runs). After a failure a little lower first;
    half-way where something between is known to run, or where the error does not name memory (far from the line).
    """
    step = _step_of(predicted)
    runs, fails = bracket.runs, bracket.fails
    if fails is None:
        below = round_down(int(predicted * BELOW), step)
        if below > runs:
            return below, "train_limit_below"
        above = max(predicted * ABOVE, runs * HIGHER if runs > predicted else 0.0)
        return ceil(above / step) * step, "train_limit_above"
    if bracket.close:
        return None, ""
    lower = round_down(int(fails * LOWER), step)
    if bracket.size_limit or lower <= runs:
        lower = round_down((runs + fails) // 2, step)
    return (lower if runs < lower < fails else None), "train_limit_below"


def _safe(
    course: Course, shape: Shape, known: Trained, setting: Setting, limit_batch: int, bracket: Bracket, keep_s: float
) -> Generator[Step, StepResult, int]:
    """The safe batch below ``limit_batch``, tried out (warmed up) while time allows; lower where it does not run."""
    safe = safe_batch(limit_batch, multiple=_multiple(limit_batch))
    for _ in range(SAFE_TRIES):
        if safe < 1 or safe in known.rates.get(setting, {}):
            break
        cost = check_cost(shape, known, setting, safe) + shape.warmup_s
        if not course.fits(cost + shape.restart_s, keep_s):
            break
        told = yield from _check(course, shape, known, setting, safe, bracket, SAFE, phase="safe")
        if not told or bracket.fails != safe:
            break
        lower = safe_batch(safe, multiple=_multiple(safe))
        safe = lower if lower < safe else 0
    return safe if safe >= known.least else 0


def _check(
    course: Course,
    shape: Shape,
    known: Trained,
    setting: Setting,
    batch: int,
    bracket: Bracket,
    label: str,
    *,
    phase: str,
    fresh: bool = False,
) -> Generator[Step, StepResult, bool]:
    """Try ``batch`` and note in ``bracket`` whether it ran; False if that cannot be told (worker lost)."""
    result = yield from check(course, shape, known, setting, batch, label=label, phase=phase, fresh=fresh)
    match result:
        case Done() if batch in known.ran[setting]:
            bracket.ran.add(batch)
        case OutOfMemory(size_limit=size_limit):
            bracket.failed(batch, size_limit=size_limit)
        case UserCodeFailed(message=message):
            bracket.failed(batch, size_limit=True)
            yield from course.warn("size_limit", batch=batch, message=message)
        case Done() | Lost():
            return False
    return True


def _line_point(course: Course, shape: Shape, setting: Setting, line: MemoryLine) -> Point:
    return course.make.figure(
        "memory_per_sample",
        shape.subject.name,
        line.per_sample_bytes,
        "B",
        setting.named(),
        extra={
            "fixed_bytes": line.fixed_bytes,
            "residual": line.residual,
            "probes": line.probes,
            "is_line": line.is_line,
        },
    )


def _limit_point(
    course: Course,
    shape: Shape,
    known: Trained,
    setting: Setting,
    value: int,
    predicted: int,
    bracket: Bracket,
    *,
    whole: bool = False,
) -> Point:
    """``whole``: not memory limits it but its owner's word, the data set, or what a trial takes at most."""
    extra: dict[str, Scalar] = {"predicted": predicted, "runs": bracket.runs, "size_limit": bracket.size_limit}
    if bracket.fails is not None:
        extra["fails"] = bracket.fails
    if known.capacity_bytes is not None:
        extra["capacity_bytes"] = int(known.capacity_bytes)
    if whole:
        extra[known.most_by] = value
    verified = value in bracket.ran if whole else bracket.tight
    params: dict[str, Scalar] = {**setting.named(), "verified": verified}
    flags = () if verified else (Flag.EXTRAPOLATED,)
    return course.make.figure(
        "batch_limit", shape.subject.name, float(value), "samples", params, flags=flags, extra=extra
    )


def _safe_point(
    course: Course, shape: Shape, known: Trained, setting: Setting, value: int, safe: int, bracket: Bracket
) -> Point:
    margin = SAFE_MARGIN if safe <= (1.0 - SAFE_MARGIN) * value + 1.0 else max(0.0, 1.0 - safe / max(1, value))
    extra: dict[str, Scalar] = {"margin": margin, "limit": value}
    ran = safe in bracket.ran and (bracket.fails is None or safe < bracket.fails)
    rate = known.rates.get(setting, {}).get(safe)
    if ran and rate is not None:
        extra["rate"] = rate
    params: dict[str, Scalar] = {**setting.named(), "verified": ran}
    flags = () if ran else (Flag.EXTRAPOLATED,)
    return course.make.figure(
        "batch_safe", shape.subject.name, float(safe), "samples", params, flags=flags, extra=extra
    )


def fastest_points(course: Course, shape: Shape, setting: Setting) -> tuple[Point, ...]:
    """The fastest batch with the batches its intervals allow, from the points told so far (none that failed since)."""
    fails = [
        int(p.extra["fails"])
        for p in course.points
        if p.metric == "batch_limit" and "fails" in p.extra and _same(p, setting)
    ]
    spreads = {
        int(p.params["batch"]): p.spread or spread([p.value])
        for p in course.points
        if p.metric == "train_throughput"
        and p.params.get("phase") in RATE_PHASES
        and Flag.TOO_SLOW not in p.flags
        and _same(p, setting)
        and all(int(p.params["batch"]) < batch for batch in fails)
    }
    if not spreads:
        return ()
    found = fastest(spreads)
    rates = {batch: s.median for batch, s in spreads.items()}
    extra: dict[str, Scalar] = {"rate": found.rate, "low": found.low, "high": found.high, "measured": len(rates)}
    bend, cost = knee(rates), fit_step_cost(rates)
    if bend is not None:
        extra["knee"] = bend
    if cost is not None:
        extra |= {"step_fixed_s": cost.fixed_s, "step_per_sample_s": cost.per_sample_s, "step_residual": cost.residual}
    return (
        course.make.figure(
            "batch_fastest", shape.subject.name, float(found.batch), "samples", setting.named(), extra=extra
        ),
    )


def _same(point: Point, setting: Setting) -> bool:
    """Whether the point is of this setting; a training of no images says nothing of a layout."""
    return all(point.params.get(name, False) == value for name, value in setting.named().items())
