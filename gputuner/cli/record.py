"""``record``: keep telemetry in a session until stopped."""

from typing import Annotated

from cyclopts import Parameter

from gputuner.cli.context import Injected
from gputuner.cli.experiment import watch
from gputuner.cli.options import Options, check_range
from gputuner.language.words import N_

ABOUT = N_("Record telemetry until stopped (Ctrl-C) or for a given time.")
DURATION_S = (1.0, 366 * 86400.0)


def record(
    *,
    duration: Annotated[
        float | None,
        Parameter(name="--duration", metavar="S", help=N_("Seconds to record; without it, until stopped.")),
    ] = None,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Record the telemetry of the chosen cards.

    Args:
        duration: how long, in seconds.
        options: the common options.
        context: streams and the way to the program.
    """
    from gputuner.experiments.record import Record

    check_range("--duration", duration, DURATION_S, "s")
    options.check(experiment=False)
    seconds = options.minutes * 60 if duration is None and options.minutes is not None else duration
    return watch(context, options, Record(duration_s=seconds))
