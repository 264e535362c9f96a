"""Who holds a card is told as far as it is known; a data folder that may not be written is told as what it is."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gputuner.engine import locks
from gputuner.engine.locks import CardLock, CardMark, holders
from gputuner.model.errors import CardBusy, ExitCode, StoreError
from gputuner.model.holders import Holder
from gputuner.settings.files import write_whole
from tests.engine.rig import Scripted


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EROFS, ExitCode.NO_PERMISSION),
        (errno.EACCES, ExitCode.NO_PERMISSION),
        (errno.EIO, ExitCode.BAD_INPUT),
    ],
)
@pytest.mark.parametrize(
    "write", [lambda folder: CardLock(folder, "GPU-1"), lambda folder: write_whole(folder / "a" / "b", b"")]
)
def test_a_folder_on_a_read_only_disk_is_a_matter_of_permission(tmp_path, monkeypatch, number, code, write):
    def refuse(*_args, **_fields):
        raise OSError(number, "no")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError) as caught:
        write(tmp_path)
    assert caught.value.exit_code is code


CHILD = """
import sys
from pathlib import Path
from gputuner.engine.locks import CardLock, CardMark
kind, purpose = {"lock": (CardLock, "bench"), "mark": (CardMark, "record")}[sys.argv[2]]
held = kind(Path(sys.argv[1]), "GPU-1", purpose)
print("held", flush=True)
sys.stdin.read()
held.release()
"""


@pytest.fixture(params=["lock", "mark"])
def other(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Another process that holds or reads the card, until its stdin ends."""
    command = [sys.executable, "-c", CHILD, str(tmp_path), request.param]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        yield child, request.param
        child.kill()


def test_another_process_is_told_with_command_purpose_and_time_until_it_lets_go(tmp_path, other):
    child, kind = other
    (holder,) = holders(tmp_path, "GPU-1")
    assert holder.pid == child.pid
    assert holder.command.endswith(f"{tmp_path} {kind}")
    assert holder.purpose == {"lock": "bench", "mark": "record"}[kind]
    assert holder.since_unix_s is not None
    assert 0 <= time.time() - holder.since_unix_s < 60
    assert holders(tmp_path, "GPU-2") == ()
    child.communicate(b"")
    assert holders(tmp_path, "GPU-1") == ()
    assert not list(tmp_path.glob("locks/*.mark"))


def test_a_killed_process_holds_nothing_and_its_mark_is_cleared_away(tmp_path, other):
    child, _kind = other
    child.kill()
    child.wait()
    assert holders(tmp_path, "GPU-1") == ()
    assert not list(tmp_path.glob("locks/*.mark"))
    CardLock(tmp_path, "GPU-1").release()


def test_any_number_may_read_a_card_that_one_uses(tmp_path):
    marks = [CardMark(tmp_path, "GPU-1", "record") for _ in range(2)]
    lock = CardLock(tmp_path, "GPU-1", "tune")
    assert [h.purpose for h in holders(tmp_path, "GPU-1")] == ["tune", "record", "record"]
    assert {h.pid for h in holders(tmp_path, "GPU-1")} == {os.getpid()}
    with pytest.raises(CardBusy) as refused:
        CardLock(tmp_path, "GPU-1")
    assert refused.value.params["pid"] == str(os.getpid())
    for held in (*marks, lock, lock):
        held.release()
    assert holders(tmp_path, "GPU-1") == ()


@pytest.mark.skipif(sys.platform == "win32", reason="locks are exclusive there")
def test_a_look_at_the_lock_does_not_keep_anyone_from_the_card(tmp_path, monkeypatch):
    """Someone looks just when the card is wanted: the second try has it."""
    import fcntl

    CardLock(tmp_path, "GPU-1").release()
    (path,) = tmp_path.glob("locks/*.lock")
    look = path.open("rb")
    fcntl.flock(look, fcntl.LOCK_SH)
    pauses = []

    def over(pause_s: float) -> None:
        pauses.append(pause_s)
        look.close()

    monkeypatch.setattr(locks.time, "sleep", over)
    CardLock(tmp_path, "GPU-1").release()
    assert len(pauses) == 1


@pytest.mark.parametrize(
    ("text", "holder"),
    [
        ("4711", Holder(pid=4711)),
        ("{}", Holder()),
        ('{"pid": "no number"}', Holder()),
        ('{"pid": 7, "of_a_later_version": 1}', Holder(pid=7)),
        ("\x00", Holder()),
    ],
)
def test_what_other_versions_wrote_is_read_as_far_as_it_goes(tmp_path, text, holder):
    lock = CardLock(tmp_path, "GPU-1")
    (path,) = tmp_path.glob("locks/*.lock")
    path.write_text(text)
    assert holders(tmp_path, "GPU-1") == (holder,)
    lock.release()


class Reading(Scripted):
    """An experiment that lays no load on the card."""

    name = "reading"
    needs_worker = False


@pytest.mark.parametrize(("kind", "file"), [(Scripted, "*.lock"), (Reading, "*.mark")])
def test_a_run_stands_there_by_its_name_as_long_as_it_lasts(simulated, tmp_path, kind, file):
    bench = simulated()
    seen = []

    def look():
        seen.extend((h.purpose, h.pid) for h in holders(tmp_path, bench.model.uuid))
        seen.extend(path.suffix for path in tmp_path.glob(f"locks/{file}"))
        yield from ()

    bench.run(kind(make=look))
    assert seen == [(kind.name, os.getpid()), file[1:]]
    assert holders(tmp_path, bench.model.uuid) == ()


def test_a_folder_that_cannot_be_written_keeps_nobody_from_reading(tmp_path):
    (tmp_path / "locks").write_text("no folder")
    CardMark(tmp_path, "GPU-1", "record").release()
    assert holders(tmp_path, "GPU-1") == ()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that takes nothing")
def test_a_full_disk_is_no_obstacle_to_letting_go(tmp_path):
    mark = CardMark(tmp_path, "GPU-1", "watch")
    assert mark._file is not None
    mark._file.close()
    mark._file = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115
    mark._file.write("what the disk did not take")
    mark.release()
    assert mark._file.closed
