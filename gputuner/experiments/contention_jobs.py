"""Jobs of a contention experiment: how one is written, and the training that it stands for on a card.

``name[:key=value,…]`` is a built-in training, ``FILE.py:function[:key=value,…]`` (or ``module:function``) the user's
own. What is not said is chosen for the card: number format and layout as a training there should have, the batch as
people start with.
"""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Protocol, cast

from gputuner.experiments.precisions import training_order
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.subject import BUILT_IN, Subject, built_in, recipe
from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar
from gputuner.model.steps import Work, split_job, told_params
from gputuner.workloads.bodies.switches import NAMES, Switches
from gputuner.workloads.bodies.training_shapes import EDSR, LLM
from gputuner.workloads.specs import Precision, check_precision
from gputuner.workloads.specs_recipe import RecipeSpec
from gputuner.workloads.specs_training import Training

ALIASES = {"bert-large": "bert", "gpt2": "gpt", "gpt-2": "gpt", "llm-7b": "llm"}
"""Other names that people write."""
BATCHES = {"resnet50": 32, "bert": 16, "edsr": 16, "gpt": 8, "lstm": 64, "llm": 1}
"""Samples per step where nothing is said, on a card …"""
SMALL_BATCHES = {"resnet50": 8, "bert": 1, "edsr": 2, "gpt": 1, "lstm": 8, "llm": 1}
"""… and on a processor."""
RECIPE_BATCH = 8
LEFT_OUT = ("loader", "sparse", "expandable_segments")
"""Settings of a training that no job takes: the last one is of a whole process, which jobs may share."""
IN_FULL = ("recipe", "folder", "switches", *LEFT_OUT)
WARM_S = 1.5
"""Warm-up of every trial, alone and together alike."""
TRUE, FALSE = ("true", "yes", "on"), ("false", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One training as it is run."""

    name: str
    """As figures name it: ``edsr``, ``train.py:make``."""
    label: str
    """``edsr:batch=16``: name, batch, and what else was set by hand."""
    spec: Training | RecipeSpec
    subject: Subject = field(compare=False, repr=False)
    """The same training at any batch."""

    @property
    def batch(self) -> int:
        """Samples per step."""
        return self.spec.batch

    @property
    def precision(self) -> Precision:
        """Number format."""
        return self.spec.precision

    @property
    def channels_last(self) -> bool:
        """Memory layout; False where it does not matter."""
        return getattr(self.spec, "channels_last", False) is True

    def params(self) -> dict[str, Scalar]:
        """What its figures say of it."""
        return told_params(self.spec.params())

    def work(
        self, label: str, measure_s: float, *, warmup_s: float = WARM_S, fresh: bool = False, idle: int = 0
    ) -> Work:
        """One trial of it; ``idle`` processes stay alive beside it."""
        return Work(
            label=label,
            workload=self.spec.workload,
            params=self.spec.params(),
            measure_s=measure_s,
            budget_s=4.0 * measure_s + 20.0,
            fresh=fresh,
            warmup_s=warmup_s,
            size_param="batch",
            idle=idle,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedJob:
    """A job as it was written."""

    name: str
    """Of a built-in training; empty: a recipe."""
    recipe: str = ""
    settings: dict[str, Scalar] = field(default_factory=lambda: {})

    def on(self, context: PlanContext, folder: str = ".") -> Job:
        """The job on the card of ``context``.

        Raises:
            UsageError: a setting is out of range.
        """
        formats = built_in(self.name, cpu=context.card.is_cpu).formats if self.name else training_order
        return self.made(formats(context)[0], cpu=context.card.is_cpu, folder=folder)

    def made(self, precision: Precision, *, cpu: bool, folder: str = ".") -> Job:
        """The job in ``precision`` where it does not say another one.

        Raises:
            UsageError: a setting is out of range.
        """
        own = RecipeSpec(recipe=self.recipe, folder=folder) if self.recipe else None
        subject = recipe(own, images=False) if own else built_in(self.name, cpu=cpu)
        precision = cast(Precision, str(self.settings.get("precision", precision)))
        check_precision(precision)
        usual = RECIPE_BATCH if own else (SMALL_BATCHES if cpu else BATCHES)[self.name]
        batch = int(self.settings.get("batch", usual))
        chosen = subject.images and not cpu and precision in ("bf16", "fp16")
        last = bool(self.settings.get("channels_last", chosen))
        make = _set(subject.make, self.settings)
        return Job(
            name=subject.name,
            label=self._label(subject.name, batch),
            spec=make(batch, precision, last),
            subject=replace(subject, make=make),
        )

    def _label(self, name: str, batch: int) -> str:
        others = (f"{key}={_told(value)}" for key, value in sorted(self.settings.items()) if key != "batch")
        plain = name.replace("+", "_").replace(",", "_")  # signs that a mix is told with
        return f"{plain}:{','.join((f'batch={batch}', *others))}"


class Labelled(Protocol):
    """Anything that has a job's label."""

    @property
    def label(self) -> str:
        """As :attr:`Job.label`."""
        ...


def mix_label(jobs: Sequence[Labelled]) -> str:
    """Name of a mix of jobs: their labels in the order given."""
    return "+".join(job.label for job in jobs)


def parse_job(text: str) -> AskedJob:
    """A job from its text.

    Raises:
        UsageError: no such training or setting, or a value that it cannot have.
    """
    reference, told = split_job(text.strip())
    if not reference or (":" in reference and reference.partition(":")[0] in {*BUILT_IN, *ALIASES}):
        raise UsageError("job_malformed", f"no job: {text!r}", job=text)
    named = ALIASES.get(reference, reference)
    own = ":" in reference or "/" in reference or reference.endswith(".py")
    if not own and named not in BUILT_IN:
        raise UsageError("workload_unknown", f"no training {named!r}", workload=named, known=", ".join(BUILT_IN))
    settings = dict(_setting(text, entry, named, own) for entry in told.split(",")) if told else {}
    asked = AskedJob(name="" if own else named, recipe=reference if own else "", settings=settings)
    made = asked.made("fp32", cpu=False)  # says what is out of range
    for key, known in (("variant", EDSR), ("model", LLM)):
        value = getattr(made.spec, key, None)
        if value is not None and value not in known:
            raise UsageError("job_setting_value", f"{key}={value}", job=text, name=key, value=str(value))
    return asked


def known_settings(name: str, *, own: bool) -> dict[str, type]:
    """The settings that a job takes, with the type of each."""
    cls = RecipeSpec if own else type(built_in(name, cpu=False).make(1, "fp32", False))
    training = {each.name: _type(each.default) for each in fields(cls) if each.name not in IN_FULL}
    switches = {each.name: _type(each.default) for each in fields(Switches) if each.name not in LEFT_OUT}
    return {**training, **switches}


def _type(default: object) -> type:
    """Of a field, from its default: without one it is a count, with None a switch."""
    return int if default is MISSING else bool if default is None else type(default)


def _setting(text: str, entry: str, name: str, own: bool) -> tuple[str, Scalar]:
    key, equals, told = (part.strip() for part in entry.partition("="))
    known = known_settings(name, own=own)
    if not equals or not told:
        raise UsageError("job_malformed", f"no setting: {entry!r}", job=text)
    if key not in known:
        raise UsageError("job_setting_unknown", f"no setting {key}", job=text, name=key, known=", ".join(known))
    value = _value(told)
    if type(value) is not known[key]:
        raise UsageError("job_setting_value", f"{key}={told}", job=text, name=key, value=told)
    return key, value


def _value(told: str) -> Scalar:
    if told.lower() in TRUE + FALSE:
        return told.lower() in TRUE
    return int(told) if told.isascii() and told.isdigit() else told


def _told(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _set(
    make: Callable[[int, Precision, bool], Training | RecipeSpec], settings: dict[str, Scalar]
) -> Callable[[int, Precision, bool], Training | RecipeSpec]:
    """``make`` with the settings beside batch, format and layout."""
    chosen = {key: value for key, value in settings.items() if key in NAMES}
    switches = Switches(**chosen)  # pyright: ignore[reportArgumentType]
    others = {k: v for k, v in settings.items() if k not in (*NAMES, "batch", "precision", "channels_last")}

    def made(batch: int, precision: Precision, last: bool) -> Training | RecipeSpec:
        spec = replace(make(batch, precision, last), **others)  # pyright: ignore[reportArgumentType]
        return replace(spec, switches=switches) if chosen else spec

    return made
