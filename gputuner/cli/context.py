"""What a command is handed: the way to open the program, the streams, and its options turned into both."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, TextIO

from cyclopts import Parameter

from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.ports import OpenSetup, Setup
from gputuner.language import sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The world outside one command."""

    open_setup: OpenSetup
    out: TextIO
    err: TextIO
    dashes: bool = False
    """Whether the command line holds ``--``, behind which another program's own words stand."""
    behind: int | None = None
    """How many words stand behind it."""

    def output(self, options: Options) -> Output:
        """The command's streams."""
        return Output.of(options, self.out, self.err)

    @contextmanager
    def setup(self, options: Options, *, experiment: bool = False) -> Generator[Setup]:
        """The program as the options ask for it, closed afterwards; tells what the telemetry met, each thing once.

        Raises:
            GputunerError: an option makes no sense, or the program cannot be opened so.
        """
        options.check(experiment=experiment)
        setup = self.open_setup(
            simulate=options.simulate,
            replay=options.replay,
            data_dir=options.data_dir,
            python=options.python,
            memory_cap_bytes=options.memory_cap_bytes,
        )
        try:
            yield setup
            output = self.output(options)
            for notice in setup.notices():
                output.warn(sentences.warning(notice.code, notice.params))
        finally:
            setup.close()


Injected = Annotated[Context, Parameter(parse=False)]
"""The type of a command's ``context``: not read from the command line."""
