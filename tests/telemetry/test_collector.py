"""The real collector process over a scripted source: faults of every kind, seen from the parent."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gputuner.model.cards import CardState
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.telemetry.feed import FeedState, HungCall, Tick
from gputuner.telemetry.wire import Hello, LineReader, Ticked

SCRIPT = Path(__file__).with_name("scripted_source.py")


def samples_of(ticks: list[Tick], card: str) -> list[int]:
    return [
        s.t_ns for tick in ticks for s in tick.samples if s.card == card and Quantity.CORE_TEMPERATURE_C in s.values
    ]


def test_every_card_is_sampled_in_both_tiers(collect: Callable) -> None:
    listener = collect("fine")
    ticks = listener.until(lambda ticks: all(len(samples_of(ticks, f"card-{i}")) >= 5 for i in range(3)))
    assert [card.uuid for card in listener.feed.cards()] == ["card-0", "card-1", "card-2"]
    assert {c.uuid for tick in ticks for c in tick.cards} == {"card-0", "card-1", "card-2"}
    whole = next(s for tick in ticks for s in tick.samples if Quantity.FAN_FRACTION in s.values)
    assert whole.values[Quantity.FAN_FRACTION] == 0.5
    assert listener.feed.processes("card-2") is not None
    status = listener.until_status(lambda s: s.own_cpu_s is not None)
    assert status.state is FeedState.OK
    assert status.rejected_values == 7
    assert status.own_memory_bytes is None or status.own_memory_bytes > 1_000_000


def test_times_of_a_card_only_grow_and_readings_plus_missed_are_what_was_asked(collect: Callable) -> None:
    listener = collect("fine")
    listener.until(lambda ticks: len(samples_of(ticks, "card-0")) >= 12)
    status = listener.until_status(lambda s: s.ticks > 0)
    ticks = listener.ticks
    for card in ("card-0", "card-1", "card-2"):
        times = samples_of(ticks, card)
        assert times == sorted(set(times))
    read = sum(len(samples_of(ticks, f"card-{i}")) for i in range(3))
    assert read + status.missed_ticks >= status.ticks - 3 * 3


def test_library_chatter_does_not_reach_the_stream(collect: Callable) -> None:
    listener = collect("chatter")
    listener.until(lambda ticks: len(samples_of(ticks, "card-0")) >= 3)
    assert listener.feed.status().restarts == 0


def test_a_call_that_never_returns_leaves_the_other_cards_alone(collect: Callable) -> None:
    listener = collect("hang one")
    listener.until(lambda ticks: len(samples_of(ticks, "card-0")) >= 15 and len(samples_of(ticks, "card-2")) >= 15)
    status = listener.until_status(lambda s: s.hung_cards == ("card-1",))
    assert status.restarts == 0
    assert status.missed_ticks > 0
    assert [
        n.params["card"] for n in status.notices if n.code == "telemetry_call_hung" and n.params["call"] == "fast"
    ] == ["card-1"]
    assert len(samples_of(listener.ticks, "card-1")) <= 3


def test_a_slow_call_that_never_returns_leaves_fast_readings_of_the_same_card_alone(collect: Callable) -> None:
    listener = collect("hang slow")
    status = listener.until_status(lambda s: s.hung_cards == ("card-1",))
    assert status.hung_calls == (HungCall(card="card-1", tier=Tier.SLOW),)
    (told,) = [n for n in status.notices if n.code == "telemetry_call_hung"]
    assert told.params == {"card": "card-1", "call": "slow"}
    listener.until(lambda ticks: len([t for t in samples_of(ticks, "card-1") if t > told.t_ns]) >= 12)
    assert listener.feed.status().restarts == 0


def test_a_collector_in_which_all_hangs_is_killed_started_again_and_leaves_a_gap(collect: Callable) -> None:
    listener = collect("hang")
    ticks = listener.until(lambda ticks: any(gap.card is None for tick in ticks for gap in tick.gaps))
    gap = next(gap for tick in ticks for gap in tick.gaps if gap.card is None)
    times = [s.t_ns for tick in ticks for s in tick.samples]
    assert not [t for t in times if gap.t0_ns < t < gap.t1_ns]
    assert gap.reason is Reason.ERROR
    status = listener.until_status(lambda s: s.state is FeedState.OK)
    assert status.restarts == 1
    assert "telemetry_collector_hung" in {n.code for n in status.notices}


def test_a_crash_in_the_library_is_survived(collect: Callable) -> None:
    listener = collect("crash")
    listener.until(lambda ticks: any(gap.card is None for tick in ticks for gap in tick.gaps))
    status = listener.until_status(lambda s: s.state is FeedState.OK)
    crash = next(n for n in status.notices if n.code == "telemetry_collector_crashed")
    assert crash.params["signal"] == "SIGSEGV"
    assert "Segmentation fault" in str(crash.params["stderr_tail"])


def test_a_lost_card_is_never_asked_again_and_keeps_its_place(collect: Callable) -> None:
    listener = collect("lost")
    listener.until(lambda ticks: len(samples_of(ticks, "card-0")) >= 8 and len(samples_of(ticks, "card-2")) >= 8)
    lost = next(card for card in listener.feed.cards() if card.uuid == "card-1")
    assert (lost.state, lost.index) == (CardState.LOST, 1)
    assert lost.lost_since_ns is not None
    status = listener.feed.status()
    assert status.restarts == 0
    assert [n.params["card"] for n in status.notices] == ["card-1"]


def test_errors_of_all_calls_leave_a_gap_one_notice_and_end_after_opening_anew(collect: Callable) -> None:
    listener = collect("errors")
    ticks = listener.until(lambda ticks: sum(len(t.gaps) for t in ticks) >= 3)
    gaps = [gap for tick in ticks for gap in tick.gaps]
    assert {gap.card for gap in gaps} == {"card-0", "card-1", "card-2"}
    for gap in gaps:
        assert gap.reason is Reason.ERROR
        assert not [t for t in samples_of(ticks, str(gap.card)) if gap.t0_ns < t < gap.t1_ns]
    notices = [n for n in listener.feed.status().notices if n.code == "telemetry_failing"]
    assert [n.count for n in notices] == [1]
    listener.until_status(lambda s: s.state is FeedState.OK and s.restarts == 0)


def test_a_sleeping_card_is_not_asked(collect: Callable) -> None:
    listener = collect("asleep")
    listener.until(lambda ticks: len(samples_of(ticks, "card-0")) >= 5)
    assert listener.feed.cards()[1].state is CardState.ASLEEP
    assert samples_of(listener.ticks, "card-1") == []
    assert listener.feed.status().notices == ()


@pytest.mark.parametrize(
    ("mode", "state", "code", "again"),
    [
        ("absent", FeedState.ABSENT, "nvml_library_absent", False),
        ("mismatch", FeedState.MISMATCH, "nvml_driver_mismatch", True),
    ],
)
def test_an_unusable_library_is_a_state_with_its_code(
    collect: Callable, mode: str, state: FeedState, code: str, again: bool
) -> None:
    listener = collect(mode)
    status = listener.until_status(lambda s: s.state is state)
    assert status.code == code
    assert (status.restarts > 0) is again
    assert listener.feed.cards() == ()
    assert listener.feed.latest() is None


def test_no_cards_is_fine(collect: Callable) -> None:
    status = collect("no cards").until_status(lambda s: s.state is FeedState.OK)
    assert status.code == "telemetry_no_cards"


def test_a_hang_while_opening_ends_at_the_start_deadline(collect: Callable) -> None:
    listener = collect("hang at start", start_s=4.0)
    listener.until(lambda ticks: len(samples_of(ticks, "card-0")) >= 1)
    assert listener.feed.status().restarts >= 1


def test_the_process_ends_when_its_parent_does(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "hang", str(tmp_path / "flag"), "--fast-hz=10"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    assert isinstance(LineReader().line(child.stdout.readline()), Hello)
    assert isinstance(LineReader().line(child.stdout.readline()), Ticked)
    child.stdin.close()
    assert child.wait(600) == 0
    child.stdout.close()


def test_closing_leaves_no_process(collect: Callable) -> None:
    listener = collect("hang one")
    listener.until(lambda ticks: len(samples_of(ticks, "card-0")) >= 6)
    hello_pid = listener.feed._child.process.pid
    listener.feed.close()
    assert listener.feed.status().state is FeedState.CLOSED
    with pytest.raises(ProcessLookupError):
        os.kill(hello_pid, 0)


def test_a_wrong_argument_ends_with_the_usage_code(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "fine", str(tmp_path / "flag"), "--fast-hz=50"]
    done = subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, check=False, timeout=600)
    assert done.returncode == 2
    assert b"between 0 and 10" in done.stderr
