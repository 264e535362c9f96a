# pyright: standard
"""From a plan for a supply to gauges and rows: watts against the supply, load of connectors, load of the circuit."""

from dataclasses import dataclass

from PySide6.QtCore import Qt

from gputuner.analysis.supply import Figure, SupplyPlan
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.tables import Cell
from gputuner.language import numbers
from gputuner.language import supply as words
from gputuner.language.words import _, ngettext

ROOM = 1.04
OPEN, PEAK = Qt.BrushStyle.BDiagPattern, Qt.BrushStyle.Dense6Pattern
"""What a range leaves open, and peaks of milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a gauge in the gauge's unit; ``pattern`` tells what is not sure from what is."""

    name: str
    value: float
    colour: str
    pattern: Qt.BrushStyle = Qt.BrushStyle.SolidPattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A limit across a gauge, with its words."""

    value: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """Parts one after the other on a track up to ``top``, and limits; ``text``: what it comes to."""

    title: str
    text: str
    parts: tuple[Part, ...]
    lines: tuple[Line, ...]
    top: float
    over: bool = False
    """More than the first limit even at the kind end."""
    hint: str = ""


def gauges(plan: SupplyPlan, theme: Theme) -> list[Gauge]:
    """The pictures of a plan, most important first."""
    return [_watts(plan, theme), *_connectors(plan, theme), _circuit(plan, theme)]


def _w(watts: float) -> str:
    return numbers.value(round(watts), "W")


def _watts(plan: SupplyPlan, theme: Theme) -> Gauge:
    """Cards, processor and rest against the rating and its head-room; peaks hatched behind them."""
    load, machine, peak = plan.need("load"), plan.need("machine"), plan.need("cards_transient")
    rated, share = float(load.params["rated_w"]), float(load.params["share"])
    cpu, rest = plan.need("cpu"), plan.need("rest")
    parts = [
        Part(name=_("card") if len(plan.draws) == 1 else f"{draw.name}", value=draw.sustained_w, colour=theme.blue)
        for draw in plan.draws
    ]
    parts = [*parts] if len(parts) <= 8 else [Part(name=_("cards"), value=plan.need("cards").high, colour=theme.blue)]
    parts += [
        Part(name=_("processor"), value=cpu.low, colour=theme.green),
        Part(name=_("everything else"), value=rest.low, colour=theme.orange),
        Part(name=_("perhaps"), value=machine.high - machine.low, colour=theme.muted, pattern=OPEN),
        Part(name=_("peaks, ms"), value=peak.high - plan.need("cards").high, colour=theme.vermilion, pattern=PEAK),
    ]
    told = plan.wishes.psu_w is not None
    lines = (
        Line(value=share * rated, text=numbers.value(share, "fraction")),
        Line(value=rated, text=_w(rated) if told else _("{watts} needed").format(watts=_w(rated))),
    )
    return Gauge(
        title=_("Watts against the supply"),
        text=_("{range} · {load}").format(range=words.range_words(machine), load=words.range_words(load)),
        parts=tuple(part for part in parts if part.value > 0),
        lines=lines,
        top=ROOM * max(rated, sum(part.value for part in parts)),
        over=load.low > share,
        hint=words.basis(load),
    )


def _connectors(plan: SupplyPlan, theme: Theme) -> list[Gauge]:
    """Of the card that draws most: its cables on one kind of connector or the other."""
    plugged = {each.params["card"] for each in plan.all_of("hpwr_plugs")}
    cables = [cable for cable in plan.all_of("cable") if cable.params["card"] in plugged]
    if not cables:
        return []
    most = max(cables, key=lambda cable: cable.high)
    card = most.params["card"]

    def of(name: str) -> Figure:
        return next(each for each in plan.all_of(name) if each.params["card"] == card)

    found: list[Gauge] = []
    kinds = (
        (_("either by 12VHPWR"), "hpwr_plugs", "hpwr_amps", theme.purple),
        (_("or by 8-pin"), "eight_pins", "eight_pin_amps", theme.sky),
    )
    for title, plugs, amps, colour in kinds:
        count, each = of(plugs), of(amps)
        limit = count.high * float(count.params["most"])
        sure = Part(name=_("in the cables"), value=most.low, colour=colour)
        slot = Part(name=_("perhaps"), value=most.high - most.low, colour=theme.muted, pattern=OPEN)
        found.append(
            Gauge(
                title=title,
                text=_("{count} × · {amps} per pin").format(
                    count=numbers.number(count.high), amps=words.range_words(each)
                ),
                parts=tuple(part for part in (sure, slot) if part.value > 0),
                lines=(Line(value=limit, text=_w(limit)),),
                top=ROOM * max(limit, most.high),
                hint=words.basis(each),
            )
        )
    return found


def _circuit(plan: SupplyPlan, theme: Theme) -> Gauge:
    wall, lasting, full = plan.need("wall"), plan.need("circuit_lasting"), plan.need("circuit")
    load, cards = plan.need("circuit_load"), plan.need("cards_on_circuit")
    sure = Part(name=_("from the wall"), value=wall.low, colour=theme.yellow)
    perhaps = Part(name=_("perhaps"), value=wall.high - wall.low, colour=theme.muted, pattern=OPEN)
    return Gauge(
        title=_("Circuit"),
        text=ngettext(
            "{range} · it carries {cards} such card", "{range} · it carries {cards} such cards", round(cards.high)
        ).format(range=words.range_words(wall), cards=words.range_words(cards)),
        parts=tuple(part for part in (sure, perhaps) if part.value > 0),
        lines=(
            Line(value=lasting.high, text=_("for hours {watts}").format(watts=_w(lasting.high))),
            Line(value=full.high, text=_("breaker {watts}").format(watts=_w(full.high))),
        ),
        top=ROOM * max(full.high, wall.high),
        over=load.low > 1.0,
        hint=words.basis(lasting),
    )


def rows(plan: SupplyPlan) -> list[tuple[str, list[Cell]]]:
    """All figures; hovering tells how each was found and its source."""
    found: list[tuple[str, list[Cell]]] = []
    cards = {figure.params.get("card") for figure in plan.figures} - {None}
    for figure in plan.figures:
        name = words.figure_name(figure)
        if "card" in figure.params and len(cards) > 1:
            name = f"{figure.params['card']} · {name}"
        how, sure = words.basis(figure), words.confidence(figure.confidence)
        source = str(figure.params.get("source", ""))
        hint = "\n".join(part for part in (name, how, _("confidence: {word}").format(word=sure), source) if part)
        section = words.section(figure.section.value)
        found.append(
            (
                figure.id,
                [
                    Cell(section, hint, True),
                    Cell(name, hint),
                    Cell(words.range_words(figure), hint),
                    Cell(how, hint, True),
                ],
            )
        )
    return found
