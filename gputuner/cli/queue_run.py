"""``queue run``: serve the queue until stopped, or until nothing is left in it."""

import signal
import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Annotated

from cyclopts import Parameter

from gputuner.cli import document, queue_document
from gputuner.cli.alerts_view import AlertView, alert_document, line, telling
from gputuner.cli.context import Injected
from gputuner.cli.options import Options, check_range, whole_number
from gputuner.cli.output import Output
from gputuner.language import jobs as words
from gputuner.language.words import N_, _
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import ExitCode
from gputuner.model.events import AlertCleared, AlertRaised, Outcome
from gputuner.model.jobs import ENDED, Job, JobState, NoteKind, RunnerNote

ABOUT = N_("Serve the queue: start jobs when cards have room, until stopped.")
SHARE_HELP = N_("Let jobs stand together that were never measured together.")
SLOTS = (1, 1024)
SLOWDOWN = (1.0, 100.0)
MOST_ALERTS = 10_000
"""Alerts that the document of ``--json`` holds: the last ones."""
_QUIET_WAITS = frozenset({"slots", "behind", "card_taken"})
"""Waiting for jobs of ours is the ordinary state of a line, and no news."""


class _Stop:
    """What ends the serving: SIGTERM (a clean end) or Ctrl-C."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.number: int | None = None
        self.count = 0

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.number = number
        self.count += 1
        self.event.set()


@contextmanager
def _stopping() -> Generator[_Stop]:
    stop = _Stop()
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(
    *,
    until_empty: Annotated[
        bool, Parameter(name="--until-empty", negative="", help=N_("End when nothing is left in the queue."))
    ] = False,
    slots: Annotated[
        int | None,
        Parameter(
            name="--slots",
            metavar="N",
            help=N_("Jobs at a time on the processor, where there is no card; half of its cores by default."),
            converter=whole_number,
        ),
    ] = None,
    slowdown: Annotated[
        float,
        Parameter(
            name="--slowdown",
            metavar="X",
            help=N_("Put jobs together only where neither takes more than X times as long; 1.5 by default."),
        ),
    ] = 1.5,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Serve the queue; --gpu names the cards, --share lets jobs stand together that were never measured together. Jobs
    that run go on when this ends.

    Args:
        until_empty: end when nothing is left.
        slots: jobs at a time on the processor.
        slowdown: how much neighbours may slow each other.
        options: the common options.
        context: streams and the way to the program.
    """
    from dataclasses import replace

    output = context.output(options)
    check_range("--slots", slots, SLOTS, "")
    check_range("--slowdown", slowdown, SLOWDOWN, "")
    with _stopping() as stop, context.setup(replace(options, share=False)) as setup:
        from gputuner.assembly.queue_serving import serving

        cards = setup.select(options.gpu, for_experiment=False)
        teller = _Teller(output)
        with (
            telling(setup, output, lambda: stop.count < 2) as view,
            serving(
                setup,
                cards,
                slots=slots,
                slowdown=slowdown,
                share=options.share,
                tell=teller.take,
                alert=partial(teller.alert, view),
                say=output.warn,
            ) as runner,
        ):
            if setup.origin is not Origin.MEASURED:
                output.warn(_("The cards are simulated: commands run for real, but without a card."))
            output.note(_("Serving the queue; stopping this leaves running jobs alone."))
            runner.serve(stop.event, until_empty=until_empty)
        return _end(output, teller, stop, runner.failed)


class _Teller:
    """Writes what happens, a line each."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.ended: list[Job] = []
        self.alerts: deque[document.Json] = deque(maxlen=MOST_ALERTS)

    def alert(self, view: AlertView, event: AlertRaised | AlertCleared, cards: Sequence[CardInfo]) -> None:
        """An alert that meets a running job."""
        self.alerts.append(alert_document(event, cards))
        self._output.warn(line(event, cards))
        view.tell(event, cards)

    def take(self, note: RunnerNote) -> None:
        """One more thing that happened."""
        if note.job is not None and note.job.state in ENDED:
            self.ended.append(note.job)
        text = words.note(note)
        if note.kind is NoteKind.WAITS and note.reason is not None and note.reason.code in _QUIET_WAITS:
            self._output.detail(text)
        elif note.kind in (NoteKind.GREW, NoteKind.PAUSED):
            self._output.warn(text)
        else:
            self._output.note(text)
        if note.job is not None and note.kind is NoteKind.ENDED and note.job.state is JobState.FAILED:
            for line in note.job.tail.splitlines():
                self._output.note(f"    {line}")


def _end(output: Output, teller: _Teller, stop: _Stop, failed: list[int]) -> int:
    interrupted = stop.number == signal.SIGINT
    if output.json:
        outcome = Outcome.CANCELLED if interrupted else Outcome.COMPLETED
        body = document.head("queue.run", None, outcome=outcome)
        body["jobs"] = queue_document.jobs(teller.ended)
        body["alerts"] = list(teller.alerts)
        document.write(body, output.out)
    if interrupted:
        return int(ExitCode.INTERRUPTED)
    if stop.number is None and failed:
        output.warn(_("Not all went well: job {jobs}.").format(jobs=", ".join(map(str, failed))))
        return int(ExitCode.USER_CODE)
    return int(ExitCode.DONE)
