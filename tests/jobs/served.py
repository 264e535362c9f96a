"""A runner on cards made of files, as a program of its own: ``served.py DATA_DIR FOLDER CARDS [forever]``."""

import sys
import threading
from pathlib import Path

from gputuner.jobs.lease import RunnerLease
from gputuner.jobs.runner import Runner
from gputuner.jobs.seeing import Seen
from gputuner.model.samples import ProcessOnCard
from tests.jobs.fake_cards import TOTAL, held

CHILD = [sys.executable, "-m", "gputuner"]


class FileCards:
    """So many cards of ``fake_cards`` in a folder."""

    def __init__(self, folder, count):
        self._folder = folder
        self._count = count

    def look(self):
        return tuple(self._seen(index) for index in range(self._count))

    def _seen(self, index):
        uuid = f"GPU-{index}"
        found = held(self._folder, uuid)
        processes = tuple(
            ProcessOnCard(pid=pid, name="job", user=None, command=None, memory_bytes=amount)
            for pid, amount in found.items()
        )
        free = TOTAL - sum(found.values())
        return Seen(
            uuid=uuid, title=f"card {index}", index=index, total_bytes=TOTAL, free_bytes=free, processes=processes
        )


def main(data_dir, folder, count, *, until_empty):
    lease = RunnerLease(data_dir)
    runner = Runner(data_dir, FileCards(folder, count), CHILD)
    try:
        runner.serve(threading.Event(), until_empty=until_empty)
    finally:
        runner.close()
        lease.release()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), until_empty="forever" not in sys.argv)
