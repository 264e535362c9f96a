"""The command line of ``supply`` once more: the same cards and all that was told, to be said with more beside it."""

from itertools import groupby

from gputuner.advice.questions import PREFIX
from gputuner.analysis.supply import SupplyPlan, Wishes
from gputuner.model.cards import CardInfo, Origin

OPTIONS = {
    "cpu_w": "--cpu-watts",
    "rest_w": "--rest-watts",
    "psu_w": "--psu-watts",
    "efficiency": "--efficiency",
    "coolant_rise_k": "--coolant-rise",
    "air_rise_k": "--air-rise",
    "circuit_volts": "--circuit-volts",
    "circuit_amps": "--circuit-amps",
    "price": "--price",
    "hours_per_day": "--hours",
}
"""Wishes as options of the command."""
WATTS, SHARE = "WATTS", "SHARE"
"""What the user is to fill in."""


def again(plan: SupplyPlan, cards: tuple[CardInfo, ...], **wanted: str) -> str:
    """The command with the same cards and options.

    Args:
        plan: what was asked.
        cards: that were chosen; none: their watts were told.
        **wanted: of wishes that were not told, the word that stands for what the user is to say.
    """
    words = ["gputuner --cli supply", *_cards(plan, cards)]
    usual = Wishes()
    for name, option in OPTIONS.items():
        told = getattr(plan.wishes, name)
        if told != getattr(usual, name):
            words.append(f"{option} {told:g}")
        elif name in wanted:
            words.append(f"{option} {wanted[name]}")
    return " ".join(words)


def _cards(plan: SupplyPlan, cards: tuple[CardInfo, ...]) -> list[str]:
    """Which cards, and how many of each."""
    if not cards:
        groups = [(draw.sustained_w, len(list(own))) for draw, own in groupby(plan.draws)]
        counts = {count for _watts, count in groups}
        if len(counts) > 1:
            return [f"--watts {draw.sustained_w:g}" for draw in plan.draws]
        return [*(f"--watts {watts:g}" for watts, _count in groups), *_many(counts.pop())]
    simulated = [card.catalog.catalog_id for card in cards if card.origin is Origin.SIMULATED and card.catalog]
    if simulated:
        which = [f"--simulate {known}" for known in simulated]
    else:
        which = ["--gpu " + ",".join(card.uuid[:PREFIX] for card in cards)]
    return [*which, *_many(len(plan.draws) // len(cards))]


def _many(count: int) -> list[str]:
    return [f"--cards {count}"] if count > 1 else []
