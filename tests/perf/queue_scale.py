"""10 000 waiting jobs: how long ``queue list`` and one scheduling decision take; prints Markdown.

``python -m tests.perf.queue_scale [JOBS]``
"""

import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gputuner.analysis.placement import Candidate, Line, decide
from gputuner.analysis.placement_room import Resident, Room
from gputuner.assembly.queue import open_queue
from gputuner.jobs.store import JobStore
from gputuner.jobs.waiting import WaitingLine
from gputuner.model.jobs import Needs, NeedSource, Request

GIB = 2**30
REPEATS = 15
PROCESSES = 5


def filled(data_dir, jobs):
    """Jobs of 200 different needs, a tenth of which follow others."""
    with JobStore(data_dir) as store:
        store.connection.execute("PRAGMA synchronous = OFF")  # filling is not what is measured
        for number in range(jobs):
            needs = Needs(
                memory_bytes=(number % 200 + 1) * GIB // 8, source=NeedSource.GIVEN, label=f"train{number % 20}.py"
            )
            after = (number - 5,) if number % 10 == 9 else ()
            store.add(
                Request(
                    command=("python", f"train{number % 20}.py", "--seed", str(number)),
                    folder="/home/me/project",
                    environment={"PATH": "/usr/bin"},
                    needs=needs,
                    after=after,
                )
            )


def rooms(full):
    """Eight cards: with one job each, or full of others' memory."""
    found = []
    for index in range(8):
        resident = Resident(job=100000 + index, label="x", reserved_bytes=20 * GIB, used_bytes=20 * GIB, share=True)
        others = 23 * GIB + 900 * 2**20 if full else 0
        free = 24 * GIB - (others or 20 * GIB)
        residents = () if full else (resident,)
        found.append(
            Room(
                uuid=f"GPU-{index}",
                title="card",
                index=index,
                total_bytes=24 * GIB,
                free_bytes=free,
                residents=residents,
                others_bytes=others,
            )
        )
    return found


def last_alone(jobs):
    """A line of ever smaller needs, of which only the last fits."""
    needs = [Needs(memory_bytes=(300 - number * 250 // jobs) * GIB, label="a") for number in range(jobs - 1)]
    needs.append(Needs(memory_bytes=GIB // 2, label="a"))
    return Line(Candidate(id=number, needs=each) for number, each in enumerate(needs, 1))


def nearly_full():
    """Eight large cards with 5.5 GiB free each."""
    sizes = {"total_bytes": 400 * GIB, "free_bytes": 11 * GIB // 2, "others_bytes": 789 * GIB // 2}
    return [Room(uuid=f"GPU-{index}", title="card", index=index, **sizes) for index in range(8)]


def _used_s():
    """Processor time of this process (finely counted) and of its children."""
    return time.process_time() + sum(os.times()[2:4])


def timed(call, repeats=REPEATS):
    """Median and worst wall time of a call, ms, and the median of the processor time that it and its children took."""
    took, used = [], []
    for _repeat in range(repeats):
        began, before = time.perf_counter(), _used_s()
        call()
        took.append(1e3 * (time.perf_counter() - began))
        used.append(1e3 * (_used_s() - before))
    return statistics.median(took), max(took), statistics.median(used)


def listed(data_dir, *more):
    """The whole command, from the start of its process."""
    words = [sys.executable, "-m", "gputuner", "--cli", "queue", "list", "--data-dir", str(data_dir), *more]
    subprocess.run(words, check=True, capture_output=True)


def shown(data_dir):
    """What the command does once the program is loaded: read and write as a table."""
    from gputuner.cli.output import Output
    from gputuner.cli.queue import MOST_ENDED, MOST_WAITING, _show

    view = open_queue(data_dir).read(most_waiting=MOST_WAITING, most_ended=MOST_ENDED)
    _show(Output(out=io.StringIO(), err=io.StringIO()), view)


def main(jobs=10000):
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        filled(data_dir, jobs)
        with JobStore(data_dir) as store:
            waiting = WaitingLine(store)
            began = time.perf_counter()
            line = waiting.line()
            read_ms = 1e3 * (time.perf_counter() - began)
            blocked = len(waiting._all) - len(line.candidates)
            print(f"{jobs} waiting jobs, {blocked} of them behind others; line read anew: {read_ms:.0f} ms\n")
            print("| what | median | worst | processor time |\n|---|---|---|---|")
            tell("scheduling decision, cards with one job each", lambda: decide(line, rooms(False)))
            tell("scheduling decision, cards full of others' memory", lambda: decide(line, rooms(True)))
            last = last_alone(jobs)
            tell("scheduling decision, only the last of the line can start", lambda: decide(last, nearly_full()))
            tell("line as it is kept between changes", waiting.line)
        tell("`queue list`: read and table, program loaded", lambda: shown(data_dir))
        tell("`queue list`, whole process", lambda: listed(data_dir), PROCESSES)
        tell("`queue list --json` (all jobs), whole process", lambda: listed(data_dir, "--json"), PROCESSES)
        tell("`sessions list` without sessions: the program's start", lambda: floor(data_dir), PROCESSES)


def tell(name, call, repeats=REPEATS):
    """One row of the table."""
    median, worst, used = timed(call, repeats)
    print(f"| {name} | {median:.2f} ms | {worst:.2f} ms | {used:.1f} ms |", flush=True)


def floor(data_dir):
    """Another command that has nothing to do, for what the program's start alone takes."""
    words = [sys.executable, "-m", "gputuner", "--cli", "sessions", "list", "--data-dir", str(data_dir)]
    subprocess.run(words, check=True, capture_output=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
