"""The progress of a run on stderr: one live line on a terminal, a line per step and figure in a pipe."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gputuner.cli import alerts_view
from gputuner.cli.layout import width
from gputuner.cli.output import Output
from gputuner.cli.stored_visits import StoredVisits
from gputuner.language import numbers, sentences
from gputuner.language.bench_table import NULL, null_name
from gputuner.language.numerics import MANY
from gputuner.language.progress import step_progress
from gputuner.language.words import _, listed
from gputuner.model.cards import CardInfo
from gputuner.model.events import (
    AlertCleared,
    AlertRaised,
    Event,
    PointMeasured,
    RunStarted,
    StepFinished,
    StepProgressed,
    StepStarted,
    TelemetrySampled,
    TorchFound,
    Warned,
    WorkerExited,
)
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

_LINE_EVERY_S = 10.0
"""In a pipe a long step says how far it is at most so often."""
_LATE_S = 0.5
_WIDE = 1000
"""Columns where nothing has to be shortened."""
_LEAST_LINE = 36
"""A step and the time left are not shortened below so many columns for how far the step is."""
_FINE_EXITS = {"finished", "cancelled"}


class Progress:
    """A view of a run. Use it as a context: on a terminal the live line is removed at the end."""

    def __init__(self, output: Output, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` gives seconds for the time that is left."""
        self._output = output
        self._clock = clock
        self._step: StepStarted | None = None
        self._progress: StepProgressed | None = None
        self._told_at_s = 0.0
        """When step or progress were told last."""
        self._line_at_s = 0.0
        self._readings = ""
        self._cards: tuple[CardInfo, ...] = ()
        self._live: Live | None = None
        self._stored = StoredVisits()

    def __enter__(self) -> Self:
        """Start the live line where there is a terminal to show it."""
        if not self._output.quiet and self._output.err.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                console=Console(file=self._output.err),
                get_renderable=self.status,
                refresh_per_second=4,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the live line."""
        self._tell_stored()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def show(self, event: Event) -> None:
        """Show what an event tells of the way."""
        if not self._gathered(event):
            self._show(event)

    def _show(self, event: Event) -> None:
        match event:
            case StepStarted():
                self._step, self._progress = event, None
                self._told_at_s = self._line_at_s = self._clock()
                if self._live is None:
                    self._say(_step_line(event, event.remaining_s))
            case StepProgressed():
                self._go_on(event)
            case PointMeasured() if _telling(event.point) or (self._output.verbose and event.point.metric not in MANY):
                self._say(f"  {point_line(event.point)}")
            case Warned():
                self._output_warning(sentences.warning(event.code, event.params))
            case AlertRaised() | AlertCleared():
                self._print(alerts_view.line(event, self._cards))
            case RunStarted():
                self._cards = event.cards
            case TelemetrySampled() if self._live is not None and event.samples:
                self._readings = readings_line(event.samples[0])
            case TorchFound():
                self._detail(f"torch {event.torch.version}, Python {event.torch.python}, {event.torch.interpreter}")
            case StepFinished() if event.result != "done":
                self._detail(f"  {sentences.step_result(event.result)} {event.message}".rstrip())
            case WorkerExited() if event.why not in _FINE_EXITS:
                self._detail(f"  {event.worker}: {event.why} {event.exit_code or ''} {event.stderr_tail}".rstrip())
            case _:
                pass

    def _go_on(self, event: StepProgressed) -> None:
        self._progress, self._told_at_s = event, self._clock()
        if self._live is not None or self._told_at_s - self._line_at_s < _LINE_EVERY_S:
            return
        self._line_at_s = self._told_at_s
        if told := step_progress(event):
            self._say(f"  {told}")

    def _gathered(self, event: Event) -> bool:
        """Whether the event is a stored figure, to be told with its like once something else comes."""
        if isinstance(event, PointMeasured) and not self._output.verbose and self._stored.take(event.point):
            return True
        if not isinstance(event, TelemetrySampled):
            self._tell_stored()
        return False

    def _tell_stored(self) -> None:
        for told in self._stored.lines():
            self._say(f"  {told}")

    def _say(self, text: str) -> None:
        if not self._output.quiet:
            self._print(text)

    def _detail(self, text: str) -> None:
        if self._output.verbose:
            self._print(text)

    def _output_warning(self, text: str) -> None:
        self._print(_("Note: {text}").format(text=text))

    def _print(self, text: str) -> None:
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=self._output.err, flush=True)

    def status(self) -> "Text":
        """The live line: step, time that is left, the readings that matter."""
        from rich.text import Text

        if self._step is None:
            return Text(_("starting"), style="dim", overflow="ellipsis", no_wrap=True)
        passed_s = self._clock() - self._told_at_s
        left_s = max(0.0, (self._progress or self._step).remaining_s - passed_s)
        room = self._live.console.width if self._live is not None else _WIDE
        told = step_progress(self._progress, passed_s) if self._progress is not None else ""
        told = f" · {told}" if told else ""
        if room - width(told) < _LEAST_LINE:
            told = ""
        line = _step_line(self._step, left_s, room - width(told)) + told
        text = Text(line, overflow="ellipsis", no_wrap=True)
        readings = f"   {self._readings}" if self._readings else ""
        if width(line + readings) <= room:
            text.append(readings, style="dim")
        return text


def _step_line(step: StepStarted, left_s: float, room: int = _WIDE) -> str:
    """Which step, what it does, time left; in ``room`` columns by cutting what it does, never the time."""
    number = f"{step.index}/{step.total}" if step.total_known else str(step.index)
    begin, what, end = f"[{number}] ", sentences.step(step.label, step.params), ""
    if step.expected_s or step.remaining_s:
        end = f" · {_left(left_s)}"
    if width(begin + what + end) > room:
        kept = room - width(begin + end) - 1
        while what and width(what) > kept:
            what = what[:-1]
        what = f"{what.rstrip()}…" if what else "…"
    return begin + what + end


def _left(left_s: float) -> str:
    """Time left of the whole run; that it is late once none is left while a step goes on."""
    if left_s < _LATE_S:
        return _("longer than expected")
    return _("{time} left").format(time=numbers.duration(round(left_s)))


def _telling(point: Point) -> bool:
    """Whether a figure is told as it comes: of the many of a health test only those that found something."""
    match point.metric:
        case "vram_errors" | "burn_errors" | "counter_change":
            return bool(point.value)
        case "identity_check":
            return not point.value
        case metric:
            return metric not in MANY and metric != "vram_block_rate"


def point_line(point: Point) -> str:
    """A figure in one line: what of, the value with its interval, and what is wrong with it."""
    of = null_name(point) if point.metric == NULL else sentences.settings(point.params, point.card)
    what = listed((sentences.metric(point.metric), of))
    line = _("{what}: {of}").format(what=what, of=sentences.point_value(point))
    flags = listed(sentences.flag(flag) for flag in point.flags)
    return f"{line}  [{flags}]" if flags else line


def readings_line(sample: Sample) -> str:
    """The few readings that matter while a run goes on."""
    parts = [
        numbers.value(sample.values[quantity], unit)
        for quantity, unit in (
            (Quantity.CORE_TEMPERATURE_C, "degC"),
            (Quantity.POWER_AVERAGE_W, "W"),
            (Quantity.SM_CLOCK_MHZ, "MHz"),
            (Quantity.GPU_UTILISATION, "fraction"),
            (Quantity.MEMORY_USED_BYTES, "bytes"),
        )
        if quantity in sample.values
    ]
    return " · ".join(parts)
