"""What on this machine stands in the way: driver, torch, window, folder, host. Looks, changes nothing."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gputuner.assembly import feeds
from gputuner.assembly.display import display_trouble
from gputuner.assembly.doctor_control import examine_control
from gputuner.assembly.doctor_mps import examine_mps
from gputuner.devices.host_facts import host_fingerprint
from gputuner.model.cards import CardInfo, CardState
from gputuner.model.errors import UsageError
from gputuner.model.findings import Finding, Level
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.readings import Scalar
from gputuner.telemetry.feed import FeedState
from gputuner.workloads.launch import worker_command, worker_environment

if TYPE_CHECKING:
    from gputuner.assembly.setup import Setup

DISK_LOW_BYTES = 2**30
LOAD_HIGH = 0.7
"""One-minute load per core above which figures scatter."""
WORKER_S = 120.0
_LIBRARIES = ("libEGL.so.1", "libxkbcommon.so.0", "libfontconfig.so.1")
_ABSENT = {"nvml_library_missing", "nvml_driver_not_loaded", "telemetry_no_cards"}


def _finding(code: str, level: Level = Level.FINE, **params: Scalar) -> Finding:
    return Finding(code=code, level=level, params=params)


def examine(setup: "Setup") -> tuple[Finding, ...]:
    """All findings, in the order in which people should care."""
    host = host_fingerprint(setup.data_dir)
    cards = setup.cards()
    return (
        *_driver(setup, cards),
        *_visible(setup),
        *_torch(setup.python or sys.executable, cards),
        *_window(),
        *_folder(setup.data_dir),
        *_host(host),
        *examine_mps(cards, host),
        *examine_control(),
    )


def _driver(setup: "Setup", cards: tuple[CardInfo, ...]) -> Iterator[Finding]:
    nvidia = [card for card in cards if not card.is_cpu]
    status = setup.feed.status()
    if nvidia:
        driver, cuda = (nvidia[0].readings.get(name) for name in ("driver", "cuda_driver"))
        yield _finding(
            "driver_fine",
            driver=str(driver.value if driver else "?"),
            cuda=str(cuda.value if cuda else "?"),
            cards=len([card for card in nvidia if card.state is CardState.READY]),
        )
    elif status.state is FeedState.MISMATCH:
        yield _finding("driver_mismatch", Level.BLOCKING)
    elif feeds.interpreter_forbidden(status):
        yield _finding("interpreter_forbidden", Level.BLOCKING, path=sys.executable)
    elif status.code and status.code not in _ABSENT and not cards:
        yield _finding(status.code, Level.BLOCKING, **status.params)
    else:
        yield _finding("driver_missing", Level.NOTE)


def _visible(setup: "Setup") -> Iterator[Finding]:
    """What ``CUDA_VISIBLE_DEVICES`` hides, and what in it is wrong."""
    try:
        notes = setup.seen().notes()
    except UsageError as err:
        yield _finding(err.code, Level.BLOCKING, **_scalars(err.params))
        return
    for note in notes:
        hides_all = note.code in ("visible_none", "visible_repeated")
        yield _finding(note.code, Level.BLOCKING if hides_all else Level.NOTE, **note.params)


def _torch(python: str, cards: tuple[CardInfo, ...]) -> Iterator[Finding]:
    """Ask a worker of that interpreter; it makes no CUDA context."""
    card = next((c for c in cards if c.state is CardState.READY), None)
    if card is None:
        return
    said = None if (trouble := _cannot_run(python)) else _worker_says(python, card)
    if said is None:
        yield _finding(trouble or "python_silent", Level.BLOCKING, interpreter=python)
        return
    found: dict[str, Scalar] = {"interpreter": python, "torch": str(said.get("torch", "?")), "card": card.title}
    found |= _scalars(said.get("params"))
    if said.get("kind") == "unusable":
        code = "torch_cpu_build" if said.get("code") == "cuda_unavailable" else str(said.get("code"))
        yield Finding(code=code, level=Level.BLOCKING, params=found)
    elif card.is_cpu:
        yield Finding(code="torch_processor", level=Level.FINE, params=found)
    else:
        yield Finding(code="torch_fine", level=Level.FINE, params={**found, "cuda": str(said.get("cuda"))})


def _cannot_run(python: str) -> str | None:
    """Why the interpreter cannot even be started, or None."""
    if shutil.which(python) is not None:
        return None
    return "python_not_executable" if os.path.exists(python) else "python_missing"


def _scalars(params: object) -> dict[str, Scalar]:
    if not isinstance(params, dict):
        return {}
    items: dict[object, object] = params  # pyright: ignore[reportUnknownVariableType]
    return {str(k): v for k, v in items.items() if isinstance(v, (str, int, float, bool))}


def _worker_says(python: str, card: CardInfo) -> dict[str, object] | None:
    """The worker's first message; its stdin stays open until then, since it ends with it."""
    command = worker_command(python, "cpu" if card.is_cpu else "cuda", None)
    environment = worker_environment(card.uuid, os.environ)
    try:
        worker = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    with worker:
        overdue = threading.Timer(WORKER_S, worker.kill)
        overdue.start()
        try:
            assert worker.stdout is not None
            said: object = json.loads(worker.stdout.readline())
        except ValueError:
            said = None
        finally:
            overdue.cancel()
            worker.kill()
    return said if isinstance(said, dict) else None  # pyright: ignore[reportUnknownVariableType]


def _window() -> Iterator[Finding]:
    from importlib.util import find_spec

    if find_spec("PySide6") is None:
        yield _finding("qt_missing", Level.NOTE)
        return
    missing = [name for name in _LIBRARIES if not _loads(name)]
    trouble = display_trouble(os.environ)
    if missing and sys.platform.startswith("linux"):
        command = "apt-get install libegl1 libxkbcommon0 libfontconfig1"
        yield _finding("qt_libraries_missing", Level.NOTE, libraries=", ".join(missing), command=command)
    elif trouble is not None:
        yield _finding(trouble.code, Level.NOTE, **_scalars(trouble.params))
    else:
        yield _finding("qt_fine")
    if shutil.which("fc-list") and not _output(["fc-list", ":lang=zh", "family"]):
        yield _finding("cjk_font_missing", Level.NOTE)


def _folder(data_dir: Path) -> Iterator[Finding]:
    existing = next(p for p in (data_dir, *data_dir.parents) if os.path.exists(p))
    if not os.access(existing, os.W_OK):
        yield _finding("data_dir_unwritable", Level.BLOCKING, path=str(data_dir))
        return
    free = shutil.disk_usage(existing).free
    if free < DISK_LOW_BYTES:
        yield _finding("disk_nearly_full", Level.NOTE, path=str(data_dir), free=free)
    else:
        yield _finding("data_dir_fine", path=str(data_dir), free=free)


def _host(host: HostFingerprint) -> Iterator[Finding]:
    def value(name: str) -> Scalar | None:
        reading = host.readings.get(name)
        return reading.value if reading else None

    slowed = False
    governor, quota, load, cores = (value(n) for n in ("governor", "cgroup_quota_cores", "load_1m", "cores_logical"))
    if isinstance(governor, str) and governor not in ("performance", "schedutil"):
        slowed = True
        yield _finding("governor_slow", Level.NOTE, governor=governor)
    if isinstance(quota, (int, float)) and isinstance(cores, (int, float)) and quota < cores:
        slowed = True
        yield _finding("cgroup_quota", Level.NOTE, cores=quota)
    if not slowed:
        yield _finding("host_fine")
    if isinstance(load, (int, float)) and isinstance(cores, (int, float)) and load > LOAD_HIGH * cores:
        yield _finding("host_loaded", Level.NOTE, load=round(float(load), 1))
    if value("virtual_machine") or value("wsl"):
        yield _finding("virtual", Level.NOTE)


def _loads(library: str) -> bool:
    import ctypes

    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
