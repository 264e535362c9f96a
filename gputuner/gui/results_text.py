# pyright: standard
"""Figures of a run as text to take along: Markdown and CSV. Simulated and replayed figures say so."""

import csv
from collections.abc import Sequence
from io import StringIO

from gputuner.gui.results import interval_words, value_words
from gputuner.gui.run_state import RunFacts
from gputuner.gui.widgets.hatch_strip import origin_sentence
from gputuner.language import numbers, sentences
from gputuner.language.optimizers import optimizers
from gputuner.language.words import _
from gputuner.model.cards import Origin
from gputuner.model.points import Point


def markdown(points: Sequence[Point]) -> str:
    """A Markdown table; its first line says if the figures were not measured."""
    head = [
        (_("Figure"), False),
        (_("Settings"), False),
        (_("Value"), True),
        (_("95 % interval"), True),
        (_("Remarks"), False),
    ]
    rows = [
        [
            sentences.metric(point.metric),
            sentences.point_title(point),
            value_words(point),
            interval_words(point),
            "; ".join(sentences.flag(flag) for flag in point.flags),
        ]
        for point in points
    ]
    return "\n".join([*origin_lines(points), *table(head, rows)]) + "\n"


def origin_lines(points: Sequence[Point]) -> list[str]:
    """What to say first of figures that were not measured."""
    origins = {point.origin for point in points} - {Origin.MEASURED}
    return [line for origin in origins for line in (f"> {origin_sentence(origin)}", "")]


def table(head: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table; each heading with whether its column stands to the right."""
    lines = [_line([words for words, _right in head]), _line(["---:" if right else "---" for _words, right in head])]
    return [*lines, *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def measured_with(facts: RunFacts, host: bool = True) -> str:
    """Software and driver of a run, and with ``host`` the machine, a line each."""
    lines: list[str] = []
    if facts.torch is not None:
        torch = facts.torch.torch
        cuda = f" · CUDA {torch.cuda}" if torch.cuda else ""
        lines.append(f"torch {torch.version}{cuda} · Python {torch.python}")
    drivers = {card.readings["driver"].value for card in facts.cards if "driver" in card.readings} - {None}
    lines += [_("driver {version}").format(version=driver) for driver in sorted(map(str, drivers))]
    if stepped := optimizers(facts.points):
        lines.append(_("Optimizer: {name}").format(name=stepped))
    if facts.started is not None:
        readings = facts.started.fingerprint.host.readings
        for name in ("cpu", "os", "kernel", "virtual_machine") if host else ():
            reading = readings.get(name)
            if reading is not None and reading.value is not None:
                told = {"name": sentences.reading_name(name), "value": numbers.reading(reading)}
                lines.append(_("{name}: {value}").format(**told))
        lines.append(f"gputuner {facts.started.version}")
    return "\n".join(lines)


def comma_separated(points: Sequence[Point]) -> str:
    """CSV with one line per figure, in the units used inside the program."""
    target = StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(
        ["origin", "id", "card", "metric", "workload", "params", "value", "unit", "ci95_low", "ci95_high", "flags",
         "sm_clock_mhz", "power_w", "core_temperature_end_c", "fraction_of_peak_at_clock", "fraction_of_sheet"]
    )  # fmt: skip
    for point in points:
        spread, conditions = point.spread, point.conditions
        measured = (
            (None, None, None)
            if conditions is None
            else (conditions.sm_clock_mhz, conditions.power_w, conditions.core_temperature_end_c)
        )
        shares = (point.extra.get("fraction_of_peak_at_clock"), point.extra.get("fraction_of_sheet"))
        writer.writerow(
            [
                point.origin.value,
                point.id,
                point.card,
                point.metric,
                point.workload,
                " ".join(f"{name}={value}" for name, value in point.params.items()),
                repr(point.value),
                point.unit,
                "" if spread is None or spread.ci95_low is None else repr(spread.ci95_low),
                "" if spread is None or spread.ci95_high is None else repr(spread.ci95_high),
                " ".join(flag.value for flag in point.flags),
                *("" if entry is None else repr(entry) for entry in (*measured, *shares)),
            ]
        )
    return target.getvalue()
