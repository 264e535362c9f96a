"""``cooling``: a thermal test, and ``cooling compare``: two of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from cyclopts import Parameter

from gputuner.cli import cooling_results, document, health_wear
from gputuner.cli.context import Injected
from gputuner.cli.experiment import in_turn, run
from gputuner.cli.options import Options
from gputuner.cli.planned import dry_run
from gputuner.cli.sessions import find
from gputuner.cli.streams import last_words
from gputuner.language.words import N_
from gputuner.model.errors import UsageError

if TYPE_CHECKING:
    from gputuner.cli.ports import Setup
    from gputuner.model.points import Point

ABOUT = N_("Thermal test: steady temperature, thermal resistance, what the cooler is good for.")
COMPARE = N_("Two thermal tests of a card: did the new cooler, paste or pad pay?")
LOAD = N_(
    "The load: matmul (the hottest, by default), a training NAME[:key=value,...], or a recipe "
    "FILE.py:function[:key=value,...]."
)
ROOM = N_("Temperature of the air in front of the card, in degrees Celsius.")
COOLER = N_("What is on the card: blower, open, hybrid or water.")
MINUTES = 20.0


def cooling(
    load: Annotated[str, Parameter(name="LOAD", help=LOAD)] = "matmul",
    /,
    *,
    room: Annotated[float | None, Parameter(name="--room", metavar="C", help=ROOM)] = None,
    cooler: Annotated[str, Parameter(name="--cooler", help=COOLER)] = "",
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Rest, one load until the steady temperature is known to 1.5 °C, cool-down.

    Args:
        load: what heats the card.
        room: temperature of the air, °C.
        cooler: kind of cooler.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: the load is malformed, or there is no card.
    """
    from gputuner.experiments.cooling import Cooler, Cooling

    options.check(experiment=True)
    spec = Cooling(
        load=load,
        room_c=room,
        cooler=cast("Cooler", cooler),
        minutes=MINUTES if options.minutes is None else options.minutes,
        folder=str(Path.cwd()),
    )
    output = context.output(options)
    with context.setup(options, experiment=True) as setup:
        cards = setup.select(options.gpu, for_experiment=True)
        if any(card.is_cpu for card in cards):
            raise UsageError("cooling_needs_card", "a thermal test needs a card")
        if options.dry_run:
            return dry_run(output, setup, spec, cards, options)
        ended, code = in_turn(output, cards, lambda card: run(output, setup, spec, (card,), options))
        with last_words(output.out):
            cooling_results.tell(output, setup.origin, spec.name, ended, options)
            health_wear.tell_drift(output, setup, cards)
        return code


def compare_tests(
    before: Annotated[str, Parameter(help=N_("The earlier test, by id, unique beginning of it, or file."))],
    after: Annotated[str, Parameter(help=N_("The newer one."))],
    /,
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Compare two thermal tests of a card.

    Args:
        before: the earlier one.
        after: the newer one.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: a session is no thermal test, or the cards differ.
    """
    from gputuner.analysis.cooling_compare import compared

    output = context.output(options)
    with context.setup(options) as setup:
        paths = find(setup, before), find(setup, after)
        first, second = (_resistance(setup, path) for path in paths)
    if first.card != second.card:
        raise UsageError("compare_other_cards", "the thermal tests are of different cards")
    found = compared(first, second)
    if output.json:
        body = document.head("cooling.compare", None)
        body["sessions"] = [{"session_id": path.stem, "session_path": str(path)} for path in paths]
        document.write(body | cooling_results.comparison_document(found), output.out)
    else:
        cooling_results.show_comparison(output, found)
    return 0


def _resistance(setup: "Setup", path: Path) -> "Point":
    """The thermal resistance that a session holds.

    Raises:
        UsageError: it holds none.
    """
    from gputuner.analysis.cooling_compare import resistance_of

    reader = setup.sessions.open(path)
    try:
        found = resistance_of(reader.points())
    finally:
        reader.close()
    if found is None:
        raise UsageError("compare_not_cooling", "no thermal test", session=path.stem)
    return found
