"""Every page, with the data of a run, as PNG in both themes."""

from pathlib import Path

from PySide6.QtGui import QImage

from gputuner.gui.screenshots import draw_all
from gputuner.model.cards import Origin
from gputuner.model.errors import CardBusy


def test_every_page_is_drawn(invented, qapp, tmp_path):
    events = invented.tune_events(origin=Origin.SIMULATED)
    session = Path("/data/sessions/r1.sqlite")
    run = invented.ScriptedRun(events, session_path=session)
    ports = invented.ports([invented.modded_4090(origin=Origin.SIMULATED)], [run], origin=Origin.SIMULATED)
    ports.kept[session] = invented.KeptSession(events)
    ports.entries.append(invented.Entry(session, invented.Summary("r1", cards=events[0].cards)))
    assert draw_all(ports, tmp_path / "shots") == 0
    pages = ("monitor", "tune", "tune-peak", "tune-load", "tune-together", "sessions")
    names = {f"{page}-{theme}.png" for page in pages for theme in ("light", "dark")}
    assert {path.name for path in (tmp_path / "shots").iterdir()} == names
    for path in (tmp_path / "shots").iterdir():
        image = QImage(str(path))
        assert (image.width(), image.height()) == (1366, 768)
    assert ports.feed.listeners == 0


def test_a_run_that_is_refused_gives_its_exit_code(invented, qapp, tmp_path, capsys):
    ports = invented.ports(runs=[CardBusy("running_elsewhere", pid=4711)])
    assert draw_all(ports, tmp_path) == 3
    assert "4711" in capsys.readouterr().err
    assert (tmp_path / "tune-dark.png").exists()
