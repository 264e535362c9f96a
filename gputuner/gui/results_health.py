# pyright: standard
"""From a health test to its pictures: hints of the map, rates by address, products over time, headlines."""

from collections.abc import Sequence
from dataclasses import dataclass

from gputuner.analysis.vram_map import Stretch as Block
from gputuner.analysis.vram_map import VramMap, vram_map
from gputuner.gui.plots.address_map import state_words
from gputuner.gui.plots.curves import Dot, Series, Stretch
from gputuner.gui.results import figure, of_metric
from gputuner.gui.results_health_verdict import faults, health_headline, sold_words
from gputuner.gui.results_text import origin_lines, table
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language import health, health_tables, numbers
from gputuner.language.health_certificate import Tested
from gputuner.language.tables import Table
from gputuner.language.words import _, ngettext
from gputuner.model.events import Outcome
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity

GIB = 2**30
BURN_STEP = "health_burn"
MINUTE_S = 60.0
DRAWN = 600
"""Places of a curve of telemetry."""
HEADLINES = ("vram_coverage", "vram_test_rate", "vram_alias_distance", "identity_verdict", "copy_bandwidth")
"""Figures that the table has first."""
SELDOM = ("vram_block_rate", "identity_check", "counter_change", "health_stage")
"""Figures that a picture has to itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnShown:
    """Products over minutes of the run: rate in TFLOP/s by format, core temperature in °C, SM clock in MHz."""

    rates: tuple[Series, ...] = ()
    heat: tuple[Series, ...] = ()
    clock: tuple[Series, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    """The stages, as far as they have come."""


def shown_map(facts: RunFacts) -> VramMap:
    """The map of a run; none before the card is known, or where its memory is not."""
    total = (facts.cards[0].memory_total_bytes if facts.cards else None) or 0
    return vram_map(facts.points, total)


def stretch_hint(stretch: Block) -> str:
    """Offset, state, passes and rate of a block of the map, a line each."""
    lines = [
        _("{first} to {last}").format(first=_gib(stretch.offset), last=_gib(stretch.offset + stretch.bytes)),
        _("offset {offset}, virtual").format(offset=f"0x{stretch.offset:x}"),
        state_words()[stretch.state],
    ]
    for title, passes in ((_("wrong in: {passes}"), stretch.failed), (_("passed: {passes}"), _passed(stretch))):
        if passes:
            lines.append(title.format(passes=", ".join(health.pass_name(*each) for each in passes)))
    if stretch.rate is not None:
        told = _("read at {rate}, {share} of the median")
        share = numbers.value(stretch.fraction, "fraction")
        lines.append(told.format(rate=numbers.value(stretch.rate, "B/s"), share=share))
    return "\n".join(lines)


def _passed(stretch: Block) -> tuple[tuple[str, str], ...]:
    return tuple(each for each in stretch.tested if each not in stretch.failed)


def _gib(count: int) -> str:
    return f"{count / GIB:.2f}\u00a0GiB"


def rate_series(points: Sequence[Point], theme: Theme) -> list[Series]:
    """Read rate by address in GB/s, cold and hot; of old sessions, which do not tell them apart, one."""
    rates = of_metric(points, "vram_block_rate")
    cold = _rate_dots(rates, "cold", _("cold"))
    hot = _rate_dots(rates, "hot", _("hot"))
    found: list[Series] = []
    if cold:  # rings around what may be the same figure when hot
        found.append(Series(name=_("cold"), colour=theme.blue, dots=cold, size=10.0, open=True))
    if hot:
        found.append(Series(name=_("hot"), colour=theme.vermilion, dots=hot, symbol="s", size=4.0, joined=False))
    return found or ([Series(name="", colour=theme.blue, dots=_rate_dots(rates, "", ""), size=5.0)] if rates else [])


def _rate_dots(rates: Sequence[Point], heat: str, name: str) -> tuple[Dot, ...]:
    told = [(point, figure(point.extra.get(heat)) if heat else point.value) for point in rates]
    return tuple(
        Dot(
            x=float(point.params["offset_bytes"]) / GIB,
            y=value / 1e9,
            point_id=point.id,
            hint=f"{_gib(int(point.params['offset_bytes']))}: {numbers.value(value, 'B/s')} {name}".rstrip(),
        )
        for point, value in told
        if value is not None
    )


def burn_shown(facts: RunFacts, theme: Theme) -> BurnShown:
    """Each stretch of products at its end: what it reached, and what the card did; wrong ones have a sign."""
    began = facts.started.t_ns if facts.started else 0
    ends = [
        (step.t1_ns - began) * 1e-9 / MINUTE_S
        for step in facts.steps
        if step.label == BURN_STEP and step.t1_ns is not None and step.result == "done"
    ]
    burns = of_metric(facts.points, "burn_errors")
    formats = list(dict.fromkeys(str(p.params["precision"]) for p in burns))
    rates: list[Series] = []
    wrong: list[Dot] = []
    for name in formats:
        own = list(zip(ends, (p for p in burns if p.params["precision"] == name), strict=False))
        dots = [_burn_dot(minute, point) for minute, point in own]
        rates.append(Series(name=name.upper(), colour=theme.precision(name), dots=tuple(dots), size=5.0))
        wrong += [dot for dot, (_minute, point) in zip(dots, own, strict=True) if point.value]
    if wrong:
        rates.append(
            Series(
                name=_("wrong products"), colour=theme.danger, dots=tuple(wrong), symbol="d", size=12.0, joined=False
            )
        )
    return BurnShown(
        rates=tuple(rates),
        heat=_traced(facts, Quantity.CORE_TEMPERATURE_C, theme),
        clock=_traced(facts, Quantity.SM_CLOCK_MHZ, theme),
        stretches=tuple(_stages(facts, began)),
    )


def _stages(facts: RunFacts, began_ns: int) -> list[Stretch]:
    """Stretches of steps of one kind, in minutes of the test."""
    names = {
        "health_memory_cold": _("memory cold"),
        BURN_STEP: _("products"),
        "health_rest": _("products"),
        "health_memory_hot": _("memory hot"),
    }
    found: list[Stretch] = []
    for step in facts.steps:
        if step.label not in names:
            continue
        ended = facts.t_ns if step.t1_ns is None else step.t1_ns
        first, last = ((t_ns - began_ns) * 1e-9 / MINUTE_S for t_ns in (step.t0_ns, ended))
        if found and found[-1].name == names[step.label]:
            first = found.pop().x0
        if last > first:
            found.append(Stretch(x0=first, x1=last, name=names[step.label]))
    return found


def _burn_dot(minute: float, point: Point) -> Dot:
    rate = figure(point.extra.get("rate")) or 0.0
    products = int(figure(point.extra.get("products")) or 0)
    words = ngettext("{wrong} of {products} product wrong", "{wrong} of {products} products wrong", products)
    told = [
        f"{str(point.params['precision']).upper()}: {numbers.value(rate, 'FLOP/s')}",
        words.format(wrong=int(point.value), products=numbers.grouped(products)),
    ]
    return Dot(x=minute, y=rate / 1e12, point_id=point.id, hint="\n".join(told))


def _traced(facts: RunFacts, quantity: Quantity, theme: Theme) -> tuple[Series, ...]:
    """What telemetry told of the card since the test began; a gap stays a gap."""
    if facts.started is None:
        return ()
    began_s = facts.started.t_ns * 1e-9
    history = facts.traces.get(facts.started.cards[0].uuid)
    paths = [] if history is None else history.paths(quantity, began_s, DRAWN)
    return tuple(
        Series(
            name="",
            colour=theme.quantity(quantity),
            path=tuple(((t_s - began_s) / MINUTE_S, value) for t_s, value in path),
        )
        for path in paths
    )


def tested_of(facts: RunFacts) -> Tested | None:
    """A run as its certificate takes it; None before it has ended, or where it told nothing."""
    started = facts.started
    if started is None or facts.finished is None or not facts.points:
        return None
    return Tested(
        run_id=started.run_id,
        card=started.cards[0],
        points=facts.points,
        started=started,
        finished=facts.finished,
        warnings=facts.warnings,
    )


def counters_table(facts: RunFacts) -> Table:
    """Error counters before and after the test, and whether an XID ended it."""
    from gputuner.language.names import quantity

    rows = [
        (
            quantity(Quantity(str(point.params["counter"]))),
            numbers.grouped(figure(point.extra.get("before")) or 0),
            numbers.grouped(figure(point.extra.get("after")) or 0),
            numbers.grouped(point.value),
        )
        for point in of_metric(facts.points, "counter_change")
    ]
    headers = (_("counter"), _("before"), _("after"), _("more"))
    return Table(headers=headers, rows=tuple(rows), right=(1, 2, 3))


def counter_lines(facts: RunFacts) -> list[str]:
    """What the counters do not show: those the card has not, and XID errors."""
    told = {str(p.params["counter"]) for p in of_metric(facts.points, "counter_change")}
    lines: list[str] = []
    if facts.finished is not None:
        if facts.finished.error_code == "safety_xid":
            lines.append(_("An XID error of the driver ended the test."))
        elif facts.finished.outcome is Outcome.COMPLETED:
            lines.append(_("No XID error that would have ended the test was reported."))
        if not told & {Quantity.ECC_CORRECTED.value, Quantity.ECC_UNCORRECTED.value}:
            lines.append(_("ECC errors: this card does not report them."))
        if Quantity.REMAPPED_ROWS.value not in told:
            lines.append(_("Remapped rows: this card does not report them."))
    return lines


def health_markdown(facts: RunFacts) -> str:
    """What the test found, as the command line tells it, in Markdown."""
    points = facts.points
    told = _("Health: {verdict}.").format(verdict=health_headline(facts))
    sold = _("Identity: {verdict}.").format(verdict=sold_words(points))
    parts = [*origin_lines(points), f"**{told}**", *(f"- {fault}" for fault in faults(facts)), f"\n**{sold}**"]
    for each in (
        health_tables.memory_table(points),
        health_tables.burn_table(points),
        health_tables.identity_table(points),
    ):
        if each.rows:
            head = [(title, number in each.right) for number, title in enumerate(each.headers)]
            parts += ["", *table(head, [list(row) for row in each.rows])]
    parts += ["", *health_tables.memory_lines(points)]
    return "\n".join(parts) + "\n"


def listed(points: Sequence[Point]) -> list[Point]:
    """Verdicts and coverage first, then what was found, as it came; not what a picture has to itself.

    Of the stretches of products each that was wrong, and the first right one of a format.
    """
    kept: list[Point] = []
    right: set[str] = set()
    for point in points:
        form = str(point.params.get("precision")) if point.metric == "burn_errors" and not point.value else ""
        if point.metric not in SELDOM and form not in right:
            kept.append(point)
        right |= {form} - {""}
    return sorted(kept, key=lambda point: point.metric not in HEADLINES)
