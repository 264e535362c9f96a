"""Every page, with the data of a run, as PNG in both themes."""

from pathlib import Path

from PySide6.QtGui import QImage

from gputuner.gui.screenshots import draw_all
from gputuner.model.cards import Origin
from gputuner.model.errors import CardBusy


def test_every_page_is_drawn(invented, trainings, contention, cooling, health, qapp, tmp_path):
    events = invented.tune_events(origin=Origin.SIMULATED)
    session = Path("/data/sessions/r1.sqlite")
    suites = [invented.ScriptedRun(invented.bench_events(origin=Origin.SIMULATED, run=name)) for name in ("b1", "b2")]
    training = invented.ScriptedRun(invented.batch_events(origin=Origin.SIMULATED))
    asked = [invented.ScriptedRun(trainings.question_events(name, Origin.SIMULATED)) for name in trainings.POINTS]
    shared = invented.ScriptedRun(contention.contend_events(origin=Origin.SIMULATED))
    tested = invented.ScriptedRun(cooling.cooling_events(origin=Origin.SIMULATED))
    runs = [invented.ScriptedRun(events, session_path=session), training, *asked, suites[0], shared]
    runs += [invented.ScriptedRun(cooling.power_events(origin=Origin.SIMULATED)), tested]
    runs += [invented.ScriptedRun(health.health_events(origin=Origin.SIMULATED)), suites[1]]
    ports = invented.ports([invented.modded_4090(origin=Origin.SIMULATED)], runs, origin=Origin.SIMULATED)
    ports.kept[session] = invented.KeptSession(events)
    ports.entries.append(invented.Entry(session, invented.Summary("r1", cards=events[0].cards)))
    assert draw_all(ports, tmp_path / "shots") == 0
    tune = ("tune", "tune-peak", "tune-load", "tune-together")
    suite = ("bench", "bench-sizes", "bench-latency", "bench-regions", "bench-roofline", "bench-compare")
    questions = ("training", "training-memory", "training-formats", "switches", "switches-memory", "numerics")
    questions += ("numerics-scale", "numerics-activations", "loading", "loading-settings", "watch")
    mix = ("contention", "contention-pairs", "contention-causes", "contention-sensitivity")
    heat = ("cooling", "cooling-cooler", "cooling-compare", "cooling-card")
    sound = ("health", "health-identity", "health-burn", "health-counters", "health-certificate")
    pages = (
        "monitor",
        "alerts",
        *tune,
        *questions,
        *suite,
        *mix,
        *heat,
        *sound,
        "power",
        "power-supply",
        "queue",
        "sessions",
    )
    endings = ("light", "dark", "light-zh_CN", "dark-zh_CN")
    names = {f"{page}-{ending}.png" for page in pages for ending in endings}
    assert {path.name for path in (tmp_path / "shots").iterdir()} == names
    for path in (tmp_path / "shots").iterdir():
        image = QImage(str(path))
        assert (image.width(), image.height()) == (1366, 768)
    assert ports.feed.listeners == 0
    assert (ports.alerts.told, ports.alerts.plan.rules) == ([], ()), "a picture stores and tells nothing"


def test_a_run_that_is_refused_gives_its_exit_code(invented, qapp, tmp_path, capsys):
    ports = invented.ports(runs=[CardBusy("running_elsewhere", pid=4711)] * 2)
    assert draw_all(ports, tmp_path) == 3
    assert "4711" in capsys.readouterr().err
    assert (tmp_path / "tune-dark.png").exists()
