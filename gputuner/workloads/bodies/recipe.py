# pyright: standard
"""The user's own training: a function in their file or module that gives a model, a way to make a batch, and a loss.

``make()`` gives a mapping, or any object with attributes, of: ``model``; ``batch(n)``, n samples in any nesting of
tensors, lists, tuples and mappings; ``loss(model, batch)``, a scalar, not needed of a model that tells its own (an
output with ``loss``, or ``training_step`` as Lightning has it); ``optimizer(parameters)``, not needed of a model with
``configure_optimizers`` (else AdamW); ``samples``, how many the data set has, if that shall be known; for questions
about loading ``loader(batch_size, num_workers, …)``, which gives a ``DataLoader``, or ``data_set`` (and ``collate``).
It imports nothing of gputuner and runs in the user's own Python.
"""

import difflib
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import torch
from torch import nn

USUAL_RATE = 1e-4
"""Learning rate of the optimizer that is taken where a recipe names none."""
NEAR = 0.75
"""Of 1: so alike are a misspelt name and the right one."""
PARTS = ("model", "batch", "loss", "optimizer", "samples", "loader", "data_set", "collate")
DIGITS = 16
"""Of the digest: enough to tell two states of a file apart."""


class RecipeError(Exception):
    """The recipe cannot be used as it is; the message says what is wrong with it."""


@dataclass(frozen=True)
class Recipe:
    """What a recipe gave, checked."""

    model: nn.Module
    batch: Callable[[int], Any]
    loss: Callable[[Any, Any], torch.Tensor]
    optimizer: "Callable[[Any], torch.optim.Optimizer] | None"
    samples: "int | None" = None
    """Of the data set that is trained on."""
    digest: str = ""
    """Beginning of the SHA-256 of the file that holds it, so that a change of it is seen."""
    loader: "Callable[..., Any] | None" = None
    """Makes a ``DataLoader`` of a batch size and a number of processes."""
    data_set: Any = None
    """A data set of torch, from which a loader is made where the recipe makes none."""
    collate: "Callable[[Any], Any] | None" = None
    """What makes a batch of the samples of ``data_set``; None: as torch does."""
    unknown: "tuple[str, ...]" = ()
    """Parts of a mapping that nothing is done with."""


def load(reference: str, folder: str) -> Recipe:
    """The recipe that ``FILE.py:make`` or ``module:make`` names.

    Args:
        reference: where it is.
        folder: what relative paths and modules are looked for in.

    Raises:
        RecipeError: there is no such function, or what it gives lacks something.
    """
    source, _, name = reference.rpartition(":")
    if not source or not name.isidentifier():
        raise RecipeError(f"a recipe is named FILE.py:function or module:function, not {reference!r}")
    module = _module(source, folder)
    make = getattr(module, name, None)
    if not callable(make):
        raise RecipeError(f"{source} has no function {name!r}")
    return replace(_checked(make(), reference), digest=_digest(module))


def _digest(module: ModuleType) -> str:
    """Of the module's file; empty where it has none that can be read."""
    try:
        return hashlib.sha256(Path(module.__file__ or "").read_bytes()).hexdigest()[:DIGITS]
    except OSError:
        return ""


def _module(source: str, folder: str) -> ModuleType:
    path = Path(folder, source).expanduser()
    is_file = source.endswith(".py")
    place = str(path.parent) if is_file else folder
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        if not is_file:
            return importlib.import_module(source)
        if not path.is_file():
            raise RecipeError(f"there is no file {path.name if Path(source).is_absolute() else source}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise RecipeError(f"{path.name} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(path.stem, module)
        spec.loader.exec_module(module)
    except ModuleNotFoundError as err:
        raise RecipeError(
            f"{source} needs the module {err.name!r}, which this Python ({sys.executable}) lacks"
        ) from err
    return module


def _checked(given: Any, reference: str) -> Recipe:
    def part(name: str) -> Any:
        return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)

    model, batch, loss, optimizer = (part(name) for name in ("model", "batch", "loss", "optimizer"))
    samples = part("samples")
    feeding = {name: part(name) for name in ("loader", "data_set", "collate")}
    for name in ("loader", "collate"):
        if feeding[name] is not None and not callable(feeding[name]):
            raise RecipeError(f"the {name} that {reference} gives is no function")
    if not isinstance(model, nn.Module):
        raise RecipeError(f"{reference} gives no model (a torch.nn.Module)")
    if not callable(batch):
        raise RecipeError(f"{reference} gives no function batch(n)")
    if loss is not None and not callable(loss):
        raise RecipeError(f"the loss that {reference} gives is no function of model and batch")
    if optimizer is not None and not callable(optimizer):
        raise RecipeError(f"the optimizer that {reference} gives is no function of parameters")
    if samples is not None and (not isinstance(samples, int) or isinstance(samples, bool) or samples < 1):
        raise RecipeError(f"samples, the size of the data set, is {samples!r} in {reference}, no whole number above 0")
    if optimizer is None and callable(getattr(model, "configure_optimizers", None)):
        optimizer = _configured(model)
    own = _own_step if callable(getattr(model, "training_step", None)) else _own_loss
    return Recipe(
        model=model,
        batch=batch,
        loss=cast(Any, loss or own),
        optimizer=cast(Any, optimizer),
        samples=samples,
        unknown=_unknown(given, reference),
        **feeding,
    )


def _unknown(given: Any, reference: str) -> "tuple[str, ...]":
    """Names in a mapping that are no part of a recipe.

    Raises:
        RecipeError: one is nearly the name of a part that is missing, and so surely misspelt.
    """
    names = [str(name) for name in given if name not in PARTS] if isinstance(given, Mapping) else []
    for name in names:
        near = difflib.get_close_matches(name, [part for part in PARTS if part not in given], n=1, cutoff=NEAR)
        if near:
            raise RecipeError(f"{reference} gives {name!r}, which is no part of a recipe; did you mean {near[0]!r}?")
    return tuple(names)


def _own_step(model: Any, batch: Any) -> torch.Tensor:
    """The loss of a module that has its own training step.

    Raises:
        RecipeError: it gives none (it steps its optimizers by itself).
    """
    told = model.training_step(batch, 0)
    loss = told.get("loss") if isinstance(told, Mapping) else told
    if not isinstance(loss, torch.Tensor):
        raise RecipeError(
            "training_step of the recipe's model gives no loss; one that steps by itself is not supported"
        )
    return loss


def _own_loss(model: Any, batch: Any) -> torch.Tensor:
    """The loss that a model's output holds (as of transformers, given labels).

    Raises:
        RecipeError: it holds none.
    """
    output = model(**batch) if isinstance(batch, Mapping) else model(*batch) if _row(batch) else model(batch)
    loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    if not isinstance(loss, torch.Tensor):
        raise RecipeError("the recipe gives no loss, and the model's output holds none")
    return loss


def _configured(model: Any) -> Callable[[Any], torch.optim.Optimizer]:
    def made(_: Any) -> torch.optim.Optimizer:
        told = model.configure_optimizers()
        told = told.get("optimizer") if isinstance(told, Mapping) else told
        while _row(told) and told:
            told = told[0]
        told = told.get("optimizer") if isinstance(told, Mapping) else told
        if not isinstance(told, torch.optim.Optimizer):
            raise RecipeError("configure_optimizers of the recipe's model gives no optimizer")
        return told

    return made


def optimizer_of(recipe: Recipe) -> torch.optim.Optimizer:
    """The recipe's optimizer over the parameters that are trained, or AdamW.

    Raises:
        RecipeError: nothing is to be trained, or what it gives is no optimizer.
    """
    trained = [parameter for parameter in recipe.model.parameters() if parameter.requires_grad]
    if not trained:
        raise RecipeError("no parameter of the recipe's model is to be trained")
    made = recipe.optimizer(trained) if recipe.optimizer else torch.optim.AdamW(trained, lr=USUAL_RATE)
    if not isinstance(made, torch.optim.Optimizer):
        raise RecipeError(f"the recipe's optimizer is a {type(made).__name__}, no torch.optim.Optimizer")
    return made


def _row(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def mapped(value: Any, change: "Callable[[torch.Tensor], torch.Tensor]") -> Any:
    """``value`` with every tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if hasattr(value, "to") and not isinstance(value, nn.Module) and isinstance(value, Mapping):
        value = dict(value)  # what tokenizers give
    if isinstance(value, Mapping):
        return {name: mapped(each, change) for name, each in value.items()}
    if _row(value):
        row = cast("Sequence[Any]", value)
        changed = [mapped(each, change) for each in row]
        return type(row)(*changed) if hasattr(row, "_fields") else tuple(changed) if isinstance(row, tuple) else changed
    return value


def tensors(value: Any) -> "list[torch.Tensor]":
    """All tensors in ``value``."""
    found: list[torch.Tensor] = []
    mapped(value, lambda tensor: found.append(tensor) or tensor)
    return found
