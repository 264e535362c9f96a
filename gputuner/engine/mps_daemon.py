"""One MPS control daemon in a folder of its own: its commands, each within a time limit, and its end.

The commands are those of ``nvidia-cuda-mps-control`` (NVIDIA, "Multi-Process Service", appendix on tools; its manual
page), given on its standard input, the answer on its standard output, one process number a line. The daemon and the
servers it starts find each other by ``CUDA_MPS_PIPE_DIRECTORY``: another daemon's, and its clients, are never touched.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

PROGRAM = "nvidia-cuda-mps-control"
NAMED = "nvidia-cuda-mps"
"""Stands in the command lines of daemon and servers."""
PIPE, LOG = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
COMMAND_S = 10.0
"""A daemon that does not answer within this time is wedged."""
QUIT_S = 5
"""Seconds that ``quit -t`` gives its servers."""
GONE_S = 3.0
PAUSE_S = 0.1


class MpsFailed(Exception):
    """The daemon cannot do what it was asked; ``code`` says why.

    ``not_started``: it did not start. ``refused``: it answers, but with an error. ``wedged``: it does not answer.
    ``not_clients``: workers run, but not as its clients. ``cannot_connect``: CUDA in a worker cannot reach it.
    """

    def __init__(self, code: str, text: str) -> None:
        """``text`` is what the program said."""
        super().__init__(text)
        self.code = code


class Daemon:
    """A daemon whose pipe and log lie in ``folder``; it may not run yet, or not any more."""

    def __init__(self, folder: Path, program: str = PROGRAM, command_s: float = COMMAND_S) -> None:
        """``program``: path or name; ``command_s``: time limit of each command, in seconds."""
        self.folder = folder
        self.pipe, self.log = folder / "pipe", folder / "log"
        self._program = program
        self._command_s = command_s
        self._wedged = False

    def variables(self) -> dict[str, str]:
        """What leads a client, or a command, to this daemon."""
        return {PIPE: str(self.pipe), LOG: str(self.log)}

    def start(self, card: str) -> None:
        """Start it for one card (UUID); returns once it answers.

        Raises:
            MpsFailed: ``not_started`` or ``wedged``.
        """
        for folder in (self.pipe, self.log):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        code, said = self._run(["-d"], "", {"CUDA_VISIBLE_DEVICES": card})
        if code != 0:
            raise MpsFailed("not_started", said or f"exit code {code}")
        self.servers()

    def servers(self) -> list[int]:
        """Process numbers of its servers; none before the first client came.

        Raises:
            MpsFailed: it refuses or does not answer.
        """
        return _numbers(self._command("get_server_list"))

    def clients(self) -> list[tuple[int, int]]:
        """Process numbers of each server and its client.

        Raises:
            MpsFailed: it refuses or does not answer.
        """
        return [
            (server, client)
            for server in self.servers()
            for client in _numbers(self._command(f"get_client_list {server}"))
        ]

    def quiet(self, client: int) -> bool:
        """End all work of a client on the card, so that it may be killed; False: it is none.

        Raises:
            MpsFailed: it refuses or does not answer.
        """
        server = next((server for server, pid in self.clients() if pid == client), None)
        if server is None:
            return False
        self._command(f"terminate_client {server} {client}")
        return True

    def end(self) -> bool:
        """Quiet what clients it has, let it quit, kill what does not, remove the folder; False: it had to be killed.

        One that did not answer before is not asked again. Safe to call again, and of a daemon that somebody else ended.
        """
        well = not self.alive()
        if not well and not self._wedged:
            try:
                for server, client in self.clients():
                    self._command(f"terminate_client {server} {client}")
                self._command(f"quit -t {QUIT_S}", QUIT_S)
                well = self._gone()
            except MpsFailed:
                well = False
        for process in self._members():
            _kill(process)
        shutil.rmtree(self.folder, ignore_errors=True)
        return well

    def alive(self) -> bool:
        """Whether the daemon or a server of it runs."""
        return next(self._members(), None) is not None

    def _gone(self) -> bool:
        until = time.monotonic() + GONE_S
        while self.alive():
            if time.monotonic() > until:
                return False
            time.sleep(PAUSE_S)
        return True

    def _members(self) -> Iterator[psutil.Process]:
        """The daemon and its servers: such processes as our pipe's folder, or their own environment, names."""
        daemon = self._told_pid()
        for process in psutil.process_iter():
            try:
                if not any(NAMED in word for word in process.cmdline()[:3]):
                    continue
                ours = daemon is not None and daemon in (process.pid, process.ppid())
                if (ours or _pipe_of(process) == str(self.pipe)) and process.status() != psutil.STATUS_ZOMBIE:
                    yield process
            except psutil.Error:
                continue

    def _told_pid(self) -> int | None:
        """The daemon's process number as it wrote it down itself."""
        try:
            told = (self.pipe / f"{PROGRAM}.pid").read_text().strip()
        except OSError:
            return None
        return int(told) if told.isdecimal() else None

    def _command(self, line: str, extra_s: float = 0.0) -> str:
        code, said = self._run([], line + "\n", {}, extra_s)
        if code != 0:
            raise MpsFailed("refused", said or f"exit code {code}")
        return said

    def _run(self, arguments: list[str], text: str, more: Mapping[str, str], extra_s: float = 0.0) -> tuple[int, str]:
        """Exit code and what was said; output goes to a file, since a daemon keeps a pipe open."""
        environment = {**os.environ, **self.variables(), **more}
        try:
            with tempfile.TemporaryFile() as said:
                done = subprocess.run(
                    [self._program, *arguments],
                    input=text.encode(),
                    stdout=said,
                    stderr=said,
                    env=environment,
                    timeout=self._command_s + extra_s,
                    start_new_session=True,
                    check=False,
                )
                said.seek(0)
                return done.returncode, said.read().decode(errors="replace").strip()
        except subprocess.TimeoutExpired as err:
            self._wedged = True
            raise MpsFailed("wedged", f"no answer to {text.strip() or 'its start'} in {err.timeout:g} s") from err
        except OSError as err:
            raise MpsFailed("not_started", str(err)) from err


def _numbers(said: str) -> list[int]:
    return [int(word) for word in said.split() if word.isdecimal()]


def _pipe_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(PIPE)
    except psutil.Error:
        return None


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
        process.wait(GONE_S)
    except psutil.Error:
        return
