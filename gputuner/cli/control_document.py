"""Settings and their changes as JSON."""

from gputuner.cli import document
from gputuner.cli.control_values import word_of
from gputuner.cli.options import Options
from gputuner.model.cards import Origin
from gputuner.model.control import Applied, CardControl, SettingState, same


def origin_of(options: Options) -> Origin:
    """Whose settings these are."""
    return Origin.SIMULATED if options.simulate else Origin.MEASURED


def card_document(card: CardControl) -> document.Json:
    """A card with its settings."""
    return {
        "uuid": card.uuid,
        "index": card.index,
        "name": card.name,
        "pci_bus_id": card.pci_bus_id,
        "persistence": card.persistent,
        "settings": {word_of(state.setting): _state(state) for state in card.states},
    }


def _state(state: SettingState) -> document.Json:
    return {
        "now": None if state.now is None else list(state.now),
        "default": None if state.default is None else list(state.default),
        "low": state.low,
        "high": state.high,
        "reason": state.reason,
        "found": None if state.found is None else list(state.found),
        "kept": state.kept,
        "intact": state.intact,
    }


def applied_document(options: Options, card: CardControl, applied: Applied, *, kept: bool) -> document.Json:
    """The document of a change."""
    body = document.head("control.set", origin_of(options))
    stands = applied.reads if applied.reads is not None else applied.written
    body["control"] = {
        "card": card.uuid,
        "setting": word_of(applied.setting),
        "found": list(applied.found),
        "wanted": list(applied.written),
        "reads": None if applied.reads is None else list(applied.reads),
        "enforced_w": applied.enforced_w,
        "changed": applied.changed,
        "kept": kept,
        "as_wanted": same(applied.setting, stands, applied.written),
        "dry_run": False,
    }
    return body
