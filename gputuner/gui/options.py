# pyright: standard
"""What stands after ``gputuner`` when the window is wanted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gputuner.gui.theme import Choice
from gputuner.model.errors import UsageError
from gputuner.model.written_numbers import written_number


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """The options of the command line contract that hold for the window too, and the window's own."""

    gpu: str | None = None
    share: bool = False
    memory_cap_gib: float | None = None
    minutes: float | None = None
    simulate: tuple[str, ...] = ()
    replay: Path | None = None
    data_dir: Path | None = None
    python: Path | None = None
    language: str | None = None
    theme: Choice | None = None
    screenshots: Path | None = None
    verbose: bool = False
    files: tuple[Path, ...] = ()
    """Sessions to open."""


WITH_VALUE = {
    "--gpu", "--memory-cap", "--minutes", "--simulate", "--replay", "--data-dir", "--python", "--lang", "--theme",
    "--screenshots",
}  # fmt: skip
SWITCHES = {"--share", "--verbose", "--quiet"}


def parse(arguments: Sequence[str]) -> WindowOptions:
    """The options in ``arguments``.

    Raises:
        UsageError: an unknown option, a missing or impossible value.
    """
    values: dict[str, list[str]] = {}
    files: list[Path] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word:
            raise UsageError("argument_empty", "an argument is empty")
        if not word.startswith("-"):
            files.append(Path(word))
            continue
        name, equals, value = word.partition("=")
        if name in SWITCHES:
            values[name] = ["yes"]
        elif name not in WITH_VALUE:
            raise UsageError("option_unknown", f"no option {name}", option=name, help="gputuner --help")
        elif equals or rest:
            given = value if equals else rest.pop(0)
            if not given.strip():
                raise UsageError("option_empty", f"what stands after {name} is empty", option=name)
            values.setdefault(name, []).append(given)
        else:
            raise UsageError("option_needs_value", f"{name} needs a value", option=name)
    return _options(values, tuple(files))


def _options(values: dict[str, list[str]], files: tuple[Path, ...]) -> WindowOptions:
    def last(name: str) -> str | None:
        return values.get(name, [None])[-1]

    def path(name: str) -> Path | None:
        value = last(name)
        return Path(value) if value is not None else None

    return WindowOptions(
        gpu=last("--gpu"),
        share="--share" in values,
        memory_cap_gib=_number("--memory-cap", last("--memory-cap"), 0.25, 4096.0),
        minutes=_number("--minutes", last("--minutes"), 0.2, 120.0),
        simulate=tuple(values.get("--simulate", ())),
        replay=path("--replay"),
        data_dir=path("--data-dir"),
        python=path("--python"),
        language=_one_of("--lang", last("--lang"), ("en", "zh_CN")),
        theme=Choice(theme) if (theme := _one_of("--theme", last("--theme"), tuple(Choice))) else None,
        screenshots=path("--screenshots"),
        verbose="--verbose" in values,
        files=files,
    )


def _number(name: str, text: str | None, low: float, high: float) -> float | None:
    if text is None:
        return None
    try:
        value = written_number(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise UsageError("option_out_of_range", f"{name} {text}", option=name, value=text, low=low, high=high, unit="")
    return value


def _one_of(name: str, text: str | None, known: Sequence[str]) -> str | None:
    if text is None or text in known:
        return text
    raise UsageError("option_value", f"{name} {text}", option=name, value=text, expected=", ".join(known))
