# pyright: standard
"""The two verdicts of a health test in words: is the card sound, and is it what it is said to be; and why not."""

from collections.abc import Sequence
from dataclasses import replace

from gputuner.analysis.health import ALARMING, DEADLY, as_sold, verdict
from gputuner.analysis.vram import pass_of
from gputuner.gui.results import figure, of_metric
from gputuner.gui.run_state import RunFacts
from gputuner.language import health, health_tables, numbers
from gputuner.language.names import quantity
from gputuner.language.tables import Table
from gputuner.language.words import _, ngettext
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity

SIGNS: dict[bool | None, str] = {True: "✓", False: "✕", None: "○"}
"""Before a verdict: good, bad, or not to be told."""


def health_headline(facts: RunFacts) -> str:
    """The verdict on the card's health so far, in words."""
    if facts.finished is None:
        wrong = any(_count(facts.points, metric) for metric in ("vram_errors", "burn_errors"))
        return _("errors were found, the test goes on") if wrong else _("no error so far")
    return health.verdict(verdict(facts.points, facts.finished.error_code))


def is_sound(facts: RunFacts) -> bool | None:
    """Whether the card passed; None: it cannot be said (yet)."""
    if facts.finished is None:
        return None
    told = verdict(facts.points, facts.finished.error_code)
    return {"pass": True, "fail": False}.get(told)


def faults(facts: RunFacts) -> list[str]:
    """What was found wrong, the memory first: how many, and where; empty where nothing was."""
    told: list[str] = []
    words, products = (_count(facts.points, metric) for metric in ("vram_errors", "burn_errors"))
    if words:
        count = ngettext("{count} wrong word", "{count} wrong words", words).format(count=numbers.grouped(words))
        place = _first_wrong(facts.points)
        where = _("{what}, the first at {place}")
        told.append(count if place is None else where.format(what=count, place=numbers.value(place, "bytes")))
    if any(int(point.extra.get("aliased", 0)) for point in of_metric(facts.points, "vram_errors")):
        told.append(_("addresses that share their cells"))
    if products:
        count = ngettext("{count} wrong product", "{count} wrong products", products)
        told.append(count.format(count=numbers.grouped(products)))
    for point in of_metric(facts.points, "counter_change"):
        if point.params["counter"] in ALARMING and point.value > 0:
            name = quantity(Quantity(str(point.params["counter"])))
            told.append(_("{name}: {count} more").format(name=name, count=int(point.value)))
    code = None if facts.finished is None else facts.finished.error_code
    if code in DEADLY:
        told.append(_("an XID error of the driver") if code == "safety_xid" else _("the card was lost"))
    return told


def _count(points: Sequence[Point], metric: str) -> int:
    return sum(abs(int(point.value)) for point in of_metric(points, metric))


def _first_wrong(points: Sequence[Point]) -> int | None:
    """Offset of the lowest wrong place that was told, in bytes."""
    passes = [pass_of(point.params, {**point.extra, "errors": int(point.value)}) for point in points if _failed(point)]
    return min((offset for each in passes for offset, _size in each.spans), default=None)


def _failed(point: Point) -> bool:
    return point.metric == "vram_errors" and bool(point.value)


def is_sold(points: Sequence[Point]) -> bool | None:
    """Whether the card is what it is said to be; None: it cannot be told."""
    found = of_metric(points, "identity_verdict")
    if not found:
        return None
    if not as_sold(points):
        return False
    params = found[-1].params
    return True if params["verdict"] == "as_sold" and params["sureness"] != "unsure" else None


def sold_words(points: Sequence[Point]) -> str:
    """As sold where the seller's name was given, else what its name says; or that it cannot be told."""
    found = is_sold(points)
    if found is None:
        return _("cannot be told")
    if any("sold_as" in point.params for point in of_metric(points, "identity_verdict")):
        return _("as sold") if found else _("not as sold")
    return _("what its name says") if found else _("not what its name says")


def difference(points: Sequence[Point]) -> str:
    """Where the card is not what it is said to be: the checks that differ; else empty."""
    differing = [point for point in of_metric(points, "identity_check") if not figure(point.value)]
    if not differing or is_sold(points):
        return ""
    names = health.check_names([str(point.params["check"]) for point in differing])
    return _("differs: {checks}").format(checks=names)


def identity_rows(points: Sequence[Point]) -> tuple[Table, frozenset[int]]:
    """The checks with a sign at their verdict, and the rows of those that differ."""
    told = health_tables.identity_table(points)
    differ = [not figure(point.value) for point in of_metric(points, "identity_check")]
    rows = tuple((*row[:-1], f"{SIGNS[not bad]} {row[-1]}") for row, bad in zip(told.rows, differ, strict=True))
    return replace(told, rows=rows), frozenset(number for number, bad in enumerate(differ) if bad)
