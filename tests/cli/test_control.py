"""``control``: simulated cards, and real ones played by the fake NVML behind the shipped helper."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gputuner.cli.app import main
from tests.cli.control_machine import Machine
from tests.devices.control_bench import machine
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import NOT_SUPPORTED, Scenario, error

CARD = "rtx-4090-48g"
THERE, BACK = "0 SetPowerManagementLimit 450000 = 0", "0 SetPowerManagementLimit 500000 = 0"


def one_card(**calls: Any) -> Scenario:
    scenario = machine(**calls)
    del scenario.cards[1]
    return scenario


@pytest.fixture
def there(
    fake_nvml: FakeNvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Machine:
    return Machine(fake_nvml, tmp_path, monkeypatch, capsys, one_card())


@pytest.fixture
def simulated(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*argv: str) -> tuple[int, str, str]:
        code = main(["control", *argv, "--simulate", CARD, "--lang", "en"])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


Run = Callable[..., tuple[int, str, str]]


def test_a_simulated_card_takes_a_limit_and_refuses_one_out_of_range(simulated: Run) -> None:
    code, out, err = simulated("set", "power-limit", "300", "--yes", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["schema"] == "gputuner.control.set/1"
    assert told["simulated"] is True
    assert (told["control"]["found"], told["control"]["reads"], told["control"]["kept"]) == ([450.0], [300.0], True)
    code, _, err = simulated("set", "power-limit", "50", "--yes")
    assert code == 2
    assert "200 W to 450 W" in err
    code, _, err = simulated("set", "fan", "70", "--yes")
    assert code == 0
    assert "put back to automatic" in err


def test_a_simulated_card_says_that_its_time_passes_at_once(simulated: Run) -> None:
    code, _, err = simulated("set", "power-limit", "300", "--for", "3000")
    assert code == 0
    assert "the 3000 s pass on its own clock, at once" in err


@pytest.mark.parametrize("value", ["1_000", "２５０", " 300 ", "nan", "3e400", "300 watts"])
@pytest.mark.parametrize("setting", ["power-limit", "total-power"])
def test_what_only_python_reads_as_a_number_sets_no_watts(simulated: Run, setting: str, value: str) -> None:
    code, _, err = simulated("set", setting, value, "--yes")
    assert code == 2
    assert "watts, such as 300" in err


@pytest.mark.parametrize("value", ["300W", "300 w", "300.0"])
def test_a_unit_may_stand_behind_the_number(simulated: Run, value: str) -> None:
    code, out, _ = simulated("set", "power-limit", value, "--yes", "--json")
    assert code == 0
    assert json.loads(out)["control"]["reads"] == [300.0]


def test_show_lists_every_setting_with_its_range(there: Machine) -> None:
    shown = json.loads(there("show", "--json")[1])["devices"][0]["settings"]
    assert list(shown) == ["power-limit", "lock-clocks", "lock-memory", "offset-core", "offset-memory", "fan"]
    assert shown["power-limit"] == {
        "now": [500.0],
        "default": [700.0],
        "low": 200.0,
        "high": 700.0,
        "reason": None,
        "found": None,
        "kept": False,
        "intact": True,
    }
    assert there.writes == []


def test_c066_kept_then_reset_gives_what_was_found(there: Machine) -> None:
    code, _, err = there("set", "power-limit", "50", "--yes")
    assert (code, there.writes) == (2, [])
    assert "200 W to 700 W" in err
    code, _, err = there("set", "power-limit", "450", "--yes")
    assert code == 0, err
    assert "500 W (default: 700 W)" in err
    assert "set by gputuner; before: 500 W" in there("show")[1]
    code, out, _ = there("reset")
    assert code == 0
    assert "500 W again" in out
    assert there.writes == [THERE, BACK]
    assert "has changed nothing here" in there("reset")[1]


def test_reset_to_the_cards_own_defaults_can_be_undone(there: Machine) -> None:
    code, out, err = there("reset", "power-limit", "--default")
    assert code == 0, err
    assert "700 W again" in out
    assert there("reset", "power-limit")[0] == 0
    assert there.writes == ["0 SetPowerManagementLimit 700000 = 0", BACK]


def test_for_some_seconds_and_dry_run(there: Machine) -> None:
    assert there("set", "power-limit", "450", "--dry-run")[0] == 0
    assert there.writes == []
    code, _, err = there("set", "power-limit", "450", "--for", "0.3")
    assert code == 0
    assert there.writes == [THERE, BACK]
    assert "put back to 500 W" in err


def test_without_a_terminal_somebody_must_say_so(there: Machine) -> None:
    code, _, err = there("set", "power-limit", "450")
    assert code == 2
    assert "--yes" in err
    code, _, err = there("set", "lock-clocks", "300,1500", "--for", "5")
    assert code == 2
    assert "would be lost" in err
    assert there.writes == []


def test_c070_no_permission_is_told_with_what_to_run(there: Machine) -> None:
    there.has(one_card(nvmlDeviceSetPowerManagementLimit=error("NO_PERMISSION")))
    code, out, err = there("set", "power-limit", "450", "--yes", "--json")
    assert code == 4
    assert json.loads(out)["error"]["code"] == "control_no_permission"
    assert "--with sudo" in err
    assert there.bench.pages() == ()


def test_c069_a_laptop_is_told_other_levers(there: Machine) -> None:
    there.has(one_card(nvmlDeviceGetPowerManagementLimitConstraints=NOT_SUPPORTED))
    code, _, err = there("set", "power-limit", "100", "--yes")
    assert code == 3
    assert "lock-clocks" in err
    assert there.writes == []


def test_of_several_cards_one_is_named(there: Machine) -> None:
    there.has(machine())
    code, _, err = there("set", "power-limit", "300", "--yes")
    assert code == 2
    assert "--gpu" in err
    assert there("set", "power-limit", "300", "--yes", "--gpu", "1")[0] == 0
    assert there("reset", "--gpu", "1")[0] == 0
    assert there.writes == ["1 SetPowerManagementLimit 300000 = 0", "1 SetPowerManagementLimit 350000 = 0"]


def test_risks_are_told_before_anything_is_set(simulated: Run) -> None:
    _, _, err = simulated("set", "offset-memory", "500", "--yes")
    assert "wrong without a crash" in err
    _, _, err = simulated("set", "offset-core", "-50", "--yes")
    assert "overclocking" not in err


def test_a_password_that_is_not_given_changes_nothing(there: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``sudo`` that refuses, as it does without a terminal or a right."""
    folder = there.folder / "bin"
    folder.mkdir()
    (folder / "sudo").write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    (folder / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    code, _, err = there("set", "power-limit", "450", "--yes", "--with", "sudo")
    assert code == 4
    assert "a password is required" in err
    assert there.writes == []


def test_sudo_hands_the_helper_its_rights(there: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = there.folder / "bin"
    folder.mkdir()
    (folder / "sudo").write_text('#!/bin/sh\n[ "$1" = -- ] || exit 3\nshift\nexec "$@"\n')
    (folder / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    code, _, err = there("set", "power-limit", "450", "--for", "0.1", "--with", "sudo")
    assert code == 0, err
    assert there.writes == [THERE, BACK]


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("set", "power-limit", "abc", "--yes"), 2),
        (("set", "lock-clocks", "1500", "--yes"), 2),
        (("set", "power", "300", "--yes"), 2),
        (("set", "fan", "70", "--for", "-1"), 2),
        (("set", "power-limit", "nan", "--yes"), 2),
        (("set", "power-limit", "300", "--yes", "--gpu", "cpu"), 3),
        (("reset", "nothing"), 2),
    ],
)
def test_bad_words_are_refused(simulated: Run, argv: tuple[str, ...], code: int) -> None:
    assert simulated(*argv)[0] == code


def test_defaults_that_would_end_what_others_have_set_need_a_yes(there: Machine) -> None:
    for argv in (("reset", "--default"), ("reset", "lock-clocks", "--default")):
        code, _, err = there(*argv)
        assert code == 2
        assert "--yes" in err
    assert there.writes == []
    assert there("reset", "lock-clocks", "--default", "--yes")[0] == 0
    assert there.writes == ["0 ResetGpuLockedClocks = 0"]


def test_a_near_value_is_set_and_what_stands_already_is_not_called_kept(there: Machine) -> None:
    assert there("set", "offset-core", "15", "--yes")[0] == 0
    assert there.writes == ["0 SetClockOffsets 0 0 15 = 0"]
    code, out, _ = there("set", "power-limit", "500", "--for", "5", "--json")
    told = json.loads(out)["control"]
    assert (code, told["changed"], told["kept"]) == (0, False, False)
