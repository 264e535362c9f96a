"""A setting of an advice as the work of a trial: the training with its switches, or the training with its loader."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TypeVar

from gputuner.experiments.trained import Setting, train_work
from gputuner.experiments.tune_shape import Shape
from gputuner.model.change import TrainingSetting
from gputuner.model.codec import from_builtins
from gputuner.model.errors import StoreError, UsageError
from gputuner.model.readings import Scalar
from gputuner.model.steps import Trial, Work
from gputuner.workloads.bodies.switches import ACCUMULATE, Switches
from gputuner.workloads.specs import PRECISIONS, Precision, check_precision, check_range, check_switches
from gputuner.workloads.specs_loading import LoaderSetting, LoadingSpec

T = TypeVar("T")
PROCESSES_MOST, ACCUMULATE_MOST = 8, 1 << 12
LOADER_START_S = 30.0
"""Until the processes of a loader have started, at most."""
FED = "fed"
"""The part of a trial of a loader in which the training runs with it."""


def check(base: TrainingSetting, advised: TrainingSetting) -> None:
    """Refuse settings that no trial can run, or that cannot be compared.

    Raises:
        UsageError: a value is out of range or unknown, or only one of the two is fed by a loader.
    """
    for setting in (base, advised):
        check_precision(setting.precision)
        check_range("processes", setting.processes, 1, PROCESSES_MOST)
        check_range(ACCUMULATE, setting.accumulate, 1, ACCUMULATE_MOST)
        if setting.loader and (setting.switches or setting.processes > 1 or setting.accumulate > 1):
            raise _unknown("loader", *setting.switches)
        switches_of(setting)
        loader_of(setting)
    if bool(base.loader) != bool(advised.loader):
        raise _unknown("loader")


def switches_of(setting: TrainingSetting) -> Switches:
    """The switches of a setting, checked.

    Raises:
        UsageError: there is none of such a name, or it has no such value.
    """
    told = _record(setting.switches, Switches)
    check_switches(told)
    return told


def loader_of(setting: TrainingSetting) -> LoaderSetting:
    """The loader of a setting, checked; without processes nothing is prefetched, which a figure tells as 0.

    Raises:
        UsageError: there is no such choice, or it has no such value.
    """
    prefetch = setting.loader.get("prefetch")
    return _record({**setting.loader, **({"prefetch": 2} if prefetch == 0 else {})}, LoaderSetting)


def _record(told: Mapping[str, Scalar], cls: type[T]) -> T:
    unknown = [name for name in told if name not in {each.name for each in fields(cls)}]  # type: ignore[arg-type]
    if unknown:
        raise _unknown(*unknown)
    try:
        return from_builtins(dict(told), cls)
    except StoreError as err:
        raise _unknown(*(f"{name} {value}" for name, value in told.items())) from err


def _unknown(*what: str) -> UsageError:
    return UsageError("try_unknown", "this cannot be tried", what=", ".join(what))


def work_of(
    shape: Shape, told: TrainingSetting, label: str, measure_s: float, *, fresh: bool, recipe: str, folder: str
) -> Work:
    """One trial of a setting; of several trainings at once, each."""
    precision: Precision = next(each for each in PRECISIONS if each == told.precision)
    setting = Setting(precision=precision, channels_last=told.channels_last)
    work = train_work(shape, setting, told.batch, label, measure_s, fresh=fresh)
    if not told.loader:
        switches = switches_of(told)
        steps: dict[str, Scalar] = {ACCUMULATE: told.accumulate} if told.accumulate > 1 else {}
        params = {**work.params, **switches.params(), **steps}
        return replace(work, params=params, environment=switches.environment())
    image = work.params.get("image")
    spec = LoadingSpec(
        part="supply", batch=told.batch, precision=precision, channels_last=told.channels_last, recipe=recipe,
        folder=folder, setting=loader_of(told), alone=False, again=False,
        **({"image": image} if isinstance(image, int) else {}),
    )  # fmt: skip
    budget_s = 4.0 * measure_s + LOADER_START_S
    return replace(work, workload=spec.workload, params=spec.params(), warmup_s=0.0, budget_s=budget_s)


def as_plain(trial: Trial) -> Trial:
    """A trial of a loader as one of the training with it (without entries where that gave no rate)."""
    if not trial.parts:
        return trial
    fed = next((part for part in trial.parts if part.params.get("phase") == FED), trial.parts[0])
    return replace(
        trial, iteration_s=fed.iteration_s, t0_ns=fed.t0_ns, t1_ns=fed.t1_ns, work=fed.work, parts=(),
        notes={**trial.notes, **fed.notes},
    )  # fmt: skip


def gave_up(trial: Trial, setting: TrainingSetting) -> bool:
    """Whether the worker measured a smaller batch than it was asked for, or nothing."""
    return not trial.iteration_s or trial.notes.get("measured_batch", setting.batch) != setting.batch
