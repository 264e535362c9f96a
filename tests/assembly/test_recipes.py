"""A recipe that cannot run here is refused before anything starts, whichever experiment names it."""

import pytest

from gputuner.assembly.recipes import check_recipes
from gputuner.experiments.batch import Batch
from gputuner.experiments.contention import Contend
from gputuner.experiments.cooling import Cooling
from gputuner.experiments.loading import Loading
from gputuner.experiments.numerics import Numerics
from gputuner.experiments.power import Power
from gputuner.experiments.switches import Switching
from gputuner.model.errors import UsageError

MINE = "mine.py:make"
NAMING = {
    "batch": lambda folder, recipe: Batch(recipe=recipe, folder=folder),
    "switches": lambda folder, recipe: Switching(recipe=recipe, folder=folder),
    "loader": lambda folder, recipe: Loading(recipe=recipe, folder=folder),
    "numerics": lambda folder, recipe: Numerics(recipe=recipe, folder=folder),
    "contend": lambda folder, recipe: Contend(jobs=("edsr", recipe), folder=folder),
    "cooling": lambda folder, recipe: Cooling(load=recipe, folder=folder),
    "power": lambda folder, recipe: Power(load=recipe, folder=folder),
}


@pytest.fixture(params=list(NAMING))
def named(request, tmp_path):
    return lambda recipe: NAMING[request.param](str(tmp_path), recipe)


def test_a_file_that_is_not_there_is_refused(named):
    with pytest.raises(UsageError) as refused:
        check_recipes(named(MINE), simulated=False)
    assert (refused.value.code, refused.value.params["path"]) == ("contend_recipe_missing", "mine.py")


def test_no_recipe_runs_on_a_simulated_card(named, tmp_path):
    (tmp_path / "mine.py").touch()
    with pytest.raises(UsageError) as refused:
        check_recipes(named(MINE), simulated=True)
    assert refused.value.code == "recipe_simulated"


def test_a_file_in_the_folder_and_a_module_are_left_to_the_worker(named, tmp_path):
    (tmp_path / "mine.py").touch()
    for recipe in (MINE, "package.module:make", f"{tmp_path}/mine.py:make"):
        check_recipes(named(recipe), simulated=False)


@pytest.mark.parametrize("spec", [Cooling(), Power(), Batch(), Contend(jobs=("edsr", "edsr"))])
def test_what_is_built_in_is_no_recipe(spec):
    check_recipes(spec, simulated=True)
