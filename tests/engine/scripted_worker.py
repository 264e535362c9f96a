"""A worker without torch that speaks the wire protocol and does what each trial's ``behaviour`` says."""

import json
import os
import signal
import sys
import threading
import time


def say(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def result(trial, t0_ns, **extra):
    say(
        kind="result",
        id=trial["id"],
        iteration_s=[0.01] * 40,
        t0_ns=t0_ns,
        t1_ns=time.monotonic_ns(),
        work={"flop": 1e9},
        **extra,
    )


def die():
    os.kill(os.getpid(), signal.SIGSEGV)
    threading.Event().wait()


def behave(trial):
    how = trial["params"].get("behaviour", "ok")
    t0_ns = time.monotonic_ns()
    if how == "oom":
        say(kind="failed", id=trial["id"], error="out_of_memory", message="CUDA out of memory", free_bytes=7)
        os._exit(5)
    if how == "crash_above" and trial["params"]["batch"] > trial["params"]["works_to"]:
        die()
    if how == "crash":
        die()
    if how == "killed" and trial["params"]["batch"] > trial["params"]["works_to"]:
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "sticky":
        say(kind="failed", id=trial["id"], error="sticky", message="illegal memory access")
        os._exit(6)
    if how == "user_error":
        say(kind="failed", id=trial["id"], error="user_code", message="shape", traceback="Traceback: shape")
        return
    if how == "tells":
        say(kind="progress", id=trial["id"], phase="measure", done_s=3.0, left_s=9.0, done=5, of=12, rate=None)
        say(kind="progress", id="another", phase="measure", done_s=99.0)
    if how == "chatter":
        sys.stdout.write("Downloading… 100 %\n[1, 2]\n{broken\n")
    if how == "deaf":
        say(kind="progress", id=trial["id"], phase="measure", done_s=0.0)
        threading.Event().wait()
    if how == "busy":
        say(kind="progress", id=trial["id"], phase="measure", done_s=0.0)
        threading.Event().wait()
    result(trial, t0_ns, notes={"pid": os.getpid(), "variable": os.environ.get("GPUTUNER_TEST_VARIABLE", "")})


def main():
    if "--unusable" in sys.argv:
        code = sys.argv[-1] if sys.argv[-1] != "--unusable" else "torch_missing"
        say(kind="unusable", code=code, message="no torch", params={"python": sys.executable})
        sys.exit(3)
    if "--dies" in sys.argv:
        sys.exit(1)
    if "deaf" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(kind="ready", torch="2.13.0", python="3.11.7", cuda=None, arch_list=[], threads=2, pid=os.getpid())
    waiting = {}
    for line in sys.stdin:
        message = json.loads(line)
        match message["kind"]:
            case "trial":
                waiting[message["id"]] = message
                how = message["params"].get("behaviour")
                if how == "no_context":
                    say(kind="unusable", code="cuda_unavailable", message="no context", params={})
                    os._exit(3)
                if how == "oom_while_arming":
                    behave({**message, "params": {"behaviour": "oom"}})
                say(kind="armed", id=message["id"], cap=message["memory_cap_bytes"])
                if how == "dies_at_barrier":
                    die()
            case "go":
                trial = waiting.pop(message["id"])
                threading.Thread(target=behave, args=(trial,), daemon=True).start()
            case "open":
                say(kind="opened")
            case "exit":
                if "deaf" not in sys.argv:
                    os._exit(0)
    os._exit(0)


main()
