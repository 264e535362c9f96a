"""The alert's command as a real process: fed, drained, ended in time, never two for one alert, troubles told once."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

import psutil
import pytest

from gputuner.engine.alert_hook import KEPT_BYTES, LOG_BYTES, HookEnded, Hooks
from tests.held_signals import STATUS, held, told

LONG_S = 120.0
WAIT_S = 60.0
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sh and process groups")


def python(code: str, *more: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *more]


def hooks(argv: list[str], tmp_path: Path, timeout_s: float = LONG_S) -> tuple[Hooks, list[HookEnded]]:
    told: list[HookEnded] = []
    return Hooks(argv, timeout_s, tmp_path / "log" / "alert-hook.log", told.append), told


def test_it_gets_the_alert_as_json_and_in_variables_in_a_session_of_its_own(tmp_path: Path):
    target = tmp_path / "seen"
    code = (
        "import json,os,sys; told=json.load(sys.stdin); "
        "json.dump([told, os.environ['GPUTUNER_ALERT'], os.getsid(0) == os.getpid()], open(sys.argv[1], 'w'))"
    )
    made, _told = hooks(python(code, str(target)), tmp_path)
    assert made.try_once({"alert": "fan", "value": 71.5}, {"GPUTUNER_ALERT": "fan"}) == HookEnded(exit_code=0)
    assert json.loads(target.read_text()) == [{"alert": "fan", "value": 71.5}, "fan", True]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_it_holds_and_ignores_no_signal_whatever_we_do(tmp_path: Path):
    made, _told = hooks(list(STATUS), tmp_path)
    with held():
        assert made.try_once({}, {}) == HookEnded(exit_code=0)
    assert told((tmp_path / "log" / "alert-hook.log").read_text()) == set()


def test_no_shell_reads_its_words(tmp_path: Path):
    made, _told = hooks(["echo", "$(touch gone); `x` *"], tmp_path)
    assert made.try_once({}, {}).trouble == ""
    assert "$(touch gone); `x` *" in (tmp_path / "log" / "alert-hook.log").read_text()


def test_one_that_ignores_sigterm_is_ended_at_its_time_out_with_all_it_started(tmp_path: Path):
    pids = tmp_path / "pids"
    stubborn = f"trap '' TERM; sleep 1000 & echo $$ $! > {pids}; wait; sleep 1000"
    made, _told = hooks(["sh", "-c", stubborn], tmp_path, 3.0)
    ended = made.try_once({}, {})
    assert (ended.trouble, ended.exit_code) == ("timed_out", -signal.SIGKILL)
    shell, child = map(int, pids.read_text().split())
    assert not psutil.pid_exists(shell)
    if psutil.pid_exists(child):  # whoever adopted it has not looked yet
        psutil.wait_procs([psutil.Process(child)], timeout=WAIT_S)
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_one_that_floods_its_output_is_read_on_and_its_log_stays_small(tmp_path: Path):
    flood = "import os\nfor _ in range(200): os.write(1, b'x' * 65536)\nos.write(1, b'over')"
    made, _told = hooks(python(flood), tmp_path)
    log = tmp_path / "log" / "alert-hook.log"
    for _ in range(3):
        assert made.try_once({}, {}) == HookEnded(exit_code=0), "13 MB did not stop it"
    assert 3 * KEPT_BYTES <= log.stat().st_size <= 3 * (KEPT_BYTES + 100)
    log.write_bytes(b"x" * (LOG_BYTES + 1))
    made.try_once({}, {})
    assert log.stat().st_size <= KEPT_BYTES + 100
    assert sorted(os.listdir(log.parent)) == ["alert-hook.log", "alert-hook.log.1"]


def test_one_that_is_missing_or_fails_is_told_once(tmp_path: Path):
    for argv, trouble in (
        ([str(tmp_path / "gone")], "missing"),
        ([str(tmp_path)], "forbidden"),
        (["false"], "failed"),
    ):
        made, told = hooks(argv, tmp_path)
        for number in range(4):
            made.run(("a", str(number)), {}, {})
        assert made.wait(WAIT_S)
        made.close()
        assert [each.trouble for each in told] == [trouble]


def test_for_one_alert_one_runs_at_a_time_and_the_newest_waits(tmp_path: Path):
    log = tmp_path / "runs"
    gates = {n: tmp_path / f"gate{n}" for n in (0, 5)}
    for gate in gates.values():
        os.mkfifo(gate)
    code = (
        "import json,sys; n=json.load(sys.stdin)['n']; open(f'{sys.argv[2]}{n}').read(); "
        "open(sys.argv[1],'a').write(f'{n} ')"
    )
    made, _told = hooks(python(code, str(log), str(tmp_path / "gate")), tmp_path)
    for n in range(6):
        made.run(("fan", "GPU-0"), {"n": n}, {})
    for gate in gates.values():
        assert not made.wait(0)
        gate.open("w").close()  # opening waits for the hook that reads it
    assert made.wait(WAIT_S)
    assert log.read_text() == "0 5 "


def test_another_alert_does_not_wait_for_the_first(tmp_path: Path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    done = threading.Event()
    made, told = hooks(["sh", "-c", f'if [ "$N" = 1 ]; then exit 7; else cat {gate}; fi'], tmp_path)
    made._tell = lambda ended: (told.append(ended), done.set())  # type: ignore[assignment, func-returns-value]
    made.run(("a",), {}, {"N": "0"})
    made.run(("b",), {}, {"N": "1"})
    assert done.wait(WAIT_S), "the second ended while the first waits"
    assert not made.wait(0)
    with gate.open("w"):
        pass
    assert made.wait(WAIT_S)
    assert [each.exit_code for each in told] == [7]


def test_closing_ends_what_runs_and_starts_no_more(tmp_path: Path):
    pid = tmp_path / "pid"
    os.mkfifo(pid)
    made, told = hooks(["sh", "-c", f"echo $$ > {pid}; exec sleep 1000"], tmp_path)
    made.run(("a",), {}, {})
    process = psutil.Process(int(pid.read_text()))
    made.close(0.0)
    assert not process.is_running()
    assert [each.trouble for each in told] == ["cut_short"], "what did not run to its end is said"
    made.run(("b",), {}, {})
    assert made.wait(0)
