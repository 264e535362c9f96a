"""``contend --command``: read commands of the user's, and say what will be done with them before anything starts."""

import shlex
import sys
from collections.abc import Sequence
from typing import TextIO

from gputuner.analysis.told_command import told_command, told_line
from gputuner.cli.output import Output
from gputuner.language.contention_commands import ASK, TWICE, YES, starts
from gputuner.language.words import _, listed
from gputuner.model.errors import UsageError


def parse(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The words of each command; a shell has no part in it unless one is named.

    Raises:
        UsageError: one is empty, or a quotation mark in it is not closed.
    """
    found: list[tuple[str, ...]] = []
    for text in texts:
        try:
            argv = tuple(shlex.split(text, posix=sys.platform != "win32"))
        except ValueError as err:
            raise UsageError("contend_command_line", str(err), command=text) from err
        if not argv:
            raise UsageError("contend_command_empty", "an empty command")
        found.append(argv)
    return tuple(found)


def confirm(
    output: Output,
    commands: Sequence[Sequence[str]],
    minutes: float,
    *,
    yes: bool,
    copies: bool = False,
    asked: TextIO | None = None,
) -> bool:
    """Say how often the commands are started and ended; whether the user wants that.

    Args:
        output: where it is said.
        commands: the words of each.
        minutes: the time budget.
        yes: the user has said so already.
        copies: several of one run at once.
        asked: where the answer comes from; None: stdin.

    Raises:
        UsageError: it was not said, and there is no terminal to ask at.
    """
    from gputuner.engine.commanded import GRACE_S
    from gputuner.experiments.contention_commands import LEAST_STARTS

    distinct = list(dict.fromkeys(map(tuple, commands)))
    told = listed(told_line(told_command(argv)) for argv in distinct)
    output.warn(starts(told, len(distinct), LEAST_STARTS, minutes, GRACE_S))
    if copies or len(distinct) < len(commands):
        output.warn(_(TWICE))
    if yes:
        return True
    stream = sys.stdin if asked is None else asked
    if not stream.isatty():
        raise UsageError("contend_needs_yes", "nobody to ask")
    output.warn(_(ASK))
    answer = stream.readline().strip().lower()
    return bool(answer) and answer in {*YES.split(), *_(YES).split()}
