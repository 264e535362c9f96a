"""Commands of the user's as jobs beside others: what starts them, and that nothing of them is left.

A command is a ``Work`` whose ``runtime`` is ``command``; its param ``command`` is its number in the experiment's
``commands``, from 1. Each trial starts it anew in a child of ours (``commanded_child``) and ends it. The child ends the
command when it is told to, and when we are gone; if the child itself is killed, what it has left is ended from here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from gputuner.analysis.told_command import told_command
from gputuner.engine.commanded_tree import Mark, sweep
from gputuner.engine.inbox import FromWorker, Item, WorkerGone
from gputuner.engine.processes import ProcessWorker
from gputuner.engine.watched_folder import JOB, make, remove
from gputuner.model.steps import Work
from gputuner.sessions.failures import of_system
from gputuner.workloads.observed.environment import FOLDER

PATIENCE_S = 120.0
"""Without an optimizer step for so long after its start a command is taken to make none that can be seen."""
GRACE_S = 10.0
"""After SIGTERM a command may write a checkpoint, for so long."""
CHILD_S = 10.0
"""What our child may need beyond that, to end what was left after SIGKILL."""


@dataclass(slots=True, kw_only=True)
class Commands:
    """The commands of one run. ``folder``: where they run; ``logs``: the folder that their output goes to."""

    argvs: tuple[tuple[str, ...], ...]
    folder: Path
    logs: Path
    grace_s: float
    _starts: dict[int, int] = field(default_factory=lambda: {})

    def order(self, work: Work) -> dict[str, object]:
        """What our child needs beyond the trial; makes the folder for the records and that of the logs.

        Raises:
            StoreError: one of them cannot be made.
        """
        number = int(str(work.params["command"]))
        self._starts[number] = self._starts.get(number, 0) + 1
        try:
            self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
            records = make(JOB)
        except OSError as err:
            raise of_system(err, self.logs) from err
        patience_s = work.params.get("patience_s", PATIENCE_S)
        return {
            "argv": list(self.argvs[number - 1]),
            "folder": str(self.folder),
            "log": str(self.logs / f"{number}-{self._starts[number]}.log"),
            "records": str(records),
            "patience_s": patience_s,
            "grace_s": self.grace_s,
        }


class CommandedProcess(ProcessWorker):
    """Our child with a command of the user's. Whatever becomes of the child, the command ends."""

    def __init__(
        self, worker_id: str, command: Sequence[str], environment: Mapping[str, str], deliver: Callable[[Item], None]
    ) -> None:
        """As ``ProcessWorker``; ``deliver`` gets the end of it once nothing of the command is left."""
        self._pass_on = deliver
        self._mark: Mark | None = None
        self._group: int | None = None
        super().__init__(worker_id, command, environment, self._take)

    def send(self, message: Mapping[str, object]) -> None:
        """Hand over one request; of a trial it is noted how the command's processes are known."""
        order = message.get("command")
        if isinstance(order, Mapping):
            self._mark = Mark(name=FOLDER, value=str(cast("Mapping[str, object]", order)["records"]))
        super().send(message)

    def kill(self) -> None:
        """End the child now, and all of its command."""
        super().kill()
        self._sweep()

    def _take(self, item: Item) -> None:
        if isinstance(item, FromWorker) and item.message.get("kind") == "started":
            pid = item.message.get("pid")
            self._group = pid if isinstance(pid, int) else None
        if isinstance(item, WorkerGone):
            self._sweep()
            if self._mark is not None:
                remove(Path(self._mark.value))
        self._pass_on(item)

    def _sweep(self) -> None:
        if self._mark is not None:
            sweep(self._group, self._mark)


def commands_of(spec: object, logs: Path) -> Commands:
    """The commands of an experiment, where it has any."""
    argvs: Sequence[Sequence[str]] = getattr(spec, "commands", ())
    folder = Path(str(getattr(spec, "folder", "") or "."))
    return Commands(argvs=tuple(tuple(argv) for argv in argvs), folder=folder, logs=logs, grace_s=GRACE_S)


def told_commands(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec as a session may tell it: its commands without folders and secrets."""
    commands = spec.get("commands")
    if not isinstance(commands, Sequence) or isinstance(commands, str):
        return dict(spec)
    argvs = cast("Sequence[Sequence[str]]", commands)
    return {**spec, "commands": [list(told_command(argv)) for argv in argvs]}
