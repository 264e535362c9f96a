"""``monitor``: a live table on a terminal, a line per card and tick in a pipe."""

import queue
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gputuner.cli import document
from gputuner.cli.context import Injected
from gputuner.cli.layout import columns
from gputuner.cli.options import Options, check_range, whole_number
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup
from gputuner.cli.readings import SETTLE_S, Latest, ticks
from gputuner.language import numbers, sentences
from gputuner.language.words import N_, _
from gputuner.model.cards import CardInfo, CardState, Origin
from gputuner.model.errors import ExitCode
from gputuner.model.quantities import Quantity, limiter_of
from gputuner.model.readings import Reading
from gputuner.telemetry.feed import Feed, FeedState

if TYPE_CHECKING:
    from rich.table import Table

ABOUT = N_("Live view of the cards in the terminal; --count and --interval for scripts.")
COUNT = (1.0, 1e7)
INTERVAL_S = (0.1, 3600.0)
SHORTEST_WAIT_S = 0.02
LONGEST_WAIT_S = 0.25
_COLUMNS: tuple[tuple[str, Quantity], ...] = (
    (N_("core"), Quantity.CORE_TEMPERATURE_C),
    (N_("memory"), Quantity.MEMORY_TEMPERATURE_C),
    (N_("power"), Quantity.POWER_AVERAGE_W),
    (N_("SM clock"), Quantity.SM_CLOCK_MHZ),
    (N_("busy"), Quantity.GPU_UTILISATION),
    (N_("used"), Quantity.MEMORY_USED_BYTES),
    (N_("fan"), Quantity.FAN_FRACTION),
    (N_("limited by"), Quantity.LIMIT_BITS),
)
_PROCESSOR_COLUMNS: tuple[tuple[str, Quantity], ...] = (
    (N_("temperature"), Quantity.CORE_TEMPERATURE_C),
    (N_("power"), Quantity.POWER_AVERAGE_W),
    (N_("clock"), Quantity.SM_CLOCK_MHZ),
    (N_("busy"), Quantity.GPU_UTILISATION),
    (N_("used"), Quantity.MEMORY_USED_BYTES),
)
"""Where nothing but the processor is watched."""


def monitor(
    *,
    count: Annotated[
        int | None,
        Parameter(
            name="--count",
            metavar="N",
            converter=whole_number,
            help=N_("Readings to show; without it, until stopped."),
        ),
    ] = None,
    interval: Annotated[float, Parameter(name="--interval", metavar="S", help=N_("Seconds between readings."))] = 1.0,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Watch the cards.

    Args:
        count: how many readings; None: until stopped (one with ``--json``).
        interval: seconds between them.
        options: the common options.
        context: streams and the way to the program.
    """
    check_range("--count", count, COUNT, "")
    check_range("--interval", interval, INTERVAL_S, "s")
    output = context.output(options)
    wanted = 1 if count is None and output.json else count
    with context.setup(options) as setup:
        cards = setup.select(options.gpu, for_experiment=False)
        watching = Watching(feed=setup.feed, cards=cards, count=wanted, interval_s=interval)
        if output.json:
            return _document(output, setup, watching)
        try:
            with _screen(output) as show:
                for shot in watching.shots():
                    show(shot)
        except KeyboardInterrupt:
            return int(ExitCode.INTERRUPTED)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """The cards and their newest readings at one time."""

    t_ns: int
    cards: Sequence[CardInfo]
    latest: Latest


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What to watch, how often and how long."""

    feed: Feed
    cards: Sequence[CardInfo]
    count: int | None
    interval_s: float
    clock: Callable[[], float] = time.monotonic

    def shots(self) -> Generator[Shot]:
        """A shot every interval; ends with the count or the feed.

        The first comes as soon as the cards have answered; where shots are counted it waits for the slow readings too.
        """
        latest, current = Latest(), {card.uuid: card for card in self.cards}
        shown, due_s, t_ns = 0, self.clock(), 0
        whole_s = due_s if self.count is None else due_s + SETTLE_S
        with ticks(self.feed) as waiting:
            while self.count is None or shown < self.count:
                now_s = self.clock()
                if now_s >= due_s and t_ns and (now_s >= whole_s or latest.complete(current.values())):
                    yield Shot(t_ns=t_ns, cards=tuple(current.values()), latest=latest)
                    shown += 1
                    due_s = due_s + self.interval_s if due_s + self.interval_s > now_s else now_s + self.interval_s
                    continue
                try:
                    tick = waiting.get(timeout=min(max(due_s - now_s, SHORTEST_WAIT_S), LONGEST_WAIT_S))
                except queue.Empty:
                    if self.feed.status().state in (FeedState.ENDED, FeedState.CLOSED):
                        return
                    if now_s >= due_s + self.interval_s:
                        t_ns = t_ns or time.monotonic_ns()
                    continue
                latest.take(tick.samples)
                current |= {card.uuid: card for card in tick.cards if card.uuid in current}
                t_ns = tick.t_ns


def titles(cards: Sequence[CardInfo]) -> Sequence[tuple[str, Quantity]]:
    """Title and quantity of each column for these cards."""
    return _PROCESSOR_COLUMNS if cards and all(card.is_cpu for card in cards) else _COLUMNS


def header(which: Sequence[tuple[str, Quantity]] = _COLUMNS) -> list[str]:
    """Titles of the columns."""
    return [_("card"), *(_(title) for title, _quantity in which)]


def row(card: CardInfo, latest: Latest, which: Sequence[tuple[str, Quantity]] = _COLUMNS) -> list[str]:
    """The readings of one card, a dash where there is none."""
    if card.state is CardState.LOST:
        return [_title(card), sentences.card_state(card.state), *([numbers.MISSING] * (len(which) - 1))]
    now = latest.of(card)
    return [_title(card), *(_cell(quantity, now[quantity]) for _name, quantity in which)]


def _title(card: CardInfo) -> str:
    title = f"[{card.index}] {card.title}"
    return title if card.origin is Origin.MEASURED else f"{title} · {sentences.origin(card.origin)}"


def _cell(quantity: Quantity, entry: Reading) -> str:
    if quantity is Quantity.LIMIT_BITS and isinstance(entry.value, (int, float)):
        return sentences.limiter(limiter_of(int(entry.value)))
    return numbers.reading(entry)


@contextmanager
def _screen(output: Output) -> Generator[Callable[[Shot], None]]:
    if not output.out.isatty() or output.narrow:
        yield _Lines(output).show
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(file=output.out), auto_refresh=False) as live:
        yield lambda shot: live.update(_table(shot), refresh=True)


class _Lines:
    """Plain lines: the titles once, then a line per card and shot."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._titled = False

    def show(self, shot: Shot) -> None:
        shown = titles(shot.cards)
        rows = [[_stamp(), *row(card, shot.latest, shown)] for card in shot.cards]
        lines = columns([[_("time"), *header(shown)], *rows])
        if self._titled:
            lines = lines[1:]
        self._titled = True
        for line in lines:
            print(line, file=self._output.out, flush=True)


def _stamp() -> str:
    return time.strftime("%H:%M:%S")


def _table(shot: Shot) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=_("Ctrl-C ends"))
    shown = titles(shot.cards)
    for i, title in enumerate(header(shown)):
        words = i == 0 or shown[i - 1][1] is Quantity.LIMIT_BITS
        table.add_column(Text(title), justify="left" if words else "right", no_wrap=True)
    for card in shot.cards:
        table.add_row(*(Text(cell) for cell in row(card, shot.latest, shown)))
    return table


def _document(output: Output, setup: Setup, watching: Watching) -> int:
    code, shots = 0, list[document.Json]()
    cards: Sequence[CardInfo] = watching.cards
    try:
        for shot in watching.shots():
            cards = shot.cards
            shots.append(
                {
                    "t_ns": shot.t_ns,
                    "cards": {
                        card.uuid: {q.value: document.reading(r) for q, r in shot.latest.of(card).items()}
                        for card in cards
                    },
                }
            )
    except KeyboardInterrupt:
        code = int(ExitCode.INTERRUPTED)
    body = document.head("monitor", setup.origin)
    body["devices"] = [document.card(card) for card in cards]
    body["samples"] = shots
    document.write(body, output.out)
    return code
