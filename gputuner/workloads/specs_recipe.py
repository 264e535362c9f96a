"""The user's own training as a spec (the parent's side): it is named, and loaded only in the worker."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.switches import AS_IS, Switches
from gputuner.workloads.specs import Precision, check_precision, check_range, check_switches


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeSpec:
    """One training step of a recipe, ``FILE.py:function`` or ``module:function`` looked for in ``folder``."""

    workload: ClassVar[str] = "recipe"
    recipe: str
    folder: str
    batch: int = 1
    precision: Precision = "fp32"
    channels_last: bool = False
    switches: Switches = AS_IS

    def __post_init__(self) -> None:
        """Refuse what cannot be a recipe.

        Raises:
            UsageError: not of that form, or a value is out of range.
        """
        source, _, name = self.recipe.rpartition(":")
        if not source or not name.isidentifier():
            raise UsageError("recipe_malformed", f"no recipe: {self.recipe!r}", recipe=self.recipe)
        check_precision(self.precision)
        check_range("batch", self.batch, 1, 1 << 20)
        check_switches(self.switches)

    @property
    def title(self) -> str:
        """Short name for figures and sentences: without folders."""
        source, _, name = self.recipe.rpartition(":")
        return f"{PurePath(source).name}:{name}"

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {
            "recipe": self.recipe,
            "folder": self.folder,
            "batch": self.batch,
            "precision": self.precision,
            "channels_last": self.channels_last,
            **self.switches.params(),
        }
