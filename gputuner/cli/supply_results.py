"""A plan for supply, circuit, air and radiators in tables, or as a document."""

from gputuner.advice.supply import supply_advice, supply_questions
from gputuner.analysis.supply import Figure, SupplyPlan
from gputuner.analysis.supply_draw import CardDraw
from gputuner.catalog.supply import load_supply
from gputuner.cli import document, results
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.language import supply as words
from gputuner.language.words import _
from gputuner.model.cards import CardInfo, Origin


def tell(
    output: Output, plan: SupplyPlan, cards: tuple[CardInfo, ...], origin: Origin | None, options: Options
) -> None:
    """Show, or write, the plan; ``origin`` None: the watts were told."""
    advice = supply_advice(plan, load_supply())
    questions = supply_questions(plan, cards, load_supply())
    if output.json:
        body = document.head("supply", origin)
        body["devices"] = [_draw(draw) for draw in plan.draws]
        body |= document.found((), advice, questions, ())
        body["points"] = [point(figure, plan, origin) for figure in plan.figures]
        document.write(body, output.out)
        return
    for line in words.draw_lines(plan.draws):
        output.line(line)
    if not plan.measured:
        output.line(_("These watts were not measured; ranges are what the facts leave open."))
    for title, table in words.tables(plan):
        output.heading(title)
        output.show(table)
    if advice:
        results.show_advice(output, advice, model="", options=options)
    results.show_questions(output, questions, options)
    output.line()
    output.line(_("docs/supply.md says where each fact comes from; --json has the sources."))
    if origin is not None and origin is not Origin.MEASURED:
        results.show_origin(output, origin)


def point(figure: Figure, plan: SupplyPlan, origin: Origin | None) -> document.Json:
    """A figure in the form of a point; ``value`` is the high end of its range."""
    return {
        "id": figure.id,
        "card": plan.draws[0].uuid or None,
        "origin": None if origin is None else origin.value,
        "metric": f"supply_{figure.name}",
        "workload": "",
        "section": figure.section.value,
        "params": dict(figure.params),
        "value": figure.high,
        "unit": figure.unit,
        "low": figure.low,
        "high": figure.high,
        "how": words.basis(figure),
        "confidence": figure.confidence,
        "flags": [],
    }


def _draw(draw: CardDraw) -> document.Json:
    seen = draw.seen
    return {
        "uuid": draw.uuid or None,
        "name": draw.name,
        "source": draw.source.value,
        "measured": draw.measured and not draw.simulated,
        "simulated": draw.simulated,
        "sustained_w": draw.sustained_w,
        "peak_w": draw.peak_w,
        "limit_w": draw.limit_w,
        "fed": draw.fed.value,
        "rest_w": None if draw.rest is None else draw.rest.sustained_w,
        "held_s": None if seen is None else seen.held_s,
        "interval_s": None if seen is None else seen.interval_s,
        "session": None if seen is None else seen.session,
        "sessions": draw.sessions,
    }
