"""Small files of ``/proc`` and ``/sys`` as text or numbers, below a root that tests can replace."""

from dataclasses import dataclass
from pathlib import Path

from gputuner.model.readings import Reading, Reason, Scalar


@dataclass(frozen=True, slots=True)
class SysFiles:
    """The system's files below ``root``."""

    root: Path = Path("/")

    def text(self, path: str) -> str | Reason:
        """Content without surrounding blanks, or why it cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip("\0 \n\t")
        except PermissionError:
            return Reason.NO_PERMISSION
        except (FileNotFoundError, NotADirectoryError):
            return Reason.NOT_SUPPORTED
        except OSError:
            return Reason.ERROR

    def number(self, path: str) -> int | Reason:
        """Content as an integer, or why there is none."""
        content = self.text(path)
        if isinstance(content, Reason):
            return content
        try:
            return int(content)
        except ValueError:
            return Reason.IMPLAUSIBLE

    def folders(self, pattern: str) -> list[str]:
        """Paths below the root that match a glob pattern, in order."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.glob(pattern))


def reading_of(value: Scalar | Reason | None, unit: str = "") -> Reading:
    """A value or a reason as a reading; None means not supported here."""
    if value is None:
        return Reading(reason=Reason.NOT_SUPPORTED)
    if isinstance(value, Reason):
        return Reading(reason=value)
    return Reading(value=value, unit=unit)
