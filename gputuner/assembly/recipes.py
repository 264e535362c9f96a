"""The user's own trainings that a spec names: whether they can be run here."""

from pathlib import Path

from gputuner.experiments.protocol import Experiment
from gputuner.model.errors import UsageError


def check_recipes(spec: Experiment, *, simulated: bool) -> None:
    """Refuse a recipe on a simulated card, and one whose file is not there; a module is found by the worker alone.

    Args:
        spec: what is asked for; recipes are its ``recipes`` or its ``recipe``, looked for in its ``folder``.
        simulated: the cards are.

    Raises:
        UsageError: there is such a recipe.
    """
    own = getattr(spec, "recipe", "")
    named: tuple[str, ...] = getattr(spec, "recipes", (own,) if own else ())
    if named and simulated:
        raise UsageError("recipe_simulated", "a recipe runs on a real card or on the processor")
    folder = Path(getattr(spec, "folder", "."))
    for recipe in named:
        source = recipe.rpartition(":")[0]
        if source.endswith(".py") and not (folder / Path(source).expanduser()).is_file():
            raise UsageError("contend_recipe_missing", f"no file {source}", path=source)
