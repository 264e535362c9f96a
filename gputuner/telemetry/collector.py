"""The collector process: reads NVML where a hang or a crash of it harms nobody, and writes JSON lines.

Its stdout is a duplicate taken before descriptor 1 is pointed at stderr, so that chatter of a library cannot corrupt
the stream. It ends when its stdin does, that is when its parent is gone.
"""

import faulthandler
import gc
import os
import sys
import threading
from collections.abc import Callable, Sequence

from gputuner.devices.protocol import CardSource
from gputuner.model.errors import DeviceError, NoCard, NotSupported, UsageError
from gputuner.telemetry.rates import rates_from
from gputuner.telemetry.rounds import Rounds
from gputuner.telemetry.wire import Line, LineWriter, PackedTick, Unusable

UNUSABLE_EXIT = 3


def main(argv: Sequence[str]) -> int:
    """Collect from NVML until the parent is gone; returns the exit code."""
    return serve(_nvml, argv)


def _nvml() -> CardSource:
    from gputuner.devices.nvml.source import NvmlSource

    return NvmlSource()


def serve(open_source: Callable[[], CardSource], argv: Sequence[str]) -> int:
    """Collect from the source that ``open_source`` opens (in this process, once); returns the exit code."""
    out = os.dup(1)
    os.dup2(2, 1)
    faulthandler.enable(all_threads=False)
    try:
        rates = rates_from(argv)
    except UsageError as error:
        print(error, file=sys.stderr)
        return int(error.exit_code)
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()

    writer = LineWriter()

    def emit(line: Line | PackedTick) -> None:
        _write(out, writer.line(line))

    try:
        source = open_source()
        rounds = Rounds(source, rates, emit)
        gc.freeze()
        rounds.run()
    except DeviceError as error:
        params = {name: value for name, value in error.params.items() if isinstance(value, (str, int, float))}
        final = isinstance(error, (NoCard, NotSupported))
        emit(Unusable(code=error.code, text=str(error), params=params, final=final))
        return UNUSABLE_EXIT
    return 0


def _end_with_parent() -> None:
    """Wait for the end of stdin, then end at once, whatever other threads hang in."""
    while True:
        try:
            if not os.read(0, 4096):
                os._exit(0)
        except OSError:
            os._exit(0)


def _write(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:  # nobody reads any more
        os._exit(0)
