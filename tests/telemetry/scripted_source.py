"""A card source for the collector's tests; run as a program it is a real collector process over that source.

``python scripted_source.py MODE FLAG_FILE [collector arguments]``. The flag file tells what happened before a restart.
"""

import ctypes
import os
import signal
import sys
import threading
from pathlib import Path

from gputuner.model.cards import CardInfo, CardState, Origin
from gputuner.model.errors import DeviceError, DeviceLost, NotSupported
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import CardProcesses, Sample, XidSeen


class ScriptedSource:
    """Cards ``card-0`` … that answer at once, but for what ``mode`` says."""

    origin = Origin.MEASURED
    rejected = 7
    notes = (("scripted_note", {"card": "card-0"}),)

    def __init__(self, mode: str, flag: Path, count: int = 3) -> None:
        self.mode, self.flag, self.count = mode, flag, count
        self.again = flag.exists()
        self.calls = dict.fromkeys(range(count), 0)
        self.opened = 1
        self.lost_calls = 0

    def cards(self) -> tuple[CardInfo, ...]:
        return tuple(
            CardInfo(
                uuid=f"card-{index}",
                index=index,
                name="Scripted",
                state=CardState.ASLEEP if self.mode == "asleep" and index == 1 else CardState.READY,
            )
            for index in range(self.count)
        )

    def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
        index = int(card.removeprefix("card-"))
        self.calls[index] += 1
        if self.mode == "asleep" and index == 1:
            raise AssertionError("a sleeping card was asked")
        if self.mode == "crash" and self.calls[index] == 4 and not self.again:
            self.flag.touch()
            ctypes.string_at(0)
        hangs = (self.mode == "hang" and not self.again) or (self.mode == "hang one" and index == 1)
        if hangs and self.calls[index] >= 4:
            self.flag.touch()
            threading.Event().wait()
        if self.mode == "hang slow" and tier is Tier.SLOW and index == 1:
            threading.Event().wait()
        if self.mode == "lost" and index == 1 and self.calls[index] >= 3:
            self.lost_calls += 1
            if self.lost_calls > 1:
                raise AssertionError("a lost card was asked again")
            raise DeviceLost("gpu_lost", "lost")
        if self.mode == "errors" and self.opened == 1 and self.calls[index] > 3:
            return Sample(card=card, t_ns=t_ns, values={}, missing={Quantity.CORE_TEMPERATURE_C: Reason.ERROR})
        if self.mode == "chatter":
            print("chatter of a library")
        if tier is Tier.SLOW:
            return Sample(card=card, t_ns=t_ns, values={Quantity.FAN_FRACTION: 0.5})
        return Sample(card=card, t_ns=t_ns, values={Quantity.CORE_TEMPERATURE_C: 40.0 + index})

    def processes(self, card: str, t_ns: int) -> CardProcesses:
        return CardProcesses(card=card, t_ns=t_ns, processes=())

    def xids(self) -> tuple[XidSeen, ...]:
        return ()

    def reopen(self) -> None:
        self.opened += 1

    def close(self) -> None:
        pass


def open_source(mode: str, flag: Path) -> ScriptedSource:
    if mode == "absent":
        raise NotSupported("nvml_library_absent", "no library", library="libnvidia-ml.so.1")
    if mode == "mismatch":
        raise DeviceError("nvml_driver_mismatch", "driver files and loaded module differ")
    if mode == "hang at start" and not flag.exists():
        flag.touch()
        threading.Event().wait()
    if mode == "die always" or (mode == "die at start" and not flag.exists()):
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return ScriptedSource(mode, flag, count=0 if mode == "no cards" else 1 if mode == "one" else 3)


if __name__ == "__main__":
    from gputuner.telemetry.collector import serve

    sys.exit(serve(lambda: open_source(sys.argv[1], Path(sys.argv[2])), sys.argv[3:]))
