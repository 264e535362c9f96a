"""``supply``: what the watts of the cards ask of power supply, cables, circuit, air and radiators."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gputuner.analysis.supply import RANGES, Wishes
from gputuner.cli.context import Injected
from gputuner.cli.options import Options, check_range, whole_number
from gputuner.language.words import N_
from gputuner.model.cards import Origin

if TYPE_CHECKING:
    from gputuner.analysis.supply_draw import CardDraw
    from gputuner.cli.ports import Setup
    from gputuner.model.cards import CardInfo

ABOUT = N_("Size power supply, cables, circuit, air and radiators for the watts that the cards really drew.")
UNITS = {
    "watts": "W",
    "cpu_w": "W",
    "rest_w": "W",
    "psu_w": "W",
    "coolant_rise_k": "K",
    "air_rise_k": "K",
    "circuit_volts": "V",
    "circuit_amps": "A",
    "hours_per_day": "h",
}


def supply(
    *,
    watts: Annotated[
        tuple[float, ...],
        Parameter(
            name="--watts",
            metavar="W",
            negative="",
            help=N_("Sustained watts of a card instead of what stored sessions saw; repeat it for several cards."),
        ),
    ] = (),
    cards: Annotated[
        int,
        Parameter(name="--cards", metavar="N", converter=whole_number, help=N_("So many of each of these cards.")),
    ] = 1,
    cpu_watts: Annotated[
        float | None, Parameter(name="--cpu-watts", metavar="W", help=N_("Watts of the processor under load."))
    ] = None,
    rest_watts: Annotated[
        float | None, Parameter(name="--rest-watts", metavar="W", help=N_("Watts of board, memory, disks and fans."))
    ] = None,
    psu_watts: Annotated[
        float | None, Parameter(name="--psu-watts", metavar="W", help=N_("Rating of the power supply that is there."))
    ] = None,
    efficiency: Annotated[
        float | None,
        Parameter(name="--efficiency", metavar="SHARE", help=N_("Of the power supply, such as 0.92.")),
    ] = None,
    coolant_rise: Annotated[
        float,
        Parameter(name="--coolant-rise", metavar="K", help=N_("Degrees that the coolant may be above the air.")),
    ] = 10.0,
    air_rise: Annotated[
        float, Parameter(name="--air-rise", metavar="K", help=N_("Degrees that the air may warm on its way through."))
    ] = 10.0,
    circuit_volts: Annotated[
        float, Parameter(name="--circuit-volts", metavar="V", help=N_("Of the outlet: 230, 120, 100 …"))
    ] = 230.0,
    circuit_amps: Annotated[
        float, Parameter(name="--circuit-amps", metavar="A", help=N_("Rating of the circuit's breaker."))
    ] = 16.0,
    price: Annotated[
        float | None, Parameter(name="--price", metavar="P", help=N_("What a kWh costs, in your currency."))
    ] = None,
    hours: Annotated[
        float, Parameter(name="--hours", metavar="H", help=N_("Hours a day that the machine works."))
    ] = 24.0,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Size what feeds and cools the cards.

    Args:
        watts: of cards, as told.
        cards: how many of each.
        cpu_watts: of the processor.
        rest_watts: of everything else.
        psu_watts: rating of the supply that is there.
        efficiency: of the supply.
        coolant_rise: between coolant and air, K.
        air_rise: of the air, K.
        circuit_volts: of the outlet.
        circuit_amps: of the breaker.
        price: of a kWh.
        hours: at work, a day.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: a value is out of range.
        NoCard: there is no card, and no watts are told.
    """
    from gputuner.analysis.supply_planned import planned
    from gputuner.catalog.supply import load_supply
    from gputuner.cli import supply_results

    wishes = Wishes(
        cpu_w=cpu_watts,
        rest_w=rest_watts,
        psu_w=psu_watts,
        efficiency=efficiency,
        coolant_rise_k=coolant_rise,
        air_rise_k=air_rise,
        circuit_volts=circuit_volts,
        circuit_amps=circuit_amps,
        price=price,
        hours_per_day=hours,
    )
    _check(watts, cards, wishes)
    output = context.output(options)
    with context.setup(options) as setup:
        chosen = () if watts else setup.select(options.gpu, for_experiment=False)
        draws = _told(watts) if watts else _stored(setup, chosen, options)
        origin = None if watts else setup.origin
        plan = planned([draw for draw in draws for _ in range(cards)], wishes, load_supply())
        supply_results.tell(output, plan, tuple(chosen), origin, options)
    return 0


def _check(watts: tuple[float, ...], cards: int, wishes: Wishes) -> None:
    """Refuse what makes no sense.

    Raises:
        UsageError: a value is out of range.
    """
    from gputuner.advice.supply_again import OPTIONS

    written = {"watts": "--watts", "cards": "--cards", **OPTIONS}
    values = [("watts", each) for each in watts] + [("cards", float(cards))]
    values += [(name, getattr(wishes, name)) for name in RANGES if name not in ("watts", "cards")]
    for name, each in values:
        check_range(written[name], each, RANGES[name], UNITS.get(name, ""))


def _told(watts: tuple[float, ...]) -> "list[CardDraw]":
    from gputuner.analysis.supply_draw import CardDraw, DrawSource
    from gputuner.language import numbers

    return [
        CardDraw(name=numbers.value(each, "W"), source=DrawSource.TOLD, sustained_w=each, peak_w=each) for each in watts
    ]


def _stored(setup: "Setup", cards: "tuple[CardInfo, ...]", options: Options) -> "list[CardDraw]":
    from gputuner.assembly.supply import draws_of

    replay = options.replay if setup.origin is Origin.REPLAYED else None
    return draws_of(setup.data_dir, cards, setup.origin, replay)
