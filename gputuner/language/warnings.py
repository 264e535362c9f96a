"""One sentence for each warning that a run or the telemetry tells."""

from collections.abc import Mapping

from gputuner.language.filling import fill
from gputuner.language.words import N_

WARNINGS: dict[str, str] = {
    "shared": N_("Others compute on the card; every figure is flagged as shared."),
}


def warning(code: str, params: Mapping[str, object], text: str = "") -> str:
    """The sentence for a warning; the text given, or the bare code and its values, where the code is unknown."""
    if code in WARNINGS:
        return fill(WARNINGS[code], params)
    values = ", ".join(f"{name} {entry}" for name, entry in params.items())
    return text or (f"{code.replace('_', ' ')}: {values}" if values else code.replace("_", " "))
