# pyright: standard
"""Preferences that the window changes, and what is wrong with their file."""

from gputuner.gui.ports import Ports
from gputuner.gui.refusals import refusal
from gputuner.language import sentences
from gputuner.model.errors import GputunerError


def remember(ports: Ports, name: str, value: str) -> str:
    """Store a preference; a sentence on why it could not be, else empty. It holds for this window either way."""
    try:
        ports.set_preference(name, value)
    except GputunerError as err:
        return refusal(err)
    return ""


def wrong_preferences(ports: Ports) -> tuple[str, ...]:
    """A sentence for each thing that is wrong with the file of the preferences, as the command line says it."""
    return tuple(sentences.warning(notice.code, notice.params) for notice in ports.preference_notices())
