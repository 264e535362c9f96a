# pyright: standard
"""The torch build of this interpreter, and whether it can run on the card at all."""

import re
from collections.abc import Sequence
from typing import Any

OLDEST_TORCH = (2, 4)


class UnusableError(Exception):
    """This interpreter cannot run trials on this device.

    Attributes:
        code: stable key, e.g. ``torch_missing``.
        params: values the sentence needs.
    """

    def __init__(self, code: str, text: str, **params: "str | int | float | bool") -> None:
        super().__init__(text)
        self.code = code
        self.params = params


def load_torch() -> Any:
    """The module torch.

    Raises:
        UnusableError: ``torch_missing``, ``torch_broken`` (installed, does not load), ``torch_too_old``.
    """
    try:
        import torch
    except ModuleNotFoundError as err:
        if err.name == "torch":
            raise UnusableError("torch_missing", "PyTorch is not installed in this Python") from err
        raise UnusableError("torch_broken", f"PyTorch does not load: {err}", error=str(err)) from err
    except (ImportError, OSError) as err:
        raise UnusableError("torch_broken", f"PyTorch does not load: {err}", error=str(err)) from err
    found = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if found and (int(found[1]), int(found[2])) < OLDEST_TORCH:
        least = ".".join(map(str, OLDEST_TORCH))
        text = f"PyTorch {torch.__version__} is older than {least}"
        raise UnusableError("torch_too_old", text, torch=torch.__version__, least=least)
    return torch


def has_kernels(arch_list: Sequence[str], capability: tuple[int, int]) -> bool:
    """Whether a build with these architectures runs on a card of this compute capability.

    Machine code ``sm_XY`` runs on cards of the same major number and an equal or higher minor one; with the suffix
    ``a`` only on exactly that chip, with ``f`` on its family. Intermediate code ``compute_XY`` is compiled for any
    newer card (CUDA programming guide, "Application compatibility"). An empty list says nothing: True.
    """
    for arch in arch_list:
        parts = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", arch)
        if not parts:
            continue
        built = (int(parts[2]), int(parts[3]))
        exact = parts[4] == "a"
        if exact and built == capability:
            return True
        if not exact and built <= capability and (parts[1] == "compute" or built[0] == capability[0]):
            return True
    return not arch_list


def driver_runs(driver_cuda: tuple[int, int], torch_cuda: str) -> bool:
    """Whether a driver that offers CUDA ``driver_cuda`` runs a torch built for ``torch_cuda``, e.g. ``13.0``.

    From CUDA 11 on a driver runs every build of its own major number ("minor version compatibility").
    """
    return driver_cuda[0] >= int(torch_cuda.split(".")[0])


def arch_list(torch: Any) -> list[str]:
    """The architectures this build has code for; asks the build, not the driver, so no card is touched."""
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    return str(flags() or "").split() if flags else []


def cudnn_version(torch: Any) -> str | None:
    """Version of cuDNN, e.g. ``9.10.2``; None: a build without it."""
    try:
        number = torch.backends.cudnn.version() if torch.version.cuda else None
    except RuntimeError:  # another cuDNN than the build's is on the library path
        return None
    if not number:
        return None
    major, rest = divmod(number, 10000 if number >= 90000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"
