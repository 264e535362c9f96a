"""What a chip offers, what it only emulates, and which builds of CUDA and torch still carry kernels for it."""

from collections.abc import Iterable

from gputuner.catalog.facts import CardFacts
from gputuner.model.cards import Support

FEATURES = ("bf16", "tf32", "fp16_tensor", "fp8", "sparsity_2_4", "async_copy", "nvlink")
"""Names of the features, in the order in which they are shown."""

MINIMUM_CAPABILITY: dict[int, tuple[int, int]] = {11: (3, 5), 12: (5, 0), 13: (7, 5)}
"""Lowest compute capability that a CUDA major release still compiles for (CUDA 13.0 release notes: Maxwell, Pascal and
Volta removed)."""

MINIMUM_DRIVER: dict[int, int] = {11: 450, 12: 525, 13: 580}
"""Lowest Linux driver branch that runs any toolkit of a CUDA major release (CUDA minor-version compatibility)."""


def capability(text: str) -> tuple[int, int]:
    """``"8.9"`` → ``(8, 9)``."""
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def _native(present: bool, otherwise: Support = Support.ABSENT) -> Support:
    return Support.NATIVE if present else otherwise


def features_of_capability(
    cc: tuple[int, int], sparsity: bool | None = None, nvlink: bool = False
) -> dict[str, Support]:
    """Features by compute capability (CUDA programming guide, table of features).

    BF16 before 8.0 runs through FP32 arithmetic: correct and slow, therefore ``emulated``.
    """
    return {
        "bf16": _native(cc >= (8, 0), Support.EMULATED),
        "tf32": _native(cc >= (8, 0)),
        "fp16_tensor": _native(cc >= (7, 0)),
        "fp8": _native(cc >= (8, 9)),
        "sparsity_2_4": _native(cc >= (8, 0) if sparsity is None else sparsity),
        "async_copy": _native(cc >= (8, 0)),
        "nvlink": _native(nvlink),
    }


def features_of(facts: CardFacts) -> dict[str, Support]:
    """Features of a card of the catalogue."""
    return features_of_capability(
        capability(facts.compute_capability), sparsity=facts.sparsity_2_4, nvlink=facts.nvlink != "none"
    )


def runs_kernels(card_capability: str, arch_list: Iterable[str]) -> bool:
    """True if a torch build with ``arch_list`` has code for a card.

    ``sm_XY`` runs on the same major release with a minor not lower (binary compatibility), ``compute_XY`` is compiled
    by the driver for anything not older. A suffix ``a`` or ``f`` binds the code to its very own architecture family.
    """
    cc = capability(card_capability)
    return any(_arch_runs(arch, cc) for arch in arch_list)


def _arch_runs(arch: str, cc: tuple[int, int]) -> bool:
    kind, _, number = arch.partition("_")
    digits = number.rstrip("abcdefghijklmnopqrstuvwxyz")
    if not digits.isdigit() or len(digits) < 2:
        return False
    built = (int(digits[:-1]), int(digits[-1]))
    if digits != number:
        return cc == built or (number.endswith("f") and cc[0] == built[0] and cc >= built)
    if kind == "compute":
        return cc >= built
    return kind == "sm" and cc[0] == built[0] and cc >= built


def cuda_supports(card_capability: str, cuda_version: str) -> bool:
    """True if the CUDA release of a torch build can compile for the card at all."""
    minimum = MINIMUM_CAPABILITY.get(capability(cuda_version)[0])
    return minimum is None or capability(card_capability) >= minimum


def driver_runs_cuda(driver: str, cuda_version: str) -> bool:
    """True if a driver branch (``"580.159.04"``) can run programs built with a CUDA release (``"13.0"``)."""
    needed = MINIMUM_DRIVER.get(capability(cuda_version)[0])
    branch = driver.partition(".")[0]
    return needed is None or not branch.isdigit() or int(branch) >= needed


def newest_cuda_for(card_capability: str) -> int | None:
    """The newest CUDA major release that still supports a card (for the remedy's sentence), or None."""
    fitting = [major for major, minimum in MINIMUM_CAPABILITY.items() if capability(card_capability) >= minimum]
    return max(fitting, default=None)
