"""A stand-in for NVIDIA's ``nvidia-cuda-mps-control``: keeps a journal of commands, and can be told to misbehave.

Beside it lie ``journal`` (one command a line) and ``behaviour`` (words: ``no_start``, ``hang:COMMAND`` …). Its daemon
and its server are processes that do nothing. Clients are files named by process number in ``PIPE/clients``; a client
that is terminated has one in ``PIPE/terminated``.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(sys.argv[0]).resolve()
PIPE = Path(os.environ["CUDA_MPS_PIPE_DIRECTORY"])
PID_FILE = PIPE / "nvidia-cuda-mps-control.pid"
SERVER_FILE = PIPE / "server"


def note(line):
    with (HERE.parent / "journal").open("a") as journal:
        journal.write(line + "\n")


def behaviour():
    path = HERE.parent / "behaviour"
    return path.read_text().split() if path.exists() else []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def start():
    note(f"-d {os.environ['CUDA_VISIBLE_DEVICES']}")
    if "hang:-d" in behaviour():
        threading.Event().wait()
    if "no_start" in behaviour():
        print("An instance of this daemon is already running")
        sys.exit(1)
    (PIPE / "clients").mkdir()
    (PIPE / "terminated").mkdir()
    (PIPE / "control").touch()
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for path, word in ((PID_FILE, "--daemon"), (SERVER_FILE, "nvidia-cuda-mps-server")):
        process = subprocess.Popen([sys.executable, str(HERE), word], start_new_session=True, **quiet)
        path.write_text(str(process.pid))


def numbers(folder):
    return sorted(int(path.name) for path in (PIPE / folder).iterdir())


def command(line):
    note(line)
    word = line.split()[0]
    if f"hang:{word}" in behaviour():
        threading.Event().wait()
    daemon = int(PID_FILE.read_text()) if PID_FILE.exists() else 0
    if not daemon or not alive(daemon):
        print("Cannot find MPS control daemon process")
        sys.exit(1)
    server = int(SERVER_FILE.read_text())
    living = [pid for pid in numbers("clients") if alive(pid)]
    if word == "get_server_list" and numbers("clients"):
        print(server)
    elif word == "get_client_list":
        print(*living, sep="\n")
    elif word == "terminate_client":
        (PIPE / "terminated" / line.split()[2]).touch()
    elif word == "quit":
        for pid in (server, daemon):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        while alive(server) or alive(daemon):
            time.sleep(0.005)


def main():
    match sys.argv[1:]:
        case ["-d"]:
            start()
        case ["--daemon"] | ["nvidia-cuda-mps-server"]:
            threading.Event().wait()
        case _:
            for line in sys.stdin:
                command(line.strip())


main()
