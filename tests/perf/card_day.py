"""Measurements of a real card: named parts under a time limit, each result kept at once, no setting changed.

Run from the checkout on the machine that has the card, with the interpreter whose torch is measured::

    python -m tests.perf.card_day --list
    python -m tests.perf.card_day --part health,causes --out results           # --minutes 9.5: time for all of it
    python -m tests.perf.card_day --part pairs --out more --done results       # leaves out what is done in results

``--simulate CARD`` or ``--gpu cpu`` rehearse it. The folder then holds ``log.txt`` (all that was said), what each piece
told in ``results.jsonl.gz`` (one line a piece, added when it ends), and after each piece all sessions anew in
``sessions.tar.gz``. A piece is ended by an interrupt when its time is over, and what it told until then is kept. What
does not fit into the time left is not begun.
"""

import argparse
import contextlib
import gzip
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.perf.card_parts import PARTS, Piece

ROOT = Path(__file__).resolve().parents[2]
RESULTS, LOG, SESSIONS = "results.jsonl.gz", "log.txt", "sessions.tar.gz"
END_S, KILL_S = 20.0, 8.0
"""After the interrupt, after SIGTERM."""
SPARE_S = 12.0
"""Of the whole time, for packing up."""
SETTINGS = "uuid,power.limit,clocks.applications.graphics,clocks.max.sm,persistence_mode,compute_mode,ecc.mode.current"
SHOWN = 30
"""Lines of a piece that the summary shows."""
BESIDE = {"gputuner.contend/1": "train_throughput", "gputuner.health/1": "vram_block_rate"}
"""What a kind of document has many of and the summary leaves out."""


@dataclass(slots=True)
class Ended:
    """How a piece ended; ``outcome``: done, failed, ended (its time was over)."""

    outcome: str
    code: int | None
    seconds: float
    said: str


def main(words: Sequence[str] | None = None) -> int:
    """Run the parts; 0 where all asked for is done."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", default="", help="names with commas; see --list")
    options.add_argument("--piece", default="", help="only these pieces of them, with commas")
    options.add_argument("--out", type=Path, default=Path(os.environ.get("OUT") or "card-day"))
    options.add_argument("--done", type=Path, nargs="*", default=[], help="folders of earlier runs")
    usual = Path(tempfile.gettempdir()) / f"card-day-{os.getuid()}"
    options.add_argument("--data", type=Path, default=usual, help="folder of the sessions")
    options.add_argument("--minutes", type=float, default=9.4)
    options.add_argument("--gpu", default="")
    options.add_argument("--simulate", default="", metavar="CARD")
    options.add_argument("--list", action="store_true")
    asked = options.parse_args(words)
    names = [name for name in asked.part.split(",") if name]
    if asked.list or not names:
        listed()
        return 0
    if unknown := set(names) - set(PARTS):
        options.error(f"no such part: {', '.join(sorted(unknown))}")
    pieces = [piece for name in names for piece in PARTS[name]]
    if asked.piece:
        pieces = [piece for piece in pieces if piece.name in asked.piece.split(",")]
    where = ("--simulate", asked.simulate) if asked.simulate else ("--gpu", asked.gpu) if asked.gpu else ()
    day = Day(asked.out, where, 60.0 * asked.minutes, asked.data)
    return day.run(pieces, {name for folder in (asked.out, *asked.done) for name in done_in(folder)})


def listed() -> None:
    """Print all parts."""
    for name, pieces in PARTS.items():
        print(f"{name}: about {sum(piece.expected_s for piece in pieces):.0f} s on an H200")
        for piece in pieces:
            words = " ".join(piece.words).replace(sys.executable, "python")
            print(f"    {piece.name} ({piece.expected_s:.0f} s): {words}")


def results(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of an earlier run; one that was cut off while it was written ends them."""
    with contextlib.suppress(OSError, EOFError, ValueError), gzip.open(folder / RESULTS, "rt") as lines:
        for line in lines:
            yield json.loads(line)


def done_in(folder: Path) -> set[str]:
    """Names of pieces that are done there."""
    return {line["piece"] for line in results(folder) if line["outcome"] == "done"}


class Day:
    """One run over some pieces."""

    def __init__(self, out: Path, where: Sequence[str], time_s: float, data: Path) -> None:
        """``out``: results; ``where``: options that choose the card; ``data``: sessions, outside of ``out``."""
        out.mkdir(parents=True, exist_ok=True)
        self._out, self._where = out, tuple(where)
        self._end = time.monotonic() + time_s - SPARE_S
        self._data = data
        self._log: IO[str] | None = None

    def run(self, pieces: Iterable[Piece], done: set[str]) -> int:
        """All that are not done and fit into the time; prints a line or more for each."""
        before, missing = settings(), 0
        with (self._out / LOG).open("a") as self._log:
            self._say(f"settings: {before or 'not read'}")
            for piece in pieces:
                if piece.forbidden():
                    raise SystemExit(f"{piece.name} would change settings: {piece.forbidden()}")
                if piece.name in done:
                    self._say(f"## {piece.name}: done already")
                    continue
                left_s = self._end - time.monotonic()
                if left_s < piece.expected_s and "--simulate" not in self._where:
                    self._say(f"## {piece.name}: not begun, {left_s:.0f} s left of {piece.expected_s:.0f} s needed")
                    missing += 1
                    continue
                missing += not self._piece(piece, min(piece.longest_s, left_s))
            after = settings()
            self._say(f"settings {'as before' if after == before else f'**differ now**: {after}'}")
        return 0 if not missing and after == before else 1

    def _piece(self, piece: Piece, longest_s: float) -> bool:
        words = piece.command(self._where, str(self._data), str(self._data))
        self._say(f"## {piece.name}: {' '.join(words[1:])}")
        ended = self._performed(words, longest_s, piece)
        line: dict[str, Any] = {
            "piece": piece.name, "outcome": ended.outcome, "code": ended.code, "seconds": round(ended.seconds, 1),
            "command": words,
        }  # fmt: skip
        document = _document(ended.said) if piece.document else None
        line |= {"document": document} if document is not None else {"said": ended.said}
        with gzip.open(self._out / RESULTS, "at") as kept:
            kept.write(json.dumps(line) + "\n")
        self._pack()
        self._say(f"{piece.name}: {ended.outcome}, exit code {ended.code}, {ended.seconds:.0f} s")
        for each in summary(document):
            self._say(each)
        return ended.outcome == "done"

    def _performed(self, words: Sequence[str], longest_s: float, piece: Piece) -> Ended:
        """Run it, say what it says at once (a document is kept, not said), end it when its time is over."""
        begun = time.monotonic()
        process = subprocess.Popen(
            words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment(), start_new_session=True,
        )  # fmt: skip
        heard: queue.Queue[tuple[str, str]] = queue.Queue()
        threads = [
            threading.Thread(target=_hear, args=(name, stream, heard), daemon=True)
            for name, stream in (("out", process.stdout), ("err", process.stderr))
        ]
        for thread in threads:
            thread.start()
        said: list[str] = []
        steps = [(longest_s, signal.SIGINT), (END_S, signal.SIGTERM), (KILL_S, signal.SIGKILL)]
        due, over, stepped = begun + steps[0][0], False, 0
        while process.poll() is None or any(thread.is_alive() for thread in threads) or not heard.empty():
            with contextlib.suppress(queue.Empty):
                name, text = heard.get(timeout=0.2)
                if name == "out":
                    said.append(text)
                if name == "err" or not piece.document:
                    self._say(f"  {'! ' if name == 'err' else ''}{text.rstrip()}")
            if time.monotonic() < due:
                continue
            if stepped == len(steps):  # somebody else holds its pipes
                break
            over = over or process.poll() is None
            _send(process, steps[stepped][1])
            stepped += 1
            due = time.monotonic() + (steps[stepped][0] if stepped < len(steps) else KILL_S)
        code = process.poll()
        outcome = "ended" if over else "done" if code in piece.good else "failed"
        return Ended(outcome, code, time.monotonic() - begun, "".join(said))

    def _say(self, text: str) -> None:
        print(text, flush=True)
        if self._log is not None:
            self._log.write(text + "\n")
            self._log.flush()

    def _pack(self) -> None:
        """All sessions so far; the file takes the place of the one before when it is whole."""
        partial = self._out / f"{SESSIONS}.part"
        with tarfile.open(partial, "w:gz") as packed:
            for path in sorted(self._data.rglob("*.sqlite*")):
                with contextlib.suppress(OSError):
                    packed.add(path, path.relative_to(self._data))
        partial.replace(self._out / SESSIONS)


def _hear(name: str, stream: "IO[str] | None", heard: "queue.Queue[tuple[str, str]]") -> None:
    assert stream is not None
    with stream:
        for line in stream:
            heard.put((name, line))


def _send(process: "subprocess.Popen[str]", number: int) -> None:
    """To the command itself first; what is killed takes its group along."""
    with contextlib.suppress(ProcessLookupError):
        if number == signal.SIGKILL:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)


def environment() -> dict[str, str]:
    """Ours, with this checkout where Python looks for modules, in children of children too."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": path}


def settings() -> str:
    """What is set on the cards, as ``nvidia-smi`` reads it; empty where it is not there."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    asked = [program, f"--query-gpu={SETTINGS}", "--format=csv,noheader"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False).stdout.strip()
    return ""


def _document(said: str) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError):
        return json.loads(said)
    return None


def summary(document: dict[str, Any] | None) -> Iterator[str]:
    """Figures of a document of gputuner's."""
    if document is None or "points" not in document:
        return
    warned = [each.get("code", each) if isinstance(each, dict) else each for each in document.get("warnings", [])]
    yield f"  {document.get('schema')}: {document.get('outcome')}, {len(document['points'])} points, warned {warned}"
    told = [point for point in document["points"] if point["metric"] != BESIDE.get(str(document.get("schema")))]
    for point in told[:SHOWN]:
        params = " ".join(f"{name}={value}" for name, value in point["params"].items())
        flags = f" [{', '.join(point['flags'])}]" if point.get("flags") else ""
        yield f"  {point['metric']} {params}: {point['value']:.5g} {point['unit']}{flags}"[:180]


if __name__ == "__main__":
    raise SystemExit(main())
