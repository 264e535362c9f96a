"""Words about commands of the user's as jobs of a mix: what is said before they start, and where one fails."""

from gputuner.language.filling import fill
from gputuner.language.words import N_

WARNINGS: dict[str, str] = {
    "command_rate_unknown": N_(
        "No training step of {command} was seen, so its own rate and slowdown are not known; what it does to the "
        "others is measured. Steps are seen of Python programs that train with torch (not with python -E, -I or -S)."
    ),
    "command_steps_slow": N_(
        "A step of {command} took longer than its trial had time for, so its rate is not known here; see --minutes."
    ),
    "command_ended_beside": N_(
        "{command} came to an end by itself ({how}) while {jobs} jobs ran at once, though it ran alone; its last line: "
        "{last}"
    ),
}

ERRORS: dict[str, str] = {
    "contend_command_failed": N_("{command} ended by itself ({how}) when it was run alone.\n{where}"),
    "contend_command_ended": N_(
        "{command} was over before it could be measured. Give it more to do (more epochs, more data): it is ended when "
        "enough was seen.\n{where}"
    ),
    "contend_command_not_started": N_("The command could not be started ({how})."),
    "contend_command_empty": N_('A --command is empty; write it in quotes, as in: --command "python train.py".'),
    "contend_command_line": N_("This command cannot be read: a quotation mark is not closed: {command}"),
    "contend_command_streams": N_(
        "Mode streams puts all jobs into one process, which commands of your own cannot share; leave it out."
    ),
    "contend_command_mps": N_(
        "Under MPS a fatal fault in one program ends every program on the card, your commands with it. If you accept "
        "that, add --mps-commands; else leave mode mps out."
    ),
    "contend_needs_yes": N_(
        "Your commands are started several times and ended each time, and there is no terminal to ask at: add --yes if "
        "that is right."
    ),
}

_STARTS_ONE = N_(
    "Your command {commands} will be started {n} times or more, as the time allows ({time_s:s}), and ended each "
    "time: alone, beside the other job, alone again. What it writes, it writes each time; at the end it gets SIGTERM, "
    "and {grace_s:s} later SIGKILL."
)
_STARTS_MORE = N_(
    "Your commands {commands} will each be started {n} times or more, as the time allows ({time_s:s}), and ended "
    "each time: alone, beside the other jobs, alone again. What they write, they write each time; at the end each gets "
    "SIGTERM, and {grace_s:s} later SIGKILL."
)
TWICE = N_("Several copies of one command run at once: let them not write to the same files.")
ASK = N_("Go on? [y/N]")
YES = N_("y yes")
"""Answers that mean yes, with spaces between them."""


def starts(commands: str, count: int, least: int, minutes: float, grace_s: float) -> str:
    """What will be done with ``count`` commands, told in one line as ``commands``."""
    values = {"commands": commands, "n": least, "time_s": 60.0 * minutes, "grace_s": grace_s}
    return fill(_STARTS_ONE if count == 1 else _STARTS_MORE, values)
