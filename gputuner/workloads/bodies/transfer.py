# pyright: standard
"""Copies between host and card: to the card, from it, both at once; from pinned memory and from pageable.

Counted are the bytes that cross the link: of one copy its size, of both directions at once twice that. Pinned memory is
copied by the card's own engines, one for each direction; pageable memory the driver first copies through a pinned
buffer of its own, and the calling thread waits for it, so that both directions at once would only take turns and are
left out. Both directions run in two streams that start together at every iteration. Timed by events.

Every byte that arrived is compared with what was sent. NVIDIA's nvbandwidth does the same for pinned memory; it tells
no link generation and width, which stand in the conditions here (read during the copy, since an idle link downshifts).
"""

from collections.abc import Callable, Iterator

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.bodies.gaps import attempted
from gputuner.workloads.bodies.setting_timing import shares, timed
from gputuner.workloads.bodies.survey import Pace, Part

TO_CARD, FROM_CARD, BOTH = "host_to_device", "device_to_host", "both"
DIRECTIONS = (TO_CARD, FROM_CARD, BOTH)
PINNED, PAGEABLE = "pinned", "pageable"


class Transfer:
    """Every size × kind of host memory × direction as one survey; ``sizes`` in bytes."""

    def __init__(self, device: Device, *, seed: int, sizes: str, memory: str = "pinned pageable") -> None:
        self._device, self._seed = device, seed
        self._sizes = [int(size) for size in sizes.split()]
        self._memory = memory.split()
        self.work: dict[str, float] = {}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """Pinned first; small sizes before large ones."""
        settings = [
            (memory, size, direction)
            for memory in self._memory
            for size in self._sizes
            for direction in DIRECTIONS
            if direction != BOTH or memory == PINNED
        ]
        for place, (memory, size, direction) in enumerate(settings):
            if pace.stopped():
                return
            seconds = shares(pace.left_s(), len(settings) - place)
            params: dict[str, Fact] = {"direction": direction, "pinned": memory == PINNED, "bytes": size}
            yield attempted(self._device, params, lambda p=params, s=seconds: self._measure(p, s))

    def _measure(self, params: "dict[str, Fact]", seconds: "tuple[float, float]") -> Part:
        size, direction = int(params["bytes"]), str(params["direction"])
        route = Route(self._device, size, bool(params["pinned"]), self._seed)
        copy = route.copies(direction)
        done, span = timed(self._device, copy, *seconds)
        route.clear(direction)
        copy()
        self._device.synchronise()
        route.check(direction)
        return Part(
            params=params,
            iteration_s=tuple(done),
            t0_ns=span[0],
            t1_ns=span[1],
            work={"bytes": float(size * (2 if direction == BOTH else 1))},
            relative_error=0.0,
        )

    def notes(self) -> dict[str, Fact]:
        """What was copied."""
        return {"inputs": "random bytes"}


class Route:
    """Buffers on both sides, sources and targets apart."""

    def __init__(self, device: Device, size: int, pinned: bool, seed: int) -> None:
        """Buffers of ``size`` bytes.

        Raises:
            UnsupportedError: pinned memory for a processor.
        """
        if pinned and device.name == "cpu":
            raise UnsupportedError("a processor needs no pinned memory")
        self._device = device
        random = torch.Generator().manual_seed(seed)

        def host() -> torch.Tensor:
            return torch.empty((size + 7) // 8, dtype=torch.int64, pin_memory=pinned)

        # eight bytes at a time: one by one the host needs seconds for a large buffer
        self._host_source = host().random_(generator=random).view(torch.uint8)[:size]
        self._host_target = host().zero_().view(torch.uint8)[:size]
        on_card = torch.Generator(device=device.name).manual_seed(seed + 1)
        self._card_source = torch.empty(size, dtype=torch.uint8, device=device.name).random_(generator=on_card)
        self._card_target = torch.zeros_like(self._card_source)
        self._streams = [torch.cuda.Stream() for _ in range(2)] if device.name == "cuda" else []

    def _to_card(self) -> None:
        self._card_target.copy_(self._host_source, non_blocking=True)

    def _from_card(self) -> None:
        self._host_target.copy_(self._card_source, non_blocking=True)

    def copies(self, direction: str) -> Callable[[], None]:
        """What copies once."""
        return {TO_CARD: self._to_card, FROM_CARD: self._from_card, BOTH: self._both}[direction]

    def _both(self) -> None:
        """Both copies, from the moment that the present stream reaches them until both have ended."""
        if not self._streams:
            self._to_card()
            self._from_card()
            return
        here = torch.cuda.current_stream()
        for stream, copy in zip(self._streams, (self._to_card, self._from_card), strict=True):
            stream.wait_stream(here)
            with torch.cuda.stream(stream):
                copy()
        for stream in self._streams:
            here.wait_stream(stream)

    def _ends(self, direction: str) -> "list[tuple[torch.Tensor, torch.Tensor]]":
        """Sources and targets that take part."""
        ends = [(self._host_source, self._card_target), (self._card_source, self._host_target)]
        return {TO_CARD: ends[:1], FROM_CARD: ends[1:], BOTH: ends}[direction]

    def clear(self, direction: str) -> None:
        """Empty the targets, so that only what is copied after this can be right."""
        for _, target in self._ends(direction):
            target.zero_()

    def check(self, direction: str) -> None:
        """Compare every byte.

        Raises:
            WrongResultError: one differs.
        """
        for source, target in self._ends(direction):
            sent, arrived = source.cpu(), target.cpu()
            if not torch.equal(sent, arrived):
                wrong = int((sent != arrived).sum())
                raise WrongResultError(f"{wrong} of {source.numel()} bytes differ after {direction.replace('_', ' ')}")
