"""``devices``: every card, its limits, link and features, and each reading or why it is missing."""

from collections.abc import Callable, Mapping, Sequence

from gputuner.cli import document
from gputuner.cli.context import Injected
from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.planned import card_line
from gputuner.cli.readings import read_all
from gputuner.language import numbers, sentences
from gputuner.language.names import PROCESSOR
from gputuner.language.words import N_, _, listed
from gputuner.model.cards import CardInfo, CardState
from gputuner.model.quantities import Quantity, limiter_of
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import CardProcesses

UNOWNED_BYTES = 256 * 2**20
"""Less than this is the driver's own."""
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
                | document.processes(setup.feed.processes(card.uuid))
                for card in cards
            ]
            body["host"] = document.readings(host.readings)
            document.write(body, output.out)
            return 0
        for card in cards:
            _show_card(output, card, latest.of(card))
            _show_processes(output, setup.feed.processes(card.uuid), _reasons(card))
        output.heading(_("This machine"))
        _show_readings(output, _names(host.readings), sentences.host_reason)
    return 0


def _show_card(output: Output, card: CardInfo, now: Mapping[Quantity, Reading]) -> None:
    output.heading(f"[{card.index}] {card_line(card)}")
    output.pairs(_identity(card))
    if card.catalog and card.catalog.features:
        output.line("  " + _("Features of the chip"))
        output.pairs([(f"  {sentences.feature(n)}", sentences.support(s)) for n, s in card.catalog.features.items()])
    if card.readings:
        output.line("  " + (_("Limits") if card.is_cpu else _("Limits and link")))
        _show_readings(output, _names(card.readings, processor=card.is_cpu), _reasons(card), "  ")
    output.line("  " + _("Readings"))
    named = [
        (sentences.quantity(quantity, processor=card.is_cpu), _shown(quantity, entry))
        for quantity, entry in now.items()
        if not card.is_cpu or quantity in PROCESSOR
    ]
    _show_readings(output, named, _reasons(card), "  ")


def _reasons(card: CardInfo) -> Callable[[Reason], str]:
    """Words for why a reading is missing: the processor is the machine, no card."""
    return sentences.host_reason if card.is_cpu else sentences.reason


def _show_processes(output: Output, table: CardProcesses | None, words: Callable[[Reason], str]) -> None:
    """Who is on the card, with memory where it is told, and memory that nobody seen from here owns."""
    if table is None or not (table.processes or table.reason or table.unowned_bytes):
        return
    output.line("  " + _("Processes"))
    if table.reason is not None:
        output.line(f"    {numbers.MISSING} {words(table.reason)}")
    rows: list[tuple[str, str]] = []
    for process in table.processes:
        memory = Reading(value=process.memory_bytes, unit="bytes") if process.memory_bytes is not None else None
        why = words(process.memory_reason or Reason.NOT_READ)
        shown = numbers.reading(memory) if memory else f"{numbers.MISSING} {why}"
        rows.append((f"    {process.pid}  {process.name or process.command or '?'}", shown))
    output.pairs(rows)
    if table.unowned_bytes and table.unowned_bytes > UNOWNED_BYTES:
        output.line(f"    {sentences.warning('memory_unowned', {'bytes': table.unowned_bytes})}")


def _show_readings(
    output: Output, named: Sequence[tuple[str, Reading]], words: Callable[[Reason], str], indent: str = ""
) -> None:
    """The values a line each; then, for each reason, what is missing for it."""
    output.pairs([(f"{indent}{name}", numbers.reading(entry)) for name, entry in named if entry.reason is None])
    reasons = dict.fromkeys(entry.reason for _name, entry in named if entry.reason is not None)
    for reason in reasons:
        missing = listed(name for name, entry in named if entry.reason is reason)
        output.line(f"  {indent}" + _("{what}: {of}").format(what=f"{numbers.MISSING} {words(reason)}", of=missing))


def _shown(quantity: Quantity, entry: Reading) -> Reading:
    """The reading as it is shown: the limit bits as the limiter's name."""
    if quantity is Quantity.LIMIT_BITS and isinstance(entry.value, (int, float)):
        return Reading(value=sentences.limiter(limiter_of(int(entry.value))))
    return entry


def _identity(card: CardInfo) -> list[tuple[str, str]]:
    rows = [("UUID", card.uuid)]
    if card.name != card.title:
        rows.insert(0, (_("name by the driver"), card.name))
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


def _names(readings: Mapping[str, Reading], *, processor: bool = False) -> list[tuple[str, Reading]]:
    return [(sentences.reading_name(name, processor=processor), entry) for name, entry in readings.items()]
