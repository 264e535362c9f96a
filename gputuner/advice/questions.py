"""What is worth measuring next, each with a command that exists."""

from dataclasses import replace

from gputuner.advice.evidence import TUNE, Evidence
from gputuner.model.advice import Question
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.readings import Scalar

OWN = "batch --recipe FILE.py:function"
SWITCHES = " --switches"
"""Of a command that compares settings at one batch, and looks for no limit."""
PREFIX = 12
"""Characters of a UUID that tell the cards of one machine apart."""
HEAT_S = 300.0
"""Shorter loads do not show the steady temperature of an air cooler."""


def command(card: CardInfo, *words: str) -> str:
    """A command line for this card."""
    if card.origin is Origin.SIMULATED and card.catalog and card.catalog.catalog_id:
        which = f"--simulate {card.catalog.catalog_id}"
    else:
        which = f"--gpu {card.uuid if card.is_cpu else card.uuid[:PREFIX]}"
    return " ".join(("gputuner --cli", *words, which))


def questions(evidence: Evidence) -> tuple[Question, ...]:
    """Open questions, most telling first."""
    card = evidence.card
    found: list[Question] = []

    def ask(identity: str, *words: str, **params: Scalar) -> None:
        found.append(Question(id=identity, card=card.uuid, command=command(card, *words), params=params))

    if not evidence.points:
        ask("nothing_measured", "tune --quick")
        return tuple(found)
    if evidence.of("loader_demand"):
        return tuple(found)
    if not evidence.of("train_throughput"):
        ask("training", "tune --quick")
    else:
        if not evidence.is_own:
            ask("own_training", OWN, workload=evidence.workloads()[0])
            if card.origin is Origin.SIMULATED:  # a recipe runs on no simulated card
                found[-1] = replace(found[-1], command=f"gputuner --cli {OWN}")
        limits = evidence.of("batch_limit")
        if not limits or limits[-1].params.get("verified") is not True:
            words = f"{evidence.command.removesuffix(SWITCHES)} --minutes 10"
            ask("batch_limit", words, repeat=bool(limits) and "fails" in limits[-1].extra)
        shared = evidence.of("co_run_gain")
        if evidence.command == TUNE and not any(point.extra.get("valid") is True for point in shared):
            ask("sharing", "tune --minutes 5", repeat=bool(shared))
    if evidence.command == TUNE and not card.is_cpu and not evidence.temperature_stuck:
        heat = evidence.last("load_temperature")
        seconds = heat.params.get("load_s") if heat else None
        if not isinstance(seconds, int | float) or seconds < HEAT_S:
            told: dict[str, Scalar] = (
                {"measured_s": seconds} if isinstance(seconds, int | float) else {"unloaded": True}
            )
            ask("steady_heat", "tune --minutes 12", **told)
    return tuple(found)
