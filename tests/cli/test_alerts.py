"""``alerts``: set, list, hook, test, run; and the same through the real program on a simulated card that fails."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.model.cards import CPU_CARD, CardState
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample, XidSeen
from gputuner.telemetry.feed import FeedState, Tick
from tests.cli.conftest import CARD, FeedInMemory, Program

NS = 1_000_000_000
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="a command of POSIX")


@pytest.fixture(autouse=True)
def no_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests is not told of them."""
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


def rules(program: Program) -> dict[str, dict]:
    return {rule["name"]: rule for rule in json.loads(program("alerts", "list", "--json").out)["alerts"]}


def heat(*cores: float) -> list[Tick]:
    found = []
    for t, core in enumerate(cores):
        sample = Sample(card=CARD.uuid, t_ns=t * NS, values={Quantity.CORE_TEMPERATURE_C: core})
        found.append(Tick(t_ns=t * NS, samples=(sample,)))
    return found


def show(program: Program, ticks: list[Tick]) -> None:
    program.setup.feed = FeedInMemory((CARD,), ticks, state=FeedState.ENDED)


def test_nothing_is_set_until_the_user_asks(program: Program):
    assert "No alert is set" in program("alerts", "list").out
    refused = program("alerts", "run")
    assert refused.code == 2
    assert "alerts on" in refused.err
    assert program("alerts", "on").code == 0
    assert {"temperature", "fan", "limit", "xid", "lost", "silent"} <= set(rules(program))


def test_set_off_on_and_a_second_of_its_kind(program: Program):
    set_it = ["alerts", "set", "temperature", "85", "--for", "10", "--clear", "5", "--quiet-for", "60"]
    assert program(*set_it).code == 0
    assert program("alerts", "set", "fan", "75", "--least", "40", "--name", "fan-slow", "--gpu", CARD.uuid).code == 0
    assert program("alerts", "set", "xid", "--xid", "48,79").code == 0
    found = rules(program)
    wanted = {"threshold": 85.0, "unit": "degC", "hold_s": 10.0, "clear_margin": 5.0, "quiet_s": 60.0, "on": True}
    assert found["temperature"].items() >= wanted.items()
    assert (found["fan-slow"]["least_fan"], found["fan-slow"]["cards"]) == (0.4, [CARD.uuid])
    assert found["xid"]["xids"] == [48, 79]
    assert program("alerts", "off", "temperature").code == 0
    assert [name for name, rule in rules(program).items() if not rule["on"]] == ["temperature"]
    program("alerts", "off", "all")
    assert not any(rule["on"] for rule in rules(program).values())
    program("alerts", "on")
    assert all(rule["on"] for rule in rules(program).values())
    assert rules(program)["temperature"]["threshold"] == 85.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set", "weather"], "temperature, memory-temperature"),
        (["set", "temperature", "500"], "between 30 and 120"),
        (["set", "temperature", "nan"], "VALUE cannot be 'nan'"),
        (["set", "lost", "3"], "has no threshold"),
        (["set", "limit", "--for", "3"], "--for"),
        (["set", "xid", "--clear", "3"], "--clear"),
        (["set", "temperature", "--least", "3"], "--least"),
        (["set", "xid", "--xid", "many"], "--xid"),
        (["set", "xid", "--xid", "\uff17"], "--xid"),
        (["set", "xid", "--xid", "1_3"], "--xid"),
        (["set", "xid", "--xid", "48,\u00a079"], "--xid"),
        (["set", "fan", "--name", "My Fan"], "My Fan"),
        (["off", "nothing"], "nothing"),
        (["hook"], "after --"),
        (["hook", "before", "--", "mine"], "after --"),
        (["run", "--replay", __file__], "--replay"),
    ],
)
def test_what_makes_no_sense_is_refused(program: Program, words: list[str], said: str):
    refused = program("alerts", *words)
    assert refused.code == 2
    assert said in refused.err
    assert not (program.setup.data_dir / "alerts.json").exists()


def test_a_broken_file_is_one_sentence_with_exit_code_8(program: Program):
    program("alerts", "on")
    (program.setup.data_dir / "alerts.json").write_text("{")
    for words in (["list"], ["run"], ["on"], ["set", "temperature", "80"], ["test"]):
        refused = program("alerts", *words)
        assert refused.code == 8
        assert len(refused.err.splitlines()) == 1
    document = json.loads(program("alerts", "list", "--json").out)
    assert document["error"]["code"] == "alerts_unreadable"


def test_alerts_that_are_about_no_card_here_are_told(program: Program):
    program("alerts", "on")
    processor = replace(CARD, uuid=CPU_CARD)
    program.setup.known = (processor,)
    refused = program("alerts", "run")
    assert refused.code == 3
    assert "--gpu cpu" in refused.err
    program("alerts", "set", "temperature", "85", "--for", "0", "--name", "processor", "--gpu", "cpu")
    sample = Sample(card=CPU_CARD, t_ns=NS, values={Quantity.CORE_TEMPERATURE_C: 90.0})
    program.setup.feed = FeedInMemory((processor,), [Tick(t_ns=NS, samples=(sample,))], state=FeedState.ENDED)
    assert "raised  processor" in program("alerts", "run").out


def test_run_writes_a_line_for_each_and_a_document(program: Program):
    program("alerts", "set", "temperature", "85", "--for", "3", "--clear", "5")
    ticks = heat(*[86.0] * 6, *[70.0] * 6)
    show(program, ticks)
    lines = program("alerts", "run").out.splitlines()
    assert [line.split()[1:3] for line in lines] == [["raised", "temperature"], ["cleared", "temperature"]]
    assert "the core is at 86 °C (alert from 85 °C)" in lines[0]
    assert "simulated" in lines[0]
    assert "it lasted" in lines[1]
    show(program, ticks)
    document = json.loads(program("alerts", "run", "--json").out)
    assert document["schema"] == "gputuner.alerts.run/1"
    assert document["simulated"] is True
    assert [(each["event"], each["value"]) for each in document["alerts"]] == [("raised", 86.0), ("cleared", 70.0)]
    assert document["alerts"][0]["card"] == {"uuid": CARD.uuid, "index": 0, "title": CARD.title}


def test_run_keeps_what_it_told_in_a_log(program: Program):
    program("alerts", "on")
    lost = Tick(t_ns=NS, cards=(replace(CARD, state=CardState.LOST),))
    show(program, [*heat(50.0), lost, Tick(t_ns=2 * NS, xids=(XidSeen(card=CARD.uuid, t_ns=2 * NS, xid=79),))])
    program("alerts", "run")
    kept = [json.loads(line) for line in (program.setup.data_dir / "log" / "alerts.jsonl").read_text().splitlines()]
    assert [(each["kind"], each["event"]) for each in kept] == [("lost", "raised"), ("xid", "raised")]
    assert "fallen off the bus" in kept[1]["detail"]


@POSIX
def test_a_hook_that_does_not_exist_is_set_and_warned_of(program: Program, tmp_path: Path):
    odd = program("alerts", "hook", "--", str(tmp_path / "missing"), "--data-dir", "/elsewhere")
    assert odd.code == 0
    assert f"{tmp_path / 'missing'} was not found now" in odd.err
    assert "belongs to the command, --data-dir too" in odd.err
    assert program("alerts", "hook", "--", "sh", "-c", "true").err == ""
    assert program("alerts", "hook", "--off").err == ""


def test_only_one_program_tells_hook_and_desktop(program: Program):
    from gputuner.assembly.alerts import AlertBook, Announcer
    from gputuner.model.alerts import AlertPlan
    from gputuner.model.cards import Origin

    program("alerts", "set", "temperature", "85", "--for", "0")
    first = Announcer(AlertBook(program.setup.data_dir), AlertPlan(), Origin.SIMULATED, print)
    assert first.mine
    try:
        assert json.loads(program("alerts", "list", "--json").out)["told_by"] == os.getpid()
        show(program, heat(90.0))
        second = program("alerts", "run")
    finally:
        first.close()
    assert "raised" in second.out
    assert f"Process {os.getpid()}" in second.err
    assert not (program.setup.data_dir / "log" / "alerts.jsonl").exists()
    assert json.loads(program("alerts", "list", "--json").out)["told_by"] is None


@POSIX
def test_test_runs_the_hook_once_and_says_which_way_works(program: Program, tmp_path: Path):
    target = tmp_path / "told.json"
    program("alerts", "hook", "--", "sh", "-c", f"cat > '{target}'; echo $GPUTUNER_EVENT >> '{target}'")
    told = program("alerts", "test")
    assert told.code == 0
    assert "Notifications: the terminal" in told.out
    text, event = target.read_text().splitlines()
    assert event == "test"
    assert json.loads(text)["event"] == "test"
    program("alerts", "hook", "--", str(tmp_path / "missing"))
    failed = program("alerts", "test", "--json")
    assert failed.code == 6
    assert json.loads(failed.out)["hook"] == {"trouble": "missing", "exit_code": None}
    program("alerts", "hook", "--off")
    assert "No command is set" in program("alerts", "test").out


@POSIX
def test_the_desktop_is_told_by_notify_send_where_one_listens(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, seen = tmp_path / "bin", tmp_path / "seen"
    folder.mkdir()
    (folder / "notify-send").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{seen}"\n')
    (folder / "notify-send").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    assert json.loads(program("alerts", "test", "--json").out)["notification"] == "desktop"
    words = seen.read_text().splitlines()
    assert words[-3:] == ["--", "gputuner · simulated", "This is a test of alerts; no card is in danger."]
    program("alerts", "notify", "off")
    assert json.loads(program("alerts", "test", "--json").out)["notification"] == "off"


FAULTY = textwrap.dedent(
    """
    import sys
    from gputuner.assembly import feeds
    from gputuner.devices.simulated import SimulatedCards, WallDrivenClock
    from gputuner.telemetry.local import LocalFeed

    def faulty(ids, rates, *, demo=True):
        cards = SimulatedCards(ids, WallDrivenClock(), faults=[(1.0, "xid", {"xid": 31}), (2.0, "lost", {})])
        feed = LocalFeed(cards, fast_hz=rates.fast_hz, slow_s=rates.slow_s, clock=cards.clock.now_ns)
        feeds._await_cards(feed)
        return feed

    feeds.simulated_feed = faulty
    from gputuner.cli.app import main
    sys.exit(main(sys.argv[1:]))
    """
)


@POSIX
def test_a_card_that_fails_is_told_line_by_line_and_to_the_hook_by_the_real_program(program: Program, tmp_path: Path):
    gate, folder = tmp_path / "gate", program.setup.data_dir
    os.mkfifo(gate)
    program("alerts", "set", "lost")
    program("alerts", "set", "xid")
    program("alerts", "hook", "--", "sh", "-c", f'if [ "$GPUTUNER_KIND" = lost ]; then cat > "{gate}"; fi')
    words = ["alerts", "run", "--simulate", "rtx-4090-48g", "--data-dir", str(folder)]
    with subprocess.Popen(
        [sys.executable, "-c", FAULTY, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = [next(process.stdout), next(process.stdout)]
        hooked = json.loads(gate.read_text())
        process.send_signal(signal.SIGTERM)
        _out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert [line.split()[1:3] for line in told] == [["raised", "xid"], ["raised", "lost"]]
    assert "XID 31" in told[0]
    assert (hooked["kind"], hooked["event"], hooked["simulated"]) == ("lost", "raised", True)


def test_a_run_has_its_alerts_in_its_lines_its_document_its_session_and_the_log(whole, tmp_path: Path):
    assert whole("alerts", "set", "temperature", "30", "--for", "5", card=None)[0] == 0
    code, out, err = whole("record", "--duration", "30", "--json")
    assert code == 0, err
    assert "Alert: GeForce RTX 4090 48GB (modded): the core is at 3" in err
    recorded = json.loads(out)["alerts"]
    assert [(each["event"], each["alert"], each["threshold"]) for each in recorded] == [("raised", "temperature", 30.0)]
    _code, shown, _err = whole("sessions", "show", card=None)
    assert "Alert: GeForce RTX 4090 48GB (modded): the core is at 3" in shown
    _code, shown, _err = whole("sessions", "show", "--json", card=None)
    assert json.loads(shown)["alerts"] == recorded
    (kept,) = [json.loads(line) for line in (tmp_path / "log" / "alerts.jsonl").read_text().splitlines()]
    assert (kept["event"], kept["simulated"]) == ("raised", True)


def test_a_run_goes_on_by_the_last_good_alerts_and_says_so(whole, tmp_path: Path):
    whole("alerts", "set", "temperature", "30", "--for", "5", card=None)
    (tmp_path / "alerts.json").write_text("{")
    code, out, err = whole("record", "--duration", "20", "--json")
    assert code == 0
    assert "those that were stored last are used" in err
    assert len(json.loads(out)["alerts"]) == 1
