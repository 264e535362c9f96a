# pyright: standard
"""Copies from one card to another: there, back, and both at once. The worker sees both cards.

Nothing touches the second card before the survey runs: drivers that claim a peer path which does not work hang at the
first copy (nccl-tests issue 117 on RTX 4090), and then the engine's deadline ends this process. Where the driver offers
no peer path, the copy goes through host memory; ``peer_access`` tells which it was. Counted are the bytes of the copy,
twice that for both directions at once. Every byte that arrived is compared with what was sent.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.bodies.gaps import attempted
from gputuner.workloads.bodies.setting_timing import timed
from gputuner.workloads.bodies.survey import Pace, Part

THERE, BACK, BOTH = "to_peer", "from_peer", "both"
DIRECTIONS = (THERE, BACK, BOTH)


def two_cards(device: Device) -> None:
    """Refuse a worker that sees one card.

    Raises:
        UnsupportedError: it does.
    """
    if device.name != "cuda" or torch.cuda.device_count() < 2:
        raise UnsupportedError("this needs two cards")


class PeerTransfer:
    """Every size × direction between the first two visible cards, as one survey; ``sizes`` in bytes."""

    def __init__(self, device: Device, *, seed: int, sizes: str) -> None:
        two_cards(device)
        self._device, self._seed = device, seed
        self._sizes = [int(size) for size in sizes.split()]
        self._access: dict[str, Fact] = {}
        self.work: dict[str, float] = {}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """Small sizes first."""
        self._access = {
            "peer_access": torch.cuda.can_device_access_peer(0, 1),
            "peer_access_back": torch.cuda.can_device_access_peer(1, 0),
            "peer_name": torch.cuda.get_device_name(1),
        }
        settings = [(size, direction) for size in self._sizes for direction in DIRECTIONS]
        for place, (size, direction) in enumerate(settings):
            if pace.stopped():
                return
            seconds = max(0.0, pace.left_s()) / (len(settings) - place)
            params: dict[str, Fact] = {"direction": direction, "bytes": size}
            yield attempted(self._device, params, lambda p=params, s=seconds: self._measure(p, s))

    def _measure(self, params: "dict[str, Fact]", seconds: float) -> Part:
        size, direction = int(params["bytes"]), str(params["direction"])
        pair = Pair(size, self._seed, ("cuda:0", "cuda:1"))
        copy = pair.copies(direction)
        done, span = timed(self._device, copy, seconds)
        pair.clear()
        copy()
        for card in range(2):
            torch.cuda.synchronize(card)
        pair.check(direction)
        return Part(
            params=params,
            iteration_s=tuple(done),
            t0_ns=span[0],
            t1_ns=span[1],
            work={"bytes": float(size * (2 if direction == BOTH else 1))},
            relative_error=0.0,
            notes=dict(self._access),
        )

    def notes(self) -> dict[str, Fact]:
        """Whether the driver offers a peer path."""
        return {"inputs": "random bytes", **self._access}


class Pair:
    """A source and a target of ``size`` bytes on each of two ``places`` (torch's names of devices)."""

    def __init__(self, size: int, seed: int, places: "tuple[str, str]") -> None:
        self._sources: list[torch.Tensor] = []
        self._targets: list[torch.Tensor] = []
        for number, place in enumerate(places):
            random = torch.Generator(device=place).manual_seed(seed + number)
            self._sources.append(torch.empty(size, dtype=torch.uint8, device=place).random_(generator=random))
            self._targets.append(torch.zeros(size, dtype=torch.uint8, device=place))
        on_cards = all(torch.device(place).type == "cuda" for place in places)
        self._streams = [[torch.cuda.Stream(place) for place in places] for _ in range(2)] if on_cards else []

    def _copy(self, start: int) -> None:
        """From one end to the other. Torch queues it in the present stream of the source's card, and lets the present
        stream of the target's card wait for it."""
        self._targets[1 - start].copy_(self._sources[start], non_blocking=True)

    def copies(self, direction: str) -> Callable[[], None]:
        """What copies once; the first card's present stream ends after it."""
        return {THERE: lambda: self._copy(0), BACK: lambda: self._copy(1), BOTH: self._both}[direction]

    def _both(self) -> None:
        if not self._streams:
            self._copy(0)
            self._copy(1)
            return
        here = torch.cuda.current_stream(0)
        for start, streams in enumerate(self._streams):
            with ExitStack() as stack:
                for stream in streams:
                    stream.wait_stream(here)
                    stack.enter_context(torch.cuda.stream(stream))
                self._copy(start)
        for stream in (stream for streams in self._streams for stream in streams):
            here.wait_stream(stream)

    def clear(self) -> None:
        """Empty the targets."""
        for target in self._targets:
            target.zero_()

    def check(self, direction: str) -> None:
        """Compare every byte.

        Raises:
            WrongResultError: one differs.
        """
        for start in {THERE: (0,), BACK: (1,), BOTH: (0, 1)}[direction]:
            source, target = self._sources[start], self._targets[1 - start]
            sent, arrived = source.cpu(), target.cpu()
            if not torch.equal(sent, arrived):
                wrong = int((sent != arrived).sum())
                raise WrongResultError(f"{wrong} of {source.numel()} bytes differ between the cards ({direction})")
