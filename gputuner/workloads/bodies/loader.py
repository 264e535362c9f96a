# pyright: standard
"""How many samples a DataLoader delivers, over its processes and switches, and for how long a consumer waits for it.

Each setting is measured twice: taking batches as fast as they come (and copying them to the card, where there is one):
samples/s; then by a consumer that is busy for a stated time with each batch, as a training step would be: its
*starvation* is the share of the time for which it waits. First the number of processes grows, as far as cores, host
memory and shared memory allow; then at the fastest number the other switches are tried: batches ready per process,
pinned memory, processes that start anew with each epoch, and decoding on the card where torchvision or DALI can.

Checked: the first batch equals the same samples made in this process. Peers sleep instead of decoding
(num-workers-bench in ml-engineering).
"""

import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils.data import default_collate

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.gaps import attempted, gap
from gputuner.workloads.bodies.loader_card import dali_batches, decode_on_card
from gputuner.workloads.bodies.loader_feed import Feed, Setting, same_samples
from gputuner.workloads.bodies.loader_room import candidates, refusal, room
from gputuner.workloads.bodies.loader_samples import (
    STAND_IN,
    TORCHVISION,
    Files,
    Images,
    as_lists,
    best_decoder,
    encoded,
    pictures,
)
from gputuner.workloads.bodies.packages import has
from gputuner.workloads.bodies.survey import Pace, Part

WINDOW_S = 0.05
LEAST_WINDOWS, LEAST_STEPS = 3, 4
FREE_SHARE = 0.6
"""Of a setting's time for batches as fast as they come; the rest for the consumer."""
TORCHVISION_CARD, DALI_CARD = "torchvision_card", "dali_card"
CARD_TOLERANCE = 0.15
"""Difference of decoders: they round and interpolate colours differently (a few of 255 levels)."""
PROCESSOR_TOLERANCE = 1e-6
DIED = "DataLoader worker"
"""Begin of torch's message about a process that is gone."""
CARD_WORKERS = 2
"""Processes that hand out files to decode on the card: they hardly work."""


@dataclass(frozen=True)
class _Measured:
    iteration_s: tuple[float, ...]
    span: tuple[int, int]
    starvation: "float | None"


class Loader:
    """The survey.

    Args:
        device: where batches go.
        seed: of the images.
        consumer_rate: samples/s that the consumer could take.
        batch: samples of a batch.
        image: side of a finished sample.
        workers: numbers of processes to try; empty: none, powers of two and all cores.
        most_workers: the most that are tried by themselves.
        switches: try the other switches too.
    """

    def __init__(
        self,
        device: Device,
        *,
        seed: int,
        consumer_rate: float,
        batch: int = 64,
        image: int = 224,
        workers: str = "",
        most_workers: int = 16,
        switches: bool = True,
    ) -> None:
        self._device, self._seed, self._batch, self._image = device, seed, batch, image
        self._rate, self._switches = consumer_rate, switches
        self._room = room()
        told = [int(count) for count in workers.split()]
        self._workers = told or candidates(self._room.cores, most_workers)
        self._decoder = best_decoder()
        self._kept = [encoded(picture, self._decoder) for picture in pictures(seed)]
        self._batch_bytes = batch * (3 * image * image * 4 + 8)
        self._pin = device.name == "cuda"
        self.work: dict[str, float] = {}
        self._measured = False

    def parts(self, pace: Pace) -> Iterator[Part]:
        """The numbers of processes, then the switches at the fastest one."""
        left = of = len(self._workers) + (self._switch_count() if self._switches else 0)
        best, best_s = 0, math.inf
        for count in self._workers:
            pace.tried(of - left, of)
            if pace.stopped():
                return
            part = self._part(Setting(workers=count, pin=self._pin), pace, pace.left_s() / left)
            left -= 1
            if part is None:
                return
            typical_s = statistics.median(part.iteration_s or (math.inf,))
            if typical_s < best_s:
                best, best_s = count, typical_s
            yield part
        if not self._switches:
            return
        for measure in self._others(best, pace):
            if pace.stopped():
                return
            part = measure(pace.left_s() / max(1, left))
            left -= 1
            if part is None:
                return
            yield part

    def _switch_count(self) -> int:
        return 2 + self._pin * (1 + has("torchvision") + has("nvidia.dali"))

    def _others(self, best: int, pace: Pace) -> "Iterator[Callable[[float], Part | None]]":
        base = Setting(workers=best, pin=self._pin)
        if best:
            anew = replace(base, persistent=False, epoch=4 * best * base.prefetch)
            for setting in (replace(base, prefetch=2 * base.prefetch), anew):
                yield lambda s, setting=setting: self._part(setting, pace, s)
        if self._pin:
            yield lambda s: self._part(replace(base, pin=False), pace, s)
            if self._decoder == TORCHVISION:
                yield lambda s: self._on_card(pace, s)
                if has("nvidia.dali"):
                    yield lambda s: self._by_dali(pace, s)

    def _named(self, setting: Setting, decode: str) -> dict[str, Fact]:
        return {
            "workers": setting.workers,
            "prefetch": setting.prefetch if setting.workers else 0,
            "pin": setting.pin,
            "persistent": setting.persistent and bool(setting.workers),
            "decode": decode,
            "batch": self._batch,
        }

    def _part(self, setting: Setting, pace: Pace, seconds: float) -> "Part | None":
        """One setting decoded on the processor; None: stopped before anything was measured."""
        params = self._named(setting, self._decoder)
        refused = refusal(self._room, setting.workers, setting.prefetch, self._batch_bytes)
        if refused is not None:
            return gap(params, refused[0], **refused[1])

        def measure() -> Part:
            dataset = Images(self._kept, self._decoder, self._image)
            with Feed(dataset, self._batch, setting) as feed:
                self._check(feed.take()[0], PROCESSOR_TOLERANCE)
                start_s = feed.start()
                measured = self._paced(lambda: self._to_device(feed.take()[0], setting.pin), setting, pace, seconds)
            notes: dict[str, Fact] = {"start_s": round(start_s, 4)}
            if setting.epoch is not None:
                notes["epoch_samples"] = setting.epoch * self._batch
            return self._told(params, measured, notes)

        return self._whole(self._attempted(params, measure))

    def _on_card(self, pace: Pace, seconds: float) -> "Part | None":
        """JPEG files handed out by processes, decoded on the card by torchvision."""
        setting = Setting(workers=min(CARD_WORKERS, self._room.cores), pin=False)
        params = self._named(setting, TORCHVISION_CARD)

        def measure() -> Part:
            with Feed(Files(self._kept), self._batch, setting, as_lists) as feed:

                def take() -> torch.Tensor:
                    files, places = feed.take()
                    return decode_on_card(files, places, self._image)

                self._check(take(), CARD_TOLERANCE)
                return self._told(params, self._paced(take, setting, pace, seconds), {})

        return self._whole(self._attempted(params, measure))

    def _by_dali(self, pace: Pace, seconds: float) -> "Part | None":
        setting = Setting(workers=min(CARD_WORKERS, self._room.cores), pin=False)
        params = self._named(setting, DALI_CARD)

        def measure() -> Part:
            take = dali_batches(self._kept, self._batch, self._image, setting.workers, self._seed)
            return self._told(params, self._paced(take, setting, pace, seconds), {})

        return self._whole(attempted(self._device, params, measure))

    def _attempted(self, params: "dict[str, Fact]", measure: "Callable[[], Part]") -> Part:
        """As ``attempted``; a process that dies costs its setting alone, where others were measured before.

        Raises:
            Exception: whatever went wrong with the first setting.
        """
        try:
            part = attempted(self._device, params, measure)
        except RuntimeError as err:
            if not self._measured or DIED not in str(err):
                raise
            message, _ = failures.described(err)
            failures.release(err)
            return gap(params, failures.USER_CODE, message=message.rstrip("."))
        self._measured = self._measured or bool(part.iteration_s)
        return part

    @staticmethod
    def _whole(part: Part) -> "Part | None":
        return part if part.iteration_s or "gap" in part.notes else None

    def _to_device(self, images: torch.Tensor, pinned: bool) -> torch.Tensor:
        return images if self._device.name == "cpu" else images.to(self._device.name, non_blocking=pinned)

    def _check(self, found: torch.Tensor, tolerance: float) -> None:
        """Compare the first batch with the same samples made here.

        Raises:
            WrongResultError: they differ.
        """
        dataset = Images(self._kept, self._decoder, self._image)
        expected, _ = default_collate([dataset[place] for place in range(self._batch)])
        error = same_samples(found, expected) if found.shape == expected.shape else float("inf")
        if not error <= tolerance:
            raise failures.WrongResultError(f"the loader's first batch differs by {error:.2g} from its samples")

    def _paced(self, take: Callable[[], Any], setting: Setting, pace: Pace, seconds: float) -> _Measured:
        """Batches as they come, then with a consumer that is busy between them."""
        seconds = max(0.0, seconds)
        for _ in range(max(1, setting.workers) if setting.epoch is None else 0):
            take()  # those that were made ready while nobody waited
        done, span = self._free(take, setting, pace, FREE_SHARE * seconds)
        return _Measured(done, span, self._starvation(take, pace, (1 - FREE_SHARE) * seconds))

    def _free(
        self, take: Callable[[], Any], setting: Setting, pace: Pace, seconds: float
    ) -> "tuple[tuple[float, ...], tuple[int, int]]":
        """Seconds per batch of each window: whole rounds of the processes, or whole epochs."""
        count = setting.epoch or max(1, setting.workers)
        done: list[float] = []
        t0_ns = time.monotonic_ns()
        border = time.perf_counter()
        while not pace.stopped():
            batches = 0
            while batches < count or (setting.epoch is None and time.perf_counter() - border < WINDOW_S):
                for _ in range(count):
                    take()
                batches += count
            self._device.synchronise()
            start, border = border, time.perf_counter()
            done.append((border - start) / batches)
            if len(done) >= LEAST_WINDOWS and (time.monotonic_ns() - t0_ns) / 1e9 >= seconds:
                break
        return tuple(done), (t0_ns, time.monotonic_ns())

    def _starvation(self, take: Callable[[], Any], pace: Pace, seconds: float) -> "float | None":
        """Share of the time for which a consumer waits that is busy for batch / ``consumer_rate`` with each batch."""
        step_s = self._batch / self._rate
        waited_s, steps = 0.0, 0
        begun = time.perf_counter()
        while not pace.stopped() and (steps < LEAST_STEPS or time.perf_counter() - begun < seconds):
            start = time.perf_counter()
            take()
            waited_s += time.perf_counter() - start
            time.sleep(step_s)
            steps += 1
        return waited_s / (time.perf_counter() - begun) if steps >= LEAST_STEPS else None

    def _told(self, params: "dict[str, Fact]", measured: _Measured, notes: "dict[str, Fact]") -> Part:
        told: dict[str, Fact] = {"consumer_rate": self._rate, "cores": self._room.cores, **notes}
        if measured.starvation is not None:
            told["starvation_fraction"] = round(measured.starvation, 4)
        return Part(
            params=params,
            iteration_s=measured.iteration_s,
            t0_ns=measured.span[0],
            t1_ns=measured.span[1],
            work={"samples": float(self._batch)},
            relative_error=0.0,
            notes=told,
        )

    def notes(self) -> dict[str, Fact]:
        """How samples are made, and what the machine has room for."""
        facts: dict[str, Fact] = {"decode": self._decoder, "cores": self._room.cores, "consumer_rate": self._rate}
        if self._decoder != STAND_IN:
            facts["jpeg_bytes"] = round(sum(len(kept) for kept in self._kept) / len(self._kept))
        if self._room.memory_bytes is not None:
            facts["host_memory_bytes"] = self._room.memory_bytes
        if self._room.shared_bytes is not None:
            facts["shared_memory_bytes"] = self._room.shared_bytes
        return facts
