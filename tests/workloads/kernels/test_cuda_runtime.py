"""What of the library is translated: its two names, and the driver's answers."""

import ctypes
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from gputuner.workloads.kernels.cuda_runtime import CudaRuntime, PackageMissingError, load_core, load_nvrtc
from gputuner.workloads.kernels.runtime import Grid


def modules(monkeypatch, **named):
    """Stand-ins for the modules of the library, by name with ``_`` for a dot."""
    for name in [name for name in sys.modules if name == "cuda" or name.startswith("cuda.")]:
        monkeypatch.delitem(sys.modules, name)
    made = {"cuda": ModuleType("cuda")}
    made["cuda"].__path__ = []
    for name, content in sorted(named.items()):
        dotted = "cuda." + name.replace("_", ".")
        made[dotted] = ModuleType(dotted)
        made[dotted].__path__ = []
        made[dotted].__dict__.update(content)
        parent, _, last = dotted.rpartition(".")
        setattr(made[parent], last, made[dotted])
    for dotted, module in made.items():
        monkeypatch.setitem(sys.modules, dotted, module)


def test_the_library_is_found_under_its_present_name(monkeypatch):
    modules(monkeypatch, core={"Program": object, "__version__": "1.2.2"})
    assert load_core().__version__ == "1.2.2"


def test_and_under_its_older_one(monkeypatch):
    modules(monkeypatch, core={"__version__": "0.3.2"}, core_experimental={"Program": object})
    assert load_core().__name__ == "cuda.core.experimental"


def test_without_it_the_package_is_missing(monkeypatch):
    modules(monkeypatch)
    with pytest.raises(PackageMissingError, match="cuda-core"):
        load_core()
    with pytest.raises(PackageMissingError, match="NVRTC"):
        load_nvrtc()


def test_nvrtc_tells_its_version_or_is_missing(monkeypatch):
    modules(monkeypatch, bindings={}, bindings_nvrtc={"nvrtcVersion": lambda: (0, 13, 1)})
    assert load_nvrtc() == (13, 1)

    def not_found():
        raise RuntimeError("libnvrtc.so.13")

    modules(monkeypatch, bindings={}, bindings_nvrtc={"nvrtcVersion": not_found})
    with pytest.raises(PackageMissingError, match="libnvrtc"):
        load_nvrtc()


class CUDAError(Exception):
    """As the library names its own."""


@pytest.fixture
def driver():
    """Answers of the driver, by function; host memory stands for the card's."""
    room = np.zeros(64, np.uint8)
    base = room.ctypes.data

    def copy(target, source, size):
        ctypes.memmove(int(target), int(source), size)
        return (0,)

    return SimpleNamespace(
        room=room,
        base=base,
        cuMemAlloc=lambda size: (0, base) if size <= 64 else (2, 0),
        cuMemFree=lambda address: (0,) if address == base else (1,),
        cuMemcpyHtoD=copy,
        cuMemcpyDtoH=copy,
        cuCtxSynchronize=lambda: (0,),
        cuMemGetInfo=lambda: (0, 10, 64),
        cuGetErrorString=lambda code: (0, b"invalid argument"),
    )


@pytest.fixture
def runtime(monkeypatch, driver):
    modules(monkeypatch, bindings={"driver": driver}, bindings_driver=vars(driver))
    core = SimpleNamespace(LaunchConfig=lambda grid, block: (grid, block), launch=lambda *_: None)
    return CudaRuntime(core)


def test_bytes_come_back_as_they_went(runtime, driver):
    address = runtime.allocate(64)
    runtime.write(address + 8, b"0123456789")
    assert bytes(driver.room[8:18]) == b"0123456789"
    assert runtime.read(address + 10, 4) == b"2345"
    assert runtime.memory() == (10, 64)
    runtime.free(address)


def test_what_does_not_fit_is_out_of_memory_and_all_else_an_error_with_its_text(runtime):
    with pytest.raises(MemoryError, match="65 bytes"):
        runtime.allocate(65)
    with pytest.raises(RuntimeError, match="invalid argument"):
        runtime.free(1)


def test_an_error_of_the_library_is_translated(runtime):
    def fails(*_):
        raise CUDAError("an illegal memory access was encountered")

    runtime._core.launch = fails
    with pytest.raises(RuntimeError, match="illegal memory access"):
        runtime.launch("kernel", Grid(blocks=1, threads=32), 1, 2)
