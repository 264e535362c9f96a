"""The words of sizing supply, cables, circuit, air and radiators: figures, how each was found, advice, questions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputuner.language.advice_form import AdviceWords
from gputuner.language.filling import fill
from gputuner.language.numbers import number, scale, value
from gputuner.language.tables import Table, bullets, markdown
from gputuner.language.words import N_, NN_, _, ngettext

if TYPE_CHECKING:
    from gputuner.analysis.supply import Figure, SupplyPlan
    from gputuner.analysis.supply_draw import CardDraw

SECTIONS: dict[str, str] = {
    "watts": N_("Watts"),
    "supply": N_("Power supply"),
    "connectors": N_("Power connectors"),
    "circuit": N_("Circuit"),
    "air": N_("Air and noise"),
    "radiator": N_("Radiators"),
    "cooler": N_("Coolers"),
    "room": N_("Heat into the room"),
}
NAMES: dict[str, str] = {
    "cards": N_("cards, sustained"),
    "cards_peak": N_("cards, highest readings"),
    "cards_limit": N_("cards at their power limits"),
    "cards_transient": N_("cards, peaks of milliseconds"),
    "cpu": N_("processor"),
    "rest": N_("board, memory, disks, fans"),
    "machine": N_("all together"),
    "size": N_("supply to buy"),
    "size_limit": N_("supply, if the cards reach their limits"),
    "load": N_("load of the supply"),
    "spare": N_("watts left to the head-room"),
    "peak_load": N_("peak, of what an ATX 3 supply promises"),
    "peak_load_without": N_("peak, of what one without 12VHPWR promises"),
    "cable": N_("through the card's cables"),
    "eight_pins": N_("8-pin connectors needed"),
    "eight_pin_amps": N_("amperes per pin, 8-pin"),
    "hpwr_plugs": N_("12VHPWR connectors needed"),
    "hpwr_amps": N_("amperes per pin, 12VHPWR"),
    "hpwr_margin": N_("pin rating over its load, 12VHPWR"),
    "wall": N_("from the wall"),
    "wall_amps": N_("current from the wall"),
    "circuit": N_("circuit, by its rating"),
    "circuit_lasting": N_("circuit, for hours on end"),
    "circuit_load": N_("load of the circuit"),
    "cards_on_circuit": N_("such cards on this circuit"),
    "air_cards": N_("air for the cards"),
    "air_machine": N_("air for the machine"),
    "stacked_inlet": N_("warmer air at an upper card"),
    "fan_speed": N_("fan speed, {fans} in all"),
    "fan_noise": N_("their noise, {fans} in all"),
    "radiators": "{kind}",
    "core_rise": "{kind}",
    "room_heat": N_("heat"),
    "room_btu": N_("the same in BTU/h"),
    "month_energy": N_("energy in a month"),
    "month_cost": N_("money in a month"),
}
KINDS: dict[str, str] = {
    "radiator_240": N_("240 mm, thick, 1800 rpm"),
    "radiator_360": N_("360 mm, thick, 1800 rpm"),
    "radiator_480": N_("480 mm, thick, 1800 rpm"),
    "radiator_360_slim": N_("360 mm, slim, 1200 rpm"),
    "cooler_blower": N_("blower, 250 to 300 W class"),
    "cooler_blower_fast": N_("blower at high speed, 4090 class"),
    "cooler_open": N_("two or three fans, 3090 class"),
    "cooler_large": N_("large triple fan, 4090 class"),
    "cooler_hybrid": N_("closed loop"),
    "cooler_water": N_("full water block, ample radiator"),
}
BASES: dict[str, str] = {
    "cards_measured": NN_(
        "highest mean over 15 s in the stored sessions; {count} card",
        "highest mean over 15 s in the stored sessions, summed over {count} cards",
        "count",
    ),
    "cards_told": NN_(
        "as told; {count} card",
        "as told, summed over {count} cards",
        "count",
    ),
    "cards_limit": NN_(
        "the power limit, not measured; {count} card",
        "the power limit, not measured; summed over {count} cards",
        "count",
    ),
    "at_limits": N_("summed power limits: another load may draw as much"),
    "cards_sheet": NN_(
        "from the sheet, not measured; {count} card",
        "from the sheet, not measured; summed over {count} cards",
        "count",
    ),
    "cards_peak": N_(
        "summed highest readings, one each {interval_s:s}: nothing shorter is seen; as if all peaked at once"
    ),
    "cards_transient": N_(
        "{factor_low} to {factor_high} times the highest reading up to the limit, as oscilloscopes showed of RTX 3090 "
        "and 5090 at full draw (press); sampling cannot see milliseconds"
    ),
    "usual": N_("usual range; tell yours"),
    "told": N_("as told"),
    "machine": N_("cards, processor and rest together, sustained"),
    "size": N_("the next size that runs at {share:fraction} of its rating or less; {count} × {rating:W}"),
    "size_limit": N_("the same with the cards at their limits; {count} × {rating:W}"),
    "load_of_size": N_("sustained, of {rated_w:W} as sized"),
    "load_of_own": N_("sustained, of {rated_w:W}; {share:fraction} is a rule of thumb, no limit of the supply"),
    "spare": N_("{share:fraction} of {rated_w:W} less the sustained watts; below 0 is too much"),
    "peak_load": N_("all at once against {factor} × {rated_w:W} for 1 ms (ATX 3.0 guide, with 12VHPWR)"),
    "peak_load_without": N_(
        "all at once against {factor} × {rated_w:W} for 1 ms (ATX 3.0 guide, without 12VHPWR); older supplies promise "
        "nothing"
    ),
    "cable": N_("sustained draw less 0 to 66 W from the slot"),
    "cable_server": N_(
        "sustained draw less 0 to 66 W from the slot; boards for servers mostly have one plug of the processor's kind "
        "(EPS) or a 16-pin one: see its sheet"
    ),
    "plugs": N_("{most:W} each (ATX 3.0 guide)"),
    "pin_amps": N_("if the pins share evenly; terminals carry {most:A}. No software reads single pins"),
    "margin": N_("{most:A} over the load; cards of the 40 and 50 series do not balance the pins"),
    "wall": N_("at {efficiency_low:fraction} to {efficiency_high:fraction} efficiency (80 PLUS Gold)"),
    "wall_told": N_("at {efficiency_low:fraction} efficiency, as told"),
    "wall_amps": N_("at {volts:V}"),
    "circuit": N_("{volts:V} × {amps:A}"),
    "circuit_lasting": N_(
        "{share:fraction} of it: rule of the US code (NEC 210.20) for loads of three hours; what holds where you live "
        "is yours to check"
    ),
    "circuit_load": N_("from the wall, of what the circuit carries for hours on end"),
    "cards_on_circuit": N_("one machine, for hours on end, with nothing else on the circuit"),
    "air": N_("1.76 × watts over {rise_k:K} of rise; {m3h} m³/h. Actual flow, not a fan's free-air rating"),
    "stacked_inlet": N_("above the room, where one card breathes what another has warmed"),
    "fan_speed": N_(
        "120 × 38 mm of 130 to 190 CFM in free air at {rated_rpm:rpm}, flow by speed. Through a case or radiator less "
        "flows, and pressure falls with the speed squared: check the exact model's curve"
    ),
    "fan_noise": N_(
        "50 to 60 dB(A) at {rated_rpm:rpm}; 15 dB per doubling of speed, 10 log n for n fans: rough below half the "
        "speed. Check the exact model"
    ),
    "radiators": N_("{carried_low_w} to {carried_high_w} W each at {rise_k:K} between coolant and air"),
    "radiators:same": N_("{carried_high_w:W} each at {rise_k:K} between coolant and air"),
    "core_rise": N_("core above the air it breathes at {watts:W}; {resistance_low} to {resistance_high} K/W"),
    "room_heat": N_("all that comes out of the wall ends in the room"),
    "room_btu": N_("for air conditioning"),
    "month_energy": N_("if it drew so much {hours} hours a day, each day"),
    "month_cost": N_("of that energy, at {price} per kWh"),
}
CONFIDENCES: dict[str, str] = {"H": N_("high"), "M": N_("medium"), "L": N_("low")}
ERRORS: dict[str, str] = {
    "supply_needs_card": N_("The processor's supply is not sized; name a card with --gpu, or its watts with --watts."),
    "supply_needs_card_here": N_("There is no card whose watts are known; tell them in the form."),
    "supply_unknown_draw": N_("Nothing tells the watts of {card}; name them with --watts."),
}

_LOAD = (
    N_("All together {machine_low_w} to {machine_high_w:W} sustained: {low:fraction} to {high:fraction} of it."),
    N_("All together {machine_w:W} sustained: {load:fraction} of it."),
)
_TOO_LOW = N_("{left_w:W} are left for the cards; their lowest limits add up to {least_w:W}, so no cap is low enough.")
_CAP = (
    N_("Or cap the cards: {cap_w:W} for all of them leave that head-room."),
    _TOO_LOW,
)
ADVICE: dict[str, AdviceWords] = {
    "supply.enough": AdviceWords(
        title=N_("The supply of {psu_w:W} is enough"),
        action=N_("Change nothing: it stays at {share:fraction} of its rating or below."),
        why=_LOAD,
    ),
    "supply.too_small": AdviceWords(
        title=N_("The supply of {psu_w:W} is too small"),
        action=N_("Use {count} × {rating:W}."),
        why=(*_LOAD, N_("That is more than its rating."), *_CAP),
    ),
    "supply.tight": AdviceWords(
        title=N_("The supply of {psu_w:W} has little head-room"),
        action=N_("Use {count} × {rating:W} if you want head-room."),
        why=(
            *_LOAD,
            N_(
                "Up to {share:fraction} for hours on end is a rule of thumb for ageing, heat and what was not counted, "
                "and no limit of the supply. Peaks of milliseconds are told apart from it."
            ),
            *_CAP,
        ),
    ),
    "supply.circuit": AdviceWords(
        title=N_("Too much for one circuit"),
        action=N_("Share the load over two circuits, or cap the cards in all."),
        why=(
            N_("{wall_low_w} to {wall_high_w:W} from the wall; {volts:V} × {amps:A} carry {lasting_w:W} for hours."),
            N_("That is a rule of the US code; what holds where you live is yours to check."),
            N_("With the cards capped at {cap_w:W} in all it carries them for hours."),
            _TOO_LOW,
        ),
    ),
    "supply.connector": AdviceWords(
        title=N_("{card} needs more than one 12VHPWR"),
        action=N_("Lower its power limit, or use a board with two connectors."),
        why=(N_("Its cables carry {watts:W} sustained; one connector is made for {most_w:W}."),),
    ),
}
QUESTIONS: dict[str, str] = {
    "supply_draw": N_("What the card really draws has not been measured; the figures rest on its limit or its sheet."),
    "supply_longer": N_("Nearly as much was drawn for {seconds:s} in all: too short to be called sustained."),
    "supply_own": N_("Whether your supply is enough: tell its watts, and those of processor and rest."),
    "supply_tight": N_(
        "Whether {psu_w:W} are enough hangs on processor and rest: the load is {low:fraction} to {high:fraction}."
    ),
    "supply_limits": N_(
        "For what was seen {psu_w:W} are enough (at most {load:fraction}); with the cards at their limits it would be "
        "{at_limits:fraction}. Does a hotter load draw so much?"
    ),
    "supply_limit_untold": N_(
        "For what was seen {psu_w:W} are enough (at most {load:fraction}), but {card} does not tell its power limit. "
        "Does a hotter load draw more?"
    ),
    "supply_circuit": N_(
        "Whether the circuit carries it for hours hangs on what is not told: {low:fraction} to {high:fraction} of it."
    ),
}


def section(name: str) -> str:
    """What figures are about."""
    return _(SECTIONS[name])


def figure_name(figure: "Figure") -> str:
    """What a figure is; of several cards' connectors with the card."""
    params = dict(figure.params)
    kind = params.get("kind")
    if kind in KINDS:
        return _(KINDS[str(kind)])
    return fill(NAMES[figure.name], params)


def range_words(figure: "Figure") -> str:
    """The range with its unit; one number where both ends read the same."""
    if figure.unit == "x":
        ends = [f"{end:.2f}" for end in (figure.low, figure.high)]
        return ends[0] if ends[0] == ends[1] else _("{low} to {high}").format(low=ends[0], high=ends[1])
    factor, label = scale(figure.high, figure.unit)
    ends = [number(_whole(end / factor)) for end in (figure.low, figure.high)]
    told = ends[0] if ends[0] == ends[1] else _("{low} to {high}").format(low=ends[0], high=ends[1])
    return f"{told} {label}" if label else told


def _whole(figure: float) -> float:
    """What is above ten needs no decimals."""
    return float(round(figure)) if abs(figure) >= 10 else round(figure, 2)


def basis(figure: "Figure") -> str:
    """How it was found."""
    params = figure.params
    same = "carried_low_w" in params and params["carried_low_w"] == params["carried_high_w"]
    return fill(BASES[f"{figure.basis}:same" if same else figure.basis], params)


def confidence(letter: str) -> str:
    """A confidence letter in a word."""
    return _(CONFIDENCES[letter])


def tables(plan: "SupplyPlan") -> list[tuple[str, Table]]:
    """The figures of each section under its title."""
    found: list[tuple[str, Table]] = []
    headers = (_("figure"), _("value"), _("how it was found"), _("confidence"))
    for name in SECTIONS:
        own = [figure for figure in plan.figures if figure.section.value == name]
        cards = {figure.params.get("card") for figure in own} - {None}
        rows: list[tuple[str, ...]] = []
        for figure in own:
            told = figure_name(figure)
            if len(cards) > 1:
                told = f"{figure.params['card']} · {told}"
            rows.append((told, range_words(figure), basis(figure), confidence(figure.confidence)))
        if rows:
            found.append((section(name), Table(headers=headers, rows=tuple(rows), right=(1,), wraps=(2,), least=(3,))))
    return found


def draw_line(draw: "CardDraw") -> str:
    """Where the watts of a card come from."""
    if draw.seen is not None:
        told = ngettext(
            "{card}: {watts} sustained (highest mean over 15 s; {held} in all near it), {peak} at most in one reading; "
            "{n} stored session, {session}.",
            "{card}: {watts} sustained (highest mean over 15 s; {held} in all near it), {peak} at most in one reading; "
            "{n} stored sessions, the most in {session}.",
            draw.sessions,
        )
        return told.format(
            card=draw.name,
            watts=value(round(draw.sustained_w), "W"),
            held=value(round(draw.seen.held_s), "s"),
            peak=value(round(draw.peak_w), "W"),
            n=draw.sessions,
            session=draw.seen.session,
        )
    watts = value(round(draw.sustained_w), "W")
    match draw.source.value:
        case "told":
            return _("{card}: {watts} as told.").format(card=draw.name, watts=watts)
        case _ if draw.rest is not None:
            told = ngettext(
                "{card}: {watts}, its limit or sheet; {n} stored session never saw it at work (at most {rest} over "
                "15 s).",
                "{card}: {watts}, its limit or sheet; {n} stored sessions never saw it at work (at most {rest} over "
                "15 s).",
                draw.sessions,
            )
            rest = value(round(draw.rest.sustained_w), "W")
            return told.format(card=draw.name, watts=watts, n=draw.sessions, rest=rest)
        case "limit":
            return _("{card}: {watts}, its power limit; not measured.").format(card=draw.name, watts=watts)
        case _:
            return _("{card}: {watts} from the sheet, not measured.").format(card=draw.name, watts=watts)


def draw_lines(draws: Sequence["CardDraw"]) -> list[str]:
    """One line for each kind of card, with how many there are."""
    lines: list[str] = []
    for line in dict.fromkeys(draw_line(draw) for draw in draws):
        count = sum(draw_line(draw) == line for draw in draws)
        lines.append(line if count == 1 else f"{count} × {line}")
    lines += dict.fromkeys(line for draw in draws if (line := _feed_line(draw)))
    return lines


def _feed_line(draw: "CardDraw") -> str:
    """Why nothing is said of the connectors of a card; "" where something is."""
    match draw.fed.value:
        case "module":
            return _("{card}: a module, which has no power plugs; connectors are left out.").format(card=draw.name)
        case "slot":
            return _("{card}: fed by its slot alone; connectors are left out.").format(card=draw.name)
        case _:
            return ""


def draw_brief(draws: Sequence["CardDraw"]) -> str:
    """Where the watts of equal cards come from, in few words."""
    draw, count = draws[0], len(draws)
    sources = {
        "measured": ngettext("measured in {n} stored session", "measured in {n} stored sessions", draw.sessions).format(
            n=draw.sessions
        ),
        "told": _("as told"),
        "limit": _("its power limit, not measured"),
        "sheet": _("from the sheet, not measured"),
    }
    watts = value(round(draw.sustained_w), "W")
    origin = [_("simulated")] if any(each.simulated for each in draws) else []
    return " · ".join((f"{count} × {draw.name}", watts, sources[draw.source.value], *origin))


def plan_markdown(plan: "SupplyPlan") -> str:
    """The whole plan as Markdown."""
    lines = draw_lines(plan.draws)
    if any(draw.simulated for draw in plan.draws):
        lines.append(_("All figures are {origin}, not measured on a real card.").format(origin=_("simulated")))
    parts = [bullets(lines)]
    parts += [f"**{title}**\n\n{markdown(table)}" for title, table in tables(plan)]
    return "\n".join(parts)


def what_next(command: str) -> str:
    """What to ask after a card's watts were measured."""
    return _("Is the power supply enough for that, the circuit, the air? {command}").format(command=command)
