# pyright: standard
"""Figures of a run as text to take along: Markdown and CSV. Simulated and replayed figures say so."""

import csv
from collections.abc import Sequence
from io import StringIO

from gputuner.gui.results import interval_words, value_words
from gputuner.gui.run_state import RunFacts
from gputuner.gui.widgets.hatch_strip import origin_sentence
from gputuner.language import numbers, sentences
from gputuner.language.words import _
from gputuner.model.cards import Origin
from gputuner.model.points import Point


def markdown(points: Sequence[Point]) -> str:
    """A Markdown table; its first line says if the figures were not measured."""
    lines: list[str] = []
    for origin in {point.origin for point in points} - {Origin.MEASURED}:
        lines += [f"> {origin_sentence(origin)}", ""]
    lines += [
        "| " + " | ".join((_("Figure"), _("Settings"), _("Value"), _("95 % interval"), _("Remarks"))) + " |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    for point in points:
        remarks = "; ".join(sentences.flag(flag) for flag in point.flags)
        cells = (
            sentences.metric(point.metric),
            sentences.point_title(point),
            value_words(point),
            interval_words(point),
            remarks,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def measured_with(facts: RunFacts, host: bool = True) -> str:
    """Software and driver of a run, and with ``host`` the machine, a line each."""
    lines: list[str] = []
    if facts.torch is not None:
        torch = facts.torch.torch
        cuda = f" · CUDA {torch.cuda}" if torch.cuda else ""
        lines.append(f"torch {torch.version}{cuda} · Python {torch.python}")
    drivers = {card.readings["driver"].value for card in facts.cards if "driver" in card.readings} - {None}
    lines += [_("driver {version}").format(version=driver) for driver in sorted(map(str, drivers))]
    if facts.started is not None:
        readings = facts.started.fingerprint.host.readings
        for name in ("cpu", "os", "kernel", "virtual_machine") if host else ():
            reading = readings.get(name)
            if reading is not None and reading.value is not None:
                lines.append(f"{sentences.reading_name(name)}: {numbers.reading(reading)}")
        lines.append(f"gputuner {facts.started.version}")
    return "\n".join(lines)


def comma_separated(points: Sequence[Point]) -> str:
    """CSV with one line per figure, in the units used inside the program."""
    target = StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(
        ["origin", "id", "card", "metric", "workload", "params", "value", "unit", "ci95_low", "ci95_high", "flags"]
    )
    for point in points:
        spread = point.spread
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
            ]
        )
    return target.getvalue()
