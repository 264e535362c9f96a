"""Set up the virtual environment in steps: ``set_up.py app|checks|torch|qt``. Standard library only.

Each step leaves a stamp file in ``.venv/.stamps``, so that a second run starts at once. Nothing outside ``.venv`` is
changed, except system libraries of Qt when this runs as root on a Debian-like system; otherwise the command is printed.
"""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"
TORCH_CUDA = (13, 0)
DRIVER_FOR_CUDA = {(12, 4): 550, (12, 6): 560, (12, 8): 570, (13, 0): 580}
"""Smallest Linux driver branch for a CUDA version (release notes of the CUDA toolkit)."""
CAPABILITY_MIN = (7, 5)
"""Oldest chip that CUDA 13 builds still carry kernels for (Turing); Pascal and Volta left with CUDA 12."""
TORCH_DOWNLOAD_GB = {"cuda": 2.8, "cpu": 0.2}
QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}
CJK_FONT_PACKAGE = "fonts-wqy-microhei"


def say(text: str) -> None:
    """One line for the person who waits."""
    print(f"gputuner set-up: {text}", file=sys.stderr, flush=True)


def stop(text: str) -> None:
    """End with a sentence and exit code 2."""
    say(text)
    raise SystemExit(2)


def call(command: Sequence[str]) -> None:
    """Run a command; its failure ends the set-up with its exit code."""
    code = subprocess.call(list(command), cwd=ROOT)
    if code:
        raise SystemExit(code)


def output(command: Sequence[str]) -> str | None:
    """What a command prints, or None if it fails, hangs or is not there."""
    try:
        return subprocess.run(list(command), capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def pip(*what: str) -> None:
    """Install into the environment, every direct dependency at its pinned version."""
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    call(
        [
            str(PYTHON),
            "-m",
            "pip",
            "install",
            *quiet,
            "--disable-pip-version-check",
            "--constraint",
            str(CONSTRAINTS),
            *what,
        ]
    )


def ensure_venv() -> None:
    """Make ``.venv`` where there is none."""
    if not PYTHON.exists():
        say(f"making {VENV.name} with Python {sys.version.split()[0]}")
        call([sys.executable, "-m", "venv", str(VENV)])


def step_app() -> None:
    """The program and its libraries."""
    ensure_venv()
    extras = extras_for(driver_version())
    beside = ", and 150 MB to compile our own kernels" if "kernels" in extras else ""
    say(f"installing the program's libraries (about 250 MB with Qt{beside})")
    pip("--editable", f"{ROOT}[{','.join(extras)}]")


def extras_for(driver: str | None) -> tuple[str, ...]:
    """What the program is installed with: our own kernels only where a driver can run them (CUDA 13 or newer)."""
    can = driver is not None and version_of(driver)[0] >= DRIVER_FOR_CUDA[TORCH_CUDA]
    return ("words", "kernels") if can else ("words",)


def step_checks() -> None:
    """The tools that check it."""
    ensure_venv()
    say("installing the check tools (about 150 MB)")
    pip("--editable", f"{ROOT}[words,check,parquet]")


def step_torch() -> None:
    """PyTorch, after saying what it weighs and what else could serve."""
    ensure_venv()
    if output([str(PYTHON), "-c", "import importlib.metadata as m; print(m.version('torch'))"]):
        pip("torch")
        return
    offer_torch()
    driver = driver_version()
    if driver is not None:
        refuse_old_driver(driver)
    size = TORCH_DOWNLOAD_GB["cpu" if sys.platform == "darwin" else "cuda"]
    say(f"fetching PyTorch, a download of up to {size:.1f} GB (interrupt now if you have it elsewhere)")
    pip("torch")


def offer_torch() -> None:
    """Name a usable torch of the active environment, so that nobody fetches it twice."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = os.environ.get(variable)
        python = Path(prefix, "bin", "python") if prefix else None
        if python is None or not python.exists() or python == PYTHON:
            continue
        found = output([str(python), "-c", "import torch; print(torch.__version__)"])
        if found and version_of(found) >= (2, 4):
            say(f"torch {found.strip()} is in {prefix}; to use it instead: make run TORCH_PYTHON={python}")


def version_of(text: str) -> tuple[int, int]:
    """Major and minor of a version text; (0, 0) if there is none."""
    match = re.match(r"\s*(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def driver_version() -> str | None:
    """The loaded NVIDIA driver, e.g. ``580.95``; None without one."""
    text = output(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    return text.splitlines()[0].strip() if text and text.strip() else None


def refuse_old_driver(driver: str) -> None:
    """Say before the download that the pinned CUDA cannot run here, with the remedies."""
    wanted = DRIVER_FOR_CUDA[TORCH_CUDA]
    if version_of(driver)[0] < wanted:
        stop(
            f"driver {driver} is too old for the pinned PyTorch (CUDA {TORCH_CUDA[0]}.{TORCH_CUDA[1]} needs {wanted} "
            "or newer). Update the driver, or use a torch of your own: make run TORCH_PYTHON=/path/to/env/bin/python"
        )
    caps = output(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]) or ""
    old = [c.strip() for c in caps.splitlines() if version_of(c) != (0, 0) and version_of(c) < CAPABILITY_MIN]
    if old:
        say(
            f"a card of compute capability {old[0]} is not served by the pinned PyTorch (CUDA 13 dropped Pascal and "
            "Volta); for it use a torch built for CUDA 12: make run TORCH_PYTHON=/path/to/env/bin/python"
        )


def missing_qt_packages() -> list[str]:
    """Debian packages of the system libraries that Qt needs and that cannot be loaded here."""
    if not sys.platform.startswith("linux"):
        return []
    missing: list[str] = []
    for library, package in QT_LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(package)
    fonts = output(["fc-list", ":lang=zh", "family"])
    if fonts is None or not fonts.strip():
        missing.append(CJK_FONT_PACKAGE)
    return missing


def step_qt() -> None:
    """System libraries of Qt: installed by apt as root, otherwise named."""
    missing = missing_qt_packages()
    if not missing:
        return
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        say(f"installing system libraries for the window: {' '.join(missing)}")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.call(["apt-get", "update", "-qq"], env=environment, stdout=subprocess.DEVNULL)
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
        if subprocess.call(command, env=environment, stdout=subprocess.DEVNULL):
            say(f"could not install them; the window may not open. Try: {' '.join(command)}")
    else:
        say(f"the window needs system libraries: sudo apt-get install {' '.join(missing)}")


STEPS = {"app": step_app, "checks": step_checks, "torch": step_torch, "qt": step_qt}


def main(arguments: Sequence[str]) -> None:
    """Perform one step and leave its stamp."""
    name = arguments[0] if arguments else ""
    if name not in STEPS:
        stop(f"unknown step {name!r}; steps are {', '.join(STEPS)}")
    STEPS[name]()
    stamps = VENV / ".stamps"
    stamps.mkdir(parents=True, exist_ok=True)
    (stamps / name).write_text(json.dumps({"python": sys.version.split()[0]}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
