"""Why a run could not be done, in words."""

import os

from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.errors import GputunerError


def refusal(err: Exception | None) -> str:
    """The sentence for what kept a run from starting or broke its stream; None: it ended without a word."""
    if err is None:
        return _("It ended without a last word; what was measured until then is kept")
    if not isinstance(err, GputunerError):
        return f"{type(err).__name__}: {err}"
    if err.code == "running_elsewhere" and err.params.get("pid") == os.getpid():
        return _("This window measures on this card already; wait until that has ended, or stop it.")
    return sentences.error(err)
