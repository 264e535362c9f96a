"""``batch``: batch size and precision of one training, a built-in or the user's own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gputuner.cli.context import Injected
from gputuner.cli.experiment import measure
from gputuner.cli.options import Options, check_range
from gputuner.language.words import N_, _
from gputuner.model.errors import UsageError

ABOUT = N_("Batch size and precision of a training, a built-in or your own: limit, safe and fastest.")
BUILT_IN = N_(
    "A built-in training: resnet50, bert, edsr, gpt, lstm or llm; resnet50 where neither it nor a recipe is given."
)
RECIPE = N_(
    "Your own training, FILE.py:function or module:function: the function gives model, batch(n) and loss "
    "(see docs/recipes.md)."
)
IMAGES = N_("The recipe's input are images [n, channels, height, width]: compare both memory layouts.")
PRECISION = N_("Only this number format: fp32, tf32, fp16 or bf16; by default all that the card computes.")
LIMIT_ONLY = N_("Only what fits, without rates: for those in a hurry.")
NUMERICS = N_(
    "Another question: does each number format train as FP32 does? Losses from the same start, gradient scaler, "
    "overflows, operations that stay in FP32 (see docs/numerics.md)."
)
EFFECTIVE = N_(
    "Samples per optimizer step that gradient accumulation is to keep; not given, none is asked to be kept and 256 "
    "counts as usual."
)
LOADER = N_("Another question: how the data should be loaded (processes, prefetch, pinned memory).")
SWITCHES = N_(
    "Another question: which number format and switches (layout, torch.compile, attention, optimizer …) to train with."
)
NO_COMPILE = N_("With --switches: leave torch.compile out, which takes most of the time.")
BATCH_SIZE = N_("With --loader, --switches or --numerics: samples of a batch; by default one that is found by itself.")
LARGEST = N_("No larger batch is tried or advised; by default as large as fits.")
STAND_IN = "resnet50"
BATCHES = (1.0, float(1 << 20))
"""Of all options that count samples."""
GOES_WITH: dict[str, tuple[str, ...]] = {
    "--precision": ("", "--limit-only", "--loader", "--numerics"),
    "--images": ("", "--limit-only", "--switches", "--loader"),
    "--effective-batch": ("",),
    "--largest-batch": ("", "--limit-only"),
    "--batch-size": ("--loader", "--switches", "--numerics"),
    "--no-compile": ("--switches",),
}
"""Which option does something in which question; empty: the one that is asked without any of their options."""
DEFAULT_MINUTES, HURRIED_MINUTES, SWITCHES_MINUTES = 4.0, 2.0, 6.0


def batch(
    workload: Annotated[str, Parameter(name="WORKLOAD", help=BUILT_IN)] = "",
    /,
    *,
    recipe: Annotated[str, Parameter(name="--recipe", help=RECIPE)] = "",
    images: Annotated[bool, Parameter(name="--images", negative="", help=IMAGES)] = False,
    precision: Annotated[str, Parameter(name="--precision", help=PRECISION)] = "",
    limit_only: Annotated[bool, Parameter(name="--limit-only", negative="", help=LIMIT_ONLY)] = False,
    numerics: Annotated[bool, Parameter(name="--numerics", negative="", help=NUMERICS)] = False,
    effective_batch: Annotated[int | None, Parameter(name="--effective-batch", help=EFFECTIVE)] = None,
    largest_batch: Annotated[int | None, Parameter(name="--largest-batch", help=LARGEST)] = None,
    loader: Annotated[bool, Parameter(name="--loader", negative="", help=LOADER)] = False,
    switches: Annotated[bool, Parameter(name="--switches", negative="", help=SWITCHES)] = False,
    no_compile: Annotated[bool, Parameter(name="--no-compile", negative="", help=NO_COMPILE)] = False,
    batch_size: Annotated[int | None, Parameter(name="--batch-size", help=BATCH_SIZE)] = None,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Find what fits, what is safe and what is fastest, in which number format.

    Args:
        workload: a built-in training.
        recipe: the user's own.
        images: its input are images.
        precision: the only format to measure.
        limit_only: only what fits.
        numerics: whether the formats train as FP32 does.
        effective_batch: that accumulation is to keep; None: nobody asks for it.
        largest_batch: no larger one is tried; None: as large as fits.
        loader: ask how data should be loaded instead.
        switches: ask which number format and switches to train with instead.
        no_compile: without torch.compile.
        batch_size: of these questions; None: found by itself.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: both a built-in and a recipe, options that do nothing together, or a recipe on a simulated card.
    """
    from gputuner.experiments.batch import Batch
    from gputuner.experiments.loading import Loading
    from gputuner.experiments.numerics import Numerics
    from gputuner.experiments.switches import Switching

    options.check(experiment=True)
    if recipe and workload:
        raise UsageError("recipe_or_workload", "a built-in training and a recipe exclude each other")
    questions = {"--switches": switches, "--loader": loader, "--numerics": numerics, "--limit-only": limit_only}
    asked = [name for name, given in questions.items() if given]
    if len(asked) > 1:
        raise UsageError("options_exclude", "two questions", first=asked[0], second=asked[1])
    sizes = {"--effective-batch": effective_batch, "--largest-batch": largest_batch, "--batch-size": batch_size}
    for name, size in sizes.items():
        check_range(name, size, BATCHES, "")
    given = {"--precision": bool(precision), "--images": images, "--no-compile": no_compile}
    given |= {name: size is not None for name, size in sizes.items()}
    _check_together(asked[0] if asked else "", [name for name in GOES_WITH if given[name]])
    if images and not recipe:
        raise UsageError("option_needs", "a built-in says itself what it takes", option="--images", other="--recipe")
    if recipe and options.dry_run:
        output = context.output(options)
        output.note(_("Your training is not run: the steps are those that ResNet-50 would take."))
    name, folder = workload or STAND_IN, str(Path.cwd())
    usual = SWITCHES_MINUTES if switches else HURRIED_MINUTES if limit_only else DEFAULT_MINUTES
    minutes, size = usual if options.minutes is None else options.minutes, batch_size or 0
    if numerics:
        spec = Numerics(workload=name, recipe=recipe, folder=folder, precision=precision, batch=size, minutes=minutes)
    elif switches:
        spec = Switching(
            workload=name,
            recipe=recipe,
            folder=folder,
            images=images,
            batch=size,
            compile=not no_compile,
            minutes=minutes,
        )
    elif loader:
        spec = Loading(
            workload=name, recipe=recipe, folder=folder, batch=size, precision=precision, images=images, minutes=minutes
        )
    else:
        spec = Batch(
            workload=name,
            recipe=recipe,
            folder=folder,
            precision=precision,
            images=images,
            limit_only=limit_only,
            minutes=minutes,
            effective_batch=effective_batch or 0,
            largest_batch=largest_batch or 0,
        )
    return measure(context, options, spec)


def _check_together(question: str, options: Sequence[str]) -> None:
    """Refuse options that do nothing in this question.

    Raises:
        UsageError: there is one.
    """
    for option in options:
        if question in GOES_WITH[option]:
            continue
        others = [name for name in GOES_WITH[option] if name]
        if question:
            raise UsageError("options_exclude", f"{option} does nothing there", first=option, second=question)
        if len(others) == 1:
            raise UsageError("option_needs", f"{option} does nothing alone", option=option, other=others[0])
        raise UsageError("option_needs_one", f"{option} does nothing alone", option=option, others=", ".join(others))
