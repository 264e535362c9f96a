"""A cap on memory: kept with the session, and told where it is above what there is."""

from contextlib import closing

import pytest

from gputuner.assembly.setup import open_setup
from gputuner.experiments.bench import Bench
from gputuner.model.events import RunStarted, Warned

GIB = 1 << 30
CARD_GIB = 24
BENCH = Bench(names=("gemm-fp32",), minutes=0.2)


@pytest.mark.parametrize(
    ("cap_gib", "kept_gib", "told"), [(None, None, 0), (12, 12, 0), (CARD_GIB, CARD_GIB, 0), (400, None, 1)]
)
def test_a_cap_above_the_cards_memory_caps_nothing_and_is_told(tmp_path, cap_gib, kept_gib, told):
    cap_bytes = None if cap_gib is None else cap_gib * GIB
    opened = open_setup(simulate=("rtx-3090",), data_dir=tmp_path, memory_cap_bytes=cap_bytes)
    with closing(opened) as setup:
        card = setup.select(None, for_experiment=True)[0]
        events = list(setup.start(BENCH, (card,)))
    assert card.memory_total_bytes == CARD_GIB * GIB
    (started,) = [event for event in events if isinstance(event, RunStarted)]
    assert started.memory_cap_bytes == (None if kept_gib is None else kept_gib * GIB)
    warned = [event for event in events if isinstance(event, Warned) and event.code == "memory_cap_beyond"]
    assert len(warned) == told
    for event in warned:
        assert event.params == {"card": card.title, "cap_bytes": 400 * GIB, "total_bytes": CARD_GIB * GIB}


def test_a_cap_above_the_machines_memory_is_that_memory(tmp_path):
    with closing(open_setup(data_dir=tmp_path, memory_cap_bytes=4096 * GIB)) as setup:
        card = setup.select("cpu", for_experiment=True)[0]
        steps = setup.rehearse(BENCH, card)
        assert steps
        assert setup._cap_bytes(card) == card.memory_total_bytes
