"""``health wear``: over stored sessions, of cards that need not be in the machine."""

import json

import pytest

from gputuner.cli.app import main
from gputuner.model.quantities import Quantity
from tests.sessions.worn import UNIX_S, UUID, card, stored

Q = Quantity
DAY_S = 86400.0
OTHER = "GPU-9def9def-1111-2222-3333-444455556666"


def course():
    """Cold, an hour of work at 84 °C, cold again."""
    for n in range(480):
        work = 60 <= n < 420
        core, power = (84.0, 290.0) if work else (35.0, 20.0)
        yield 10.0 * n, {Q.CORE_TEMPERATURE_C: core, Q.POWER_AVERAGE_W: power, Q.FAN_FRACTION: 0.7 if work else 0.3}


@pytest.fixture
def folder(tmp_path):
    for day in range(2):
        stored(tmp_path, f"r{day}", course(), unix_s=UNIX_S + day * DAY_S)
    stored(tmp_path, "other", course(), unix_s=UNIX_S, of=card(OTHER))
    return tmp_path


@pytest.fixture
def told(folder, capsys):
    def run(*words):
        code = main(["health", "wear", *words, "--data-dir", str(folder), "--lang", "en"])
        return code, capsys.readouterr()

    return run


def test_hours_and_cycles_of_one_card(told):
    code, (out, err) = told("--gpu", "GPU-0abc")
    assert (code, err) == (0, "")
    assert f"({UUID})" in out
    assert OTHER not in out
    assert "2 sessions" in out
    assert "Observed: 2 h 40 min." in out
    rows = {line.split()[1]: line for line in out.splitlines() if line.startswith("core")}
    assert "2 h 00 min" in rows["80"]
    assert "75 %" in rows["80"]
    assert "0 s" in rows["90"]
    assert "(it slows down)" in rows["92"]
    cycles = next(line for line in out.splitlines() if line.startswith("40 to 60 K"))
    assert cycles.split()[4:] == ["2", "49", "K"]
    assert "Too little to judge by yet" in out
    assert "gputuner --cli record --gpu GPU-0abc0abc" in out


def test_the_document(told):
    code, (out, _err) = told("--gpu", UUID, "--above", "84", "--above", "30", "--json")
    body = json.loads(out)
    assert code == 0
    assert body["schema"] == "gputuner.health.wear/1"
    assert [device["uuid"] for device in body["devices"]] == [UUID]
    (found,) = body["wear"]
    assert found["observed_s"] == pytest.approx(9600)
    hours = {entry["above_c"]: entry["seconds"] for entry in found["hours_above"]}
    assert hours == {30.0: pytest.approx(9600), 84.0: pytest.approx(7200)}
    assert sum(entry["count"] for entry in found["cycles"]) == 2
    assert found["resistance"]["verdict"] == "too_few"
    assert found["resistance"]["ci95"] is None
    assert {point["basis"] for point in found["steady"]} == {"idle"}
    assert body["advice"] == []
    assert [question["id"] for question in body["to_measure"]] == ["wear_more"]


def test_all_cards_without_a_choice(told):
    _code, (out, _err) = told()
    assert UUID in out
    assert OTHER in out


def test_no_such_card_names_those_there_are(told):
    code, (_out, err) = told("--gpu", "GPU-dead")
    assert code == 2
    assert UUID in err
    assert OTHER in err


@pytest.mark.parametrize("words", [("--above", "900"), ("--gpu", "cpu"), ("--above", "hot")])
def test_what_makes_no_sense_is_refused(told, words):
    code, (out, err) = told(*words)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1


def test_sessions_that_cannot_be_read_are_counted_out(told, folder):
    path = folder / "sessions" / "r0.sqlite"
    path.write_bytes(path.read_bytes()[:5000])
    code, (out, err) = told("--gpu", UUID)
    assert code == 0
    assert str(path) in err
    assert "\n1 session, " in out


def test_simulated_sessions_are_told_apart(told, folder, capsys):
    _code, (out, _err) = told("--simulate", "rtx-4090-48g")
    helps = "record --simulate rtx-4090-48g --data-dir"
    assert f"There is no stored session of such a card yet. Make one: gputuner --cli {helps}" in out
    for run in range(2):
        words = ["record", "--simulate", "rtx-4090-48g", "--duration", "120", "--quiet", "--data-dir", str(folder)]
        assert main(words) == 0, run
    capsys.readouterr()
    code, (out, _err) = told("--simulate", "rtx-4090-48g")
    assert code == 0
    assert "simulated, not measured on a real card" in out
    assert "Observed: 4 min" in out
    assert UUID not in out
    assert "All figures are simulated" not in told("--gpu", UUID)[1].out


def worn(k_per_w):
    """A quarter of an hour of rest, then of work at 290 W, in air of 22 °C."""
    for n in range(180):
        work = n >= 90
        power, fan = (290.0, 0.6) if work else (20.0, 0.6)
        settled = 1.0 - 2.0 ** (-(n - 90 if work else 90) / 6.0)
        core = 22.0 + k_per_w * (20.0 + 270.0 * settled if work else 20.0)
        yield 10.0 * n, {Q.CORE_TEMPERATURE_C: round(core), Q.POWER_AVERAGE_W: power, Q.FAN_FRACTION: fan}


@pytest.fixture
def ageing(tmp_path):
    for n in range(10):
        stored(tmp_path, f"w{n}", worn(0.14 * (1.0 + 0.025 * n)), unix_s=UNIX_S + n * 4 * DAY_S)
    return tmp_path


def test_a_cooler_that_ages_is_told_here_and_beside_advice(ageing, capsys):
    assert main(["health", "wear", "--data-dir", str(ageing), "--lang", "en"]) == 0
    out = capsys.readouterr().out
    assert "The resistance rises: +" in out
    assert "1. The cooler has become worse" in out
    assert " K/W\n" not in out
    assert main(["health", "wear", "--data-dir", str(ageing), "--lang", "en", "--verbose"]) == 0
    assert capsys.readouterr().out.count(" K/W\n") >= 10
    assert main(["health", "wear", "--data-dir", str(ageing), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    (found,) = body["wear"]
    low, high = found["resistance"]["ci95"]
    assert low < 1.225 ** (30.44 / 36) - 1 < high
    assert [entry["id"] for entry in body["advice"]] == ["wear.resistance"]
    assert body["advice"][0]["evidence"] == ["wear:resistance_drift"]
    assert main(["advise", "w9", "--data-dir", str(ageing), "--lang", "en"]) == 0
    assert "Note: Over 36 days the resistance of this card rose by +" in capsys.readouterr().out


def test_nothing_is_said_beside_advice_where_nothing_ages(told, folder, capsys):
    assert main(["advise", "r1", "--data-dir", str(folder), "--lang", "en"]) == 0
    assert "resistance" not in capsys.readouterr().out
