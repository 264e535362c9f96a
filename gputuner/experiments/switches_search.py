"""The search over formats and switches that does not try all combinations.

Four formats, two layouts and the compiler make 16 settings, of which about ten are measured. Everything else counts
alone from the best of these. Compiling takes most of the time, so it comes after formats and layouts, for few settings,
and further switches do without where compiling for each would not fit.
"""

from collections.abc import Generator, Iterable
from dataclasses import replace

from gputuner.analysis.switches import (
    WORTH,
    Setting,
    best_of,
    decide,
    further,
    gain,
    memory,
    shortlist,
)
from gputuner.experiments.course import Course
from gputuner.experiments.precisions import support
from gputuner.experiments.switches_memory import room
from gputuner.experiments.switches_modules import modules
from gputuner.experiments.switches_trial import (
    COMPILE_CPU_S,
    COMPILE_S,
    Compared,
    trial,
)
from gputuner.experiments.tune_shape import Shape
from gputuner.experiments.tune_training import first_failed, skipped
from gputuner.model.cards import Support
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, OutOfMemory, Step, StepResult
from gputuner.workloads.specs import PRECISIONS, Precision

Steps = Generator[Step, StepResult, None]
LADDER = "switch_batch"
"""Phase of the rates that only look for a batch."""
RISES, FULL = 0.05, 0.8
"""The batch is doubled while the rate rises by more than this, and the doubled one would stay below this share of the
memory in FP32, where it takes up to twice as much as in half precision."""
LONG_STEP_S, LONG_STEP_CPU_S = 0.25, 2.0
LADDER_S = 0.5
LADDER_SHARE = 0.15
"""Of the budget, at most."""
ATTENTION = ("flash", "efficient", "cudnn", "math")
KINDS = ("fused", "foreach", "plain")
TURNS = 4
"""Trials of the last comparison."""
ALL_ALIKE = ("does not call", "a simulated card")
"""In a worker's words, where all choices of a switch are refused alike: no attention in the model, no real card."""


def steps_expected(course: Course, shape: Shape) -> int:
    """About how many trials there will be."""
    formats = len(formats_of(course))
    return 5 + formats + 2 * shape.subject.images + 3 + (4 if shape.cpu else 12) + 4


def formats_of(course: Course) -> tuple[Precision, ...]:
    """Formats that are compared: all that the chip computes, emulated ones too; on a processor no FP16 (far slower)."""
    context = course.context
    able: list[Precision] = [p for p in PRECISIONS if support(context, p) is not Support.ABSENT]
    return tuple(p for p in able if not (context.card.is_cpu and p == "fp16"))


def search(course: Course, shape: Shape, *, batch: int, compiling: bool) -> Steps:
    """The whole search at ``batch`` (0: one that is looked for)."""
    compared = Compared(
        course=course,
        shape=shape,
        batch=batch or shape.first_batch,
        compile_s=COMPILE_CPU_S if shape.cpu else COMPILE_S,
    )
    if not batch and not (yield from _batch(compared)):
        return
    if not (yield from _formats(compared)):
        return
    yield from _layouts(compared)
    if compiling:
        yield from _compiled(compared)
    yield from _further(compared)
    yield from _confirmed(compared)
    yield from room(compared)
    yield from modules(compared)
    yield from _told(compared)


def _batch(compared: Compared) -> Generator[Step, StepResult, bool]:
    """Climb from the first batch while a doubling pays, it fits twice over, and steps are short; whether one ran."""
    course, shape = compared.course, compared.shape
    setting = Setting(precision="fp32" if shape.cpu else _likely(compared))
    until_s = course.spent_s + LADDER_SHARE * course.context.budget_s
    longest = LONG_STEP_CPU_S if shape.cpu else LONG_STEP_S
    before = 0.0
    while True:
        result = yield from trial(compared, setting, phase=LADDER, measure_s=LADDER_S)
        told = _last(course, compared.batch)
        if told is None:
            if before:
                compared.batch //= 2
                return True
            smaller = yield from first_failed(course, shape, result, compared.batch)
            if smaller is None or compared.batch == 1:
                return False
            compared.batch = smaller
            continue
        peak, capacity = memory(told), told.extra.get("capacity_bytes")
        samples = told.extra.get("data_set_samples")
        wide = 2.0 if setting.precision in ("fp16", "bf16") else 1.0
        full = isinstance(capacity, int | float) and peak is not None and 2.0 * wide * peak > FULL * capacity
        whole = isinstance(samples, int) and 2 * compared.batch > samples
        slow = 2.0 * compared.batch / told.value > longest
        flat = before > 0 and told.value < (1.0 + RISES) * before
        if full or slow or flat or whole or course.spent_s > until_s:
            compared.batch //= 2 if told.value < before else 1
            return True
        before = told.value
        compared.batch *= 2


def _likely(compared: Compared) -> Precision:
    """A half format that the chip computes in, else FP32."""
    for precision in formats_of(compared.course):
        if precision in ("fp16", "bf16") and support(compared.course.context, precision) is Support.NATIVE:
            return precision
    return "fp32"


def _last(course: Course, batch: int) -> Point | None:
    last = course.points[-1] if course.points else None
    return last if last is not None and last.params.get("batch") == batch else None


def _formats(compared: Compared) -> Generator[Step, StepResult, bool]:
    """All formats, plain, FP32 first: where that does not fit all are compared at half the batch."""
    while True:
        result = None
        for precision in formats_of(compared.course):
            setting = Setting(precision=precision)
            if compared.measured() and not compared.course.fits(compared.cost_s(setting)):
                yield from _no_time(compared, f"precision_{precision}", compared.cost_s(setting))
                continue
            result = yield from trial(compared, setting)
            if isinstance(result, OutOfMemory) and compared.batch > 1 and not compared.measured():
                break
            yield from _why(compared, setting)
        else:
            if not compared.measured() and result is not None:
                yield from first_failed(compared.course, compared.shape, result, compared.batch)
            return bool(compared.measured())
        half = compared.batch // 2
        yield from compared.course.warn(
            "switch_batch_halved", workload=compared.shape.subject.name, batch=compared.batch, half=half
        )
        compared.batch = half
        compared.refused.clear()


def _why(compared: Compared, setting: Setting) -> Steps:
    """Tell why a setting has no rate."""
    if setting in compared.refused:
        yield from compared.course.warn(
            "switch_unavailable",
            workload=compared.shape.subject.name,
            reason=compared.refused[setting],
            **setting.named(),
        )


def _plain_rates(compared: Compared) -> dict[str, float]:
    return {s.precision: r for s, r in compared.rates().items() if not s.switches and not s.channels_last}


def _reserve(compared: Compared) -> float:
    """Seconds that stay for the last trials in turn, B A A B, without a compiler."""
    plain = replace(best_of(compared.rates()), switches=())
    return TURNS * compared.cost_s(plain)


def _layouts(compared: Compared) -> Steps:
    """Channels-last in the formats of the short list."""
    if not compared.shape.subject.images:
        return
    for precision in shortlist(_plain_rates(compared)):
        yield from _tried(compared, Setting(precision=precision, channels_last=True), "channels_last")


def _compiled(compared: Compared) -> Steps:
    """Compiled in the formats of the short list, in their better layout; then the other layout of the best."""
    tops = compared.rates()
    done: list[Setting] = []
    for precision in shortlist(_top_by_format(tops)):
        best = max((s for s in tops if s.precision == precision), key=lambda s: tops[s])
        setting = best.with_switch("compile", True)
        if (yield from _tried(compared, setting, "compile", keep_s=_reserve(compared))):
            done.append(setting)
    rates = compared.rates()
    done = [setting for setting in done if setting in rates]
    if done and compared.shape.subject.images:
        best = max(done, key=lambda s: rates[s])
        if rates[best] >= max(rates.values()) * (1.0 - WORTH):
            other = replace(best, channels_last=not best.channels_last)
            yield from _tried(compared, other, "compile", keep_s=_reserve(compared))


def _top_by_format(rates: dict[Setting, float]) -> dict[str, float]:
    tops: dict[str, float] = {}
    for setting, each in rates.items():
        tops[setting.precision] = max(each, tops.get(setting.precision, 0.0))
    return tops


def _tried(compared: Compared, setting: Setting, stage: str, keep_s: float = 0.0) -> Generator[Step, StepResult, bool]:
    """Measure a setting if it is new and there is time; whether it has a rate now."""
    if setting in compared.measured():
        return True
    cost = compared.cost_s(setting)
    if not compared.course.fits(cost, keep_s):
        yield from _no_time(compared, f"switch_{stage}", cost, keep_s)
        return False
    result = yield from trial(compared, setting)
    yield from _why(compared, setting)
    return isinstance(result, Done) and setting in compared.measured()


def _no_time(compared: Compared, stage: str, cost_s: float, keep_s: float = 0.0) -> Steps:
    """Tell once that a part was left out because the time is short."""
    if stage not in compared.left_out:
        compared.left_out.add(stage)
        yield from skipped(compared.course, stage, cost_s, keep_s)


def _further(compared: Compared) -> Steps:
    """Every other switch alone; what promises a gain is measured again, B then A; what is kept, all together.

    They start from the best of the grid, or from that without the compiler where compiling for each takes too long.
    """
    grid = best_of({s: r for s, r in compared.rates().items() if s.in_grid})
    keep_s = 2.0 * compared.cost_s(grid) + 2.0 * compared.cost_s(replace(grid, switches=()))
    start = grid
    whole = len(list(_candidates(compared, grid))) * compared.cost_s(grid)
    if grid.switches and not compared.course.fits(whole, keep_s):
        start = replace(grid, switches=())
    for name, value in _candidates(compared, start):
        setting = _candidate(start, name, value)
        if (yield from _tried(compared, setting, name, keep_s=keep_s)):
            yield from _again(compared, setting, start, keep_s)
    yield from _together(compared, start, keep_s)


def _candidate(start: Setting, name: str, value: Scalar) -> Setting:
    """FP16 accumulation is of FP16, whatever format is best; everything else starts from that."""
    base = replace(start, precision="fp16") if name == "fp16_accumulate" else start
    return base.with_switch(name, value)


def _candidates(compared: Compared, grid: Setting) -> Iterable[tuple[str, Scalar]]:
    """In the order tried: the likely and cheap first, a fresh process last."""
    cpu = compared.shape.cpu
    now = _extra(compared, grid, "optimizer_as")
    for kind in KINDS:
        if kind != now and not _hopeless(compared, "optimizer_kind"):
            yield "optimizer_kind", kind
    if not cpu:
        yield "cuda_graph", True
        if "fp16" in _plain_rates(compared):
            yield "fp16_accumulate", True
    for backend in ATTENTION:
        if not _hopeless(compared, "sdpa"):
            yield "sdpa", backend
    if not cpu:
        yield "autotune", True
    if _extra(compared, grid, "checkpointing") is not True:
        yield "checkpointing", True
    if not cpu:
        yield "expandable_segments", True


def _hopeless(compared: Compared, name: str) -> bool:
    """Whether one choice of a switch was refused for a reason that holds for all."""
    why = [why for setting, why in compared.refused.items() if name in dict(setting.switches)]
    return any(words in each for each in why for words in ALL_ALIKE)


def _extra(compared: Compared, setting: Setting, name: str) -> Scalar | None:
    found = compared.measured().get(setting)
    return found[-1].extra.get(name) if found else None


def _again(compared: Compared, setting: Setting, base: Setting, keep_s: float) -> Steps:
    """B then A once more, where a single trial of each promises a gain."""
    measured = compared.measured()
    if gain(measured[setting], measured[base]).value < WORTH:
        return
    for each in (setting, base):
        if not compared.course.fits(compared.cost_s(each), keep_s):
            yield from _no_time(compared, "switch_again", compared.cost_s(each), keep_s)
            return
        yield from trial(compared, each)


def _together(compared: Compared, start: Setting, keep_s: float) -> Steps:
    """What gained alone, all at once, then the best alone: gains combine only when measured together."""
    decided = decide(compared.course.points)
    if decided is None or not decided.kept or (start == decided.grid and len(decided.kept) == 1):
        return
    order = sorted(decided.kept, key=lambda s: -decided.kept[s].value)
    whole = replace(decided.grid, precision=order[0].precision)
    for setting in reversed(order):  # of a switch's choices the best comes last
        for name, value in further(setting).items():
            whole = whole.with_switch(name, value)
    alone = replace(decided.grid, precision=order[0].precision)
    for name, value in further(order[0]).items():
        alone = alone.with_switch(name, value)
    for setting in dict.fromkeys((whole, alone)):
        if (yield from _tried(compared, setting, "together", keep_s=keep_s)):
            yield from _again(compared, setting, decided.grid, keep_s)
            settled = decide(compared.course.points)
            if settled is not None and settled.fastest == setting:
                return


def _confirmed(compared: Compared) -> Steps:
    """The choice against the base in fresh trials, B A A B: only these make the gain that is told.

    They lie together, so that a drift over the whole run cancels, and none of them was part of the choice. Where time
    is short B and A alone are added to the trials before.
    """
    decided = decide(compared.course.points)
    if decided is None or decided.fastest == decided.base:
        return
    ours, theirs = decided.fastest, decided.base
    pair = (compared.cost_s(ours), compared.cost_s(theirs))
    if compared.course.fits(2.0 * sum(pair)):
        for setting in (ours, theirs, theirs, ours):
            yield from trial(compared, setting, confirms=True)
        return
    for setting, cost in zip((ours, theirs), pair, strict=True):
        if not compared.course.fits(cost):
            yield from _no_time(compared, "switch_again", cost)
            return
        yield from trial(compared, setting)


def _told(compared: Compared) -> Steps:
    """The answer as a figure: how many times as fast as the base, which it names."""
    course = compared.course
    decided = decide(course.points)
    if decided is None:
        return
    extra: dict[str, Scalar] = {f"base_{name}": value for name, value in decided.base.named().items()}
    told = decided.gain if decided.chosen != decided.base else None
    if told is not None and told.low is not None and told.high is not None:
        extra |= {"gain_low": told.low, "gain_high": told.high}
    params: dict[str, Scalar] = {**decided.chosen.named(), "batch": compared.batch}
    value = 1.0 + (told.value if told else 0.0)
    yield from course.tell(
        course.make.figure("switches_gain", compared.shape.subject.name, value, "1", params, extra=extra)
    )
