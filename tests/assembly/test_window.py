"""What the window learns of other gputuner programs with the same data folder."""

import subprocess
import sys
from pathlib import Path

from gputuner.assembly.setup import open_setup
from gputuner.assembly.window import WindowPorts
from gputuner.engine.locks import CardLock, CardMark
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
