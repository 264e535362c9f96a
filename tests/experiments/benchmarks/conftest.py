"""Benchmarks performed by the real engine on a simulated card."""

import pytest

from gputuner.assembly.setup import open_setup
from gputuner.experiments.bench import Bench
from gputuner.model.events import PointMeasured, RunFinished


@pytest.fixture(scope="module")
def lab_points(tmp_path_factory):
    """The points of a completed run of the benchmarks named on a card of the catalogue."""

    def run(card, *names):
        setup = open_setup(simulate=(card,), data_dir=tmp_path_factory.mktemp("data"))
        try:
            events = list(setup.start(Bench(names=names), setup.select(None, for_experiment=True)))
        finally:
            setup.close()
        assert isinstance(events[-1], RunFinished)
        assert events[-1].exit_code == 0
        return [event.point for event in events if isinstance(event, PointMeasured)]

    return run
