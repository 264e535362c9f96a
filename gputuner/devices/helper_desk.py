"""The helper's desk: one line in, its answers out, each a JSON object a line."""

from collections.abc import Callable
from typing import Any, cast

from gputuner.devices.control import Guard
from gputuner.devices.helper_messages import Malformed, Message, parse
from gputuner.model.codec import encode, to_builtins
from gputuner.model.control import Setting, Told
from gputuner.model.errors import GputunerError

MOST_TEXT = 300
"""Characters of a text in an answer."""


class Desk:
    """Answers requests with a guard; never raises, whatever the line holds."""

    def __init__(self, guard: Guard, say: Callable[[bytes], None], *, privileged: bool) -> None:
        """``say`` writes one line; ``privileged``: this process may change settings as far as the system says."""
        self._guard = guard
        self._say = say
        self._privileged = privileged
        self.over = False
        """True once the client has said goodbye."""

    def hello(self) -> None:
        """The first line: who answers."""
        self._answer({"hello": 1, "privileged": self._privileged})

    def tell(self, told: Told) -> None:
        """Say what happened without being asked for."""
        self._answer({"told": to_builtins(told)})

    def line(self, line: bytes) -> None:
        """Answer one line."""
        try:
            message = parse(line)
        except Malformed as err:
            self._answer({"id": err.number, "error": {"code": "control_malformed", "text": str(err), "exit_code": 2}})
            return
        try:
            done = self._do(message)
        except GputunerError as err:
            self._answer({"id": message.number, "error": error_told(err)})
            return
        except Exception as err:  # a bug must not end the one process that can put things back
            bug: dict[str, Any] = {"code": "control_bug", "text": repr(err)[:MOST_TEXT], "exit_code": 1, "params": {}}
            self._answer({"id": message.number, "error": bug})
            return
        self._answer({"id": message.number, "done": done})

    def _do(self, message: Message) -> Any:
        match message.verb:
            case "show":
                return to_builtins(self._guard.show())
            case "set":
                return to_builtins(
                    self._guard.set(
                        message.card,
                        cast("Setting", message.setting),
                        message.value,
                        may_forget=message.may_forget,
                        for_s=message.for_s,
                    )
                )
            case "keep":
                self._guard.keep(message.card, cast("Setting", message.setting))
            case "restore":
                return [setting.value for setting in self._guard.restore(message.card, message.setting)]
            case "bye":
                self._guard.close()
                self.over = True
        return None

    def _answer(self, answer: dict[str, Any]) -> None:
        self._say(encode(answer) + b"\n")


def error_told(err: GputunerError) -> dict[str, Any]:
    """An error as an answer tells it."""
    params = {
        name: value[:MOST_TEXT] if isinstance(value, str) else value
        for name, value in err.params.items()
        if isinstance(value, (str, int, float, bool))
    }
    return {"code": err.code, "text": str(err)[:MOST_TEXT], "exit_code": int(err.exit_code), "params": params}
