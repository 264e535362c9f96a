"""``tune``: the main job."""

from typing import Annotated

from cyclopts import Parameter

from gputuner.cli.context import Injected
from gputuner.cli.experiment import measure
from gputuner.cli.options import Options
from gputuner.language.words import N_

ABOUT = N_("Measure the card, find batch size and precision, advise: the main job.")
DEFAULT_MINUTES = 5.0


def tune(
    *,
    quick: Annotated[bool, Parameter(name="--quick", negative="", help=N_("End within 5 minutes."))] = False,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Fingerprint, benchmarks, batch size × precision, two at once, sustained load → advice and a session.

    Args:
        quick: end within 5 minutes.
        options: the common options.
        context: streams and the way to the program.
    """
    from gputuner.experiments.tune import Tune

    options.check(experiment=True)
    minutes = DEFAULT_MINUTES if options.minutes is None else options.minutes
    spec = Tune(minutes=min(minutes, DEFAULT_MINUTES) if quick else minutes, quick=quick)
    return measure(context, options, spec)
