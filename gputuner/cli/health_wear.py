"""``health wear``: hours, thermal cycles, ageing and errors of a card over all its stored sessions."""

import time
from collections.abc import Callable, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gputuner.cli import document, results
from gputuner.cli.again import question_command
from gputuner.cli.context import Injected
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.streams import last_words
from gputuner.language import sentences
from gputuner.language import wear as words
from gputuner.language.words import N_, _
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import UsageError

if TYPE_CHECKING:
    from gputuner.analysis.wear import Wear
    from gputuner.cli.ports import Entry, Setup

ABOUT = N_(
    "Wear over all stored sessions of a card: hours above a temperature, thermal cycles, ageing, changes, errors."
)
ABOVE = N_("Tell the hours at this temperature or more, in degrees Celsius; repeat it for several.")
ABOVE_C = (0.0, 150.0)
LOOKED_AT, LONG_S = 200, 240.0
SILENT_S = 1.0
"""Reading that takes longer says how far it is, each so often."""


def wear(
    *,
    above: Annotated[tuple[float, ...], Parameter(name="--above", metavar="DEG", negative="", help=ABOVE)] = (),
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Tell the wear of each card of the stored sessions, or of those that ``--gpu`` names; they need not be here.

    Args:
        above: temperatures in °C to tell hours above.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: there is no such card, or a temperature is none.
    """
    output = context.output(options)
    options.check(experiment=False)
    for degrees in above:
        if not ABOVE_C[0] <= degrees <= ABOVE_C[1]:
            low, high = (f"{bound:g}" for bound in ABOVE_C)
            raise UsageError("above_out_of_range", "no temperature", value=f"{degrees:g}", low=low, high=high)
    with context.setup(options) as setup:
        began_s = time.monotonic()
        entries = setup.sessions.entries()
        for entry in entries:
            if entry.error is not None:
                output.warn(sentences.error(entry.error))
        cards = _chosen(setup, options, entries)
        found = [worn for card in cards if (worn := _of(setup, card, above, output, entries)) is not None]
        output.detail(_("Read in {time}.").format(time=f"{time.monotonic() - began_s:.1f} s"))
        with last_words(output.out):
            if output.json:
                document.write(_document(found, setup.origin), output.out)
            elif not found:
                told = _("There is no stored session of such a card yet. Make one: {command}")
                output.line(told.format(command=_recording(options)))
            for each in found:
                _show(output, each, options)
    return 0


def tell_drift(output: Output, setup: "Setup", cards: Sequence[CardInfo]) -> None:
    """One line for each card whose resistance rises over its stored sessions, beside other results.

    The newest ``LOOKED_AT`` that are long enough to hold a settled stretch are read; with ``--json`` none.
    """
    if output.json:
        return
    entries = setup.sessions.entries()
    long_enough = [e for e in entries if e.summary is not None and (e.summary.duration_s or 0.0) >= LONG_S]
    for card in cards:
        if card.is_cpu or card.origin is Origin.REPLAYED:
            continue
        found = _of(setup, card, (), output, long_enough[:LOOKED_AT])
        line = words.drift_line(found) if found is not None else None
        if line is not None:
            output.line(_("Note: {text}").format(text=line))


def _chosen(setup: "Setup", options: Options, entries: "Sequence[Entry]") -> tuple[CardInfo, ...]:
    """The cards to tell of: those of ``--simulate``, else those of the stored sessions; ``--gpu`` names some of them.

    Raises:
        UsageError: ``--gpu`` names none of them, several by one beginning, or the processor.
    """
    from gputuner.assembly.wear import worn_cards
    from gputuner.devices.selection import select

    known = worn_cards(setup.sessions, setup.origin, entries)
    if options.simulate:
        asked = {card.uuid for card in setup.cards()}
        known = tuple(card for card in known if card.uuid in asked)
    if options.gpu is None or not known:
        return known
    if "cpu" in options.gpu.lower().split(","):
        raise UsageError("wear_needs_card", "no graphics card")
    try:
        wanted = select(options.gpu, known)
    except UsageError as error:
        if error.code != "no_such_card":
            raise
        names = ", ".join(f"{card.title} ({card.uuid})" for card in known)
        raise UsageError("wear_no_such_card", "not among the sessions", card=options.gpu, known=names) from error
    return tuple(card for uuid in wanted for card in known if card.uuid == uuid)


def _recording(options: Options) -> str:
    """The command that makes the first session of the cards that were asked for."""
    which = "".join(f" --simulate {each}" for each in options.simulate)
    which += f" --gpu {quote(options.gpu)}" if options.gpu is not None else ""
    return question_command(options, f"gputuner --cli record{which}")


def _of(
    setup: "Setup",
    card: CardInfo,
    above: Sequence[float],
    output: Output,
    entries: "Sequence[Entry] | None" = None,
) -> "Wear | None":
    from gputuner.assembly.wear import wear_of

    told = _progress(output)
    return wear_of(setup.sessions, card.uuid, origin=card.origin, above=above, told=told, entries=entries)


def _progress(output: Output) -> Callable[[int, int], None]:
    last_s = time.monotonic()

    def told(done: int, total: int) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= SILENT_S and done < total:
            last_s = time.monotonic()
            output.note(_("Reading sessions: {done} of {total}").format(done=done, total=total))

    return told


def _show(output: Output, found: "Wear", options: Options) -> None:
    from gputuner.advice.wear import wear_advice

    output.heading(_("Wear of {card}").format(card=f"{found.card.title} ({found.card.uuid})"))
    for line in words.head_lines(found):
        output.line(line)
    if found.origin is not Origin.MEASURED:
        results.show_origin(output, found.origin)
    for title, table in words.titled(found).items():
        output.heading(title)
        output.show(table)
    output.heading(_("Ageing of the cooler"))
    for line in words.drift_lines(found):
        output.line(line)
    if output.verbose and found.steady:
        output.show(words.steady_table(found))
    advice, questions = wear_advice(found)
    if advice:
        results.show_advice(output, advice, model="", tries=None)
    results.show_questions(output, questions, options)


def _document(found: Sequence["Wear"], origin: Origin) -> document.Json:
    from gputuner.advice.wear import wear_advice

    body = document.head("health.wear", origin)
    judged = [wear_advice(each) for each in found]
    body["devices"] = [document.card(each.card) for each in found]
    body["wear"] = [_figures(each) for each in found]
    advice = [entry for given, _asked in judged for entry in given]
    body |= document.found((), advice, [entry for _given, asked in judged for entry in asked], ())
    return body


def _figures(found: "Wear") -> document.Json:
    """A card's wear: seconds, K, K/W; what happened between its sessions is in none of them."""
    from gputuner.model.codec import to_builtins

    drift = found.drift
    known = drift.low is not None and drift.high is not None
    return {
        "card": found.card.uuid,
        "sessions": [to_builtins(session) for session in found.sessions],
        "sessions_unreadable": found.skipped,
        "observed_s": found.observed_s,
        "span_s": found.span_s,
        "hours_above": [to_builtins(entry) for entry in found.hours],
        "histograms": {
            name: {"first_c": each.first_c, "seconds": list(each.seconds)} for name, each in found.histograms.items()
        },
        "cycles": [to_builtins(entry) for entry in found.cycles],
        "limited_s": {limiter.value: seconds for limiter, seconds in found.limited_s.items()},
        "resistance": {
            "verdict": drift.verdict.value,
            "air": drift.basis.value,
            "per_month": drift.per_month,
            "ci95": [drift.low, drift.high] if known else None,
            "degrees_per_month": drift.degrees_per_month,
            "power_w": drift.power_w,
            "fan_fraction": drift.fan_fraction,
            "sessions": drift.sessions,
            "days": drift.days,
            "span_days": drift.span_days,
            "pairs": drift.pairs,
            "missing": list(drift.missing),
        },
        "steady": [to_builtins(point) for point in found.steady],
        "changes": [to_builtins(change) for change in found.changes],
        "counters": [to_builtins(counter) for counter in found.counters],
        "xids": {str(xid): count for xid, count in found.xids.items()},
    }
