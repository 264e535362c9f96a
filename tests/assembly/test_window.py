"""What the window learns of other programs with the same data folder, and which trainings it may start."""

import subprocess
import sys
from pathlib import Path

import pytest

from gputuner.assembly.rehearsal import rehearse
from gputuner.assembly.setup import open_setup
from gputuner.assembly.window import WindowPorts
from gputuner.engine.locks import CardLock, CardMark
from gputuner.experiments.batch import Batch
from gputuner.model.errors import UsageError
from gputuner.model.events import PointMeasured, RunFinished
from gputuner.model.holders import WATCH

CHILD = """
import sys
from pathlib import Path
from gputuner.engine.locks import CardLock, CardMark
held = CardLock(Path(sys.argv[1]), "card", "tune"), CardMark(Path(sys.argv[1]), "", "watch")
print("held", flush=True)
sys.stdin.read()
"""


def test_other_processes_are_told_and_this_one_is_not(tmp_path: Path) -> None:
    own = CardLock(tmp_path, "own", "bench"), CardMark(tmp_path, "", WATCH)
    setup = open_setup(data_dir=tmp_path)
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        found = WindowPorts(setup).elsewhere(("", "own", "card"))
        child.kill()
    assert {card: [(h.pid, h.purpose) for h in those] for card, those in found.items()} == {
        "": [(child.pid, WATCH)],
        "own": [],
        "card": [(child.pid, "tune")],
    }
    assert WindowPorts(setup).elsewhere(("", "card")) == {"": (), "card": ()}
    for held in own:
        held.release()


def test_who_reads_the_real_cards_does_not_read_simulated_ones(tmp_path: Path) -> None:
    setup = open_setup(simulate=("rtx-3090",), data_dir=tmp_path)
    assert WindowPorts(setup).elsewhere(("", "card")) == {"card": ()}


def test_a_recipe_is_neither_started_nor_planned_on_a_simulated_card(tmp_path: Path) -> None:
    setup = open_setup(simulate=("rtx-3090",), data_dir=tmp_path)
    ports, cards = WindowPorts(setup), tuple(card.uuid for card in setup.cards())
    recipe = ports.batch_spec(recipe="mine.py:make")
    for ask in (ports.start, ports.dry_run):
        with pytest.raises(UsageError) as refused:
            ask(recipe, cards, False)
        assert refused.value.code == "recipe_simulated"
    assert not ports.sessions(), "nothing was kept of it"


def test_every_built_in_training_runs_on_a_simulated_card(tmp_path: Path) -> None:
    setup = open_setup(simulate=("rtx-3090",), data_dir=tmp_path)
    ports, cards = WindowPorts(setup), tuple(card.uuid for card in setup.cards())
    assert ports.trainings[0] == Batch().workload
    for name in ports.trainings:
        events = list(ports.start(ports.batch_spec(workload=name, limit_only=True, minutes=1.0), cards, False))
        assert isinstance(events[-1], RunFinished)
        told = {event.point.metric: event.point for event in events if isinstance(event, PointMeasured)}
        assert told["batch_limit"].workload == name


def test_a_dry_run_of_a_recipe_plans_the_steps_of_resnet50(tmp_path: Path) -> None:
    setup = open_setup(simulate=("rtx-3090",), data_dir=tmp_path)
    card = setup.cards()[0]
    assert rehearse(Batch(recipe="mine.py:make"), card, None) == rehearse(Batch(), card, None)
