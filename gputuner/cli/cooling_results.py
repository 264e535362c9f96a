"""What a thermal test found, in tables and sentences, or as a document; and two of them compared."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gputuner.cli import document, result_parts
from gputuner.cli.experiment import Finished, run_document
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.language import cooling
from gputuner.language.words import _
from gputuner.model.cards import Origin
from gputuner.model.points import Point

if TYPE_CHECKING:
    from gputuner.analysis.cooling_compare import CoolingCompared


def tell(output: Output, origin: Origin, name: str, ended: Sequence[Finished], options: Options) -> None:
    """Show, or write, what the tests found."""
    if output.json:
        document.write(run_document(origin, name, ended), output.out)
        return
    for each in ended:
        show_found(output, each.found.points)
        result_parts.show_judgement(output, each, options)
        result_parts.show_supply(output, each, options)
        result_parts.show_end(output, each, origin)


def show_found(output: Output, points: Sequence[Point]) -> None:
    """The looks and the cooler; also of a stored test."""
    tables = (
        (_("How the forecast closed"), cooling.looks_table(points)),
        (_("The cooler"), cooling.table(points)),
    )
    result_parts.show_tables(output, tables)


def show_comparison(output: Output, found: "CoolingCompared") -> None:
    """Two tests in words."""
    output.show(cooling.compared_table(found))
    for line in cooling.compared_lines(found):
        output.line(line)


def comparison_document(found: "CoolingCompared") -> dict[str, Any]:
    """Two tests as JSON: resistances in K/W, the change at the first one's power in K, both with 95 % intervals."""
    return {
        "before": {"thermal_resistance": found.before_k_per_w, "fan_fraction": found.fans[0], "load": found.loads[0]},
        "after": {"thermal_resistance": found.after_k_per_w, "fan_fraction": found.fans[1], "load": found.loads[1]},
        "ratio": {"value": found.ratio, "ci95": [found.ratio_low, found.ratio_high]},
        "degrees": {
            "value": found.degrees,
            "unit": "K",
            "ci95": [found.degrees_low, found.degrees_high],
            "power_w": found.power_w,
        },
        "verdict": found.verdict,
        "fans_apart": found.fans_apart,
        "closed": list(found.closed),
    }
