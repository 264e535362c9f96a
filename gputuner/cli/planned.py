"""``--dry-run``: the steps, the limits that are kept, the time it takes."""

from collections.abc import Callable, Sequence

from gputuner.cli import document
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.ports import PlannedStep, Setup
from gputuner.experiments.protocol import Experiment
from gputuner.language import numbers, sentences
from gputuner.language.words import _
from gputuner.model.cards import CardInfo, Origin

_UNITS = {"memory_bytes": "bytes", "power_limit_enforced_w": "W", "slowdown_c": "degC", "memory_max_c": "degC"}


def dry_run(
    output: Output,
    setup: Setup,
    spec: Experiment,
    cards: Sequence[CardInfo],
    options: Options,
    fitted: Callable[[CardInfo], Experiment] | None = None,
) -> int:
    """Show what ``spec`` (``fitted`` to each card, where it differs) would do on each card; returns the exit code."""
    specs = [(card, fitted(card) if fitted else spec) for card in cards]
    plans = [(card, setup.dry_run(own, (card,), share=options.share)) for card, own in specs]
    total_s = sum(step.expected_s for _card, steps in plans for step in steps)
    if output.json:
        body = document.head(spec.name, setup.origin)
        body["dry_run"] = True
        body["devices"] = [document.card(card) for card in cards]
        body["expected_s"] = total_s
        body["steps"] = [_step(card, step) for card, steps in plans for step in steps]
        body["limits"] = {card.uuid: _limits(card, options) for card in cards}
        document.write(body, output.out)
        return 0
    for card, steps in plans:
        _show_plan(output, card, steps)
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


def _show_plan(output: Output, card: CardInfo, steps: Sequence[PlannedStep]) -> None:
    output.heading(_("What would be done on {card}").format(card=card_line(card)))
    rows = [
        (str(number), sentences.step(step.label, step.params), numbers.duration(step.expected_s))
        for number, step in enumerate(steps, 1)
    ]
    output.table(("#", _("step"), _("time")), rows, right=(0, 2), wraps=(1,))
    total_s = sum(step.expected_s for step in steps)
    output.line(_("{n} steps, about {time}").format(n=len(steps), time=numbers.duration(total_s)))


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
