"""Crash, power cut, full disk, read-only folder, readers beside the writer."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from gputuner.model.errors import StoreError
from gputuner.model.events import Event
from gputuner.model.quantities import Quantity
from gputuner.sessions.files import companions
from gputuner.sessions.lease import is_running, lock_path
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.opening import TAIL_MISSING
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.writer import SessionWriter

from .streams import RUN, S, finished, run, sample, started, store, tick

ROOT = Path(__file__).parents[2]
FAST = {Quantity.CORE_TEMPERATURE_C: 50.0}
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


class Hand:
    """A clock turned by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def seqs(path: Path) -> list[int]:
    with SessionReader(path) as reader:
        return [event.seq for event in reader.events()]


def child(code: str, *arguments: object) -> "subprocess.Popen[str]":
    """A Python process in the checkout."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_finished_session_is_one_file(tmp_path: Path) -> None:
    path = store(tmp_path, run())
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert path.read_bytes()[18:20] == b"\x01\x01"  # file format of a rollback journal; 2, 2 would be WAL


def test_a_reader_sees_every_commit_while_the_session_is_written(tmp_path: Path) -> None:
    clock = Hand()
    writer = SessionWriter.create(tmp_path, RUN, now=clock)
    writer.write(started())
    assert seqs(writer.path) == [0]
    writer.write(tick(1, S, sample(S, FAST)))
    assert seqs(writer.path) == [0]
    writer.flush()
    assert seqs(writer.path) == [0, 1]
    with SessionReader(writer.path) as reader:
        assert reader.finished is None
        assert reader.summary().running
        assert reader.series("GPU-aaaa", Quantity.CORE_TEMPERATURE_C).mean.tolist() == [50.0]
    writer.close()


def test_one_commit_a_second_by_write_and_by_tick(tmp_path: Path) -> None:
    clock = Hand()
    writer = SessionWriter.create(tmp_path, RUN, now=clock)
    writer.write(started())
    for n in range(1, 12):  # 10 Hz
        clock.now = n / 10
        writer.write(tick(n, n, sample(n, FAST)))
        with SessionReader(writer.path) as reader:
            assert reader.end_ns() in (0, 9, n)  # 0.8 s after 0.1 s
    writer.tick()
    assert seqs(writer.path)[-1] == 9
    clock.now = 1.9
    writer.tick()
    assert seqs(writer.path)[-1] == 11
    writer.close()


@posix
def test_kill_9_loses_only_what_was_not_committed(tmp_path: Path) -> None:
    process = child(
        """
        import sys
        from pathlib import Path
        from tests.sessions.streams import *
        writer = SessionWriter.create(Path(sys.argv[1]), RUN, now=lambda: 0.0)
        writer.write(started())
        for n in range(1, 50):
            writer.write(tick(n, n, sample(n, {Quantity.POWER_AVERAGE_W: n / 8})))
        writer.flush()
        writer.write(tick(50, 50, sample(50, {})))
        print(writer.path, flush=True)
        sys.stdin.read()
        """,
        tmp_path,
    )
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    assert is_running(path)
    with pytest.raises(StoreError) as caught:
        SessionLibrary(tmp_path).delete(path)
    assert caught.value.code == "session_in_use"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not is_running(path)
    assert seqs(path) == list(range(50))
    with SessionReader(path) as reader:
        assert reader.finished is None
        assert reader.summary().outcome is None
        assert not reader.summary().running
        assert reader.series("GPU-aaaa", Quantity.POWER_AVERAGE_W).mean.tolist() == [n / 8 for n in range(1, 50)]
    SessionLibrary(tmp_path).delete(path)
    assert list(path.parent.iterdir()) == []


def test_a_power_cut_at_any_byte_of_the_wal_leaves_a_begin_of_the_stream(tmp_path: Path) -> None:
    events: list[Event] = [started(), *(tick(n, n, sample(n, FAST)) for n in range(1, 20))]
    writer = SessionWriter.create(tmp_path / "live", RUN)
    for event in events:
        writer.write(event)
        writer.flush()
    wal = companions(writer.path)[0]
    whole = wal.read_bytes()
    assert seqs(writer.path) == list(range(20))
    lengths: set[int] = set()
    for cut in range(0, len(whole) + 1, 4999):
        copy = tmp_path / f"cut{cut}" / writer.path.name
        copy.parent.mkdir()
        shutil.copy(writer.path, copy)
        companions(copy)[0].write_bytes(whole[:cut])
        found = seqs(copy)
        assert found == list(range(len(found)))
        assert found[0] == 0
        lengths.add(len(found))
    writer.close()
    assert len(lengths) > 5


def test_two_windows_on_one_folder_never_share_a_file(tmp_path: Path) -> None:
    first = SessionWriter.create(tmp_path, RUN)
    first.write(started())
    with pytest.raises(StoreError) as caught:
        SessionWriter.create(tmp_path, RUN)
    assert caught.value.code == "session_exists"
    second = SessionWriter.create(tmp_path, "20261130-142234-tune-c3d4")
    second.write(started(run_id="20261130-142234-tune-c3d4"))
    first.write(finished(1, S))
    second.write(tick(1, 1, sample(1, FAST)))
    second.close()
    assert (seqs(first.path), seqs(second.path)) == ([0, 1], [0, 1])


def test_close_from_another_thread_keeps_what_was_written(tmp_path: Path) -> None:
    writer = SessionWriter.create(tmp_path, RUN, now=lambda: 0.0)
    writer.write(started())
    writer.write(tick(1, 1, sample(1, FAST)))
    thread = threading.Thread(target=writer.close)
    thread.start()
    thread.join()
    writer.close()
    assert seqs(writer.path) == [0, 1]
    with pytest.raises(StoreError) as caught:
        writer.write(tick(2, 2))
    assert caught.value.code == "store_closed"


def test_a_run_that_ends_while_it_is_read_stays_readable(tmp_path: Path) -> None:
    writer = SessionWriter.create(tmp_path, RUN)
    writer.write(started())
    with SessionReader(writer.path) as reader:
        stream = reader.events()
        assert next(stream).seq == 0
        writer.write(finished(1, S))
        assert [e.seq for e in reader.events()] == [0, 1]
    assert seqs(writer.path) == [0, 1]


def test_nothing_written_leaves_no_file(tmp_path: Path) -> None:
    writer = SessionWriter.create(tmp_path, RUN)
    writer.close()
    assert list(writer.path.parent.iterdir()) == []


def fill(writer: SessionWriter) -> tuple[int, StoreError]:
    """Write until it fails; the last seq committed before, and the error."""
    for n in range(1, 100_000):
        try:
            writer.write(tick(n, n, sample(n, FAST)))
            writer.flush()
        except StoreError as error:
            return n - 1, error
    raise AssertionError("never full")


def test_a_full_file_system_is_told_and_what_was_kept_stays(tmp_path: Path) -> None:
    writer = SessionWriter.create(tmp_path, RUN)
    writer.write(started())
    pages = writer._connection.execute("PRAGMA page_count").fetchone()[0]
    writer._connection.execute(f"PRAGMA max_page_count = {pages + 3}")
    last, error = fill(writer)
    assert error.code == "store_full"
    with pytest.raises(StoreError) as again:
        writer.write(tick(10**6, 1))
    assert again.value.code == "store_full"
    writer.close()
    assert seqs(writer.path) == list(range(last + 1))


@pytest.fixture
def tiny(tmp_path: Path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("mount is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@as_root
def test_a_really_full_disk_in_mid_run(tiny: Path) -> None:
    writer = SessionWriter.create(tiny, RUN)
    writer.write(started())
    last, error = fill(writer)
    assert error.code == "store_full"
    assert str(writer.path) in str(error)
    writer.close()
    assert last > 5
    assert seqs(writer.path) == list(range(last + 1))


@as_root
def test_a_disk_that_is_full_from_the_start_is_left_as_it_was(tiny: Path) -> None:
    with suppress(OSError):
        (tiny / "filler").write_bytes(bytes(2**20))
    with pytest.raises(StoreError) as caught:
        SessionWriter.create(tiny / "data", RUN)
    assert caught.value.code == "store_full"
    assert [p.name for p in tiny.iterdir()] == ["filler"]


def unprivileged(code: str, *arguments: object) -> str:
    """What a process without root's rights prints."""
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if drop and shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    reach = subprocess.run([*drop, sys.executable, "-c", "import gputuner"], cwd=ROOT, capture_output=True, check=False)
    if reach.returncode:
        pytest.skip("the checkout or interpreter is not readable without root")
    command = [*drop, sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@posix
def test_a_read_only_data_folder_is_told(open_path: Path) -> None:
    folder = open_path / "data"
    folder.mkdir()
    folder.chmod(0o555)
    told = unprivileged(
        """
        import sys
        from pathlib import Path
        from gputuner.model.errors import StoreError
        from gputuner.sessions.writer import SessionWriter
        try:
            SessionWriter.create(Path(sys.argv[1]), "20261130-142233-tune-a1b2")
        except StoreError as error:
            print(error.code)
        """,
        folder,
    )
    assert told == "store_readonly"
    assert list(folder.iterdir()) == []


READ = """
import sys
from pathlib import Path
from gputuner.sessions.reader import SessionReader
with SessionReader(Path(sys.argv[1])) as reader:
    print(reader.note, [event.seq for event in reader.events()])
"""


@posix
def test_finished_and_unfinished_sessions_open_on_read_only_media(open_path: Path) -> None:
    done = store(open_path / "done", run(seconds=2))
    count = len(run(seconds=2))
    writer = SessionWriter.create(open_path / "live", RUN)
    writer.write(started())
    writer.write(tick(1, 1, sample(1, FAST)))
    writer.flush()
    cut = open_path / "cut" / writer.path.name
    cut.parent.mkdir()
    for file in (writer.path, companions(writer.path)[0]):
        shutil.copy(file, cut.parent / file.name)
    writer.close()
    for folder in (done.parent, cut.parent):
        folder.chmod(0o555)
    assert unprivileged(READ, done) == f"None {list(range(count))}"
    assert unprivileged(READ, cut) == f"{TAIL_MISSING} [0]"
    cut.parent.chmod(0o755)
    assert seqs(cut) == [0, 1]


@posix
def test_two_who_look_at_once_do_not_take_each_other_for_the_writer(tmp_path: Path) -> None:
    path = store(tmp_path, [started()])
    lock_path(path).touch()  # left by a killed writer
    looker = child(
        """
        import sys
        from pathlib import Path
        from gputuner.sessions import lease
        file = lease.lock_path(Path(sys.argv[1])).open("rb")
        print(lease._take(file, look=True), flush=True)
        sys.stdin.read()
        """,
        path,
    )
    assert looker.stdout is not None
    assert looker.stdout.readline().strip() == "True"
    assert not is_running(path)
    looker.communicate()


def test_the_lock_is_gone_with_its_writer(tmp_path: Path) -> None:
    writer = SessionWriter.create(tmp_path, RUN)
    writer.write(started())
    assert is_running(writer.path)
    writer.close()
    assert not is_running(writer.path)
    assert not lock_path(writer.path).exists()
