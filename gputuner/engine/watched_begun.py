"""A command of the user's that has been started to be watched, as front ends hold it."""

from dataclasses import dataclass

from gputuner.engine.watched_folder import remove
from gputuner.engine.watched_follow import Following


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A command under way, and what a run needs to follow it."""

    following: Following
    words: tuple[str, ...]
    """The command as it may be told."""
    hooks: bool
    """False where they are not wanted, or no folder could be made for their records."""

    @property
    def pid(self) -> int:
        """Its process."""
        return self.following.command.pid

    @property
    def told(self) -> str:
        """The command in one line, as it may be told."""
        return self.following.told

    @property
    def running(self) -> bool:
        """True until it has ended."""
        return self.following.command.exit_code is None

    def send(self, number: int) -> None:
        """Send it a signal."""
        self.following.command.send(number)

    def wait(self) -> int:
        """Wait for its end; its exit code, 128 + n after signal n."""
        code = self.following.command.wait()
        assert code is not None
        return code

    def forget(self) -> None:
        """Remove the records, which the session holds by then, as far as it could be kept."""
        remove(self.following.records)
