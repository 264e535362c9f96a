"""A training that ended with an error of its own, told as its owner's."""

import re
from pathlib import PurePosixPath
from typing import NoReturn

from gputuner.model.errors import DeviceError, UserCodeError
from gputuner.model.steps import Lost, UserCodeFailed

OWN_ERROR = "gputuner.workloads.bodies.recipe.RecipeError: "
FILE = re.compile(r'(?<=File ")[^"]+(?=")')
FOLDERS = re.compile(r"(?<![\w.:/\\~-])(?:~?/|[A-Za-z]:\\)(?:[^\s/\\:\"']+[/\\])+")
"""Of a path from a root or a home on all but its last part."""
INSTALLED = "site-packages/"
FRAME, PACKAGE = '  File "', "gputuner"


def refuse(workload: str, failed: UserCodeFailed) -> NoReturn:
    """End the run with the training's own error.

    Raises:
        UserCodeError: always.
    """
    where = own_frames(failed.traceback) or failed.message
    raise UserCodeError("training_failed", f"{workload}: {failed.message}", workload=workload, where=where)


def refuse_lost(workload: str, lost: Lost) -> NoReturn:
    """End the run with what is known of a process that was lost before anything was measured.

    Raises:
        UserCodeError: it ran a recipe.
        DeviceError: it ran a built-in training.
    """
    kind = UserCodeError if ":" in workload else DeviceError
    raise kind("training_lost", f"{workload}: {lost.message}", workload=workload)


def own_frames(traceback: str) -> str:
    """Of a worker's traceback the frames outside of this program, and the error itself.

    Files are named without their folders, those of installed packages from the package on: a session is passed on.
    """
    _, *frames = traceback.split(FRAME)
    kept = [frame for frame in frames if f"{PACKAGE}/workloads/" not in frame.replace("\\", "/").partition('"')[0]]
    last = [line.removeprefix(OWN_ERROR) for line in traceback.rstrip().splitlines()[-1:]] if frames else []
    text = FILE.sub(_named, "".join(FRAME + frame for frame in kept)).rstrip()
    return "\n".join([text] if text.endswith("".join(last)) else [text, *last]).strip("\n")


def told_words(text: str) -> str:
    """What a program of the user's wrote, without the folders of paths from a root on: a session is passed on.

    Files of installed packages are named from the package on.
    """
    return FOLDERS.sub("", FILE.sub(_named, text))


def _named(found: re.Match[str]) -> str:
    path = found[0].replace("\\", "/")
    _, installed, inside = path.rpartition(INSTALLED)
    return inside if installed else PurePosixPath(path).name
