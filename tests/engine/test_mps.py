"""Jobs under MPS, with a stand-in for NVIDIA's daemon: what it is told on each path, and that nothing of it stays."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from gputuner.engine import mps, mps_journal
from gputuner.engine.engine import Engine
from gputuner.engine.mps import OwnMps
from gputuner.engine.mps_daemon import Daemon
from gputuner.engine.stage import WallStage
from gputuner.model.events import Event, Outcome, RunFinished, StepStarted, Warned, WorkerExited
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.steps import Done, Lost, Plan, Together
from tests.engine.mps_rig import (
    ASKED,
    CHILD,
    END,
    ROOT,
    START,
    Lab,
    await_fact,
    await_line,
    install,
    journal_of,
    left_processes,
    notes,
    pair,
    run,
    warned,
)
from tests.engine.rig import SCRIPT, Bench, HandFeed, outcomes_of, work


def test_jobs_are_clients_of_a_daemon_of_our_own_for_as_long_as_steps_want_it(lab: Lab):
    events, seen = run(lab, work(), pair(thread_percentages=(30, 70)), pair(), work())
    assert [r.mode for r in seen if isinstance(r, Done)] == ["processes", "mps", "mps", "processes"]
    assert notes(seen[1], "percentage") == ["30", "70"]
    assert notes(seen[1], "thread_percentage") == [30, 70]
    assert notes(seen[2], "percentage") == ["", ""]
    assert notes(seen[2], "mode") == ["mps", "mps"]
    (pipe,) = {*notes(seen[1], "pipe"), *notes(seen[2], "pipe")}
    assert Path(str(pipe)).parent.parent == mps_journal.runtime_of(lab.folder)
    assert notes(seen[0], "pipe") == notes(seen[3], "pipe") == [""]
    assert warned(events) == []
    assert lab.journal() == [*START, *ASKED, *ASKED, *END]


def test_the_folder_is_ours_alone_and_short_enough_for_a_socket(lab: Lab):
    modes: list[int] = []

    def make() -> Plan:
        done = yield pair()
        folder = Path(str(notes(done, "pipe")[0])).parent
        modes.extend(path.stat().st_mode & 0o777 for path in (folder.parent, folder, *folder.glob("*/")))
        (journal,) = mps_journal.runtime_of(lab.folder).glob("mps-*.json")
        told = json.loads(journal.read_text())
        assert told["folder"] == str(folder)
        assert told["pid"] == os.getpid()
        assert len(str(folder)) <= mps.LONGEST

    list(lab.start(make))
    assert modes == [0o700] * 4


def test_idle_processes_are_clients_too(lab: Lab):
    events, seen = run(lab, pair("ok", idle=2))
    assert len(notes(seen[0], "pid")) == 1
    assert len([e for e in events if isinstance(e, WorkerExited)]) == 4  # the first was no client
    assert lab.journal() == [*START, *ASKED, *END]


def test_cancel_ends_the_daemon(lab: Lab):
    make, _ = outcomes_of([pair("busy", "busy")])
    events: list[Event] = []
    started = lab.start(make)
    for event in started:
        events.append(event)
        if isinstance(event, StepStarted):
            await_line(lab.folder, "get_client_list")
            started.cancel()
    assert events[-1].outcome is Outcome.CANCELLED
    assert lab.journal() == [*START, *ASKED, *END]


def test_cancel_while_the_daemon_does_not_start(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    short(monkeypatch, 2.0)
    lab.tell("hang:-d")
    make, _ = outcomes_of([pair()])
    events: list[Event] = []
    started = lab.start(make)
    for event in started:
        events.append(event)
        if isinstance(event, StepStarted):
            await_line(lab.folder, "-d GPU-test")
            started.cancel()
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome is Outcome.CANCELLED
    assert lab.journal() == START[:1]


def test_a_client_that_does_not_end_is_quieted_before_it_is_killed(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gputuner.engine.workers.GRACE_S", 0.3)
    lab.arguments.append("deaf")
    events, _ = run(lab, pair("ok"))
    assert [e.why for e in events if isinstance(e, WorkerExited)] == ["killed", "killed"]
    asked_of_the_first = ["get_server_list"]  # which was no client
    assert lab.journal() == [*START, *asked_of_the_first, *ASKED, *ASKED, "terminate_client", *END]


def test_a_failure_of_one_leaves_nothing_behind(lab: Lab):
    _, seen = run(lab, pair("ok", "oom", partly=True), pair())
    assert [r.mode for r in seen if isinstance(r, Done)] == ["mps", "mps"]
    assert lab.journal() == [*START, *ASKED, *ASKED, *END]


def test_a_fatal_fault_is_told_as_one_of_all(lab: Lab):
    events, seen = run(lab, pair("sticky", "ok", partly=True), pair())
    assert seen[0] == Lost(message="illegal memory access", mps_fault=True)
    assert isinstance(seen[1], Done)
    assert seen[1].mode == "mps"
    assert warned(events) == []
    assert lab.journal() == [*START, *ASKED, *END, *START, *ASKED, *END]


def test_the_same_fault_in_processes_is_the_jobs_own(lab: Lab):
    _, seen = run(lab, Together(label="pair", works=(work("sticky"), work("ok")), partly=True))
    assert isinstance(seen[0], Done)
    assert [(f.job, f.result) for f in seen[0].failed] == [(0, Lost(message="illegal memory access"))]


def test_a_daemon_that_does_not_start_is_told_once_and_jobs_run_as_processes(lab: Lab):
    lab.tell("no_start")
    events, seen = run(lab, pair(), pair())
    assert [r.mode for r in seen if isinstance(r, Done)] == ["processes", "processes"]
    (told,) = [e for e in events if isinstance(e, Warned)]
    assert (told.code, told.params["message"]) == ("mps_not_started", "An instance of this daemon is already running")
    assert lab.journal() == START[:1]


def test_workers_that_are_no_clients_are_noticed(lab: Lab):
    events, seen = run(lab, pair("past_mps", "ok"))
    assert warned(events) == ["mps_not_clients"]
    assert isinstance(seen[0], Done)
    assert seen[0].mode == "processes"
    assert notes(seen[0], "pipe") == ["", ""]
    assert lab.journal() == [*START, *ASKED, *END]


@pytest.mark.parametrize(
    ("command", "journal"),
    [
        ("-d", ["-d GPU-test"]),
        ("get_client_list", [*START, *ASKED]),
        ("quit", [*START, *ASKED, *ASKED, *ASKED, "quit -t 1"]),
    ],
)
def test_a_wedged_daemon_is_told_and_killed(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, command: str, journal: list[str]
):
    short(monkeypatch, 2.0)
    lab.tell(f"hang:{command}")
    events, seen = run(lab, pair(), pair())
    assert isinstance(seen[0], Done)
    if command == "quit":  # the measurement stands, only the end is hard
        assert warned(events) == ["mps_killed"]
        assert seen[0].mode == "mps"
    else:
        assert warned(events)[0] == "mps_wedged"
        assert [r.mode for r in seen if isinstance(r, Done)] == ["processes", "processes"]
    assert lab.journal() == journal


def short(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Daemons are wedged after so long; the stand-in itself needs a tenth of a second to answer."""
    made = Daemon.__init__
    monkeypatch.setattr(Daemon, "__init__", lambda self, folder, program: made(self, folder, program, seconds))
    monkeypatch.setattr("gputuner.engine.mps_daemon.QUIT_S", 1)


def test_jobs_that_hang_under_a_wedged_server_run_as_processes(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    short(monkeypatch, 2.0)
    monkeypatch.setattr("gputuner.engine.trials.OVERRUN", 0.1)
    monkeypatch.setattr("gputuner.engine.trials.SETUP_S", 5.0)
    monkeypatch.setattr("gputuner.engine.safety.SILENCE_S", 600.0)

    events, seen = run(lab, pair("wedges_mps", "ok"))
    assert isinstance(seen[0], Done)
    assert seen[0].mode == "processes"
    assert warned(events)[0] == "mps_wedged"


def test_where_mps_cannot_be_had_the_reason_is_told(bench: Bench):
    make, seen = outcomes_of([pair(), pair()])
    events = list(bench.start(make))
    (told,) = [e for e in events if isinstance(e, Warned)]
    assert (told.code, told.params) == ("mps_unavailable", {"reason": "program_missing"})
    assert [r.mode for r in seen if isinstance(r, Done)] == ["processes", "processes"]


# --- the end of whoever started it ------------------------------------------------------------------------------


RUN = """
import sys
from pathlib import Path
from tests.engine import test_mps as t
from gputuner.engine.options import Options
from tests.engine.rig import CARD, Scripted
t.run_alone(Path(sys.argv[1]), sys.argv[2:])
"""


def run_alone(folder: Path, child: list[str]) -> None:
    """In a process of its own: two busy jobs under MPS, until somebody ends it."""
    stage = WallStage(
        HandFeed(),
        host=lambda: HostFingerprint(readings={}),
        command=lambda card, cap: [sys.executable, str(SCRIPT)],
        environment=lambda card, probe: {},
        sampling_hz=2.0,
        mps=lambda card, data_dir: OwnMps(card.uuid, data_dir, child, str(folder / "nvidia-cuda-mps-control")),
    )
    from gputuner.engine import performance

    performance.to_builtins = lambda spec: {"experiment": spec.name}  # a callable is no JSON
    engine = Engine(lambda: stage, None, folder)
    make, _ = outcomes_of([pair("busy", "busy")])
    list(Bench(HandFeed(), engine, [], []).start(make))


def runs(pid: int) -> bool:
    """Whether it lives; one that nobody has taken notice of yet does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def killed_run(folder: Path, child: list[str]) -> list[int]:
    """Start such a run, and kill it once its jobs are clients; their process numbers."""
    install(folder)
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), *child], cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True
    )
    await_line(folder, "get_client_list")
    clients = [int(path.name) for path in mps_journal.runtime_of(folder).glob("mps-*/pipe/clients/*")]
    assert len(clients) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    return clients


def test_a_killed_run_leaves_no_daemon_and_no_worker(place: Path):
    workers = killed_run(place, CHILD)
    await_fact(lambda: not any(map(runs, workers)), "the workers are gone")
    await_fact(lambda: not mps_journal.runtime_of(place).exists() and not left_processes(place), "all is gone")
    told = [line for line in journal_of(place) if line != "terminate_client"]  # workers die at the same moment
    assert told == [*START, *ASKED, *END]


def test_the_next_start_ends_what_a_killed_run_and_its_keeper_left(lab: Lab):
    deaf = [sys.executable, "-c", "import signal; print('ready', flush=True); signal.pause()"]
    killed_run(lab.folder, deaf)
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if deaf[-1] in words and str(lab.folder) in " ".join(words):
            process.kill()
    assert Daemon(next(mps_journal.runtime_of(lab.folder).glob("mps-*/"))).alive()
    events, _ = run(lab, work())
    (told,) = [e for e in events if isinstance(e, Warned)]
    assert (told.code, told.params) == ("mps_stale", {"daemons": 1})
    told_lines = [line for line in lab.journal() if line != "terminate_client"]
    assert told_lines == [*START, *ASKED, *END]


def test_a_folder_too_deep_for_a_socket_gives_way_to_a_temporary_one(tmp_path: Path):
    deep = tmp_path / ("x" * mps.LONGEST)
    own = OwnMps("GPU-test", deep, CHILD, install(tmp_path))
    own.start()
    folder = Path(dict(own.variables(None))["CUDA_MPS_PIPE_DIRECTORY"]).parent
    assert len(str(folder)) <= mps.LONGEST
    assert folder.stat().st_mode & 0o777 == 0o700
    assert own.end()
    assert not folder.exists()
    assert not mps_journal.runtime_of(deep).exists()


def test_a_journal_of_a_living_run_is_left_alone(place: Path):
    tmp_path = place
    program = install(tmp_path)
    own = OwnMps("GPU-test", tmp_path, CHILD, program)
    own.start()
    try:
        assert mps_journal.sweep(tmp_path) == 0
        (journal,) = mps_journal.runtime_of(tmp_path).glob("mps-*.json")
        told = json.loads(journal.read_text())
        elsewhere = journal.with_name("mps-elsewhere.json")
        elsewhere.write_text(json.dumps({**told, "host": "another machine", "pid": 1, "started_s": 0.0}))
        garbled = journal.with_name("mps-garbled.json")
        garbled.write_text("{")
        assert mps_journal.sweep(tmp_path) == 0
        assert elsewhere.exists()
    finally:
        elsewhere.unlink()
        garbled.unlink()
        assert own.end()
    assert not mps_journal.runtime_of(tmp_path).exists()
    assert left_processes(tmp_path) == []
