"""Runs a program as ``watch`` does, with the hooks in its environment, and hands back what it wrote."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gputuner.analysis.watching_records import gather
from gputuner.model.watched import Observed
from gputuner.workloads.observed.environment import injected

SECONDS = 600


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str
    observed: tuple[Observed, ...]
    lines: tuple[str, ...]


def run(
    code: str | Path,
    folder: Path,
    *arguments: str,
    environment: dict[str, str] | None = None,
    hooks: bool = True,
    warn: str = "error",
) -> Ended:
    """``code``: a script's path, or source to run. ``warn``: what becomes of warnings in it."""
    records = folder / "records"
    records.mkdir(exist_ok=True)
    script = code
    if isinstance(code, str):
        script = folder / "program.py"
        script.write_text(code, encoding="utf-8")
    base = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | (environment or {})
    base |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    told = subprocess.run(
        [sys.executable, "-W", warn, str(script), *arguments],
        env=injected(base, str(records)) if hooks else base,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    files = sorted(records.glob("*.jsonl"))
    return Ended(
        code=told.returncode,
        out=told.stdout,
        err=told.stderr,
        observed=tuple(seen for file in files if (seen := gather(_lines(file))) is not None),
        lines=tuple(line for file in files for line in _lines(file)),
    )


def _lines(file: Path) -> Sequence[str]:
    return file.read_text(encoding="utf-8").splitlines()
