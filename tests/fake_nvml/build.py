"""Builds the fake ``libnvidia-ml.so.1`` with the C compiler at hand, once per source and set of missing symbols.

Start a program on it with ``environment``: the real binding finds the library as it always does, by its soname.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

SOURCE = Path(__file__).parent / "nvml.c"
SONAME = "libnvidia-ml.so.1"


class NoCompiler(Exception):
    """There is no C compiler on this machine."""


def compiler() -> str:
    """Path of the C compiler.

    Raises:
        NoCompiler: none is installed.
    """
    found = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if found is None:
        raise NoCompiler("no C compiler: install the package gcc")
    return found


def library(missing: Iterable[str] = ()) -> Path:
    """Folder that holds the built ``libnvidia-ml.so.1``; ``missing`` symbols are not in it at all."""
    absent = sorted(missing)
    source = SOURCE.read_bytes()
    unknown = [name for name in absent if not re.search(rf"\b{name}\b|RunningProcesses", source.decode())]
    if unknown:
        raise ValueError(f"the fake library has no {unknown}")
    key = hashlib.sha256(source + "\n".join(absent).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"gputuner-fake-nvml-{os.getuid()}" / key
    target = folder / SONAME
    if target.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        script = Path(work) / "symbols.map"
        hidden = f" local: {'; '.join(absent)};" if absent else ""
        script.write_text(f"FAKE {{ global: nvml*;{hidden} }};\n")
        built = Path(work) / SONAME
        command = [compiler(), "-O2", "-shared", "-fPIC", f"-Wl,-soname,{SONAME}", "-o", str(built), str(SOURCE)]
        if absent:
            command.insert(-3, f"-Wl,--version-script={script}")
        subprocess.run(command, check=True, capture_output=True, text=True)
        built.replace(target)
    return folder


def broken_library(folder: Path) -> Path:
    """Folder in which the loader finds no usable library, whatever the machine has installed."""
    (folder / SONAME).write_bytes(b"")
    return folder


def environment(scenario: Path, missing: Iterable[str] = ()) -> dict[str, str]:
    """What a child process needs in its environment to meet the fake library with this scenario."""
    before = os.environ.get("LD_LIBRARY_PATH")
    path = str(library(missing))
    return {
        "LD_LIBRARY_PATH": f"{path}:{before}" if before else path,
        "FAKE_NVML_SCENARIO": str(scenario),
    }


if __name__ == "__main__":
    print(library(sys.argv[1:]))
