"""Settings of cards as the rest of the program sees them: through a helper process, or on simulated cards directly.

Both are a ``Control``. What was changed and not kept is put back when it is closed, and when its process dies.
"""

import contextlib
import json
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Protocol, cast

from gputuner.devices.control import Guard
from gputuner.devices.control_socket import SocketHelper
from gputuner.model.codec import from_builtins
from gputuner.model.control import Applied, CardControl, Setting, Told, Value
from gputuner.model.errors import (
    CardBusy,
    DeviceError,
    ExitCode,
    GputunerError,
    NoPermission,
    NotSupported,
    StoreError,
    UsageError,
)
from gputuner.model.readings import Scalar

ANSWER_S = 60.0
"""A driver that hangs in a setter does so longer than this."""
HELLO_S = 180.0
"""Until the helper says its first word: sudo and pkexec may ask for a password meanwhile."""
END_S = 20.0
_KINDS: dict[int, type[GputunerError]] = {
    ExitCode.USAGE: UsageError,
    ExitCode.NO_CARD: NotSupported,
    ExitCode.NO_PERMISSION: NoPermission,
    ExitCode.DEVICE: DeviceError,
    ExitCode.BAD_INPUT: StoreError,
}


class Control(Protocol):
    """Changes settings and puts them back; used from one thread."""

    @property
    def privileged(self) -> bool:
        """True if the process that sets has the system's rights to."""
        ...

    def show(self) -> tuple[CardControl, ...]:
        """Every card with the state of every setting."""
        ...

    def set(
        self, card: str, setting: Setting, value: Value, *, may_forget: bool = False, for_s: float | None = None
    ) -> Applied:
        """As ``Guard.set``."""
        ...

    def keep(self, card: str, setting: Setting) -> None:
        """As ``Guard.keep``."""
        ...

    def restore(self, card: str, setting: Setting | None = None) -> tuple[Setting, ...]:
        """As ``Guard.restore``."""
        ...

    def wait(self, seconds: float) -> None:
        """Let time go by while what is held is looked after; ends early when something is told."""
        ...

    def told(self) -> tuple[Told, ...]:
        """What happened without being asked for since the last call."""
        ...

    def close(self) -> None:
        """Put back what is held; idempotent."""
        ...


class LocalControl:
    """A guard in this process: simulated cards, whose settings need no rights and end with the process."""

    privileged = True

    def __init__(
        self,
        make: Callable[[Callable[[Told], None]], Guard],
        wait: Callable[[float], None],
        done: Callable[[], None],
    ) -> None:
        """``make(tell)`` makes the guard; ``wait`` lets seconds go by on the cards' clock; ``done`` comes last."""
        self._told: list[Told] = []
        self._guard = make(self._told.append)
        self._wait = wait
        self._done = done
        self.show = self._guard.show
        self.set = self._guard.set
        self.keep = self._guard.keep
        self.restore = self._guard.restore

    def wait(self, seconds: float) -> None:
        """Let the cards live on, looked after."""
        left = seconds
        while left > 0 and not self._told:
            part = min(1.0, left)
            self._wait(part)
            self._guard.tick()
            left -= part

    def close(self) -> None:
        """Put back what is held; idempotent."""
        self._guard.close()
        self._done()

    def told(self) -> tuple[Told, ...]:
        """What happened since the last call."""
        told = tuple(self._told)
        self._told.clear()
        return told


class HelperControl:
    """A helper process, spoken to in lines of JSON."""

    def __init__(self, helper: "Sequence[str] | SocketHelper", environment: Mapping[str, str] | None = None) -> None:
        """Start the helper (its command line), or take the one behind a socket, and wait for its first word.

        Raises:
            NoPermission: sudo or pkexec did not let it start.
            DeviceError: it did not start, or there is no driver to ask.
        """
        if isinstance(helper, SocketHelper):
            self._process, self._program = helper, helper.program
        else:
            self._process, self._program = _started(helper, environment), helper[0]
        self._number = 0
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._told: deque[Told] = deque()
        self._something = threading.Event()
        self._stderr: deque[str] = deque(maxlen=5)
        self._closed = False
        self._changed: list[str] = []
        """Cards that were to be changed: their users must hear if it is not known how they were left."""
        self._listener = threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True)
        self._second = threading.Thread(target=self._overhear, args=(self._process.stderr,), daemon=True)
        self._listener.start()
        self._second.start()
        try:
            first = self._answer(HELLO_S)
        except BaseException:
            self.close()
            raise
        self.privileged = bool(first.get("privileged"))

    # --- requests -------------------------------------------------------------------------------------------------

    def show(self) -> tuple[CardControl, ...]:
        """Every card with the state of every setting."""
        return from_builtins(self._ask("show"), tuple[CardControl, ...])

    def set(
        self, card: str, setting: Setting, value: Value, *, may_forget: bool = False, for_s: float | None = None
    ) -> Applied:
        """As ``Guard.set``."""
        self._changed += [] if card in self._changed else [card]
        done = self._ask("set", card=card, setting=setting.value, value=list(value), may_forget=may_forget, for_s=for_s)
        return from_builtins(done, Applied)

    def keep(self, card: str, setting: Setting) -> None:
        """As ``Guard.keep``."""
        self._ask("keep", card=card, setting=setting.value)

    def restore(self, card: str, setting: Setting | None = None) -> tuple[Setting, ...]:
        """As ``Guard.restore``."""
        done = self._ask("restore", card=card, setting=None if setting is None else setting.value)
        return from_builtins(done, tuple[Setting, ...])

    def wait(self, seconds: float) -> None:
        """Wait until something is told, or the helper is gone, or the time is over.

        Raises:
            DeviceError: the helper is gone.
        """
        self._something.wait(seconds)
        if self._process.poll() is not None and not self._closed and not self._told:
            raise self._gone()

    def told(self) -> tuple[Told, ...]:
        """What happened since the last call."""
        self._something.clear()
        found: list[Told] = []
        while self._told:
            found.append(self._told.popleft())
        return tuple(found)

    def close(self) -> None:
        """Let the helper put back what it holds, and wait until it has; idempotent.

        Where it does not say that it has, that is told for each card that was to be changed.
        """
        if self._closed:
            return
        self._closed = True
        stdin = cast("IO[bytes]", self._process.stdin)
        with contextlib.suppress(OSError, ValueError):
            if self._changed:
                self._number += 1
                stdin.write(json.dumps({"id": self._number, "verb": "bye"}).encode() + b"\n")
                stdin.flush()
        with contextlib.suppress(OSError):
            stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:  # a driver that hangs; as root it is not ours to kill
            self._tell_open("control_helper_silent", seconds=END_S)
            return
        self._listener.join(END_S)
        self._second.join(END_S)
        if not self._said_goodbye():
            self._tell_open("control_helper_gone")
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _tell_open(self, code: str, **params: Scalar) -> None:
        self._told.extend(Told(code=code, card=card, params=params) for card in self._changed)
        self._something.set()

    def _said_goodbye(self) -> bool:
        """True once the helper has answered the last request: then all that it held is put back, or told."""
        with contextlib.suppress(queue.Empty):
            while (answer := self._answers.get_nowait()) is not None:
                if answer.get("id") == self._number and "done" in answer:
                    return True
        return False

    # --- lines ----------------------------------------------------------------------------------------------------

    def _ask(self, verb: str, **words: Any) -> Any:
        self._number += 1
        line = json.dumps({"id": self._number, "verb": verb, **words}).encode() + b"\n"
        stdin = cast("IO[bytes]", self._process.stdin)
        try:
            stdin.write(line)
            stdin.flush()
        except (OSError, ValueError) as err:
            raise self._gone() from err
        while True:
            answer = self._answer(ANSWER_S)
            if answer.get("id") == self._number:
                return answer.get("done")

    def _answer(self, within_s: float) -> dict[str, Any]:
        try:
            answer = self._answers.get(timeout=within_s)
        except queue.Empty as err:
            raise DeviceError("control_helper_silent", "the helper does not answer", seconds=within_s) from err
        if answer is None:
            self._answers.put(None)
            raise self._gone()
        error = answer.get("error")
        if isinstance(error, dict) and answer.get("id") in (None, self._number):  # not of a request given up by Ctrl-C
            raise _raised(cast("dict[str, Any]", error))
        return answer

    def _listen(self, stream: IO[bytes]) -> None:
        try:
            self._take(stream)
        except (OSError, ValueError):  # a connection that was torn down ends as one that was closed
            pass
        finally:
            if isinstance(self._process, SocketHelper):
                self._process.ended.set()
            self._answers.put(None)
            self._something.set()

    def _take(self, stream: IO[bytes]) -> None:
        for line in stream:
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if not isinstance(answer, dict):
                continue
            answer = cast("dict[str, Any]", answer)
            if "told" in answer:
                self._told.append(from_builtins(answer["told"], Told))
                self._something.set()
            else:
                self._answers.put(answer)

    def _overhear(self, stream: IO[bytes] | None) -> None:
        for line in stream or ():
            self._stderr.append(line.decode("utf-8", "replace").rstrip())

    def _gone(self) -> GputunerError:
        """Why there is no helper (any more): refused by sudo or pkexec, or died."""
        try:
            code = self._process.wait(2)
        except subprocess.TimeoutExpired:
            code = None
        self._second.join(1)
        said = " ".join(self._stderr)[-300:]
        if self._number == 0 and self._program.rpartition("/")[2] in ("sudo", "pkexec"):
            return NoPermission("control_not_let", said, program=self._program, message=said)
        if self._number == 0:
            return DeviceError("control_no_helper", said, program=self._program, message=said)
        return DeviceError("control_helper_gone", said, exit_code=code if code is not None else "?", message=said)


def _started(command: Sequence[str], environment: Mapping[str, str] | None) -> "subprocess.Popen[bytes]":
    """The helper's process.

    Raises:
        DeviceError: there is no such program.
    """
    try:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environment is None else dict(environment),
        )
    except OSError as err:
        raise DeviceError("control_no_helper", f"{command[0]}: {err}", program=command[0], message=str(err)) from err


def _raised(error: dict[str, Any]) -> GputunerError:
    code = str(error.get("code", "control_refused"))
    kind = CardBusy if code == "control_busy" else _KINDS.get(int(error.get("exit_code", 7)), DeviceError)
    params = error.get("params")
    known = cast("dict[str, object]", params) if isinstance(params, dict) else {}
    return kind(code, str(error.get("text", "")), **known)
