"""Watching a command from the window: started, followed, asked to end, left alone; what is told of it at its end."""

import os
import signal
import sys
from contextlib import closing, suppress

import numpy as np
import psutil
import pytest

from gputuner.assembly.setup import open_setup
from gputuner.assembly.window import WindowPorts
from gputuner.gui.results_watch import now_words, page_markdown, page_pairs, part_groups, spent_of
from gputuner.gui.run_state import Phase, RunFacts
from gputuner.gui.theme import LIGHT, Choice
from gputuner.gui.watch_desk import Command
from gputuner.gui.watched_history import CARD_MEMORY, STEP, WAITING
from gputuner.gui.window import MainWindow
from gputuner.language import sentences, watch
from gputuner.model.errors import UsageError
from gputuner.model.events import CommandEnded, CommandSampled, CommandStarted
from gputuner.model.followed import CardHeld, FollowedProcess, TrainingNow, TreeNow
from gputuner.model.watched import Observed, TreeUse

PATIENCE = 600_000


@pytest.fixture
def real(qtbot, tmp_path):
    """A window over the program itself, on this machine."""
    with closing(open_setup(data_dir=tmp_path / "data")) as setup:
        window = MainWindow(WindowPorts(setup), Choice.LIGHT)
        qtbot.addWidget(window)
        window.resize(1366, 768)
        window.show()
        qtbot.waitUntil(lambda: bool(window.conductor.live.cards), timeout=600_000)
        window.show_page("watch")
        window.experiments["watch"].load_plots()
        yield window
        window.close()


def begin(window, qtbot, tmp_path, code: str):
    script = tmp_path / "mine.py"
    script.write_text(code)
    page, desk = window.experiments["watch"], window.desks["watch"]
    page.form.set_values({"line": f'"{sys.executable}" mine.py', "folder": str(tmp_path), "hooks": False})
    page.start()
    qtbot.waitUntil(lambda: desk.state.facts.command is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: page.result.segments["output"].isEnabled(), timeout=PATIENCE)
    return page, desk


def written(page, qtbot, words: str):
    """Wait until the command has written something."""
    page.show_picture("output")
    qtbot.waitUntil(lambda: words in page.result.pictures.output.toPlainText(), timeout=PATIENCE)


def shown(page, desk, qtbot):
    qtbot.waitUntil(lambda: not desk.thread_.busy, timeout=PATIENCE)
    page.refresh()
    page.result.show_facts(desk.state.facts, now=True)


# --- with real commands -----------------------------------------------------------------------------------------------


def test_a_command_is_followed_to_its_end(real, qtbot, tmp_path):
    page, desk = begin(real, qtbot, tmp_path, "import os\nprint('in', os.getcwd())\nraise SystemExit(3)")
    shown(page, desk, qtbot)
    facts = desk.state.facts
    assert desk.state.phase is Phase.OVER
    assert facts.ended.exit_code == 3
    assert page.bar.step_text == watch.ending(3, None)
    assert page.result.name == "where"
    assert ("end", watch.ending(3, None)) in page.result.pictures.page.pairs
    written(page, qtbot, f"in {tmp_path}")
    page.bar.open_button.click()
    qtbot.waitUntil(lambda: bool(real.sessions.table.rows.keys), timeout=PATIENCE)
    assert real.sessions.table.rows.cells[0][1].text == "Watch"
    real.sessions.load_plots()
    detail = real.sessions.detail
    qtbot.waitUntil(lambda: detail.content is not None, timeout=PATIENCE)
    assert detail.result.pictures.filled(detail.content.facts) == ["where", "live"]


def test_stop_asks_the_command_to_end(real, qtbot, tmp_path):
    page, desk = begin(real, qtbot, tmp_path, "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.05)")
    written(page, qtbot, "ready")
    page.bar.button.click()
    shown(page, desk, qtbot)
    ended = desk.state.facts.ended
    assert (ended.exit_code, ended.signal) in ((130, signal.SIGINT), (1, None)), "as Ctrl-C ends a Python"
    written(page, qtbot, "KeyboardInterrupt")


def test_stop_asks_harder_each_time(real, qtbot, tmp_path):
    deaf = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf', flush=True)\n"
    page, desk = begin(real, qtbot, tmp_path, deaf + "while True: time.sleep(0.05)")
    written(page, qtbot, "deaf")
    page.bar.button.click()
    page.refresh()
    assert "once more" in page.bar.step_text
    assert page.bar.button.isEnabled()
    page.bar.button.click()
    shown(page, desk, qtbot)
    assert desk.state.facts.ended.signal == signal.SIGTERM


def test_the_command_outlives_the_window(real, qtbot, tmp_path):
    _page, desk = begin(real, qtbot, tmp_path, "import time\nwhile True: time.sleep(0.05)")
    pid = desk.state.facts.command.pid
    try:
        real.close()
        assert not desk.thread_.running
        assert psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_command_that_is_not_there_is_told(real, qtbot):
    page, desk = real.experiments["watch"], real.desks["watch"]
    page.form.set_values({"line": "no-such-program-anywhere --epochs 3"})
    page.start()
    qtbot.waitUntil(lambda: desk.state.phase is Phase.REFUSED, timeout=PATIENCE)
    page.refresh()
    assert "no-such-program-anywhere" in page.notice.text


# --- the form ---------------------------------------------------------------------------------------------------------


def test_what_is_typed_is_read_as_a_terminal_reads_it(open_window, invented, tmp_path):
    form = open_window(invented.ports()).experiments["watch"].form
    form.line.setText('python train.py --name "my run" --lr=1e-3')
    assert form.spec() == Command(argv=("python", "train.py", "--name", "my run", "--lr=1e-3"))
    form.folder.setText(str(tmp_path))
    form.hooks.setChecked(False)
    assert form.spec() == Command(argv=form.spec().argv, folder=tmp_path, hooks=False)
    form.line.setText('python "train.py')
    assert form.problem().code == "watch_line"


def test_nothing_typed_cannot_be_started(open_window, invented, qtbot):
    window = open_window(invented.ports())
    window.show_page("watch")
    page = window.experiments["watch"]
    assert not page.can_start
    assert "Type a command" in page.setup.plan_text
    page.form.line.setText('python "train.py')
    qtbot.waitUntil(lambda: sentences.error(UsageError("watch_line", "")) in page.setup.plan_text)
    assert not page.bar.button.isEnabled()
    page.form.line.setText("python train.py")
    qtbot.waitUntil(lambda: "Ctrl-C" in page.setup.plan_text)
    assert page.bar.button.isEnabled()


def test_what_was_typed_survives_theme_and_language(open_window, invented):
    window = open_window(invented.ports())
    window.show_page("watch")
    window.experiments["watch"].form.set_values({"line": "python train.py", "folder": "/data", "hooks": False})
    before = window.experiments["watch"].form.spec()
    window.choose_theme(Choice.DARK)
    assert window.page == "watch"
    assert window.experiments["watch"].form.spec() == before


def test_a_simulated_card_is_no_place_for_a_command(qtbot, tmp_path):
    with closing(open_setup(simulate=("rtx-4090-48g",), data_dir=tmp_path)) as setup:
        window = MainWindow(WindowPorts(setup), Choice.LIGHT)
        qtbot.addWidget(window)
        window.show()
        qtbot.waitUntil(lambda: bool(window.conductor.live.cards), timeout=600_000)
        page = window.experiments["watch"]
        page.form.set_values({"line": "python train.py"})
        page.refresh()
        assert not page.can_start
        assert "--simulate" in page.notice.text
        window.close()


# --- what is shown of it ----------------------------------------------------------------------------------------------


def watched_events() -> list:
    def told(kind: type, seq: int, t_s: float, **fields):
        return kind(run_id="w1", seq=seq, t_ns=int(t_s * 1e9), **fields)

    def look(seq: int, t_s: float, trainings=None, own=2 << 30):
        tree = TreeNow(processes=3, cpu_cores=1.5, busiest_thread=0.9, memory_bytes=1 << 30)
        return told(CommandSampled, seq, t_s, tree=tree, cards=(CardHeld(card="GPU", own_bytes=own, others_bytes=0),),
                    trainings=trainings)  # fmt: skip

    first, second = (TrainingNow(pid=8 - rank, rank=rank, steps=10, step_s=0.1 + rank, waiting=0.25) for rank in (0, 1))
    observed = Observed(
        pid=8, program="train.py", steps=400, timed_steps=400, training_s=40.0, waited_s=24.0, batches=400,
        batch_size=16, rate_per_s=160.0, cpu_s=12.0, thread_s=10.0, covered_s=40.0, covered_steps=400, ended=True,
    )  # fmt: skip
    ended = told(
        CommandEnded, 6, 46.0, exit_code=0, signal=None, duration_s=45.0, hooks=True,
        use=TreeUse(duration_s=45.0, processes=3, cpu_s=15.0, cores=8.0, rss_peak_bytes=1 << 30), observed=(observed,),
        processes=(FollowedProcess(pid=8, name="python"),), own_cpu_s=0.1,
    )  # fmt: skip
    return [
        told(CommandStarted, 1, 1.0, command="python train.py", pid=8, hooks=True),
        look(2, 2.0),
        look(3, 4.0, trainings=(second, first)),
        look(4, 6.0, own=None),
        ended,
    ]


def facts_of(events) -> RunFacts:
    facts = RunFacts()
    for event in events:
        facts.take(event)
    return facts


def test_curves_are_those_of_the_first_rank_and_hold_their_gaps():
    facts = facts_of(watched_events())
    tracks = facts.watched.tracks
    assert [values.tolist() for values in tracks[STEP].window(0, 99)] == [[4.0], [0.1]]
    assert tracks[WAITING].window(0, 99)[1].tolist() == [0.25]
    held = tracks[CARD_MEMORY].window(0, 99)[1]
    assert held[:2].tolist() == [2.0 * 2**30] * 2
    assert np.isnan(held[2]), "the driver did not tell: no last value"


def test_a_training_is_told_between_its_own_figures():
    events = watched_events()
    facts = facts_of(events[:4])
    assert watch.training_line(facts.watched.training) in now_words(facts)


def test_the_page_says_what_the_judgement_says():
    facts = facts_of(watched_events())
    spent = spent_of(facts)
    (group,) = part_groups(spent, LIGHT)
    assert sum(row.value for row in group.rows) == pytest.approx(1.0, abs=0.02)
    assert [row.value for row in group.rows] == sorted((row.value for row in group.rows), reverse=True)
    words = page_markdown(facts)
    assert watch.bound_by(spent) in words
    told = dict(page_pairs(facts.ended, spent))
    assert told["end"] == watch.ending(0, None)
    assert told["processor"].startswith("0.33 cores")
    assert "steps" in told


def test_the_page_has_no_place_before_the_end(qtbot, open_window, invented):
    window = open_window(invented.ports())
    window.show_page("watch")
    page = window.experiments["watch"]
    page.load_plots()
    facts = facts_of(watched_events()[:4])
    window.desks["watch"].state.facts = facts
    page.refresh()
    page.result.show_facts(facts, now=True)
    assert [name for name, button in page.result.segments.items() if button.isEnabled()] == ["live"]
    assert page.result.pictures.live.step.legends[STEP] == "a step 100"
    assert page.result._below.isHidden(), "figures come at the end alone"
