"""What a health test found, as tables and sentences."""

from collections.abc import Sequence

from gputuner.analysis.identity import (
    BUS_HIGH,
    BUS_LOW,
    L2_HIGH,
    L2_LOW,
    L2_TOLD_HIGH,
    L2_TOLD_LOW,
    POWER_HIGH,
    POWER_LOW,
)
from gputuner.language.health import CHECKS, HEATS, KINDS, NOT_CHECKED, OUTCOMES, PASSES, SOURCES
from gputuner.language.names import quantity
from gputuner.language.numbers import MISSING, number, scale, value
from gputuner.language.tables import Table
from gputuner.language.words import _
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity

_UNITS = {
    "memory": "bytes",
    "memory_real": "bytes",
    "bus_width": "B/s",
    "l2": "bytes",
    "l2_step": "bytes",
    "power": "W",
}
ALLOWED: dict[str, tuple[float, float]] = {
    "bus_width": (BUS_LOW, BUS_HIGH),
    "l2": (L2_TOLD_LOW, L2_TOLD_HIGH),
    "l2_step": (L2_LOW, L2_HIGH),
    "power": (POWER_LOW, POWER_HIGH),
}
"""What of the sheet's value still agrees, as fractions of it."""
AT_MOST = ("pcie_generation", "pcie_width")
"""Checks that agree with less than the sheet says: a slot may have less."""


def memory_table(points: Sequence[Point]) -> Table:
    """The VRAM test by kind of pass: passes, bytes, rate, wrong words."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        if point.metric == "vram_errors":
            groups.setdefault((str(point.params["pass"]), str(point.params["heat"])), []).append(point)
    rows = [
        (
            _(PASSES[name]),
            _(HEATS[heat]),
            str(sum(int(p.extra["passes"]) for p in own)),
            value(min(int(p.extra["checked_bytes"]) for p in own), "bytes"),
            value(sorted(float(p.extra["rate"]) for p in own)[len(own) // 2], "B/s"),
            str(sum(int(p.value) for p in own)),
        )
        for (name, heat), own in groups.items()
    ]
    headers = (_("pass"), _("card is"), _("passes"), _("tested"), _("write and read"), _("wrong words"))
    return Table(headers=headers, rows=tuple(rows), right=(2, 3, 4, 5))


def burn_table(points: Sequence[Point]) -> Table:
    """The burn by number format: products, rate, wrong ones."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        if point.metric == "burn_errors":
            groups.setdefault(str(point.params["precision"]), []).append(point)
    rows = [
        (
            name.upper(),
            str(sum(int(p.extra["products"]) for p in own)),
            value(sorted(float(p.extra.get("rate", 0.0)) for p in own)[len(own) // 2], "FLOP/s"),
            str(sum(int(p.value) for p in own)),
        )
        for name, own in groups.items()
    ]
    headers = (_("format"), _("products"), _("rate"), _("wrong"))
    return Table(headers=headers, rows=tuple(rows), right=(1, 2, 3))


def identity_table(points: Sequence[Point]) -> Table:
    """Every check: seen, by the sheet, what of that still agrees, where from, verdict; unknown ones with the reason."""
    rows = [
        (
            _(CHECKS[str(p.params["check"])]),
            *_compared(p),
            _(SOURCES[str(p.params["source"])]),
            _("agrees") if p.value else _("differs"),
        )
        for p in points
        if p.metric == "identity_check"
    ]
    rows += [row for p in points if p.metric == "identity_verdict" for row in _unknown(p)]
    headers = (_("check"), _("seen"), _("sheet"), _("allowed"), _("from"), _("verdict"))
    return Table(headers=headers, rows=tuple(rows), wraps=(0, 1, 2))


def _unknown(verdict: Point) -> list[tuple[str, str, str, str, str, str]]:
    """Rows of the checks that could not be made."""
    told = [each.partition(":") for each in str(verdict.extra.get("unknown", "")).split(",") if each]
    return [
        (
            _(CHECKS[name]),
            MISSING,
            MISSING,
            MISSING,
            MISSING,
            _("unknown: {reason}").format(reason=_(NOT_CHECKED[why])),
        )
        for name, _colon, why in told
        if name in CHECKS and why in NOT_CHECKED
    ]


def stages_table(points: Sequence[Point]) -> Table:
    """The stages: what, for how long, how it ended."""
    rows = [
        (_(KINDS[str(p.params["name"])]), value(p.value, "s"), _(OUTCOMES[str(p.params["outcome"])]))
        for p in points
        if p.metric == "health_stage"
    ]
    return Table(headers=(_("stage"), _("time"), _("end")), rows=tuple(rows), right=(1,))


def memory_lines(points: Sequence[Point]) -> list[str]:
    """Coverage, rate and counters in sentences."""
    told: list[str] = []
    for point in points:
        match point.metric:
            case "vram_coverage":
                shown = (
                    value(int(point.extra["checked_bytes"]), "bytes"),
                    value(int(point.extra["total_bytes"]), "bytes"),
                )
                told.append(
                    _("Coverage: {share} of the memory ({tested} of {total}).").format(
                        share=value(point.value, "fraction"), tested=shown[0], total=shown[1]
                    )
                )
                if "first_offset" in point.extra:
                    told.append(
                        _(
                            "First wrong place: {offset} from the start of the tested blocks; offsets are virtual."
                        ).format(offset=value(int(point.extra["first_offset"]), "bytes"))
                    )
            case "counter_change":
                if point.value > 0:
                    name = quantity(Quantity(str(point.params["counter"])))
                    told.append(_("{name}: {count} more.").format(name=name, count=int(point.value)))
            case _:
                pass
    return told


def _compared(point: Point) -> tuple[str, str, str]:
    """What was seen and what the sheet says, in one unit, and how far apart they may be."""
    check = str(point.params["check"])
    told = [point.extra.get(name) for name in ("seen", "expected")]
    figures = [float(each) for each in told if isinstance(each, int | float)]
    if not figures or len(figures) < len(told):
        return (*(MISSING if each is None else str(each) for each in told), MISSING)  # type: ignore[return-value]
    if check == "memory":
        figures = [each * 2**20 for each in figures]
    factor, label = scale(min(figures), _UNITS.get(check, ""))
    seen, sheet = (f"{number(each / factor)} {label}".rstrip() for each in figures)
    return seen, sheet, _allowed(check)


def _allowed(check: str) -> str:
    if check in AT_MOST:
        return _("at most")
    if check == "memory_real":
        return _("as far as tested")
    if check not in ALLOWED:
        return MISSING
    low, high = (number(100.0 * each) for each in ALLOWED[check])
    return _("{low} to {high} %").format(low=low, high=high)
