"""``devices``: every card, its limits, link and features, and each reading or why it is missing."""

from collections.abc import Callable, Mapping

from gputuner.cli import document
from gputuner.cli.context import Injected
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.planned import card_line
from gputuner.cli.readings import read_all
from gputuner.language import numbers, sentences
from gputuner.language.words import N_, _
from gputuner.model.cards import CardInfo, CardState
from gputuner.model.quantities import Quantity, limiter_of
from gputuner.model.readings import Reading, Reason

ABOUT = N_("Every card: identity, limits, link, mods recognised, each reading or why it is missing.")


def devices(
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Show every card.

    Args:
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    with context.setup(options) as setup:
        cards = setup.select(options.gpu, for_experiment=False)
        latest = read_all(setup.feed, cards)
        host = setup.host()
        if output.json:
            body = document.head("devices", setup.origin)
            body["devices"] = [
                document.card(card, {q.value: document.reading(r) for q, r in latest.of(card).items()})
                for card in cards
            ]
            body["host"] = document.readings(host.readings)
            document.write(body, output.out)
            return 0
        for card in cards:
            _show_card(output, card, latest.of(card))
        output.heading(_("This machine"))
        output.pairs([(name, _value_or_reason(entry, sentences.host_reason)) for name, entry in _names(host.readings)])
    return 0


def _show_card(output: Output, card: CardInfo, now: Mapping[Quantity, Reading]) -> None:
    output.heading(f"[{card.index}] {card_line(card)}")
    output.pairs(_identity(card))
    if card.catalog and card.catalog.features:
        output.line("  " + _("Features of the chip"))
        output.pairs([(f"  {sentences.feature(n)}", sentences.support(s)) for n, s in card.catalog.features.items()])
    if card.readings:
        output.line("  " + _("Limits and link"))
        output.pairs([(f"  {name}", _value_or_reason(entry)) for name, entry in _names(card.readings)])
    output.line("  " + _("Readings"))
    output.pairs([(f"  {sentences.quantity(quantity)}", _reading(quantity, entry)) for quantity, entry in now.items()])


def _identity(card: CardInfo) -> list[tuple[str, str]]:
    rows = [(_("name by the driver"), card.name), ("UUID", card.uuid)]
    if card.state is not CardState.READY:
        rows.append((_("state"), sentences.card_state(card.state)))
    if card.pci_bus_id:
        rows.append((_("PCI bus id"), card.pci_bus_id))
    if card.sm_count is not None:
        rows.append((_("SMs"), str(card.sm_count)))
    match = card.catalog
    if match is not None:
        if match.architecture:
            rows.append((_("architecture"), match.architecture))
        if match.modded:
            base = match.base_name or card.name
            rows.append((_("mod"), _("recognised as a memory mod of {base}").format(base=base)))
        if match.note:
            rows.append((_("catalogue"), sentences.catalog_note(match.note)))
    return rows + [("MIG", f"{instance.profile or ''} {instance.uuid}".strip()) for instance in card.mig]


def _names(readings: Mapping[str, Reading]) -> list[tuple[str, Reading]]:
    return [(sentences.reading_name(name), entry) for name, entry in readings.items()]


def _reading(quantity: Quantity, entry: Reading) -> str:
    if quantity is Quantity.LIMIT_BITS and isinstance(entry.value, (int, float)):
        return sentences.limiter(limiter_of(int(entry.value)))
    return _value_or_reason(entry)


def _value_or_reason(entry: Reading, words: Callable[[Reason], str] = sentences.reason) -> str:
    if entry.reason is not None:
        return f"{numbers.MISSING} ({words(entry.reason)})"
    return numbers.reading(entry)
