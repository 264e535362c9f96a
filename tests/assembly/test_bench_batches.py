"""On an H200-like card the batches of the suite keep the card busy: nothing is held back by launches from the host."""

import pytest

from gputuner.analysis.held_back import BUSY
from gputuner.assembly.setup import open_setup
from gputuner.experiments.bench import Bench
from gputuner.model.events import PointMeasured
from gputuner.model.points import Flag


@pytest.mark.parametrize(("name", "batch"), [("lstm", 1024), ("llm-7b", 4)])
def test_the_host_does_not_bind_them(tmp_path, name, batch):
    setup = open_setup(simulate=("h200-sxm",), data_dir=tmp_path)
    events = list(setup.start(Bench(names=(name,)), setup.cards()))
    setup.close()
    (point,) = [e.point for e in events if isinstance(e, PointMeasured) and e.point.metric == "train_throughput"]
    assert point.params["batch"] == batch
    assert point.extra["held_back"] != "host"
    assert point.conditions.gpu_utilisation >= BUSY
    assert Flag.FEW_SAMPLES not in point.flags
    assert point.spread.n >= 20
