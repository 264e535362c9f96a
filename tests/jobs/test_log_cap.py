"""The limit of a job's log: a job that floods does not fill the disk, and what is kept is its newest output, whole."""

import os
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.jobs import log_cap
from gputuner.jobs.log_cap import CAP_BYTES, LEAST_BYTES, MIB, VARIABLE, LogCap, cap_of, cut, cut_bytes
from gputuner.jobs.logs import Follower, lines
from gputuner.model.jobs import JobState

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is cut there")
CAP = 4096
FLOOD = """
import os, sys, time
lines, cap, go = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

def until(held):
    while not held():
        time.sleep(0.01)

for number in range(lines):
    os.write(1, b"%08d " % number + b"x" * 90 + b"\\n")
    if go and number == lines // 2:
        open(go + ".waits", "w").close()
        until(lambda: os.path.exists(go))
until(lambda: cap / 5 < os.fstat(1).st_size <= cap)  # what is written in the instant of a cut may be lost
os.write(2, b"the last words\\n")
"""
LINE = re.compile(r"(\d{8}) x{90}")


def flood(count: int, cap: int, go: str = "") -> tuple[str, ...]:
    return sys.executable, "-c", FLOOD, str(count), str(cap), go


def numbered(first: int, last: int) -> bytes:
    return b"".join(b"%06d\n" % number for number in range(first, last))


def test_a_real_job_that_floods_keeps_its_newest_lines_in_a_file_that_is_no_larger_than_its_limit(queue):
    count, cap = 200_000, MIB
    environment = {"PATH": os.environ["PATH"], VARIABLE: "1"}
    job = queue.run(queue.add(*flood(count, cap), environment=environment))
    log = Path(job.log)
    assert job.state is JobState.DONE
    assert log.stat().st_size <= cap
    first, *kept, last = log.read_text().splitlines()
    assert f"{VARIABLE}: 1" in first
    assert last == "the last words"
    numbers = [int(whole[1]) for line in kept if (whole := LINE.fullmatch(line))]
    assert len(numbers) > 0.95 * len(kept)
    assert all(a < b for a, b in pairwise(numbers))
    assert 100 * len(numbers) > 0.15 * cap
    assert 0 < cut_bytes(log) <= 100 * numbers[0]


def test_it_is_cut_while_the_job_runs_and_who_follows_it_reads_on(queue, tmp_path):
    go, count = tmp_path / "go", 40_000
    environment = {"PATH": os.environ["PATH"], VARIABLE: str(LEAST_BYTES / MIB)}
    number = queue.add(*flood(count, LEAST_BYTES, str(go)), environment=environment)
    queue.place(number)
    supervisor = queue.supervise(number)
    queue.until((tmp_path / "go.waits").exists)
    log = Path(queue.store.job(number).log)
    queue.until(lambda: LEAST_BYTES / 5 < log.stat().st_size <= LEAST_BYTES)
    follower = Follower(log, log.stat().st_size)
    go.touch()
    text = ""
    while supervisor.poll() is None:
        text += "".join(follower.pieces())
    text += "".join(follower.pieces())
    assert text.endswith("the last words\n")
    shown = [int(whole[1]) for line in text.splitlines() if (whole := LINE.fullmatch(line))]
    assert min(shown) > count // 2, "what was there before is not shown again"
    assert all(a < b for a, b in pairwise(shown)), "and nothing twice"


@settings(max_examples=40)
@given(written=st.lists(st.integers(1, 900), min_size=1, max_size=12))
def test_however_it_grows_it_holds_the_newest_whole_lines_and_counts_what_is_gone(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("log") / "log"
    path.touch()
    keeper, total = LogCap(path, CAP), 0
    for lines_more in written:
        with path.open("ab") as file:
            file.write(numbered(total, total + lines_more))
        total += lines_more
        keeper.look()
        assert path.stat().st_size <= CAP
    raw, gone = path.read_bytes(), cut_bytes(path)
    kept = raw.partition(b"\n")[2] if gone else raw
    assert gone + len(kept) == 7 * total
    assert kept == numbered(gone // 7, total)


def test_a_line_without_an_end_is_cut_too(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"x" * (100 * log_cap.LONGEST_START))
    assert cut(path, LEAST_BYTES) <= LEAST_BYTES
    assert cut_bytes(path) > 90 * log_cap.LONGEST_START


@pytest.mark.parametrize("read", [0, 100, 500, 600])
def test_a_follower_reads_on_in_a_log_that_was_cut(tmp_path, read):
    path = tmp_path / "log"
    path.write_bytes(numbered(0, 600))
    follower = Follower(path, 7 * read)
    cut(path, CAP)
    with path.open("ab") as file:
        file.write(numbered(600, 620))
    shown = [int(line) for line in "".join(follower.pieces()).splitlines() if line.isdigit()]
    kept = cut_bytes(path) // 7
    assert shown == list(range(max(read, kept), 620))


def test_a_follower_reads_what_comes_after_its_log_was_emptied(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(numbered(0, 10))
    follower = Follower(path, 70)
    path.write_bytes(b"anew\n")
    assert "".join(follower.pieces()) == "anew\n"
    assert "".join(lines(path)) == "anew\n"


@pytest.mark.parametrize(
    ("told", "cap"),
    [("", CAP_BYTES), ("2", 2 * MIB), ("0.5", MIB // 2), ("0", LEAST_BYTES), ("-3", LEAST_BYTES), ("many", CAP_BYTES),
     ("nan", CAP_BYTES), ("inf", CAP_BYTES)],
)  # fmt: skip
def test_the_limit_is_in_the_environment_of_the_job(told, cap):
    assert cap_of({VARIABLE: told} if told else {}) == cap


def test_a_log_that_its_user_deleted_is_no_trouble(tmp_path):
    assert LogCap(tmp_path / "none", CAP).look() > 0
    assert cut_bytes(tmp_path / "none") == 0
