"""What stored sessions know goes into a run of whichever front end: window and command line start with one spec."""

import json
from pathlib import Path

import pytest

from gputuner.assembly.fitted import fitted
from gputuner.assembly.setup import Setup, open_setup
from gputuner.assembly.window import WindowPorts
from gputuner.cli.app import main
from gputuner.experiments.batch import Batch
from gputuner.experiments.bench import Bench
from gputuner.experiments.contention import Contend
from gputuner.experiments.power import Power
from gputuner.model.cards import Origin
from gputuner.model.events import RunStarted
from gputuner.sessions.reader import SessionReader

CARD = "rtx-3090"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the session of one ``batch``."""
    where = tmp_path_factory.mktemp("data")
    for event in opened(where).start(Batch(workload="lstm", minutes=1.0), opened(where).cards()[:1]):
        del event
    return where


def opened(folder: Path) -> Setup:
    return open_setup(simulate=(CARD,), data_dir=folder)


def started_by(run) -> RunStarted:
    first = next(event for event in run if isinstance(event, RunStarted))
    run.cancel()
    for event in run:
        del event
    return first


def test_the_window_and_the_command_line_start_with_the_same_stored_rates(folder: Path, capsys):
    setup = opened(folder)
    ports, cards = WindowPorts(setup), tuple(card.uuid for card in setup.cards())
    by_window = started_by(
        ports.start(Contend(jobs=("lstm",), count=2, minutes=0.5, folder=str(Path.cwd())), cards, False)
    )
    asked = ["contend", "lstm", "--jobs", "2", "--minutes", "0.5", "--json"]
    assert main([*asked, "--simulate", CARD, "--data-dir", str(folder)]) == 0
    with SessionReader(Path(json.loads(capsys.readouterr().out)["session_path"])) as stored:
        by_command = stored.started
    told = [list(started.spec["tuned"]) for started in (by_window, by_command)]
    assert told[0] == told[1]
    assert {rate["workload"] for rate in told[0]} == {"lstm"}


def test_power_without_permission_is_told_what_sessions_saw(folder: Path):
    setup = opened(folder)
    card = setup.cards()[0]
    seen = fitted(Power(passive=True), card, setup.sessions, Origin.SIMULATED)
    assert isinstance(seen, Power)
    assert {visit.workload for visit in seen.stored} == {"lstm"}
    swept = Power()
    assert fitted(swept, card, setup.sessions, Origin.SIMULATED) == swept, "a sweep stands by itself"


def test_sessions_of_another_origin_and_of_another_training_say_nothing(folder: Path):
    setup = opened(folder)
    card = setup.cards()[0]
    for spec, origin in ((Contend(jobs=("lstm",)), Origin.MEASURED), (Contend(jobs=("edsr",)), Origin.SIMULATED)):
        assert fitted(spec, card, setup.sessions, origin) == spec
    fixed = Contend(jobs=("lstm",), fixed_batch=True)
    assert fitted(fixed, card, setup.sessions, Origin.SIMULATED) == fixed


def test_benchmarks_are_shorter_on_the_processor_alone(tmp_path: Path):
    setup = open_setup(data_dir=tmp_path)
    processor = setup.select("cpu", for_experiment=True)[0]
    card = opened(tmp_path).cards()[0]
    assert fitted(Bench(), processor, setup.sessions, Origin.MEASURED) == Bench(cpu=True)
    assert fitted(Bench(), card, setup.sessions, Origin.SIMULATED) == Bench()
    setup.close()
