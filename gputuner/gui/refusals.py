"""Why a run could not be done, in words."""

import os

from gputuner.language import sentences
from gputuner.language.filling import fill
from gputuner.language.words import N_, _
from gputuner.model.errors import GputunerError

IN_WINDOW: dict[str, str] = {
    "card_busy": N_("{card} is in use by {processes}; wait until it is free, or tick “Measure beside others”."),
    "loading_does_not_fit": N_(
        "Nothing was measured: {workload} does not fit into the memory at batch {batch}; choose a smaller batch."
    ),
    "contend_command_empty": N_("A command is empty; write it as in a terminal: python train.py"),
    "contend_null_streams": N_("A check against itself needs a partner in a process of its own: not mode streams."),
}
"""What stands in another way in a window, where a field or a box is what the command line calls an option."""


def refusal(err: Exception | None) -> str:
    """The sentence for what kept a run from starting or broke its stream; None: it ended without a word."""
    if err is None:
        return _("It ended without a last word; what was measured until then is kept")
    if not isinstance(err, GputunerError):
        return f"{type(err).__name__}: {err}"
    if err.code == "running_elsewhere" and err.params.get("pid") == os.getpid():
        return _("This window measures on this card already; wait until that has ended, or stop it.")
    if err.code in IN_WINDOW:
        return fill(IN_WINDOW[err.code], err.params)
    return sentences.error(err)
