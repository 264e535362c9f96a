"""A worker without torch that speaks the wire protocol and does what each trial's ``behaviour`` says."""

import json
import os
import signal
import sys
import threading
import time

NOTED = {
    "GPUTUNER_TEST_VARIABLE": "variable",
    "CUDA_MPS_PIPE_DIRECTORY": "pipe",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "percentage",
}


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


def wedge():
    """From now on the stand-in for MPS does not say which clients it has."""
    journal = os.path.join(os.path.dirname(os.environ["CUDA_MPS_PIPE_DIRECTORY"]), "..", "..", "behaviour")
    with open(journal, "w") as file:
        file.write("hang:get_client_list")


def connect(how):
    """Become a client of the stand-in for MPS that the environment leads to."""
    clients = os.path.join(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", ""), "clients")
    if how != "past_mps" and os.path.isdir(clients):
        with open(os.path.join(clients, str(os.getpid())), "w"):
            pass


def asked(job):
    return {"priority": job["priority"], "cap": job["memory_cap_bytes"] or 0}


def behave(trial):
    how = trial["params"].get("behaviour", "ok")
    t0_ns = time.monotonic_ns()
    if trial.get("jobs"):
        told = {"iteration_s": [0.01] * 40, "t0_ns": t0_ns, "t1_ns": time.monotonic_ns(), "work": {"flop": 1e9}}
        notes = {"pid": os.getpid(), "mode": "streams"}
        say(kind="result", id=trial["id"], trials=[{**told, "notes": {**notes, **asked(job)}} for job in trial["jobs"]])
        return
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
    wedged = how == "wedges_mps" and os.environ.get("CUDA_MPS_PIPE_DIRECTORY")
    if wedged:
        wedge()
    if wedged or how in ("deaf", "busy"):
        say(kind="progress", id=trial["id"], phase="measure", done_s=0.0)
        threading.Event().wait()
    variables = {name: os.environ.get(name, "") for name in NOTED}
    result(trial, t0_ns, notes={"pid": os.getpid(), **{NOTED[name]: value for name, value in variables.items()}})


def refuse():
    """End as a worker that cannot work here, where the arguments say so."""
    if "--unusable" in sys.argv:
        code = sys.argv[-1] if sys.argv[-1] != "--unusable" else "torch_missing"
        say(kind="unusable", code=code, message="no torch", params={"python": sys.executable})
        sys.exit(3)
    if "--mps-unreachable" in sys.argv and os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/host/mps") == "/host/mps":
        params = {"reason": "driver_error", "error_code": 805}
        say(kind="unusable", code="cuda_unavailable", message="CUDA_ERROR_MPS_CONNECTION_FAILED", params=params)
        sys.exit(3)


def main():
    refuse()
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
                ways = [job["params"].get("behaviour") for job in message.get("jobs", [message])]
                how = next((way for way in ways if way != "ok"), "ok")
                connect(how)
                if how == "no_context":
                    say(kind="unusable", code="cuda_unavailable", message="no context", params={})
                    os._exit(3)
                if how == "oom_while_arming":
                    behave({"id": message["id"], "params": {"behaviour": "oom"}})
                say(kind="armed", id=message["id"], cap=message["memory_cap_bytes"])
                if how == "dies_at_barrier":
                    die()
            case "go":
                trial = waiting.pop(message["id"])
                threading.Thread(target=behave, args=(trial,), daemon=True).start()
            case "open":
                connect("")
                say(kind="opened")
            case "exit":
                if "deaf" not in sys.argv:
                    os._exit(0)
    os._exit(0)


main()
