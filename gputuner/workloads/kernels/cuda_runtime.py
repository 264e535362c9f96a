# pyright: standard
"""CUDA through ``cuda-core`` (compiling, launching) and the driver's bindings (memory, events).

This is the only home of that library. ``cuda.core`` was ``cuda.core.experimental`` before 0.5. Memory is taken by
``cuMemAlloc``, not from a pool: a worker that rests holds none. Kernels are compiled to machine code, which every
driver of the same major CUDA version loads.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gputuner.workloads.kernels.runtime import Argument, Grid, Kernel, Mark

EVENT_BLOCKING_SYNC = 1
"""``CU_EVENT_BLOCKING_SYNC``: the host sleeps, so that the wait costs the neighbours no core."""
OUT_OF_MEMORY = 2
"""``CUDA_ERROR_OUT_OF_MEMORY``."""


class PackageMissingError(Exception):
    """``cuda-core``, its bindings or NVRTC is not installed, or does not load."""


def load_core() -> Any:
    """The module ``cuda.core`` under its present or older name.

    Raises:
        PackageMissingError: it is not there, or too old.
    """
    try:
        import cuda.core as core  # pyright: ignore[reportMissingImports]

        if not hasattr(core, "Program"):
            import cuda.core.experimental as core  # pyright: ignore[reportMissingImports]
    except Exception as err:  # bindings of another major version raise ImportError, a broken driver RuntimeError
        raise PackageMissingError(f"cuda-core does not load: {err}") from err
    return core


def load_nvrtc() -> tuple[int, int]:
    """Version of NVRTC, (major, minor).

    Raises:
        PackageMissingError: the library is not installed.
    """
    try:
        from cuda.bindings import nvrtc  # pyright: ignore[reportMissingImports]

        code, major, minor = nvrtc.nvrtcVersion()
    except Exception as err:  # the finder of libraries has error classes of its own, by version
        raise PackageMissingError(f"NVRTC does not load: {err}") from err
    if int(code) != 0:
        raise PackageMissingError(f"NVRTC does not answer: {code}")
    return int(major), int(minor)


class CudaRuntime:
    """The first visible card."""

    def __init__(self, core: Any) -> None:
        from cuda.bindings import driver  # pyright: ignore[reportMissingImports]

        self._core = core
        self._driver: Any = driver
        self._device: Any = None
        self._stream: Any = None

    def start(self) -> None:
        """Make the context."""
        self._device = self._core.Device(0)
        self._device.set_current()
        self._stream = self._device.create_stream()

    def _check(self, answer: tuple[Any, ...], what: str) -> Any:
        code, *values = answer
        number = int(code)
        if number == 0:
            return values[0] if len(values) == 1 else tuple(values)
        if number == OUT_OF_MEMORY:
            raise MemoryError(f"CUDA out of memory: {what}")
        _, text = self._driver.cuGetErrorString(code)
        said = text.decode(errors="replace") if text else str(number)
        raise RuntimeError(f"CUDA error: {said} ({what})")

    def compile(self, source: str, names: Sequence[str]) -> Mapping[str, Kernel]:
        """Compile by NVRTC for the card's own architecture."""
        major, minor = self._device.compute_capability
        options = self._core.ProgramOptions(std="c++17", arch=f"sm_{major}{minor}")
        program = self._core.Program(source, code_type="c++", options=options)
        code = program.compile("cubin")
        return {name: code.get_kernel(name) for name in names}

    def allocate(self, size: int) -> int:
        """Address of fresh memory."""
        return int(self._check(self._driver.cuMemAlloc(size), f"{size} bytes"))

    def free(self, address: int) -> None:
        """Give it back; waits for what is queued."""
        self._check(self._driver.cuMemFree(address), "free")

    def launch(self, kernel: Kernel, grid: Grid, *arguments: Argument) -> None:
        """Queue a kernel on the stream."""
        config = self._core.LaunchConfig(grid=grid.blocks, block=grid.threads)
        try:
            self._core.launch(self._stream, config, kernel, *arguments)
        except Exception as err:
            if type(err).__name__ != "CUDAError":
                raise
            raise RuntimeError(f"CUDA error: {err}") from err

    def write(self, address: int, data: bytes) -> None:
        """Copy to the card."""
        self.synchronise()
        place = np.frombuffer(data, np.uint8).ctypes.data
        self._check(self._driver.cuMemcpyHtoD(address, place, len(data)), "copy to the card")
        self.synchronise()  # pageable memory: the call returns before the card has all of it

    def read(self, address: int, size: int) -> bytes:
        """Copy from the card."""
        self.synchronise()
        data = np.empty(size, np.uint8)
        self._check(self._driver.cuMemcpyDtoH(data.ctypes.data, address, size), "copy from the card")
        return data.tobytes()

    def clear(self, address: int, size: int) -> None:
        """Zeros."""
        self._check(self._driver.cuMemsetD8Async(address, 0, size, self._handle), "clear")

    @property
    def _handle(self) -> Any:
        return self._driver.CUstream(int(self._stream.handle))

    def mark(self) -> Mark:
        """An event on the stream."""
        event = self._check(self._driver.cuEventCreate(EVENT_BLOCKING_SYNC), "event")
        self._check(self._driver.cuEventRecord(event, self._handle), "event")
        return _Event(self._driver, event)

    def wait(self, mark: Mark) -> None:
        """Sleep until the event."""
        self._check(self._driver.cuEventSynchronize(_raw(mark)), "wait")

    def seconds(self, start: Mark, end: Mark) -> float:
        """Of the card's clock (resolution about 0.5 µs)."""
        return self._check(self._driver.cuEventElapsedTime(_raw(start), _raw(end)), "elapsed time") / 1e3

    def synchronise(self) -> None:
        """Wait for the stream, and so for the card."""
        self._check(self._driver.cuCtxSynchronize(), "wait")

    def memory(self) -> tuple[int, int]:
        """Free and total bytes."""
        free, total = self._check(self._driver.cuMemGetInfo(), "memory")
        return int(free), int(total)


class _Event:
    """Destroys its event with itself."""

    def __init__(self, driver: Any, raw: Any) -> None:
        self._driver = driver
        self.raw = raw

    def __del__(self) -> None:
        self._driver.cuEventDestroy(self.raw)


def _raw(mark: Mark) -> Any:
    assert isinstance(mark, _Event)
    return mark.raw
