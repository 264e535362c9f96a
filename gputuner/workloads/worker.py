"""The worker: a process that runs trials on one device and speaks JSON lines with the engine.

States: start → ``ready`` (or ``unusable``, exit 3) → waiting (``open`` → ``opened``) ⇄ trial (setup → warm-up →
[armed → go] → measure → ``result`` or ``failed``) → exit. A trial may have several jobs (``bodies/together.py``). After
out of memory it exits 5, after a sticky error 6; at the end of stdin at once.

A worker has one room: ``bodies`` (torch, in any Python) or ``kernels`` (our own kernels, in gputuner's own Python).

Part of the worker's closure: standard library only (torch lives in ``bodies``), Python 3.10 grammar.
"""

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gputuner.workloads.wire import (
    EXIT_OK,
    EXIT_OUT_OF_MEMORY,
    EXIT_STICKY,
    EXIT_UNUSABLE,
    Inbox,
    Message,
    Outbox,
    private_pipes,
)

if TYPE_CHECKING:
    from gputuner.workloads.bodies.device import Device

ROOMS = {"cuda": "bodies", "cpu": "bodies", "kernels": "kernels"}
"""Device → room of ``workloads`` whose ``examine`` opens it and whose ``shelf`` has its workloads."""


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gputuner --worker", allow_abbrev=False)
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("--device", choices=tuple(ROOMS), default="cuda")
    parser.add_argument("--memory-cap-bytes", type=int, default=None)
    return parser.parse_args(argv)


class Worker:
    """Serves messages until it is told to end."""

    def __init__(self, device: "Device", make_body: "Callable[..., Any]", inbox: Inbox, outbox: Outbox) -> None:
        """``make_body(workload, device, params, seed)`` sets a workload up."""
        self._device = device
        self._make_body = make_body
        self._inbox = inbox
        self._outbox = outbox
        self._open = False

    def serve(self) -> int:
        """Serve until ``exit``, out of memory or a sticky error; the exit code."""
        while True:
            message = self._inbox.next()
            kind = message["kind"]
            if kind == "exit":
                return EXIT_OK
            if kind not in ("open", "trial"):
                continue
            code = self._guarded(message)
            if code is not None:
                return code

    def _guarded(self, message: Message) -> "int | None":
        """Open the device, or run one trial; the exit code if the process must end after it."""
        from gputuner.workloads.bodies import failures
        from gputuner.workloads.bodies.trial import StoppedError

        trial = str(message.get("id", ""))
        code = self._ensure_open(trial)
        if code is not None:
            return code
        try:
            if message["kind"] == "trial":
                self._outbox.send(self._trial(message))
            else:
                self._outbox.send({"kind": "opened"})
        except StoppedError:
            self._fail(trial, "stopped", "stopped before anything was measured")
        except (Exception, SystemExit) as err:  # a recipe's own sys.exit is no end of ours
            code = self._failed(trial, err)
            failures.release(err)
            if code is not None:
                return code
        finally:
            self._inbox.forget(trial)
        self._device.release()
        return None

    def _ensure_open(self, trial: str) -> "int | None":
        """Make the device's context once; the exit code if that fails."""
        from gputuner.workloads.bodies import failures

        if self._open:
            return None
        try:
            facts = self._device.open()
        except Exception as err:
            text, traceback = failures.described(err)
            if failures.classify(err) == failures.OUT_OF_MEMORY:
                self._fail(trial, failures.OUT_OF_MEMORY, text, traceback)
                return EXIT_OUT_OF_MEMORY
            params = {"reason": "start_failed", "error": text}
            self._outbox.send(
                {
                    "kind": "unusable",
                    "code": "cuda_unavailable",
                    "message": f"CUDA does not start: {text}",
                    "params": params,
                }
            )
            return EXIT_UNUSABLE
        self._open = True
        self._outbox.send({"kind": "device", **facts})
        return None

    def _trial(self, message: Message) -> "dict[str, Any]":
        from gputuner.workloads.bodies.trial import Control, Request, Trial

        trial_id = str(message["id"])
        control = Control(
            send=self._outbox.send,
            stopped=lambda: self._inbox.stopped(trial_id),
            wait_for_go=lambda: self._inbox.wait_for_go(trial_id),
        )
        if message.get("jobs"):
            from gputuner.workloads.bodies import together

            return together.perform(message, self._device, self._make_body, control)
        request = Request.from_message(message)
        trial = Trial(request, self._device, control)
        return trial.perform(lambda: self._make_body(request.workload, self._device, request.params, request.seed))

    def _failed(self, trial: str, err: BaseException) -> "int | None":
        from gputuner.workloads.bodies import failures

        broken = self._device.broken()
        free_bytes = None if broken else self._device.free_bytes()
        error = failures.classify(err, free_bytes, broken)
        text, traceback = failures.described(err)
        needed_bytes = self._needed_bytes(err) if error == failures.OUT_OF_MEMORY and not broken else None
        self._fail(trial, error, text, traceback, free_bytes, needed_bytes)
        return {failures.OUT_OF_MEMORY: EXIT_OUT_OF_MEMORY, failures.STICKY: EXIT_STICKY}.get(error)

    def _needed_bytes(self, err: BaseException) -> "int | None":
        """At least so much a trial needs that ran out of memory: what it had at most, and what it asked for then."""
        from gputuner.workloads.bodies import failures

        requested = failures.requested_bytes(err)
        held = self._device.memory().get("allocated_peak_bytes")
        return None if requested is None or held is None else held + requested

    def _fail(
        self,
        trial: str,
        error: str,
        text: str,
        traceback: str = "",
        free_bytes: "int | None" = None,
        needed_bytes: "int | None" = None,
    ) -> None:
        self._outbox.send(
            {
                "kind": "failed",
                "id": trial,
                "error": error,
                "message": text,
                "traceback": traceback,
                "free_bytes": free_bytes,
                "needed_bytes": needed_bytes,
            }
        )


def main(argv: Sequence[str]) -> int:
    """Run a worker on the arguments after the program's name; the exit code."""
    options = _options(argv)
    inward, outward = private_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # what our starter holds, the user's code would inherit
    outbox = Outbox(outward)
    inbox = Inbox(inward)
    from gputuner.workloads.bodies.build import UnusableError

    room = f"gputuner.workloads.{ROOMS[options.device]}"
    try:
        device, facts = importlib.import_module(f"{room}.examine").examine(options.device, options.memory_cap_bytes)
    except UnusableError as err:
        outbox.send({"kind": "unusable", "code": err.code, "message": str(err), "params": err.params})
        os._exit(EXIT_UNUSABLE)
    outbox.send({"kind": "ready", "pid": os.getpid(), **facts})
    make_body = importlib.import_module(f"{room}.shelf").make_body
    code = Worker(device, make_body, inbox, outbox).serve()
    sys.stdout.flush()
    os._exit(code)
