# pyright: standard
"""Decoding of JPEG files on the card: by torchvision (nvJPEG) behind a DataLoader that hands out files, or by DALI.

Both cut, scale, mirror and normalise on the card too. torchvision's samples are compared with the same ones decoded on
the processor; DALI chooses its cuts itself, so of its batches only shape and range are checked.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.bodies.loader_samples import DEVIATION, MEAN, Kept, prepared
from gputuner.workloads.bodies.packages import has

LARGEST = 3.0
"""Of a normalised colour: (1 - 0.406) / 0.225 = 2.64."""


def decode_on_card(files: "list[torch.Tensor]", places: torch.Tensor, image: int) -> torch.Tensor:
    """A batch from files: FP32 [batch, 3, image, image] on the card."""
    vision = import_module("torchvision.io")
    decoded = vision.decode_jpeg(files, mode=vision.ImageReadMode.RGB, device="cuda")
    return torch.stack([prepared(one, int(place), image) for one, place in zip(decoded, places, strict=True)])


def dali_batches(kept: "list[Kept]", batch: int, image: int, threads: int, seed: int) -> "Callable[[], Any]":
    """What gives one batch after the other, decoded by DALI.

    Raises:
        UnsupportedError: DALI is not there, or does not start.
    """
    if not has("nvidia.dali"):
        raise UnsupportedError("DALI is not installed")
    dali = import_module("nvidia.dali")
    fn, types = import_module("nvidia.dali.fn"), import_module("nvidia.dali.types")

    @dali.pipeline_def(batch_size=batch, num_threads=threads, device_id=0, seed=seed, prefetch_queue_depth=2)
    def pipeline():
        files = fn.external_source(
            source=lambda info: kept[info.idx_in_epoch % len(kept)].numpy(), batch=False, dtype=types.UINT8
        )
        pictures = fn.decoders.image_random_crop(files, device="mixed", output_type=types.RGB)
        scaled = fn.resize(pictures, size=(image, image))
        return fn.crop_mirror_normalize(
            scaled,
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[255 * value for value in MEAN],
            std=[255 * value for value in DEVIATION],
            mirror=fn.random.coin_flip(),
        )

    try:
        running = pipeline()
        running.build()
        (first,) = running.run()
        numbers = torch.from_dlpack(first.as_tensor())
    except (RuntimeError, TypeError, AttributeError) as err:
        raise UnsupportedError(f"DALI does not run here: {err}") from err
    if tuple(numbers.shape) != (batch, 3, image, image) or not float(numbers.abs().max()) < LARGEST:
        raise WrongResultError(f"DALI made {tuple(numbers.shape)} with numbers up to {float(numbers.abs().max()):.3g}")
    return running.run
