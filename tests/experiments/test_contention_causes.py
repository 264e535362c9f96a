"""Which mixes have their causes told: those whose figures, over all of their rounds, hold."""

from types import SimpleNamespace

import pytest

from gputuner.analysis.contention import CoRun, Slowdown
from gputuner.experiments.contention_causes import causes
from gputuner.model.points import Spread


def co_run(slowdown, moved):
    spread = Spread(n=50, median=slowdown, iqr=0.0, ci95_low=slowdown, ci95_high=slowdown)
    gain = Spread(n=50, median=2.0 / slowdown, iqr=0.0, ci95_low=2.0 / slowdown, ci95_high=2.0 / slowdown)
    return CoRun(
        jobs=(Slowdown(spread=spread, within=0.001),) * 2,
        gain_spread=gain,
        fairness=1.0,
        solo_change=moved,
        between=0.003,
        common_s=5.0,
        gain_within=0.001,
    )


@pytest.mark.parametrize(
    ("moved", "told"), [((0.3, 0.3, 0.0), []), ((0.0, 0.0, 0.3), [1.5, 1.5]), ((0.0, 0.0), [1.5] * 2)]
)
def test_the_figures_that_are_shown_decide_not_the_last_round(monkeypatch, moved, told):
    asked = []
    monkeypatch.setattr(
        "gputuner.experiments.contention_causes._tell",
        lambda lab, of, place, slowdown, found: iter(asked.append(slowdown) or ()),
    )
    rounds = [
        SimpleNamespace(mode="processes", places=(0, 1), found=co_run(1.5, change), jobs=(), trials=())
        for change in moved
    ]
    lab = SimpleNamespace(known=SimpleNamespace(rounds={("a+b", "processes"): rounds}))
    list(causes(lab, "processes", None))
    assert asked == pytest.approx(told)
