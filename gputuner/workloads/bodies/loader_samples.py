# pyright: standard
"""Images for a loader: made up, the size of a photograph of ImageNet (500 × 375), and what is done to each.

A sample is decoded, cut at random, scaled to the network's size, mirrored at random and normalised to FP32, as the
usual training of an image classifier does. Decoding uses torchvision where it is installed, else Pillow; where neither
is, the images lie in memory as bytes (``stand_in``: all but the decoding; the figure says so). The random choices
depend on the sample's place only, so that a batch can be checked.
"""

import ctypes
import io
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import torch
from torch.nn import functional
from torch.utils.data import Dataset, Sampler

from gputuner.workloads.bodies.packages import has

WIDTH, HEIGHT = 500, 375
POOL = 64
"""Different images."""
QUALITY = 90
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's colours, as everybody normalises by."""
LEAST_CUT = 0.4
"""Smallest side of a cut, as a share of the image's."""

TORCHVISION, PILLOW, STAND_IN = "torchvision", "pillow", "stand_in"
Kept = Any
"""A tensor of bytes, or ``bytes`` for Pillow."""
Pair = tuple[Any, int]


def _works(module: str) -> bool:
    """Whether it can really be imported: one built for another torch or CUDA is there, but raises."""
    try:
        import_module(module)
    except (ImportError, OSError, RuntimeError):
        return False
    return True


def best_decoder() -> str:
    """What this interpreter decodes with on the processor."""
    if has("torchvision") and _works("torchvision.io"):
        return TORCHVISION
    return PILLOW if has("PIL") and _works("PIL.Image") else STAND_IN


def pictures(seed: int, count: int = POOL) -> "list[torch.Tensor]":
    """Soft colours with fine grain: bytes [3, HEIGHT, WIDTH]."""
    random = torch.Generator().manual_seed(seed)
    soft = torch.rand(count, 3, 12, 16, generator=random) * 255.0
    made: list[torch.Tensor] = []
    for colours in soft:
        picture = functional.interpolate(colours[None], size=(HEIGHT, WIDTH), mode="bicubic")[0]
        grain = 14.0 * torch.randn(picture.shape, generator=random)
        made.append((picture + grain).clamp(0, 255).to(torch.uint8))
    return made


def encoded(picture: torch.Tensor, decoder: str) -> Kept:
    """What is kept of a picture: a JPEG file's bytes, or the picture itself for ``stand_in``."""
    if decoder == STAND_IN:
        return picture
    if decoder == TORCHVISION:
        return import_module("torchvision.io").encode_jpeg(picture, quality=QUALITY)
    file = io.BytesIO()
    rows = picture.permute(1, 2, 0).contiguous()
    colours = ctypes.string_at(rows.data_ptr(), rows.numel())
    import_module("PIL.Image").frombytes("RGB", (WIDTH, HEIGHT), colours).save(file, "JPEG", quality=QUALITY)
    return file.getvalue()


def decoding(decoder: str) -> Callable[[Any], torch.Tensor]:
    """What makes a picture of what was kept."""
    if decoder == STAND_IN:
        return lambda kept: kept
    if decoder == TORCHVISION:
        vision = import_module("torchvision.io")
        return lambda kept: vision.decode_jpeg(kept, mode=vision.ImageReadMode.RGB)
    return _pillow


def _pillow(kept: bytes) -> torch.Tensor:
    picture = import_module("PIL.Image").open(io.BytesIO(kept)).convert("RGB")
    numbers = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8)
    return numbers.view(picture.height, picture.width, 3).permute(2, 0, 1)


def prepared(picture: torch.Tensor, place: int, image: int) -> torch.Tensor:
    """Cut, scaled to ``image`` × ``image``, mirrored, normalised: FP32 [3, image, image] where the picture lies."""
    random = torch.Generator().manual_seed(place)
    share, left, top, mirror = torch.rand(4, generator=random).tolist()
    side = int((LEAST_CUT + (1 - LEAST_CUT) * share) * min(picture.shape[1:]))
    y, x = int(top * (picture.shape[1] - side)), int(left * (picture.shape[2] - side))
    cut = picture[None, :, y : y + side, x : x + side]
    if picture.device.type != "cpu":
        cut = cut.float()  # the card's scaling with antialiasing takes no bytes
    scaled = functional.interpolate(cut, size=(image, image), mode="bilinear", antialias=True)[0].float().div_(255)
    if mirror < 0.5:
        scaled = scaled.flip(-1)
    mean, deviation = (torch.tensor(v, device=picture.device).view(3, 1, 1) for v in (MEAN, DEVIATION))
    return scaled.sub_(mean).div_(deviation)


class Images(Dataset[Pair]):
    """Samples ready for the network. ``place`` counts on over the epochs; the pool's images come in turn."""

    def __init__(self, kept: "list[torch.Tensor]", decoder: str, image: int) -> None:
        self._kept, self._decode, self._image = kept, decoding(decoder), image

    def __getitem__(self, place: int) -> Pair:
        return prepared(self._decode(self._kept[place % len(self._kept)]), place, self._image), place

    def __len__(self) -> int:
        return len(self._kept)


class Files(Dataset[Pair]):
    """Samples as they were kept: the card decodes them."""

    def __init__(self, kept: "list[Kept]") -> None:
        self._kept = kept

    def __getitem__(self, place: int) -> Pair:
        return self._kept[place % len(self._kept)], place

    def __len__(self) -> int:
        return len(self._kept)


def as_lists(samples: "list[Pair]") -> "tuple[list[torch.Tensor], torch.Tensor]":
    """A batch of files, which differ in length."""
    return [kept for kept, _ in samples], torch.tensor([place for _, place in samples])


class Turns(Sampler[int]):
    """Places 0, 1, 2 … up to ``length``; None: without end, so that no border of epochs falls into a timed window."""

    def __init__(self, length: "int | None" = None) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        place = 0
        while self._length is None or place < self._length:
            yield place
            place += 1
