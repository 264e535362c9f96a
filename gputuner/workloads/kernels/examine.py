"""From this interpreter to a device for our own kernels, or to the reason why they cannot run."""

import platform
import sys
from importlib.metadata import version
from typing import Any

from gputuner.workloads.bodies.build import UnusableError, driver_runs
from gputuner.workloads.bodies.driver import NO_DEVICE, DriverError, driver_facts
from gputuner.workloads.kernels.cuda_runtime import CudaRuntime, PackageMissingError, load_core, load_nvrtc
from gputuner.workloads.kernels.device import KernelsDevice

EXTRA = "kernels"


def examine(_device: str, memory_cap_bytes: int | None) -> tuple[KernelsDevice, dict[str, Any]]:
    """The device, and what the ``ready`` message says of it. Makes no context.

    Raises:
        UnusableError: ``extra_missing``, ``cuda_unavailable``, ``driver_too_old_for_kernels``.
    """
    try:
        core, nvrtc = load_core(), load_nvrtc()
    except PackageMissingError as err:
        raise UnusableError("extra_missing", str(err), extra=EXTRA, error=str(err)) from err
    try:
        facts = driver_facts()
    except DriverError as err:
        reason = "no_driver" if err.code is None else "no_card" if err.code == NO_DEVICE else "driver_error"
        raise UnusableError("cuda_unavailable", f"CUDA cannot be used: {err}", reason=reason, error=str(err)) from err
    built = ".".join(map(str, nvrtc))
    if not driver_runs(facts.cuda, built):
        offered = ".".join(map(str, facts.cuda))
        text = f"this NVRTC makes code for CUDA {built}, the driver offers {offered}"
        raise UnusableError("driver_too_old_for_kernels", text, nvrtc_cuda=built, driver_cuda=offered)
    device = KernelsDevice(facts, CudaRuntime(core), memory_cap_bytes)
    return device, {
        "python": platform.python_version(),
        "cuda_core": version("cuda-core"),
        "nvrtc": built,
        "interpreter": sys.executable,
        "device": "kernels",
        **device.ready(),
    }
