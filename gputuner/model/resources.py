"""Where the data files are: inside the installed package, else beside it in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def resource_path(*parts: str) -> Path:
    """Path of a data file or folder below ``resources/`` (it need not exist)."""
    installed = _PACKAGE / "_resources"
    root = installed if installed.is_dir() else _PACKAGE.parent / "resources"
    return root.joinpath(*parts)
