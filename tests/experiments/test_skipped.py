"""A part that was left out says times that explain it: what it takes and what was kept exceed what was left."""

from contextlib import closing

import pytest

from gputuner.assembly.setup import open_setup
from gputuner.experiments.contention import Contend
from gputuner.experiments.course import SETUP_S, Course
from gputuner.experiments.switches import Switching
from gputuner.experiments.tune_training import skipped
from gputuner.language.sentences import warning
from gputuner.model.events import Warned

ROUNDED_S = 0.15
"""Three figures to a tenth."""
SPECS = (
    Contend(jobs=("edsr:batch=16",), minutes=1.0),
    Contend(jobs=("edsr", "bert", "gpt"), matrix=True, causes=True, minutes=2.0),
    Switching(minutes=1.0),
)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.name} {spec.minutes}")
def test_the_times_of_every_part_that_is_left_out_make_sense(tmp_path, spec):
    with closing(open_setup(simulate=("rtx-4090-48g",), data_dir=tmp_path)) as setup:
        events = list(setup.start(spec, setup.select(None, for_experiment=True)))
    told = [event.params for event in events if isinstance(event, Warned) and event.code == "stage_skipped"]
    assert told, "the time is short"
    for params in told:
        assert params["needed_s"] + params.get("keep_s", 0.0) + ROUNDED_S > params["left_s"], params


def test_what_was_kept_is_said_and_nothing_kept_is_not():
    class Context:
        budget_s = 30.0

    plain, hurried = (Course(Context(), 4.0, hurried=short) for short in (False, True))
    (step,) = skipped(plain, "contend_tuned", 8.0, 20.0)
    assert step.params == {"stage": "contend_tuned", "needed_s": 8.0, "left_s": 26.0, "keep_s": 20.0}
    assert "(8 s needed and 20 s kept for what comes after, 26 s left)" in warning(step.code, step.params)
    (step,) = skipped(plain, "contend_tuned", 28.0)
    assert "(28 s needed, 26 s left)" in warning(step.code, step.params)
    (step,) = skipped(hurried, "contend_tuned", 28.0)
    assert step.params["keep_s"] == SETUP_S
