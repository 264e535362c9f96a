"""Many short jobs on cards made of files while their runner is killed again and again, and what must hold then."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gputuner.jobs import lease
from gputuner.jobs.store import JobStore
from gputuner.model.jobs import ENDED, JobState, Needs, NeedSource, Request

ROOT = Path(__file__).resolve().parents[2]
JOB = Path(__file__).with_name("fake_cards.py")
MIB = 2**20


@dataclass(frozen=True)
class Result:
    """What a storm came to."""

    jobs: int
    kills: int
    seconds: float
    states: Counter
    starts: int
    overflows: int
    most_held_share: float
    faults: list


def storm(data_dir, folder, *, jobs, cards, seed, starts_between=(0, 5), seconds=(0.0, 0.6)):
    """Run it; each job's fate is drawn from ``seed``. A runner is killed a moment after so many more have begun."""
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = _add(data_dir, folder, jobs, chance, seconds)
    began = time.monotonic()
    kills, most = 0, 0.0
    while True:
        runner = _runner(data_dir, folder, cards)
        while runner.poll() is None and not _serves(data_dir, runner.pid):
            time.sleep(0.005)
        wait_for = _begun(folder) + chance.randint(*starts_between)
        while runner.poll() is None and _begun(folder) < wait_for:
            most = max(most, _held_share(folder, cards))
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.1))
        if runner.poll() is not None:
            break
        runner.kill()
        runner.wait()
        kills += 1
    assert runner.returncode == 0
    return _judged(data_dir, folder, wanted, kills, time.monotonic() - began, most)


def _add(data_dir, folder, jobs, chance, seconds):
    """Add the jobs; of each what it must come to, and how often it may start."""
    wanted = {}
    with JobStore(data_dir) as store:
        for _number in range(jobs):
            amount = chance.randint(1, 12000) * MIB
            code = chance.choice([0, 0, 0, 0, 3])
            retries = chance.choice([0, 0, 2])
            command = (
                sys.executable,
                "-S",
                str(JOB),
                str(folder),
                str(amount),
                f"{chance.uniform(*seconds):.3f}",
                str(code),
            )
            needs = Needs(memory_bytes=amount, source=NeedSource.GIVEN, share=True, cards=chance.choice([1, 1, 1, 2]))
            environment = {"PATH": os.environ["PATH"]}
            request = Request(
                command=command, folder=str(folder), environment=environment, needs=needs, retries=retries
            )
            (job_id,) = store.add(request)
            wanted[job_id] = (JobState.DONE, 1) if code == 0 else (JobState.FAILED, retries + 1)
    return wanted


def _runner(data_dir, folder, cards):
    words = [sys.executable, "-m", "tests.jobs.served", str(data_dir), str(folder), str(cards)]
    return subprocess.Popen(words, cwd=ROOT)


def _serves(data_dir, pid):
    found = lease.runner(data_dir)
    return found is not None and found.pid == pid


def _begun(folder):
    ran = folder / "ran.txt"
    return ran.read_text().count("ran ") if ran.exists() else 0


def _held_share(folder, cards):
    from tests.jobs.fake_cards import TOTAL, held

    try:
        return max(sum(held(folder, f"GPU-{index}").values()) for index in range(cards)) / TOTAL
    except (OSError, ValueError):
        return 0.0  # a file went while it was read


def _judged(data_dir, folder, wanted, kills, seconds, most):
    lines = [line.split() for line in (folder / "ran.txt").read_text().splitlines()]
    ran = Counter(int(words[1]) for words in lines if words[0] == "ran")
    tickets = Counter(words[2] for words in lines if words[0] == "ran")
    faults = []
    with JobStore(data_dir) as store:
        found = store.jobs()
        claimed = Counter(row[0] for row in store.connection.execute("SELECT job FROM starts").fetchall())
        left = store.value("SELECT count(*) FROM jobs WHERE state IN ('starting', 'running', 'waiting')")
    for job in found:
        state, starts = wanted[job.id]
        if job.state is not state or job.state not in ENDED:
            faults.append(f"job {job.id} is {job.state}, not {state}: {job.reason} {job.tail}")
        if ran[job.id] != starts or claimed[job.id] != starts:
            faults.append(f"job {job.id} ran {ran[job.id]} times and was claimed {claimed[job.id]} times, not {starts}")
    faults += [f"ticket {ticket} ran {times} times" for ticket, times in tickets.items() if times > 1]
    faults += [f"{left} jobs still hold a place or wait"] if left else []
    overflows = sum(words[0] == "overflow" for words in lines)
    states = Counter(job.state for job in found)
    return Result(len(found), kills, seconds, states, sum(ran.values()), overflows, most, faults)
