"""``control set total-power``: exactly what is written on several cards of the fake NVML, and that all goes back."""

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.assembly.control import simulated_control
from gputuner.cli.app import main
from gputuner.cli.control_keeping import keep_all
from gputuner.cli.output import Output
from gputuner.devices.control_client import HelperControl
from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.model.control import Setting
from gputuner.model.errors import DeviceError
from gputuner.model.events import PointMeasured, RunFinished
from gputuner.model.points import Conditions, Point
from gputuner.model.readings import Reading
from tests.cli.control_machine import Machine
from tests.devices.control_bench import GPU, OTHER, machine
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import NOT_SUPPORTED, Scenario, error, settable
from tests.sessions import streams

WATTS = {
    "nvmlDeviceGetPowerManagementLimitConstraints": [150_000, 300_000],
    "nvmlDeviceGetPowerManagementDefaultLimit": 300_000,
    "nvmlDeviceGetPowerManagementLimit": 250_000,
    "nvmlDeviceGetEnforcedPowerLimit": 250_000,
}


def cards(**third: object) -> Scenario:
    """C-066's two cards (200 to 700 W, at 500; 100 to 350 W, at 350) and a third (150 to 300 W, at 250)."""
    scenario = machine()
    return Scenario(*scenario.cards, settable(2, **(WATTS | third)))


@pytest.fixture
def there(
    fake_nvml: FakeNvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Machine:
    return Machine(fake_nvml, tmp_path, monkeypatch, capsys, cards())


def wrote(card: int, watts: int, result: int = 0) -> str:
    return f"{card} SetPowerManagementLimit {watts * 1000} = {result}"


def test_a_dry_run_tells_the_split_and_writes_nothing(there: Machine) -> None:
    code, out, _ = there("set", "total-power", "900", "--gpu", "all", "--dry-run")
    assert code == 0
    assert "900 W of 900 W over 3 cards" in out
    assert "Nothing was changed" in out
    told = json.loads(there("set", "total-power", "900", "--dry-run", "--json")[1])
    assert told["schema"] == "gputuner.control.set/1"
    assert [each["watts"] for each in told["control"]["split"]] == [467, 233, 200]
    assert {each["by"] for each in told["control"]["split"]} == {"default"}
    assert (told["control"]["dry_run"], told["control"]["kept"]) == (True, False)
    assert there.writes == []


def test_kept_on_all_cards_lowered_ones_first_and_each_goes_back_to_what_it_had(there: Machine) -> None:
    code, out, err = there("set", "total-power", "900", "--yes")
    assert code == 0, err
    there_again = [wrote(1, 233), wrote(2, 200), wrote(0, 467)]
    assert there.writes == there_again
    assert sum(entry.kept for entry in there.bench.entries()) == 3
    assert out.count("control reset power-limit --gpu") == 3
    for gpu in ("0", "1", "2"):
        assert there("reset", "power-limit", "--gpu", gpu)[0] == 0
    assert there.writes == [*there_again, wrote(0, 500), wrote(1, 350), wrote(2, 250)]
    assert there.bench.pages() == ()


def test_a_card_that_is_raised_comes_after_those_that_are_lowered(there: Machine) -> None:
    there.has(cards(nvmlDeviceGetPowerManagementLimit=150_000, nvmlDeviceGetEnforcedPowerLimit=150_000))
    assert there("set", "total-power", "900", "--yes")[0] == 0
    assert there.writes == [wrote(1, 233), wrote(0, 467), wrote(2, 200)]


def test_for_some_seconds_puts_all_back(there: Machine) -> None:
    code, _, err = there("set", "total-power", "900", "--for", "0.2", "--json")
    assert code == 0, err
    of_card = {card: [line for line in there.writes if line.startswith(f"{card} ")] for card in range(3)}
    assert of_card == {
        0: [wrote(0, 467), wrote(0, 500)],
        1: [wrote(1, 233), wrote(1, 350)],
        2: [wrote(2, 200), wrote(2, 250)],
    }
    assert len(there.writes) == 6
    assert there.bench.pages() == ()


def test_one_card_that_refuses_puts_all_back(there: Machine) -> None:
    there.has(cards(nvmlDeviceSetPowerManagementLimit=error("NO_PERMISSION")))
    code, out, err = there("set", "total-power", "900", "--yes", "--json")
    assert code == 4
    assert json.loads(out)["error"]["code"] == "control_no_permission"
    assert "every card goes back" in err
    done = [line for line in there.writes if line.endswith("= 0")]
    assert done == [wrote(1, 233), wrote(1, 350)]
    assert [line for line in there.writes if line.startswith("0 ")] == [], "the third is not even asked"
    assert there.bench.pages() == ()


def test_a_card_without_a_limit_to_set_is_told_before_any_is_written(there: Machine) -> None:
    there.has(cards(nvmlDeviceGetPowerManagementLimitConstraints=NOT_SUPPORTED))
    assert there("set", "total-power", "900", "--yes")[0] == 3
    assert there.writes == []
    assert there("set", "total-power", "700", "--yes", "--gpu", "0,1")[0] == 0
    assert there.writes == [wrote(1, 233), wrote(0, 467)]


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("449", "--yes"), "450 W"),
        (("900",), "--yes"),
        (("much", "--yes"), "total-power"),
        (("-5", "--yes"), "total-power"),
        (("nan", "--yes"), "total-power"),
    ],
)
def test_what_cannot_be_shared_is_refused_with_the_range(there: Machine, argv: tuple[str, ...], told: str) -> None:
    code, _, err = there("set", "total-power", *argv)
    assert code == 2
    assert told in err
    assert there.writes == []


def test_more_than_all_defaults_never_binds(there: Machine) -> None:
    code, out, _ = there("set", "total-power", "9000", "--dry-run")
    assert code == 0
    assert "never binds" in out
    assert "1350 W of 9000 W" in out


def sweep(
    folder: Path,
    uuid: str,
    run_id: str,
    rates: Callable[[float], float],
    caps: list[float],
    readings: dict[str, Reading] | None = None,
) -> None:
    """A stored power sweep of two visits of each cap."""
    card = replace(streams.card(uuid), readings=readings or {})
    begun = streams.started(run_id=run_id, experiment="power", cards=(card,))
    points = [
        Point(
            id=f"{cap:g}-{visit}",
            card=uuid,
            metric="power_rate",
            workload="resnet50",
            params={"cap_w": cap, "visit": visit},
            value=rates(cap),
            unit="samples/s",
            conditions=Conditions(duration_s=8.0, samples=16, power_w=cap),
        )
        for visit in (1, 2)
        for cap in caps
    ]
    told = [PointMeasured(run_id=run_id, seq=n, t_ns=n, point=point) for n, point in enumerate(points, start=1)]
    ended = RunFinished(run_id=run_id, seq=len(told) + 1, t_ns=99, outcome=streams.Outcome.COMPLETED, exit_code=0)
    streams.store(folder, [begun, *told, ended], run_id)


def test_measured_curves_decide_and_cards_without_one_keep_their_part(there: Machine) -> None:
    """One card gains up to 250 W only, the other to the end: by default limits the first would get too much."""
    sweep(there.folder, GPU, "20261130-100000-power-aaaa", lambda cap: min(cap, 250.0), [200.0, 250.0, 300.0, 700.0])
    sweep(there.folder, OTHER, "20261130-110000-power-bbbb", lambda cap: 0.9 * cap, [100.0, 200.0, 350.0])
    code, out, _ = there("set", "total-power", "750", "--dry-run", "--json")
    assert code == 0
    told = json.loads(out)["control"]
    first, second, third = told["split"]
    assert [each["by"] for each in told["split"]] == ["curve", "curve", "default"]
    assert third["watts"] == 167, "of 389, 194 and 167 W in proportion"
    assert first["watts"] == pytest.approx(250, abs=3), "where its curve bends"
    assert first["watts"] + second["watts"] == 583
    assert (told["rate"], told["rate_unit"]) == (pytest.approx(250 + 0.9 * 333, abs=3), "samples/s")
    assert told["rate_in_proportion"] == pytest.approx(250 + 0.9 * 194, abs=3)
    assert told["gain"]["shown"]
    assert told["gain"]["low"] <= told["gain"]["value"] <= told["gain"]["high"]
    out = " ".join(there("set", "total-power", "750", "--dry-run")[1].split())
    assert "more samples/s in all than split by default limits" in out
    assert first["session"] == "20261130-100000-power-aaaa"
    assert there("set", "total-power", "750", "--yes")[0] == 0
    assert there.writes == [
        wrote(0, first["watts"]), wrote(2, third["watts"]), wrote(1, second["watts"])
    ]  # fmt: skip


def test_a_sweep_of_another_driver_is_not_used(there: Machine) -> None:
    """The fake library tells driver 550.54.14."""
    old = {"driver": Reading(value="535.1")}
    for uuid, run_id in ((GPU, "20261130-100000-power-aaaa"), (OTHER, "20261130-110000-power-bbbb")):
        sweep(there.folder, uuid, run_id, lambda cap: min(cap, 250.0), [100.0, 200.0, 250.0, 700.0], readings=old)
    out = " ".join(there("set", "total-power", "750", "--dry-run")[1].split())
    assert "20261130-100000-power-aaaa is not used, the driver was 535.1 and is 550.54.14" in out
    assert f"gputuner --cli power --gpu {OTHER}" in out
    assert "By the measured curves" not in out
    assert there.writes == []


def taken_at_the_question(there: Machine, patch: pytest.MonkeyPatch) -> None:
    """Another program sets the third card of the keeping while the question stands, so that it is held no more."""

    def meddled(_output: Output) -> bool:
        there.bench.fake.meddle("nvmlDeviceGetPowerManagementLimit", 320_000, 0)
        return True

    patch.setattr("gputuner.cli.control_setting._interactive", lambda: True)
    patch.setattr("gputuner.cli.control_total.confirmed", meddled)


def test_where_one_cannot_be_kept_the_kept_ones_go_back(there: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    taken_at_the_question(there, monkeypatch)
    code, _, err = there("set", "total-power", "900")
    assert code == 7, err
    assert there.writes == [wrote(1, 233), wrote(2, 200), wrote(0, 467), wrote(2, 250), wrote(1, 350)]
    assert "by hand" not in err


def test_a_card_that_cannot_be_put_back_is_named_and_hides_no_other(
    there: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three cards the last cannot be kept, and of the two kept ones the driver refuses the first to go back."""
    there.has(cards(nvmlDeviceSetPowerManagementLimit={"sequence": [0, error("UNKNOWN")]}))
    taken_at_the_question(there, monkeypatch)
    code, _, err = there("set", "total-power", "900")
    assert code == 7
    assert there.writes == [wrote(1, 233), wrote(2, 200), wrote(0, 467), wrote(2, 250, 999), wrote(1, 350)]
    third = "GPU-00000002-aaaa-bbbb-cccc-000000000002"
    assert f"control set power-limit 250 --gpu {third}" in err
    assert err.count("by hand") == 1
    assert [(entry.setting, entry.kept) for entry in there.bench.entries()] == [(Setting.POWER_LIMIT, True)]


@pytest.mark.parametrize("signalled", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_between_two_keeps_ends_with_none_kept(
    there: Machine, monkeypatch: pytest.MonkeyPatch, signalled: signal.Signals
) -> None:
    keep = HelperControl.keep
    kept: list[str] = []

    def interrupted(control: HelperControl, card: str, setting: Setting) -> None:
        kept.append(card)
        if len(kept) == 2:
            signal.raise_signal(signalled)
        keep(control, card, setting)

    def deaf(_number: int, _frame: object) -> None:
        raise AssertionError("it would have ended the program with one card kept")

    monkeypatch.setattr(HelperControl, "keep", interrupted)
    before = signal.signal(signalled, deaf)
    try:
        code, _, err = there("set", "total-power", "900", "--yes")
        assert signal.getsignal(signalled) is deaf, "as it was afterwards"
    finally:
        signal.signal(signalled, before)
    assert code == 130, err
    assert there.writes[:3] == [wrote(1, 233), wrote(2, 200), wrote(0, 467)]
    assert sorted(there.writes[3:]) == [wrote(0, 500), wrote(1, 350), wrote(2, 250)]
    assert not any(entry.kept for entry in there.bench.entries())


@pytest.mark.parametrize("answered", [True, False])
def test_ctrl_c_between_two_keeps_takes_the_kept_one_back(
    there: Machine, monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    """Also one that the helper kept without its answer being read."""
    kept: list[str] = []
    keep = HelperControl.keep

    def interrupted(control: HelperControl, card: str, setting: Setting) -> None:
        kept.append(card)
        if len(kept) != 2:
            keep(control, card, setting)
            return
        if answered:
            raise KeyboardInterrupt
        monkeypatch.setattr(control, "_answer", stopped)
        try:
            keep(control, card, setting)
        finally:
            monkeypatch.undo()

    def stopped(_within_s: float) -> dict[str, object]:
        raise KeyboardInterrupt

    monkeypatch.setattr(HelperControl, "keep", interrupted)
    code, _, err = there("set", "total-power", "900", "--yes")
    assert code == 130
    made = [wrote(1, 233), wrote(2, 200), wrote(0, 467)]
    assert there.writes[:3] == made
    assert sorted(there.writes[3:]) == [wrote(0, 500), wrote(1, 350), wrote(2, 250)]
    assert "by hand" not in err
    assert not any(entry.kept for entry in there.bench.entries())


def test_simulated_cards_share_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    both = ["--simulate", "rtx-4090-48g", "--simulate", "rtx-3090", "--data-dir", str(tmp_path), "--lang", "en"]
    assert main(["control", "set", "total-power", "400", "--yes", "--json", *both]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["simulated"] is True
    assert [each["watts"] for each in told["control"]["split"]] == [225, 175]
    assert [each["reads"] for each in told["control"]["set"]] == [[225.0], [175.0]]
    assert told["control"]["kept"] is True
    assert main(["control", "set", "total-power", "400", "--for", "3", *both]) == 0
    out = capsys.readouterr()
    assert out.err.count("put back to") == 2
    assert Setting.POWER_LIMIT.value not in out.out


@pytest.mark.parametrize("keeps", [True, False])
def test_on_a_terminal_all_stay_or_all_go_back(there: Machine, monkeypatch: pytest.MonkeyPatch, keeps: bool) -> None:
    """What is typed is another test's; here it is what becomes of several cards."""
    monkeypatch.setattr("gputuner.cli.control_setting._interactive", lambda: True)
    monkeypatch.setattr("gputuner.cli.control_total.confirmed", lambda _output: keeps)
    assert there("set", "total-power", "900")[0] == 0
    made = [wrote(1, 233), wrote(2, 200), wrote(0, 467)]
    assert there.writes[:3] == made
    assert sorted(there.writes[3:]) == ([] if keeps else [wrote(0, 500), wrote(1, 350), wrote(2, 250)])
    assert [entry.kept for entry in there.bench.entries()] == ([True] * 3 if keeps else [])


def test_a_card_that_cannot_be_kept_takes_the_others_back() -> None:
    """A user's own change that was kept before stays what is gone back to."""
    cards = SimulatedCards(("rtx-4090-48g", "rtx-3090"), SimulatedClock())
    first, second = (card.uuid for card in cards.models)
    control = simulated_control(cards)
    control.set(first, Setting.POWER_LIMIT, (400.0,))
    control.keep(first, Setting.POWER_LIMIT)
    applied = [control.set(each, Setting.POWER_LIMIT, (250.0,), for_s=5.0) for each in (first, second)]
    control.wait(1.0)
    control.restore(second, Setting.POWER_LIMIT)
    control.set(second, Setting.POWER_LIMIT, (250.0,), for_s=1.0)
    control.wait(3.0)  # its time is over before it is kept
    with pytest.raises(DeviceError) as refused:
        keep_all(Output(out=sys.stdout, err=sys.stderr), control, control.show(), applied)
    assert refused.value.code == "control_not_held"
    stands = {card.uuid: card.state(Setting.POWER_LIMIT) for card in control.show()}
    assert (stands[first].now, stands[first].found) == ((400.0,), (450.0,))
    assert stands[second].now == (350.0,)
    control.close()
