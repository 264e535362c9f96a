"""How a simulated worker introduces itself: its torch build, and whether that build can run on the card."""

from typing import Any

from gputuner.catalog.features import capability, runs_kernels
from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_identity import CUDA_DRIVER
from gputuner.workloads.wire import EXIT_UNUSABLE

Message = dict[str, Any]

BUILDS: dict[str, tuple[str, ...]] = {
    "13.0": ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"),
    "12.6": ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"),
}
"""CUDA release of a simulated torch build → architectures it has code for."""
PACKAGES = "torchvision"
"""Further packages that a simulated Python has."""


def default_build(card_capability: str) -> str:
    """The newest build that has code for a card."""
    return next((cuda for cuda, archs in BUILDS.items() if runs_kernels(card_capability, archs)), "13.0")


def introduce(card: SimulatedCard, cuda: str, pid: int) -> tuple[Message, int | None]:
    """The first message, and the exit code if the worker ends with it."""
    facts, archs = card.facts, BUILDS.get(cuda, BUILDS["13.0"])
    name = card.info.name
    if capability(cuda)[0] > capability(CUDA_DRIVER)[0]:
        text = f"this PyTorch needs CUDA {cuda}, the driver offers {CUDA_DRIVER}"
        return _unusable("driver_too_old_for_torch", text, torch_cuda=cuda, driver_cuda=CUDA_DRIVER), EXIT_UNUSABLE
    if not runs_kernels(facts.compute_capability, archs):
        text = f"this PyTorch has no kernels for {name} (compute capability {facts.compute_capability})"
        said = _unusable(
            "no_kernels_for_card", text, card=name, capability=facts.compute_capability, arch_list=" ".join(archs)
        )
        return said, EXIT_UNUSABLE
    return {
        "kind": "ready",
        "pid": pid,
        "python": "3.12.0",
        "torch": f"2.9.0+cu{cuda.replace('.', '')}.simulated",
        "cuda": cuda,
        "cudnn": "9.10.2",
        "arch_list": list(archs),
        "packages": PACKAGES,
        "interpreter": "simulated",
        "device": "cuda",
        "free_bytes": None,
        **device_facts(card),
    }, None


def _unusable(code: str, text: str, **params: str) -> Message:
    return {"kind": "unusable", "code": code, "message": text, "params": params}


def device_facts(card: SimulatedCard) -> Message:
    """What ``ready`` and ``device`` say of the card."""
    facts = card.facts
    return {
        "device_name": card.info.name,
        "capability": facts.compute_capability,
        "sm_count": facts.sm_count,
        "total_bytes": facts.memory_total_mib * 2**20,
        "bf16_native": facts.bf16_tensor_tflops is not None,
        "cache_bytes": int(facts.l2_mib * 2**20),
        "driver_cuda": CUDA_DRIVER,
        "threads": 8,
    }
