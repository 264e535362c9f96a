"""The options that every command takes, declared once; and the ranges they must keep."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter, Token

from gputuner.language.words import N_
from gputuner.model.errors import GputunerError, ImportLogError, UsageError
from gputuner.model.written_numbers import written_whole

COMMON = Group(N_("Common options"), sort_key=9)
GIB = 2**30
MINUTES = (0.2, 24 * 60.0)
MEMORY_CAP_GIB = (0.05, 4096.0)


@Parameter(name="*", group=COMMON)
@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What holds for every command; names and meaning as the command line's contract says."""

    gpu: Annotated[
        str | None,
        Parameter(
            name="--gpu",
            metavar="SEL",
            help=N_(
                "Card by UUID, unique UUID prefix, PCI bus id, display index, `cpu` or `all`; several with commas. "
                "Viewing takes all cards; an experiment takes one: the only one, else the idle one with most memory."
            ),
        ),
    ] = None
    share: Annotated[
        bool,
        Parameter(
            name="--share",
            negative="",
            help=N_("Experiments: run although others compute on the card; results are flagged as shared."),
        ),
    ] = False
    memory_cap: Annotated[
        float | None,
        Parameter(name="--memory-cap", metavar="GIB", help=N_("Treat the card as having this much memory, in GiB.")),
    ] = None
    minutes: Annotated[
        float | None,
        Parameter(
            name="--minutes", metavar="M", help=N_("Experiments: time budget in minutes; the plan shrinks to it.")
        ),
    ] = None
    simulate: Annotated[
        tuple[str, ...],
        Parameter(
            name="--simulate",
            metavar="CARD",
            negative="",
            help=N_("Use a simulated card of the catalogue, such as rtx-4090-48g; repeat it for several."),
        ),
    ] = ()
    replay: Annotated[
        Path | None,
        Parameter(name="--replay", metavar="FILE", help=N_("Feed a stored session or recording back as if live.")),
    ] = None
    data_dir: Annotated[
        Path | None, Parameter(name="--data-dir", metavar="DIR", help=N_("Where sessions, settings and the log lie."))
    ] = None
    python: Annotated[
        str | None,
        Parameter(
            name="--python", metavar="PATH", help=N_("The interpreter whose torch is measured; by default this one.")
        ),
    ] = None
    json: Annotated[
        bool,
        Parameter(name="--json", negative="", help=N_("Write one JSON document to stdout and nothing else there.")),
    ] = False
    quiet: Annotated[bool, Parameter(name="--quiet", negative="", help=N_("Say less on stderr."))] = False
    verbose: Annotated[bool, Parameter(name="--verbose", negative="", help=N_("Say more on stderr."))] = False
    dry_run: Annotated[
        bool,
        Parameter(
            name="--dry-run",
            negative="",
            help=N_("Experiments: show the steps, limits and expected duration; touch nothing."),
        ),
    ] = False
    lang: Annotated[
        Literal["en", "zh_CN"] | None,
        Parameter(
            name="--lang",
            metavar="LANG",
            help=N_("Language of what people read: en or zh_CN; by default the locale's."),
        ),
    ] = None

    @property
    def memory_cap_bytes(self) -> int | None:
        """The memory cap in bytes."""
        return None if self.memory_cap is None else round(self.memory_cap * GIB)

    def check(self, *, experiment: bool) -> None:
        """Refuse what makes no sense.

        Args:
            experiment: True for commands that measure.

        Raises:
            UsageError: an option is out of range or does not go with another.
            ImportLogError: the file to replay is not there.
        """
        for problem in self._problems(experiment):
            raise problem

    def _problems(self, experiment: bool) -> Iterator[GputunerError]:
        yield from _out_of_range("--memory-cap", self.memory_cap, MEMORY_CAP_GIB, "GiB")
        yield from _out_of_range("--minutes", self.minutes, MINUTES, "min")
        if self.gpu is not None and not self.gpu.replace(",", " ").strip():
            yield UsageError("selection_empty", "--gpu names no card")
        if self.quiet and self.verbose:
            yield _exclude("--quiet", "--verbose")
        if self.simulate and self.replay is not None:
            yield _exclude("--simulate", "--replay")
        if self.replay is not None and os.path.exists(self.replay) and not os.path.isfile(self.replay):
            yield no_session_file(str(self.replay))
        if self.replay is not None and not os.path.exists(self.replay):
            yield ImportLogError("file_not_found", f"no file {self.replay}", path=str(self.replay))
        if experiment and self.replay is not None:
            yield UsageError("replay_no_experiment", "an experiment cannot run on a replay")
        if self.dry_run and not experiment:
            yield UsageError("dry_run_no_experiment", "--dry-run is for experiments only")


def no_session_file(path: str) -> ImportLogError:
    """What stands at ``path`` is a folder, a pipe or a device."""
    return ImportLogError("no_session_file", f"{path} is no session file", path=path)


def whole_number(_kind: object, tokens: Sequence[Token]) -> int:
    """A number without a fraction (cyclopts would round).

    Raises:
        ValueError: it is none.
    """
    return written_whole(tokens[0].value)


def check_range(option: str, value: float | None, bounds: tuple[float, float], unit: str) -> None:
    """Refuse a value outside ``bounds``.

    Raises:
        UsageError: it is outside, or not a number.
    """
    for problem in _out_of_range(option, value, bounds, unit):
        raise problem


def _out_of_range(option: str, value: float | None, bounds: tuple[float, float], unit: str) -> Iterator[UsageError]:
    low, high = bounds
    if value is not None and not (isfinite(value) and low <= value <= high):
        yield UsageError(
            "option_out_of_range",
            f"{option} {value} is outside {low:g} to {high:g} {unit}",
            option=option,
            value=f"{value:g}",
            low=f"{low:.10g}",
            high=f"{high:.10g}",
            unit=f" {unit}" if unit else "",
        )


def _exclude(first: str, second: str) -> UsageError:
    return UsageError("options_exclude", f"{first} and {second} exclude each other", first=first, second=second)
