"""The training that is examined: a built-in one, or the user's own."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Protocol, runtime_checkable

from gputuner.experiments.precisions import training_order
from gputuner.experiments.protocol import PlanContext
from gputuner.model.errors import UsageError
from gputuner.model.steps import told_recipe
from gputuner.workloads.specs import Precision, ResNet50Spec
from gputuner.workloads.specs_recipe import RecipeSpec
from gputuner.workloads.specs_training import BertSpec, EdsrSpec, GptSpec, LlmSpec, LstmSpec, Training


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A training at any batch, precision and layout."""

    name: str
    """Of its figures."""
    make: Callable[[int, Precision, bool], Training | RecipeSpec] = field(compare=False)
    """Batch, precision and channels-last → spec."""
    images: bool
    """Whether the layout of its input matters."""
    bf16_on_card: bool = True
    """Whether it trains in BF16 on a card: cuDNN's recurrent layers, under autocast, do not."""

    def formats(self, context: PlanContext) -> tuple[Precision, ...]:
        """Native formats for it on the card of ``context``, best guess first."""
        order = training_order(context)
        if self.bf16_on_card or context.card.is_cpu or "bf16" not in order:
            return order
        return (*(p for p in order if p == "fp16"), *(p for p in order if p not in ("bf16", "fp16")))


@runtime_checkable
class Examines(Protocol):
    """A spec that examines one training: ``recipe`` where it is not empty, else the built-in ``workload``."""

    workload: str
    recipe: str


STAND_IN = "resnet50"
"""Its steps are told for a recipe that is not run."""


def own_recipe(spec: object) -> bool:
    """Whether ``spec`` is about the user's own training."""
    return isinstance(spec, Examines) and bool(spec.recipe)


def resnet50(image: int) -> Subject:
    """ResNet-50 on images of ``image`` pixels a side."""
    return Subject(
        name=ResNet50Spec.workload,
        make=lambda batch, precision, last: ResNet50Spec(
            batch=batch, precision=precision, channels_last=last, image=image
        ),
        images=True,
    )


def _edsr(batch: int, precision: Precision, last: bool) -> EdsrSpec:
    return EdsrSpec(batch=batch, precision=precision, channels_last=last)


BUILT_IN: dict[str, Callable[[bool], Subject]] = {
    "resnet50": lambda cpu: resnet50(64 if cpu else 224),
    "bert": lambda cpu: Subject(
        name="bert", make=lambda b, p, _: BertSpec(batch=b, precision=p, sequence=128 if cpu else 384), images=False
    ),
    "edsr": lambda _: Subject(name="edsr", make=_edsr, images=True),
    "gpt": lambda cpu: Subject(
        name="gpt", make=lambda b, p, _: GptSpec(batch=b, precision=p, sequence=128 if cpu else 1024), images=False
    ),
    "lstm": lambda _: Subject(
        name="lstm", make=lambda b, p, _: LstmSpec(batch=b, precision=p), images=False, bf16_on_card=False
    ),
    "llm": lambda _: Subject(name="llm", make=lambda b, p, _: LlmSpec(batch=b, precision=p), images=False),
}
"""Name → subject for a processor (True) or a card."""


def built_in(name: str, *, cpu: bool) -> Subject:
    """The built-in training ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in BUILT_IN:
        raise UsageError("workload_unknown", f"no training {name!r}", workload=name, known=", ".join(BUILT_IN))
    return BUILT_IN[name](cpu)


def recipe(spec: RecipeSpec, *, images: bool) -> Subject:
    """The user's own training."""

    def made(batch: int, precision: Precision, last: bool) -> RecipeSpec:
        return replace(spec, batch=batch, precision=precision, channels_last=last)

    return Subject(name=spec.title, make=made, images=images)


def examined(workload: str, reference: str, folder: str, *, images: bool, cpu: bool) -> Subject:
    """The training that a question is about: the recipe where there is one, else the built-in.

    Raises:
        UsageError: there is none of that name, or the recipe's is malformed.
    """
    if not reference:
        return built_in(workload, cpu=cpu)
    return recipe(RecipeSpec(recipe=reference, folder=folder), images=images)


def as_words(workload: str, reference: str, folder: str) -> str:
    """How the command names it; of a recipe nothing of where it lies but what the user wrote."""
    return f"--recipe {quote(told_recipe(reference, folder))}" if reference else workload
