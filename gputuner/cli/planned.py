"""``--dry-run``: the steps, the limits that are kept, the time it takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from gputuner.cli import document
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup
from gputuner.experiments.protocol import Experiment
from gputuner.language import numbers, sentences
from gputuner.language.words import _, ngettext
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.planned import PlannedStep, Rehearsed

if TYPE_CHECKING:
    from gputuner.experiments.benchmarks.benchmark import Machine

_UNITS = {"memory_bytes": "bytes", "power_limit_enforced_w": "W", "slowdown_c": "degC", "memory_max_c": "degC"}


@runtime_checkable
class _Estimates(Protocol):
    """An experiment that tells how long it takes on a machine: the same as is announced when it is started."""

    def estimate_s(self, machine: "Machine") -> float:
        """Seconds in all."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What would be done on a card; ``estimate_s``: what a start would announce (None: nothing)."""

    card: CardInfo
    found: Rehearsed
    estimate_s: float | None

    @property
    def expected_s(self) -> float:
        """Seconds in all."""
        return sum(step.expected_s for step in self.found.steps) if self.estimate_s is None else self.estimate_s


def dry_run(
    output: Output,
    setup: Setup,
    spec: Experiment,
    cards: Sequence[CardInfo],
    options: Options,
    fitted: Callable[[CardInfo], Experiment] | None = None,
) -> int:
    """Show what ``spec`` (``fitted`` to each card, where it differs) would do on each card; returns the exit code."""
    plans: list[_Plan] = []
    for card in cards:
        own = fitted(card) if fitted else spec
        found = setup.rehearse(own, card)
        whole_s = own.estimate_s(setup.machine(card)) if isinstance(own, _Estimates) else None
        plans.append(_Plan(card=card, found=found, estimate_s=whole_s))
    total_s = sum(plan.expected_s for plan in plans)
    if output.json:
        body = document.head(spec.name, setup.origin)
        body["dry_run"] = True
        body["devices"] = [document.card(card) for card in cards]
        body["expected_s"] = total_s
        body["steps"] = [_step(plan.card, step) for plan in plans for step in plan.found.steps]
        body["warnings"] = [document.warning(warned) for plan in plans for warned in plan.found.warned]
        body["limits"] = {card.uuid: _limits(card, options) for card in cards}
        document.write(body, output.out)
        return 0
    for plan in plans:
        card = plan.card
        _show_plan(output, plan)
        output.heading(_("Limits that are kept"))
        output.pairs(
            [
                (_limit_name(card, name), numbers.value(entry, _UNITS[name]))
                for name, entry in _limits(card, options).items()
            ]
        )
    output.line()
    output.line(_("A dry run: nothing was started, nothing was changed."))
    return 0


def card_line(card: CardInfo) -> str:
    """A card in one line: name, memory, and that it is not real where it is not."""
    name = (
        f"{card.title} ({numbers.value(card.memory_total_bytes, 'bytes')})" if card.memory_total_bytes else card.title
    )
    return name if card.origin is Origin.MEASURED else f"{name} · {sentences.origin(card.origin)}"


def _step(card: CardInfo, step: PlannedStep) -> document.Json:
    return {"card": card.uuid, "label": step.label, "params": dict(step.params), "expected_s": step.expected_s}


def _show_plan(output: Output, plan: _Plan) -> None:
    output.heading(_("What would be done on {card}").format(card=card_line(plan.card)))
    steps = plan.found.steps
    rows = [
        (str(number), sentences.step(step.label, step.params), numbers.duration(step.expected_s))
        for number, step in enumerate(steps, 1)
    ]
    if rows:
        output.table(("#", _("step"), _("time")), rows, right=(0, 2), wraps=(1,))
    for warned in plan.found.warned:
        output.line(_("Note: {text}").format(text=sentences.warning(warned.code, warned.params)))
    told = ngettext("{n} step, about {time}", "{n} steps, about {time}", len(steps))
    if plan.estimate_s is not None:
        told = ngettext(
            "{n} step, about {time} with starting and setting up",
            "{n} steps, about {time} with starting and setting up",
            len(steps),
        )
    output.line(told.format(n=len(steps), time=numbers.duration(round(plan.expected_s))))


def _limits(card: CardInfo, options: Options) -> dict[str, float | None]:
    """What a run keeps to: memory in bytes, power in W, temperatures in °C; None where the card does not tell."""
    known = [each for each in (card.memory_total_bytes, options.memory_cap_bytes) if each is not None]
    return {
        "memory_bytes": min(known) if known else None,
        "power_limit_enforced_w": card.number("power_limit_enforced_w"),
        "slowdown_c": card.number("slowdown_c"),
        "memory_max_c": card.number("memory_max_c"),
    }


def _limit_name(card: CardInfo, name: str) -> str:
    if name == "memory_bytes":
        return sentences.reading_name("memory_total_bytes") if card.is_cpu else _("memory")
    return sentences.reading_name(name)
