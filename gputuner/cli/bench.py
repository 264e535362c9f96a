"""``bench``: benchmarks of the suite, the list of them, the null check, and the guard against a stored session."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gputuner.cli import bench_results, document, results
from gputuner.cli.context import Context, Injected
from gputuner.cli.experiment import Finished, in_turn, run, run_document
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.planned import dry_run
from gputuner.cli.ports import Setup
from gputuner.cli.streams import last_words
from gputuner.language import benchmarks as words
from gputuner.language import numbers
from gputuner.language.words import N_, ngettext
from gputuner.model.cards import CardInfo
from gputuner.model.errors import GputunerError, NoCard, UsageError

if TYPE_CHECKING:
    from gputuner.cli.guard import Guard, Guarded
    from gputuner.experiments.bench import Bench
    from gputuner.experiments.benchmarks.benchmark import Machine

ABOUT = N_("Benchmarks: what the card reaches, how far from its limits, and what held it back.")


def bench(
    *names: Annotated[str, Parameter(help=N_("Benchmarks or groups; without any, the default suite. See --list."))],
    list_: Annotated[
        bool,
        Parameter(
            name="--list", negative="", help=N_("List all benchmarks, also those that cannot run here, and end.")
        ),
    ] = False,
    full: Annotated[
        bool,
        Parameter(name="--full", negative="", help=N_("Every size and setting, however long; tells first how long.")),
    ] = False,
    null: Annotated[
        bool,
        Parameter(
            name="--null",
            negative="",
            help=N_("Measure the same again and again; tell how often this machine shows a difference that is none."),
        ),
    ] = False,
    against: Annotated[
        str | None,
        Parameter(
            name="--against",
            metavar="SESSION",
            help=N_(
                "Compare with a stored session of the card; exit code 9 if a figure is worse, confirmed by a re-run."
            ),
        ),
    ] = None,
    markdown: Annotated[
        bool, Parameter(name="--markdown", negative="", help=N_("Write the results as Markdown."))
    ] = False,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Run benchmarks on a card, or list them.

    Args:
        names: benchmarks or groups; none: the default suite.
        list_: only list them.
        full: every size and setting.
        null: A against A.
        against: session to hold the figures against.
        markdown: results as Markdown.
        options: the common options.
        context: streams and the way to the program.
    """
    from gputuner.experiments.bench import Bench

    if list_:
        return _list(context, options, names, markdown=markdown)
    if null and against is not None:
        raise UsageError("options_exclude", "--null and --against", first="--null", second="--against")
    options.check(experiment=True)
    spec = Bench(names=names, full=full, minutes=options.minutes, null=null)
    output = context.output(options)
    with context.setup(options, experiment=True) as setup:
        cards = setup.select(options.gpu, for_experiment=True)
        guard = _guard(setup, against, cards)
        if guard is not None:
            spec = guard.fitted(spec)
        if options.dry_run:
            return dry_run(output, setup, spec, cards, options, lambda card: _able(setup, spec, card))
        return _measure(output, setup, spec, cards, options, guard, markdown=markdown)


def _measure(
    output: Output,
    setup: Setup,
    spec: "Bench",
    cards: Sequence[CardInfo],
    options: Options,
    guard: "Guard | None",
    *,
    markdown: bool,
) -> int:
    """Run, hold against the guard's session, show; returns the exit code."""
    checked: list[Guarded] = []

    def one(card: CardInfo) -> Finished:
        own = _fitted(spec, card)
        machine = setup.machine(card)
        _refuse_if_none_can_run(own, machine)
        _refuse_too_short(own, machine)
        _estimate(output, own, machine)
        ended = run(output, setup, own, (card,), options)
        if guard is None or not guard.judges(ended):
            return ended
        checked.append(guard.check(output, ended, own, lambda again: run(output, setup, again, (card,), options)))
        return replace(ended, check_code=checked[-1].exit_code)

    ended, code = in_turn(output, cards, one)
    with last_words(output.out):
        _tell(output, setup, spec, ended, checked, markdown=markdown)
    return code


def _tell(
    output: Output,
    setup: Setup,
    spec: "Bench",
    ended: Sequence[Finished],
    checked: Sequence["Guarded"],
    *,
    markdown: bool,
) -> None:
    """The results, what the guard found, and as the last lines its verdict on each card."""
    if output.json:
        body = run_document(setup.origin, spec.name, ended)
        if checked:
            from gputuner.cli.guard_results import guarded_document

            told = [guarded_document(each) for each in checked]
            body["regression"] = told[0] if len(told) == 1 else told
        document.write(body, output.out)
        return
    for each in ended:
        bench_results.show(output, each, markdown=markdown)
    for each in checked:
        from gputuner.cli import guard_results

        guard_results.show(output, each, as_markdown=markdown)
    for each in ended:
        results.show_end(output, each.outcome, setup.origin, each.path)
    for each in checked:
        from gputuner.cli.guard_results import verdict_line

        output.line()
        output.line(verdict_line(each, several=len(checked) > 1, as_markdown=markdown))


def _fitted(spec: "Bench", card: CardInfo) -> "Bench":
    """``spec`` for this card: the processor's benchmarks are shorter."""
    return replace(spec, cpu=card.is_cpu)


def _able(setup: Setup, spec: "Bench", card: CardInfo) -> "Bench":
    """``spec`` for this card.

    Raises:
        NoCard: the card can run none of it.
        UsageError: it has no time for any of it.
    """
    own, machine = _fitted(spec, card), setup.machine(card)
    _refuse_if_none_can_run(own, machine)
    _refuse_too_short(own, machine)
    return own


def _refuse_if_none_can_run(spec: "Bench", machine: "Machine") -> None:
    """Nothing is started, and no session made, for benchmarks none of which this card can run.

    Raises:
        NoCard: that is so; it tells the first one's reason.
    """
    verdicts = [(each.name, each.unavailable(machine)) for each in spec.benchmarks()]
    if any(why is None for _, why in verdicts):
        return
    name, why = verdicts[0]
    reason = words.unavailable(why.code, why.params) if why else ""
    raise NoCard("benchmarks_unavailable", f"{name}: {reason}", benchmark=name, why=reason)


def _refuse_too_short(spec: "Bench", machine: "Machine") -> None:
    """Nothing is started for a budget in which no benchmark has room.

    Raises:
        UsageError: that is so; it tells the least that works.
    """
    least = ceil(10.0 * spec.least_minutes(machine)) / 10.0
    if spec.minutes is not None and spec.minutes < spec.least_minutes(machine):
        raise UsageError(
            "minutes_too_few",
            f"--minutes {spec.minutes:g} is too short; {least:g} works",
            value=f"{spec.minutes:g}",
            least=f"{least:g}",
        )


def _estimate(output: Output, spec: "Bench", machine: "Machine") -> None:
    ready = [each for each in spec.benchmarks() if each.unavailable(machine) is None]
    took = numbers.duration(round(spec.estimate_s(machine)))
    told = ngettext("{n} benchmark, about {time}", "{n} benchmarks, about {time}", len(ready))
    output.note(told.format(n=len(ready), time=took))


def _guard(setup: Setup, against: str | None, cards: Sequence[CardInfo]) -> "Guard | None":
    """What the figures are held against.

    Raises:
        StoreError: no such session, or it holds nothing to compare.
        UsageError: it is of another card.
    """
    if against is None:
        return None
    from gputuner.cli.guard import Guard

    return Guard.of(setup, against, cards)


def _list(context: Context, options: Options, names: Sequence[str], *, markdown: bool) -> int:
    """All benchmarks (or those named) with what keeps them from running; starts no worker and imports no torch."""
    from gputuner.experiments.benchmarks.catalogue import BENCHMARKS, chosen

    listed = chosen(names, full=True) if names else BENCHMARKS
    output = context.output(options)
    with context.setup(options) as setup:
        machine = _machine(output, setup, options)
        origin = setup.origin
    bench_results.show_list(output, listed, machine, origin, markdown=markdown)
    return 0


def _machine(output: Output, setup: Setup, options: Options) -> "Machine | None":
    """The machine as far as it is known; None (everything may run) where no card answers.

    Raises:
        GputunerError: a card was named that is not there.
    """
    try:
        return setup.machine(setup.select(options.gpu, for_experiment=True)[0])
    except GputunerError as error:
        if options.gpu is not None:
            raise
        from gputuner.language import sentences

        output.warn(sentences.error(error))
        return None
