"""The window tries an advice through the program: on a simulated card, from a stored session, and reads it back."""

from pathlib import Path

import pytest

from gputuner.assembly.setup import open_setup
from gputuner.assembly.window import WindowPorts
from gputuner.experiments.batch import Batch
from gputuner.model.errors import StoreError, UsageError
from gputuner.model.events import PointMeasured, RunFinished

FORMAT = "precision.best"


@pytest.fixture
def setup(tmp_path):
    opened = open_setup(simulate=("rtx-4090-48g",), data_dir=tmp_path)
    yield opened
    opened.close()


def test_an_advice_is_tried_and_read_back(setup):
    ports, cards = WindowPorts(setup), tuple(card.uuid for card in setup.cards())
    run = ports.start(Batch(workload="bert"), cards, False)
    assert isinstance([*run][-1], RunFinished)
    assert ports.tries(run.run_id) == {}
    tried = ports.start_try(run.run_id, FORMAT, "", False)
    gains = [e.point for e in tried if isinstance(e, PointMeasured) and e.point.metric == "advice_gain"]
    stored, path = ports.tries(run.run_id)[FORMAT]
    assert stored == gains[-1]
    assert path == tried.session_path
    assert stored.value == pytest.approx(float(stored.extra["predicted"]), rel=0.05)
    for name, code in (("batch.safe_limit", "untried_size"), ("no.such", "advice_unknown")):
        with pytest.raises(UsageError) as refused:
            ports.start_try(run.run_id, name, "", False)
        assert refused.value.code == code
    with pytest.raises(StoreError):
        ports.start_try("no-such-session", FORMAT, "", False)


def test_it_is_not_tried_on_another_card(setup, tmp_path: Path):
    run = WindowPorts(setup).start(Batch(workload="bert"), (setup.cards()[0].uuid,), False)
    list(run)
    other = open_setup(simulate=("rtx-3090",), data_dir=tmp_path)
    with pytest.raises(UsageError) as refused:
        WindowPorts(other).start_try(run.run_id, FORMAT, "", False)
    other.close()
    assert refused.value.code == "try_card_missing"
    assert "3090" in str(refused.value.params["here"])
