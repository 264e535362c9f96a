# pyright: standard
"""From an interpreter and a device name to a device, or to the reason why trials cannot run there."""

import platform
import sys
from typing import TYPE_CHECKING, Any

from gputuner.workloads.bodies import packages
from gputuner.workloads.bodies.build import (
    UnusableError,
    arch_list,
    cudnn_version,
    driver_runs,
    has_kernels,
    load_torch,
)
from gputuner.workloads.bodies.driver import NO_DEVICE, DriverError, DriverFacts, driver_facts

if TYPE_CHECKING:
    from gputuner.workloads.bodies.device import Device


def check_card(facts: DriverFacts, torch_cuda: str, architectures: "list[str]") -> None:
    """Refuse a card that this build cannot serve.

    Raises:
        UnusableError: ``driver_too_old_for_torch``, ``no_kernels_for_card``.
    """
    if not driver_runs(facts.cuda, torch_cuda):
        offered = ".".join(map(str, facts.cuda))
        raise UnusableError(
            "driver_too_old_for_torch",
            f"this PyTorch needs CUDA {torch_cuda}, the driver offers {offered}",
            torch_cuda=torch_cuda,
            driver_cuda=offered,
        )
    if not has_kernels(architectures, facts.capability):
        capability = ".".join(map(str, facts.capability))
        raise UnusableError(
            "no_kernels_for_card",
            f"this PyTorch has no kernels for {facts.name} (compute capability {capability})",
            card=facts.name,
            capability=capability,
            arch_list=" ".join(architectures),
        )


def _cuda_facts(torch: Any) -> DriverFacts:
    if torch.version.cuda is None:
        raise UnusableError("cuda_unavailable", "this PyTorch is built without CUDA", reason="build_without_cuda")
    try:
        facts = driver_facts()
    except DriverError as err:
        reason = "no_driver" if err.code is None else "no_card" if err.code == NO_DEVICE else "driver_error"
        code = -1 if err.code is None else err.code
        text = f"CUDA cannot be used: {err}"
        raise UnusableError("cuda_unavailable", text, reason=reason, error=str(err), error_code=code) from err
    check_card(facts, torch.version.cuda, arch_list(torch))
    return facts


def examine(device: str, memory_cap_bytes: "int | None") -> "tuple[Device, dict[str, Any]]":
    """The device, and what the ``ready`` message says of torch and it. Makes no CUDA context.

    Raises:
        UnusableError: trials cannot run here.
    """
    torch = load_torch()
    opened: Device
    if device == "cuda":
        facts = _cuda_facts(torch)
        from gputuner.workloads.bodies.cuda import CudaDevice

        opened = CudaDevice(facts, memory_cap_bytes)
    else:
        from gputuner.workloads.bodies.cpu import CpuDevice

        opened = CpuDevice(memory_cap_bytes)
    return opened, {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "cudnn": cudnn_version(torch),
        "arch_list": arch_list(torch),
        "packages": packages.found(),
        "interpreter": sys.executable,
        "device": device,
        **opened.ready(),
    }
