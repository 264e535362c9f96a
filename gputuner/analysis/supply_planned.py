"""The whole plan, section by section."""

from collections.abc import Sequence

from gputuner.analysis.supply import SupplyPlan, Wishes
from gputuner.analysis.supply_air import air_figures, cooler_figures, radiator_figures, room_figures
from gputuner.analysis.supply_connectors import connector_figures
from gputuner.analysis.supply_draw import CardDraw
from gputuner.analysis.supply_facts import SupplyFacts
from gputuner.analysis.supply_power import circuit_figures, size_figures, watt_figures


def planned(draws: Sequence[CardDraw], wishes: Wishes, facts: SupplyFacts) -> SupplyPlan:
    """The plan for at least one card."""

    def plan() -> SupplyPlan:
        return SupplyPlan(draws=tuple(draws), wishes=wishes, figures=tuple(found))

    found = [*watt_figures(draws, wishes, facts)]
    watts = plan()
    found += [
        *size_figures(watts, facts),
        *connector_figures(draws, facts),
        *circuit_figures(watts, facts),
        *air_figures(watts, facts),
        *radiator_figures(watts, facts),
        *cooler_figures(draws, facts),
    ]
    found += room_figures(plan())
    return plan()
