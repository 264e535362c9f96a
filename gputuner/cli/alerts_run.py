"""``alerts run`` and ``alerts test``: watch the cards by the alerts until stopped; try hook and notification once."""

import queue
import signal
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from gputuner.cli import document
from gputuner.cli.context import Injected
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup
from gputuner.cli.readings import ticks
from gputuner.language import alerts as words
from gputuner.language import sentences
from gputuner.language.words import N_, _, ngettext
from gputuner.model.alerts import AlertChange, AlertPlan
from gputuner.model.cards import CPU_CARD, CardInfo, Origin
from gputuner.model.errors import ExitCode, NoCard, UsageError
from gputuner.model.events import Outcome
from gputuner.telemetry.feed import FeedState

if TYPE_CHECKING:
    from gputuner.assembly.alerts import AlertBook, Announcer

RUN = N_("Watch the cards by your alerts until stopped; tells the desktop, runs the hook, writes a line for each.")
TEST = N_("Run the hook and tell the desktop once, marked as a test, and say which way works here.")
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
LOOK_S = 1.0
PLAN_S = 2.0
"""How often it is looked whether the alerts were changed."""
MOST_TOLD = 10_000
"""Changes that the document of ``--json`` holds: the last ones."""


def run(
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Watch all cards, or those of --gpu, by the alerts; --minutes ends it by itself. A sleeping card is not woken.

    Args:
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    _live_only(options)
    with _stopping() as stop, context.setup(options) as setup:
        from gputuner.assembly.alerts import AlertBook, Announcer

        book = AlertBook(setup.data_dir)
        plan = book.load()
        if not plan.active:
            raise UsageError("alerts_none", "no alert is set")
        cards = setup.select(options.gpu or _all_named(plan, setup.origin), for_experiment=False)
        if not any(rule.watches(card.uuid, processor=card.is_cpu) for rule in plan.active for card in cards):
            raise NoCard("alerts_no_card", "no alert is about these cards")
        announcer = Announcer(book, plan, setup.origin, output.warn)
        try:
            watching = _Watching(output, setup, book, announcer, cards, named=options.gpu is not None)
            watching.begin(len(plan.active))
            minutes = options.minutes
            watching.serve(stop.event, None if minutes is None else time.monotonic() + minutes * 60)
        finally:
            announcer.close(lambda: stop.count < 2)
        if output.json:
            interrupted = stop.number == signal.SIGINT
            outcome = Outcome.CANCELLED if interrupted else Outcome.COMPLETED
            body = document.head("alerts.run", setup.origin, outcome=outcome)
            body["devices"] = [document.card(card) for card in watching.cards.values()]
            body["alerts"] = watching.told
            document.write(body, output.out)
        return int(ExitCode.INTERRUPTED) if stop.number == signal.SIGINT else 0


def try_out(
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Run the hook and tell the desktop once.

    Args:
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    _live_only(options)
    with context.setup(options) as setup:
        from gputuner.assembly import alerts

        book = alerts.AlertBook(setup.data_dir)
        plan = book.load()
        announcer = alerts.Announcer(book, plan, setup.origin, output.warn)
        try:
            ended = announcer.try_out(plan, None)
        finally:
            announcer.close()
        way = alerts.tell_test(plan, setup.origin)
        failed = ended is not None and bool(ended.trouble)
        if output.json:
            body = document.head("alerts.test", setup.origin, outcome=Outcome.FAILED if failed else Outcome.COMPLETED)
            body["notification"] = way
            body["hook"] = None if ended is None else {"trouble": ended.trouble or None, "exit_code": ended.exit_code}
            document.write(body, output.out)
        else:
            output.line(_("Notifications: {way}.").format(way=words.way(way)))
            if way == "terminal":
                output.line(alerts.bell(output.out) + alerts.test_words())
            if ended is None:
                output.line(_("No command is set; `alerts hook -- COMMAND` names one."))
            elif failed:
                output.warn(alerts.hook_trouble(plan, ended, alerts.hook_log(book)))
            else:
                output.line(_("The alert's command {program} ran well.").format(program=plan.hook[0]))
        return int(ExitCode.USER_CODE) if failed else 0


class _Watching:
    """The loop of ``alerts run``."""

    def __init__(
        self,
        output: Output,
        setup: Setup,
        book: "AlertBook",
        announcer: "Announcer",
        cards: Sequence[CardInfo],
        *,
        named: bool,
    ) -> None:
        from gputuner.assembly.alerts import watch_of

        self._output, self._book, self._announcer = output, book, announcer
        self._feed = setup.feed
        self._named = {card.uuid for card in cards} if named else None
        self.cards = {card.uuid: card for card in cards}
        self._watch = watch_of(book, cards)
        self._broken = ""
        self.told: list[document.Json] = []
        self._origin = setup.origin

    def begin(self, count: int) -> None:
        """Say what is watched."""
        for card in self.cards.values():
            self._output.note(f"[{card.index}] {card.title}")
        text = ngettext("Watching by {count} alert; Ctrl-C ends.", "Watching by {count} alerts; Ctrl-C ends.", count)
        self._output.note(text.format(count=count))
        if not self._announcer.mine:
            self._output.warn(
                _(
                    "Process {pid} tells of alerts already, so hook and desktop are left to it; this one only writes."
                ).format(pid=self._announcer.holder or "?")
            )

    def serve(self, stop: threading.Event, until_s: float | None) -> None:
        """Watch until stopped, the time is over, or the feed ends."""
        last: tuple[int, float] | None = None
        planned_s = time.monotonic()
        with ticks(self._feed) as waiting:
            while not stop.is_set() and (until_s is None or time.monotonic() < until_s):
                now_s = time.monotonic()
                if now_s - planned_s >= PLAN_S:
                    planned_s = now_s
                    self._plan(0 if last is None else last[0])
                try:
                    tick = waiting.get(timeout=LOOK_S)
                except queue.Empty:
                    if self._feed.status().state in (FeedState.ENDED, FeedState.CLOSED):
                        return
                    # feeds that may hang tell the host's monotonic time, so it stands for a first tick that never comes
                    t_ns, read_s = last or (time.monotonic_ns(), time.monotonic())
                    self._tell(self._watch.look(t_ns + round((time.monotonic() - read_s) * 1e9)))
                    continue
                last = tick.t_ns, time.monotonic()
                self.cards |= {card.uuid: card for card in tick.cards if self._wanted(card.uuid)}
                self._tell(self._watch.take(tick))

    def _wanted(self, uuid: str) -> bool:
        return self._named is None or uuid in self._named

    def _plan(self, t_ns: int) -> None:
        plan, error = self._book.watched()
        said = "" if error is None else sentences.error(error)
        if said and said != self._broken:
            self._output.warn(said)
        self._broken = said
        self._announcer.follow(plan)
        self._tell(self._watch.follow(plan.rules, t_ns))

    def _tell(self, changes: Sequence[AlertChange]) -> None:
        from gputuner.assembly.alerts import bell, change_document

        wanted = [change for change in changes if self._wanted(change.card)]
        for change in wanted:
            card = self.cards.get(change.card)
            self.told = [*self.told[1 - MOST_TOLD :], change_document(change, card, self._origin)]
            state = _("raised") if change.raised else _("cleared")
            text = words.told(change, card.title if card is not None else change.card)
            ring = bell(self._output.out) if change.raised and not change.quiet else ""
            line = f"{time.strftime('%H:%M:%S')}  {state}  {change.rule.name}  {text}"
            if self._origin.value != "measured":
                line = f"{line}  [{sentences.origin(self._origin)}]"
            if not self._output.json:
                print(f"{ring}{line}", file=self._output.out, flush=True)
        self._announcer.tell(wanted, self.cards.values())


def _all_named(plan: AlertPlan, origin: Origin) -> str | None:
    """All cards; the host's processor, which is read beside others only when asked for, where an alert names it."""
    named = any(CPU_CARD in rule.cards for rule in plan.active)
    return f"all,{CPU_CARD}" if named and origin is Origin.MEASURED else None


def _live_only(options: Options) -> None:
    if options.replay is not None:
        raise UsageError("alerts_no_replay", "alerts are about cards as they are now")


def _ignored_hangup(number: signal.Signals) -> bool:
    """True for a SIGHUP that whoever started us ignores (nohup)."""
    return number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN


class _Stop:
    """What ends the watching: SIGTERM or SIGHUP (a clean end) or Ctrl-C; a second one ends hooks that still run."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.number: int | None = None
        self.count = 0

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.number = number if self.number is None else self.number
        self.count += 1
        self.event.set()


@contextmanager
def _stopping() -> Generator[_Stop]:
    stop = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    named = (getattr(signal, name, None) for name in _SIGNALS)  # SIGHUP is not known everywhere
    ours = [number for number in named if number is not None and not _ignored_hangup(number)]
    before = {number: signal.signal(number, stop) for number in ours}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
