# pyright: standard
"""The binding: calls by name that answer a value or ``Failed``, whichever module calls itself ``pynvml``."""

import ctypes
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from gputuner.devices.nvml.errors import Code, Failed, error_of, failed
from gputuner.model.errors import NoCard

INIT_NO_GPUS = 1
"""NVML_INIT_FLAG_NO_GPUS: succeed on a machine without cards."""
INIT_NO_ATTACH = 2
"""NVML_INIT_FLAG_NO_ATTACH: leave cards alone until they are asked for."""

FAN_RPM = "nvmlDeviceGetFanSpeedRPM"


def is_official(module: ModuleType) -> bool:
    """True if ``module`` is NVIDIA's own binding.

    Told by the module itself, not by what is installed: the official one is the single file ``pynvml.py`` with
    NVIDIA's function loader in it; look-alikes are packages or lack it. (Today's distribution named ``pynvml``
    merely depends on the official one.)
    """
    file = Path(getattr(module, "__file__", None) or "pynvml.py")
    return file.stem == "pynvml" and hasattr(module, "_nvmlGetFunctionPointer")


def text(value: object) -> str:
    """A name from the driver as text: older bindings give bytes; what is not UTF-8 is replaced, NULs cut."""
    raw = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return raw.split("\0", 1)[0].strip()


def _unavailable(*_: object) -> Failed:
    return failed(Code.FUNCTION_NOT_FOUND)


class Binding:
    """The module ``pynvml``, asked by the name of its functions.

    No call raises: an NVML error comes back as ``Failed`` with its code. A symbol that the driver's library or the
    module lacks is remembered and not looked up again.
    """

    def __init__(self, module: ModuleType) -> None:
        """Wrap a module."""
        self.module = module
        self.official = is_official(module)
        errors = [getattr(module, name, None) for name in ("NVMLError", "NVMLLibraryMismatchError")]
        self._errors: tuple[type[BaseException], ...] = tuple(e for e in errors if isinstance(e, type))
        self._functions: dict[str, Callable[..., Any]] = {}

    @property
    def file(self) -> str:
        """The file the module was loaded from."""
        return str(getattr(self.module, "__file__", None) or "")

    def forget(self) -> None:
        """Look up every symbol anew on its next call."""
        self._functions.clear()

    def _find(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] | None
        if name == "nvmlDeviceGetMemoryInfo_v2":
            version = getattr(self.module, "nvmlMemory_v2", None)
            plain = getattr(self.module, "nvmlDeviceGetMemoryInfo", None)
            function = (lambda handle: plain(handle, version)) if plain and version else None
        elif name == FAN_RPM:
            function = self._fan_rpm()
        else:
            function = getattr(self.module, name, None)
        self._functions[name] = found = function or _unavailable
        return found

    def _fan_rpm(self) -> Callable[..., Any] | None:
        """Speed of the fan of a number: the binding's own function knows the first one only."""
        plain = getattr(self.module, FAN_RPM, None)
        info, version = (getattr(self.module, each, None) for each in ("c_nvmlFanSpeedInfo_t", "nvmlFanSpeedInfo_v1"))

        def read(handle: Any, fan: int = 0) -> Any:
            if fan == 0 and plain is not None:
                return plain(handle)
            function = self.pointer(FAN_RPM)
            if function is None or info is None or version is None:
                return failed(Code.NOT_SUPPORTED)
            asked = info(version=version, fan=fan)
            code = function(handle, ctypes.byref(asked))
            return failed(code) if code else asked.speed

        return read if plain is not None else None

    def ask(self, name: str, *args: Any) -> Any:
        """What the function ``name`` answers, or ``Failed``."""
        function = self._functions.get(name) or self._find(name)
        try:
            return function(*args)
        except self._errors as err:
            code = int(getattr(err, "value", Code.FUNCTION_NOT_FOUND))
        except UnicodeDecodeError:
            return self._undecoded(function, *args)
        except (AttributeError, TypeError, ctypes.ArgumentError):
            code = int(Code.FUNCTION_NOT_FOUND)  # a binding too old for this question
        if code == Code.FUNCTION_NOT_FOUND:
            self._functions[name] = _unavailable
        return failed(code)

    def pointer(self, name: str) -> Callable[..., int] | None:
        """The library's own function, which takes C values and answers a code; None if it cannot be had."""
        try:
            return self.module._nvmlGetFunctionPointer(name) if self.official else None
        except self._errors:
            return None

    def _undecoded(self, function: Callable[..., Any], *args: Any) -> Any:
        """The bytes behind the binding's own decoding (it insists on UTF-8)."""
        try:
            return inspect.unwrap(function)(*args)
        except self._errors as err:
            return failed(int(getattr(err, "value", Code.UNKNOWN)))

    def first(self, names: tuple[str, ...], *args: Any) -> Any:
        """The answer of the first of ``names`` that this driver and module know."""
        answer: Any = failed(Code.FUNCTION_NOT_FOUND)
        for name in names:
            answer = self.ask(name, *args)
            if type(answer) is not Failed or answer.code != Code.FUNCTION_NOT_FOUND:
                return answer
        return answer

    def start(self, flags: int) -> None:
        """Initialise NVML.

        Raises:
            DeviceError: no library, no driver, a mismatch of the two, or no permission.
        """
        answer = self.ask("nvmlInitWithFlags", flags)
        if type(answer) is Failed and answer.code == Code.FUNCTION_NOT_FOUND:
            answer = self.ask("nvmlInit")
        if type(answer) is Failed:
            raise error_of(answer.code)

    def stop(self) -> None:
        """Shut NVML down; what it answers does not matter."""
        self.ask("nvmlShutdown")


def load() -> Binding:
    """The binding of this interpreter.

    Raises:
        NoCard: there is no module ``pynvml``, or it is something else altogether.
    """
    try:
        module = importlib.import_module("pynvml")
    except ImportError as err:
        raise NoCard("nvml_binding_missing", "the Python package nvidia-ml-py is not installed") from err
    if not hasattr(module, "nvmlInit") or not hasattr(module, "NVMLError"):
        file = str(getattr(module, "__file__", ""))
        raise NoCard("nvml_impostor", f"the module pynvml at {file} is not a binding of NVML", path=file)
    return Binding(module)
