"""``watch`` with real commands: they run as they would alone, and what happened to them is told."""

import codecs
import contextlib
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import termios
import textwrap
import time
from pathlib import Path

import pytest

from gputuner.cli.app import main
from gputuner.model.errors import StoreError
from gputuner.sessions.reader import SessionReader

pytestmark = pytest.mark.e2e
LIMIT_S = 600
ROOT = Path(__file__).resolve().parents[2]


class Watch:
    """Starts ``gputuner --cli watch`` in a process of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.data_dir = folder / "data"
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("LC_MESSAGES", "LANGUAGE")},
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
        }

    def words(self, *command, options=()):
        ours = [sys.executable, "-m", "gputuner", "--cli", "watch", "--data-dir", str(self.data_dir), *options]
        return [*ours, "--", *command]

    def __call__(self, *command, options=(), **how):
        done = subprocess.run(
            self.words(*command, options=options),
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
            **{"stdin": subprocess.DEVNULL, **how},
        )
        return done.returncode, done.stdout, done.stderr.decode()

    def document(self, *command, options=()):
        """Exit code and document of a run with ``--json``, and what went to stderr."""
        code, out, err = self(*command, options=("--json", *options))
        return code, json.loads(out), err

    def start(self, *command, options=(), **how):
        return subprocess.Popen(
            self.words(*command, options=options), env=self.environment, cwd=self.folder, text=True, **how
        )

    def until_seen(self, processes, since_unix_s=0.0):
        """Wait until the session holds a look since then at so many processes of the command."""
        while not any(processes <= count for at, count in self._looks() if at >= since_unix_s):
            time.sleep(0.05)

    def _looks(self):
        for path in (self.data_dir / "sessions").glob("*.sqlite"):
            with contextlib.suppress(StoreError), SessionReader(path) as reader:  # it may have no beginning yet
                for look in reader.events({"command_sampled"}):
                    yield reader.started.unix_s + (look.t_ns - reader.started.t_ns) / 1e9, look.tree.processes

    def script(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        path.chmod(0o755)
        return str(path)


@pytest.fixture
def watch(tmp_path):
    return Watch(tmp_path)


def test_output_input_folder_and_exit_code_are_the_commands_own(watch):
    words = 'cat; pwd; echo "$@" >&2; exit 7'
    code, out, err = watch("sh", "-c", words, "sh", "--json", "", input=b"typed\n", stdin=None)
    assert code == 7
    assert out.decode() == f"typed\n{watch.folder}\n"
    assert "--json \n" in err
    assert "The command ended with exit code 7." in err
    assert "sh was judged" not in err


def test_a_death_by_a_signal_is_passed_on_as_shells_do(watch):
    code, document, _err = watch.document("sh", "-c", "kill -SEGV $$")
    assert code == document["command_exit"] == 128 + signal.SIGSEGV
    assert document["command"]["signal"] == signal.SIGSEGV


def test_a_hundred_megabytes_of_output_pass_untouched(watch):
    program = "import sys; [sys.stdout.buffer.write(bytes([i % 251]) * 2**20) for i in range(100)]"
    code, out, _err = watch(sys.executable, "-c", program)
    expected = hashlib.sha256()
    for i in range(100):
        expected.update(bytes([i % 251]) * 2**20)
    assert code == 0
    assert hashlib.sha256(out).digest() == expected.digest()


def test_children_of_a_shell_script_are_followed(watch):
    script = watch.script(
        """\
        #!/bin/sh
        sleep 600 & first=$!
        sleep 600 & second=$!
        read answer
        kill $first $second
        wait
        """,
        "script.sh",
    )
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    started = watch.start(script, options=("--json",), **pipes)
    watch.until_seen(3)
    out, err = started.communicate("seen\n", timeout=LIMIT_S)
    assert started.returncode == 0, err
    document = json.loads(out)
    names = [process["name"] for process in document["processes"]]
    assert sorted(names) == ["script.sh", "sleep", "sleep"]
    assert document["command"]["use"]["processes"] == 3
    assert document["where_time_went"]["by"] == "telemetry"
    assert document["observed"] == []
    assert document["session_path"].endswith(".sqlite")


def test_with_json_its_output_goes_to_stderr(watch):
    code, document, err = watch.document("echo", "said by the command")
    assert code == 0
    assert document["schema"] == "gputuner.watch/1"
    assert document["outcome"] == "completed"
    assert "said by the command\n" in err


IGNORES = """
import signal, time
seen = []
signal.signal(signal.SIGINT, lambda n, f: seen.append(n))
print("ready", flush=True)
for count in (1, 2):
    while len(seen) < count: time.sleep(0.01)
    print("seen", len(seen), flush=True)
raise SystemExit(5)
"""


def test_each_interrupt_to_us_alone_is_passed_on_once_and_we_end_when_it_ends(watch):
    started = watch.start(sys.executable, "-c", IGNORES, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert started.stdout.readline() == "ready\n"
    for count in (1, 2):
        started.send_signal(signal.SIGINT)
        assert started.stdout.readline() == f"seen {count}\n"
    _out, err = started.communicate(timeout=LIMIT_S)
    assert started.returncode == 5, err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_other_signals_are_passed_on_too(watch, number):
    started = watch.start("sh", "-c", "echo ready; exec sleep 600", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert started.stdout.readline() == "ready\n"
    started.send_signal(number)
    started.communicate(timeout=LIMIT_S)
    assert started.returncode == 128 + number


def test_a_hangup_that_was_to_be_ignored_stays_ignored_for_both(watch):
    words = watch.words("sh", "-c", "kill -HUP $$; echo survived")
    done = subprocess.run(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *words],
        env=watch.environment,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"survived\n")


def test_kill_9_of_us_leaves_it_running_with_its_streams(watch):
    mark = watch.folder / "mark"
    program = f"""
import os, time
print(os.getpid(), flush=True)
while not os.path.exists({str(mark)!r}): time.sleep(0.02)
print("unharmed", flush=True)
"""
    started = watch.start(sys.executable, "-c", program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert int(started.stdout.readline()) > 0
    started.kill()
    started.wait(LIMIT_S)
    mark.touch()
    assert started.stdout.read() == "unharmed\n"
    started.stdout.close()


def test_a_daemon_is_left_alone_and_told(watch):
    program = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    for fd in (0, 1, 2):
        os.close(fd)
    open("daemon", "w").write(str(os.getpid()))
    time.sleep(600)
os.wait()
input()
"""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    started = watch.start(sys.executable, "-c", program, options=("--json",), **pipes)
    daemon = watch.folder / "daemon"
    while not (daemon.exists() and daemon.read_text()):
        time.sleep(0.02)
    watch.until_seen(2, since_unix_s=daemon.stat().st_mtime)
    out, err = started.communicate("seen\n", timeout=LIMIT_S)
    daemon = int(daemon.read_text())
    try:
        os.kill(daemon, 0)
        assert started.returncode == 0, err
        document = json.loads(out)
        assert document["command"]["left_running"] == 1
        assert daemon in [process["pid"] for process in document["processes"] if process["alive"]]
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_one_that_closes_its_streams_is_followed_to_its_end(watch):
    program = "import os, time; os.close(0); os.close(1); os.close(2); time.sleep(0.5); os._exit(3)"
    code, out, err = watch(sys.executable, "-c", program)
    assert (code, out) == (3, b"")
    assert "The command ended with exit code 3." in err


def test_without_hooks_its_environment_is_untouched(watch):
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    _code, out, _err = watch(sys.executable, "-c", show, options=("--no-inject",))
    assert json.loads(out) == {**watch.environment, "PWD": str(watch.folder)} or json.loads(out) == watch.environment
    _code, out, _err = watch(sys.executable, "-c", show)
    hooked = json.loads(out)
    assert {name for name in hooked if hooked[name] != watch.environment.get(name)} - {"PWD"} == {
        "PYTHONPATH",
        "GPUTUNER_WATCH_DIR",
    }
    assert hooked["PYTHONPATH"].endswith(f"{os.pathsep}{ROOT}")
    assert not os.path.exists(hooked["GPUTUNER_WATCH_DIR"]), "the records are removed once the session holds them"


def test_a_folder_that_takes_no_session_costs_the_session_alone(watch):
    watch.data_dir = watch.folder / "file" / "data"
    (watch.folder / "file").write_text("no folder")
    code, out, err = watch("sh", "-c", "echo done; exit 4")
    assert (code, out) == (4, b"done\n")
    assert "could not be written" in err
    assert "Where the time went" in err
    assert "The command ended with exit code 4." in err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--", "no-such-program-anywhere"), 127, "The command no-such-program-anywhere was not found"),
        (("--", "/"), 126, "cannot be run"),
        (("--",), 2, "There is nothing to watch"),
        ((), 2, "There is nothing to watch"),
        (("--no-injekt", "--", "true"), 2, "--no-injekt stood before --"),
        (("python", "--", "train.py"), 2, "python stood before --"),
        (("python", "train.py"), 2, "Write -- before the command"),
        (("python", "train.py", "--epochs", "3"), 2, "Write -- before the command"),
        (("--simulate", "rtx-4090-48g", "--", "true"), 2, "leave it out"),
        (("--gpu", ",", "--", "true"), 2, "--gpu names no card"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(words, code, said, capfd, tmp_path):
    assert main(["watch", "--data-dir", str(tmp_path), *words]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert said in err


def test_words_that_are_no_text_are_told_written_out(watch):
    code, out, err = watch("sh", "-c", 'printf %s "$1"', "x", b"\xff\x1b[31m")
    assert (code, out) == (0, b"\xff\x1b[31m")
    assert "\\udcff\\x1b[31m" in err
    assert "\x1b" not in err
    assert "bug" not in err
    assert list((watch.data_dir / "sessions").glob("*.sqlite"))


def test_a_session_tells_it_again_without_secrets_and_folders(watch):
    script = watch.script("print('x')", "train.py")
    code, document, err = watch.document(sys.executable, script, "--api-key", "s3cret", f"--data={watch.folder}/set")
    assert code == 0
    assert f"gputuner watches {Path(sys.executable).name} train.py --api-key *** --data=set" in err
    stored = Path(document["session_path"]).read_bytes()
    assert b"s3cret" not in stored
    assert str(watch.folder).encode() not in stored
    shown = subprocess.run(
        [sys.executable, "-m", "gputuner", "--cli", "sessions", "show", document["session_path"]],
        env=watch.environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    ).stdout
    assert "Where the time went" in shown
    assert "The command ended with exit code 0." in shown


TRAINING = """
import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(4096, 64), torch.randint(0, 4, (4096,)))
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.set_num_threads(1)
for _ in range(8):
    for x, y in DataLoader(data, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.torch
def test_a_training_is_seen_from_inside(watch):
    pytest.importorskip("torch")
    code, document, _err = watch.document(sys.executable, watch.script(TRAINING, "train.py"))
    assert code == 0
    (seen,) = document["observed"]
    assert seen["program"] == "train.py"
    assert seen["batch_size"] == 32
    assert seen["optimizer"] == "SGD"
    assert seen["steps"] == 8 * 128
    assert document["where_time_went"]["by"].startswith("hooks")
    metrics = {point["metric"] for point in document["points"]}
    assert {"watch_step_time", "watch_rate"} <= metrics


COUNTS = """
import signal, time
seen = []
for number in (signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, lambda n, f: (seen.append(n), print("seen", *seen, flush=True)))
print("ready", flush=True)
while seen[-2:] != [signal.SIGQUIT, signal.SIGINT]: time.sleep(0.01)
"""


LEADER = """
import os, signal, subprocess, sys
told, *words = sys.argv[1:]
for number in (signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, lambda *_: None)
child = subprocess.Popen(words)
print(child.pid, file=open(told, "w"), flush=True)
code = child.wait()
print(f"\\n<exit {code}>", flush=True)
sys.stdin.read()
"""


class Terminal:
    """A terminal with a program in its foreground.

    Its session has a leader of its own that outlives the program: when a leader ends, the kernel may drop what the
    terminal has not yet been read of.
    """

    def __init__(self, words, *, folder, **how):
        self.told = folder / "pid"
        self.master, slave = os.openpty()
        self.leader = subprocess.Popen(
            [sys.executable, "-c", LEADER, str(self.told), *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            cwd=folder,
            **how,
        )
        os.close(slave)
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.shown = ""

    def type(self, keys):
        os.write(self.master, keys)

    def send(self, number):
        """Send a signal to the program alone."""
        os.kill(int(self.told.read_text()), number)

    def until(self, text):
        """Everything shown until ``text`` stands there."""
        while text not in self.shown:
            assert ">\r\n" not in self.shown.partition("<exit ")[2], self.shown
            self.shown += self.decoder.decode(os.read(self.master, 4096))
        return self.shown

    def ended(self):
        """Exit code of the program, once it has ended."""
        self.until("<exit ")
        return int(self.until(">\r\n").partition("<exit ")[2].partition(">")[0])

    def close(self):
        self.leader.kill()
        self.leader.wait(LIMIT_S)
        os.close(self.master)


@pytest.fixture
def terminal(watch):
    opened = []

    def start(*words):
        opened.append(Terminal(words, folder=watch.folder, env=watch.environment))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_keys_of_the_terminal_reach_the_command_exactly_once(watch, terminal):
    seen = terminal(*watch.words(sys.executable, "-c", COUNTS, options=("--quiet",)))
    seen.until("ready")
    seen.type(b"\x03")
    seen.until("seen 2")
    seen.type(b"\x1c")
    seen.until("seen 2 3")
    seen.send(signal.SIGINT)
    assert seen.ended() == 0
    assert "seen 2 3 2\r\n" in seen.shown
    assert "seen 2 2" not in seen.shown
    assert "Session:" in seen.shown, seen.shown


STARTING = """
import os, signal
from gputuner.cli.watch_signals import Relay
sent = []
with Relay() as relay:
    os.kill(os.getpid(), signal.SIGINT)
    with relay.as_before():
        os.kill(os.getpid(), signal.SIGQUIT)
        os.kill(os.getpid(), signal.SIGTERM)
    relay.to(sent.append)
print("sent", *sorted(sent))
"""


def test_a_key_while_the_command_starts_does_not_reach_it_twice(terminal):
    """What came before it was there is passed on; a key that comes meanwhile reaches it by itself."""
    seen = terminal(sys.executable, "-c", STARTING)
    assert seen.ended() == 0
    assert "sent 2 15\r\n" in seen.shown


def test_the_terminal_is_the_commands_own(watch, terminal):
    show = "import os, sys; print(sys.stdin.isatty(), sys.stdout.isatty(), os.tcgetpgrp(0) == os.getpgrp(), input())"
    seen = terminal(*watch.words(sys.executable, "-c", show))
    seen.type(b"typed\r")
    assert seen.ended() == 0
    assert "True True True typed" in seen.shown
    assert "Session:" in seen.shown


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="asks Linux")
def test_it_is_started_as_it_would_be_without_us(watch):
    words = (
        "sh",
        "-c",
        "umask; nice; ulimit -a; grep -E '^Sig(Blk|Ign)' /proc/self/status; cat /proc/self/oom_score_adj",
    )
    alone = subprocess.run(words, env=watch.environment, capture_output=True, check=True).stdout
    _code, out, _err = watch(*words)
    assert out.decode() == alone.decode()
