"""The modules of a training one by one, in FP32 and in a half format (the parent's side)."""

from dataclasses import dataclass, replace
from typing import ClassVar

from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.switches import AS_IS
from gputuner.workloads.specs import Precision
from gputuner.workloads.specs_recipe import RecipeSpec
from gputuner.workloads.specs_training import Training


@dataclass(frozen=True, slots=True, kw_only=True)
class ModulesSpec:
    """Forward and backward of each kind of module of ``training``, on the shapes that it meets there."""

    workload: ClassVar[str] = "modules"
    training: Training | RecipeSpec
    """At its batch and layout; switches are left out."""
    precision: Precision = "fp16"

    def __post_init__(self) -> None:
        """Refuse a format that has nothing to be compared.

        Raises:
            UsageError: it is no half format.
        """
        if self.precision not in ("fp16", "bf16"):
            raise UsageError("precision_unknown", f"no half format: {self.precision}", precision=self.precision)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        plain = replace(self.training, switches=AS_IS)
        return {**plain.params(), "training": self.training.workload, "precision": self.precision}
