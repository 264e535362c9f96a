"""What a numerical check found: verdicts, losses against the FP32 band, operations, traps, activations."""

from collections.abc import Sequence

from gputuner.cli.output import Output
from gputuner.language import numerics, sentences
from gputuner.language.words import _, listed
from gputuner.model.cards import Origin
from gputuner.model.points import Point


def show(output: Output, points: Sequence[Point]) -> None:
    """All of it; parts without a figure are left out."""
    origins = {point.origin for point in points} - {Origin.MEASURED}
    title = _("Number formats against FP32")
    if origins:
        told = listed(sentences.origin(origin) for origin in sorted(origins))
        title = _("Number formats against FP32 ({origin})").format(origin=told)
    for heading, table in (
        (title, numerics.verdicts(points)),
        (_("Loss by step, smoothed"), numerics.losses(points)),
        (_("Operations that stay in FP32 under autocast"), numerics.operations(points)),
        (_("Largest activations (FP16 holds up to 65504)"), numerics.activations(points)),
    ):
        if table.rows:
            output.heading(heading)
            output.show(table)
    if lines := numerics.traps(points):
        output.heading(_("Traps of half precision"))
        for line in lines:
            output.line(f"- {line}")
