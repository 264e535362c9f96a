"""Cards made of files: a job "allocates" by writing how much it takes, and a card that is full refuses it.

As a program it is such a job: ``fake_cards.py FOLDER BYTES SECONDS EXIT_CODE``. It notes that it ran, with its ticket,
so that a second run of the same start would show.
"""

import fcntl
import os
import sys
import time
from pathlib import Path

TOTAL = 16 * 2**30


def alive(pid):
    """Whether a process lives (one that has ended and waits to be asked how does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def held(folder, uuid):
    """Bytes by process on a card."""
    found = {}
    for path in (folder / uuid).glob("[0-9]*"):
        try:
            amount = int(path.read_text() or "0")
        except FileNotFoundError:  # given back just now
            continue
        if alive(int(path.name)):
            found[int(path.name)] = amount
    return found


def take(folder, uuid, amount):
    """Allocate; False: there is not so much left."""
    (folder / uuid).mkdir(parents=True, exist_ok=True)
    with open(folder / uuid / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if sum(held(folder, uuid).values()) + amount > TOTAL:
            return False
        (folder / uuid / str(os.getpid())).write_text(str(amount))
    return True


def note(folder, *words):
    with open(folder / "ran.txt", "a") as file:
        file.write(" ".join(map(str, words)) + "\n")


def main(folder, amount, seconds, code):
    job, uuids = os.environ["GPUTUNER_JOB_ID"], os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    note(folder, "ran", job, os.environ["GPUTUNER_JOB"])
    for uuid in uuids:
        if not take(folder, uuid, amount):
            note(folder, "overflow", job, uuid)
            print("torch.OutOfMemoryError: CUDA out of memory.")
            return 1
    time.sleep(seconds)
    for uuid in uuids:
        (folder / uuid / str(os.getpid())).unlink()
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
