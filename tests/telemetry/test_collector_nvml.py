"""The shipped collector (``python -m gputuner --collector``) over the fake NVML: the real binding and process."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gputuner.model.cards import CardState
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import Gap
from gputuner.telemetry.client import CollectorFeed
from gputuner.telemetry.feed import FeedState, Tick
from gputuner.telemetry.rates import Rates
from tests.fake_nvml.build import broken_library
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import CRASH, HANG, Scenario, card, case, error
from tests.telemetry.conftest import LONG_S, Listener

CASES = Path(__file__).parents[1] / "data" / "cases"
TEMPERATURE = "nvmlDeviceGetTemperature"
HANGS_S = 3.0
"""Longer than a busy machine keeps a thread waiting."""
Watch = Callable[..., Listener]


@pytest.fixture
def watch(fake_nvml: FakeNvml) -> Iterator[Watch]:
    """Starts the shipped collector over a scenario. Calls seem to hang only where a test says from when on."""
    listeners: list[Listener] = []

    def start(scenario: Scenario | None, environment: dict[str, str] | None = None, **rates: float) -> Listener:
        if scenario is not None:
            fake_nvml.show(scenario, reload="reload" in scenario.system)
        given = {"fast_hz": 10.0, "slow_s": 0.5, "hang_s": LONG_S, "start_s": LONG_S, **rates}
        feed = CollectorFeed(
            [sys.executable, "-m", "gputuner", "--collector"],
            Rates(**given),
            environment={**os.environ, **(environment or fake_nvml.environment())},
            first_pause_s=0.05,
        )
        listeners.append(Listener(feed))
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.feed.close()


def times(ticks: list[Tick], index: int) -> list[int]:
    uuid = card(index)["nvmlDeviceGetUUID"]
    return [
        s.t_ns for tick in ticks for s in tick.samples if s.card == uuid and Quantity.CORE_TEMPERATURE_C in s.values
    ]


def gaps(ticks: list[Tick]) -> list[Gap]:
    return [gap for tick in ticks for gap in tick.gaps]


def then(value: Any, *after: Any, first: int = 4) -> dict[str, Any]:
    """An answer ``first`` times, then others."""
    return {"sequence": [value] * first + list(after)}


def test_eight_cards_are_read_in_both_tiers_with_reasons_for_what_is_missing(watch: Watch) -> None:
    listener = watch(Scenario(*(card(i, **{TEMPERATURE: 40 + i}) for i in range(8))))
    ticks = listener.until(lambda ticks: all(len(times(ticks, i)) >= 3 for i in range(8)))
    assert [info.index for info in listener.feed.cards()] == list(range(8))
    uuids = [info.uuid for info in listener.feed.cards()]
    last = {s.card: s for tick in ticks for s in tick.samples if Quantity.CORE_TEMPERATURE_C in s.values}
    assert [last[uuid].values[Quantity.CORE_TEMPERATURE_C] for uuid in uuids] == [40 + i for i in range(8)]
    assert last[uuids[0]].missing[Quantity.HOTSPOT_TEMPERATURE_C] is Reason.NOT_SUPPORTED
    slow = {s.card for tick in ticks for s in tick.samples if Quantity.FAN_FRACTION in s.values}
    assert slow == set(uuids)
    assert listener.feed.processes(uuids[0]) is not None
    assert listener.feed.status().state is FeedState.OK


def test_a_call_that_never_returns_stops_only_its_own_card(watch: Watch) -> None:
    scenario = Scenario(card(0), card(1, **{TEMPERATURE: then(41, HANG)}), card(2))
    listener = watch(scenario, hang_s=HANGS_S)
    listener.until(lambda ticks: len(times(ticks, 0)) >= 20 and len(times(ticks, 2)) >= 20)
    status = listener.until_status(lambda s: bool(s.hung_cards))
    assert status.hung_cards == (card(1)["nvmlDeviceGetUUID"],)
    assert status.restarts == 0
    assert len(times(listener.ticks, 1)) <= 4


@pytest.mark.parametrize(
    ("call", "function"),
    [
        ("nvmlDeviceGetBAR1MemoryInfo", "nvmlDeviceGetBAR1MemoryInfo"),
        ("nvmlDeviceGetFanSpeedRPM", "nvmlDeviceGetFanSpeedRPM"),
        ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses"),
    ],
)
def test_a_slow_call_that_never_returns_is_named_and_its_card_goes_on_with_the_fast_ones(
    watch: Watch, call: str, function: str
) -> None:
    answer = [] if call.endswith("Processes") else card(1)[call]
    listener = watch(Scenario(card(0), card(1, **{call: then(answer, HANG, first=3)}), card(2)), hang_s=HANGS_S)
    status = listener.until_status(lambda s: bool(s.hung_cards))
    (hung,) = status.hung_calls
    assert (hung.card, hung.tier) == (card(1)["nvmlDeviceGetUUID"], Tier.SLOW)
    assert hung.function.startswith(function)
    (told,) = [n for n in status.notices if n.code == "telemetry_call_hung"]
    assert told.params == {"card": hung.card, "call": "slow", "function": hung.function}
    listener.until(lambda ticks: all(len([t for t in times(ticks, i) if t > told.t_ns]) >= 10 for i in range(3)))
    slow = [s.t_ns for t in listener.ticks for s in t.samples if s.card == hung.card and Quantity.PSTATE in s.values]
    assert told.t_ns - max(slow) > HANGS_S * 1e9, "not before the deadline"
    assert listener.feed.status().restarts == 0


def test_when_the_only_card_hangs_the_collector_is_started_again_and_the_gap_stays(watch: Watch) -> None:
    listener = watch(Scenario(card(0, **{TEMPERATURE: then(41, HANG)})), hang_s=1.0)
    ticks = listener.until(lambda ticks: len(gaps(ticks)) >= 1)
    gap = gaps(ticks)[0]
    assert gap.card is None
    assert not [t for t in times(ticks, 0) if gap.t0_ns < t < gap.t1_ns]
    assert "telemetry_collector_hung" in {n.code for n in listener.feed.status().notices}


def test_a_segfault_in_the_library_is_a_restart_and_a_gap(watch: Watch) -> None:
    listener = watch(Scenario(card(0, **{TEMPERATURE: then(41, CRASH)}), card(1)))
    ticks = listener.until(lambda ticks: len(gaps(ticks)) >= 1)
    assert gaps(ticks)[0].reason is Reason.ERROR
    crash = next(n for n in listener.feed.status().notices if n.code == "telemetry_collector_crashed")
    assert crash.params["signal"] == "SIGSEGV"


def test_a_card_lost_in_mid_run_is_shown_as_lost_and_its_handle_never_used(watch: Watch, fake_nvml: FakeNvml) -> None:
    lost = {TEMPERATURE: then(41, error("GPU_IS_LOST"))}
    listener = watch(Scenario(card(0), card(1, **lost), card(2)))
    listener.until(lambda ticks: any(c.state is CardState.LOST for tick in ticks for c in tick.cards))
    before = len(fake_nvml.calls())
    seen = len(listener.ticks)
    listener.until(lambda ticks: len(ticks) >= seen + 10)
    state = [(info.index, info.state) for info in listener.feed.cards()]
    assert state == [(0, CardState.READY), (1, CardState.LOST), (2, CardState.READY)]
    late = {device for device, _ in fake_nvml.calls()[before + 10 :]}
    assert 1 not in late
    assert {0, 2} <= late


def test_c024_a_card_lost_from_the_start_keeps_its_place(watch: Watch) -> None:
    listener = watch(Scenario.from_case(case(CASES / "c024_nvml_one_lost.json")))
    ticks = listener.until(lambda ticks: len({s.card for tick in ticks for s in tick.samples}) == 2)
    state = [(info.index, info.state) for info in listener.feed.cards()]
    assert state == [(0, CardState.READY), (1, CardState.LOST), (2, CardState.READY)]
    assert listener.feed.cards()[1].lost_since_ns is not None
    core = {s.card: s.values.get(Quantity.CORE_TEMPERATURE_C) for tick in ticks for s in tick.samples}
    assert sorted(value for value in core.values() if value is not None) == [28, 35]


def test_c026_every_tenth_call_slow_means_missed_ticks_no_overlap_and_no_queue(watch: Watch) -> None:
    """At ten times the pace: 3.5 intervals of 0.1 s."""
    slow = {"value": 41, "us": 350_000}
    scenario = Scenario(card(0, **{TEMPERATURE: {"sequence": [41] * 9 + [slow], "cycle": True}}))
    listener = watch(scenario, slow_s=60.0)
    ticks = listener.until(lambda ticks: len(times(ticks, 0)) >= 21)
    status = listener.until_status(
        lambda s: s.missed_ticks >= 4 and s.fast_cost is not None and s.fast_cost.worst_s >= 0.35
    )
    taken = times(ticks, 0)
    assert taken == sorted(set(taken))
    assert status.restarts == 0
    assert status.fast_cost is not None
    assert status.fast_cost.median_s < 0.35
    assert status.own_cpu_s is not None
    assert status.interval_s is not None


def test_c030_errors_for_a_long_time_are_a_gap_one_notice_and_recovery_without_restart(
    watch: Watch, fake_nvml: FakeNvml
) -> None:
    healthy = Scenario(card(0), card(1))
    healthy.system["reload"] = 1
    listener = watch(healthy)
    listener.until(lambda ticks: len(times(ticks, 0)) >= 4 and len(times(ticks, 1)) >= 4)
    sick = Scenario(*({name: error("UNKNOWN") for name in card(i)} for i in range(2)), init="UNKNOWN")
    fake_nvml.show(sick, reload=True)
    status = listener.until_status(lambda s: s.state is FeedState.FAILING)
    assert status.code == "nvml_unknown"
    fake_nvml.show(Scenario(card(0), card(1)), reload=True)
    ticks = listener.until(lambda ticks: len(gaps(ticks)) >= 2)
    assert sorted(str(gap.card) for gap in gaps(ticks)) == [card(i)["nvmlDeviceGetUUID"] for i in range(2)]
    for index, gap in enumerate(sorted(gaps(ticks), key=lambda gap: str(gap.card))):
        assert gap.reason is Reason.ERROR
        assert not [t for t in times(ticks, index) if gap.t0_ns < t < gap.t1_ns]
    status = listener.until_status(lambda s: s.state is FeedState.OK)
    assert status.restarts == 0
    assert [n.count for n in status.notices if n.code == "telemetry_failing"] == [1]


def test_c030_one_failing_reading_is_missing_and_not_repeated(watch: Watch) -> None:
    listener = watch(Scenario.from_case(case(CASES / "c030_nvml_unknown_then_ok.json")))
    ticks = listener.until(lambda ticks: sum(len(tick.samples) for tick in ticks) >= 9)
    told = [
        s.values.get(Quantity.CORE_TEMPERATURE_C, s.missing.get(Quantity.CORE_TEMPERATURE_C))
        for tick in ticks
        for s in tick.samples
        if Quantity.POWER_INSTANT_W in s.values or Quantity.POWER_AVERAGE_W in s.values
    ]
    assert told[:7] == [55, 56, Reason.ERROR, Reason.ERROR, Reason.ERROR, 54, 54]


def test_a_driver_that_does_not_match_is_its_own_state(watch: Watch) -> None:
    status = watch(Scenario(init="LIB_RM_VERSION_MISMATCH")).until_status(lambda s: s.state is FeedState.MISMATCH)
    assert status.code == "nvml_driver_mismatch"


def test_no_library_is_absent_and_not_tried_again(watch: Watch, tmp_path: Path) -> None:
    listener = watch(None, {"LD_LIBRARY_PATH": str(broken_library(tmp_path))})
    status = listener.until_status(lambda s: s.state is FeedState.ABSENT)
    assert (status.code, status.restarts) == ("nvml_library_missing", 0)
    assert listener.feed.cards() == ()


def test_a_machine_with_a_driver_and_no_card(watch: Watch) -> None:
    status = watch(Scenario()).until_status(lambda s: s.state is FeedState.OK)
    assert status.code == "telemetry_no_cards"


def test_values_that_cannot_be_are_rejected_and_counted(watch: Watch) -> None:
    listener = watch(Scenario(card(0, **{TEMPERATURE: 255})))
    status = listener.until_status(lambda s: s.rejected_values > 0)
    assert status.state is FeedState.OK
    sample = listener.ticks[-1].samples[0]
    assert sample.missing[Quantity.CORE_TEMPERATURE_C] is Reason.IMPLAUSIBLE
