"""The real program in a process of its own, on simulated cards and a data folder that is thrown away."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CARD = "rtx-4090-48g"
LIMIT_S = 600


@dataclass(frozen=True)
class Ended:
    """How a command line ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON on stdout; NaN and infinities are refused."""
        return json.loads(self.out, parse_constant=_refuse)


@dataclass(frozen=True)
class Gputuner:
    """Starts ``python -m gputuner --cli``."""

    data_dir: Path

    def __call__(self, *argv: str, here: bool = True, **extra: Any) -> Ended:
        """Run to the end; ``here`` adds the test's own data folder."""
        done = subprocess.run(
            self.command(*argv, here=here),
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            **extra,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *argv: str, **streams: Any) -> subprocess.Popen[str]:
        """Start without waiting."""
        return subprocess.Popen(self.command(*argv), env=self.environment(), text=True, **streams)

    def command(self, *argv: str, here: bool = True) -> list[str]:
        """The command line."""
        folder = ["--data-dir", str(self.data_dir)] if here else []
        return [sys.executable, "-m", "gputuner", "--cli", *argv, *folder]

    def environment(self) -> dict[str, str]:
        """English, wide, without colour games."""
        kept = {name: value for name, value in os.environ.items() if name not in ("LC_MESSAGES", "LANGUAGE")}
        return {**kept, "LC_ALL": "C.UTF-8", "COLUMNS": "160"}


@pytest.fixture(scope="session")
def gputuner(tmp_path_factory: pytest.TempPathFactory) -> Gputuner:
    return Gputuner(tmp_path_factory.mktemp("data"))


@pytest.fixture
def fresh(tmp_path: Path) -> Gputuner:
    """The program on a data folder of this test alone."""
    return Gputuner(tmp_path / "data")


@pytest.fixture(scope="session")
def tuned(gputuner: Gputuner) -> Any:
    """The document of one tune run on a simulated card; its session lies in ``gputuner``'s folder."""
    ended = gputuner("tune", "--quick", "--simulate", CARD, "--json")
    assert ended.code == 0, ended.err
    return ended.document


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


@pytest.fixture(scope="session")
def chinese() -> None:
    """Compiles the Chinese catalogue where the program looks for it, as set-up does."""
    script = Path(__file__).resolve().parents[2] / "packaging/compile_words.py"
    subprocess.run([sys.executable, str(script)], check=True, capture_output=True)
