"""Attention, convolutions, links, loader and launches: what is asked, what is told, what is left out and why."""

from dataclasses import replace

import pytest

from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.benchmark import Machine
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS
from gputuner.experiments.benchmarks.links import needs_two_cards
from gputuner.experiments.benchmarks.loader import needs_fork
from gputuner.model.cards import CPU_CARD
from gputuner.model.errors import GputunerError
from gputuner.model.points import Conditions, Flag
from gputuner.model.readings import Reading
from gputuner.model.steps import Done, Lost, OutOfMemory, Part, Report, Trial, UserCodeFailed, Warn, Work

BY_NAME = {b.name: b for b in BENCHMARKS}


def part(params, work, seconds=(0.01,) * 30, at=10, **notes):
    return Part(
        params=params, iteration_s=seconds, t0_ns=int(at * 1e9), t1_ns=int(at * 1e9) + 1, work=work,
        relative_error=1e-3, notes=notes,
    )  # fmt: skip


def done(*parts, whole=None, own=None):
    trial = Trial(iteration_s=(), t0_ns=0, t1_ns=int(20e9), parts=parts)
    conditions = tuple(own or Conditions(duration_s=1.0, samples=3) for _ in parts)
    return Done(trials=(trial,), conditions=whole, part_conditions=conditions)


def play(context, name, answer, full=False):
    plan = Bench(names=(name,), full=full).plan(context)
    works, points, warned, result = [], [], [], None
    while True:
        try:
            step = next(plan) if result is None else plan.send(result)
        except (StopIteration, GputunerError):  # where nothing gave a figure, the run ends with an error
            return works, points, warned
        result = Done()
        match step:
            case Work():
                works.append(step)
                result = answer(step)
            case Report(points=told):
                points += told
            case Warn():
                warned.append(step)


@pytest.fixture
def context(lab):
    return lab.context_of(lab.h200(), minutes=60.0)


def with_others(context, count):
    others = tuple(replace(context.card, uuid=f"GPU-other-{n}", index=n + 1) for n in range(count))
    return replace(context, others=others)


@pytest.mark.parametrize("name", ["attention", "conv", "pcie", "p2p", "allreduce", "loader", "launch"])
def test_they_are_listed_under_their_own_names(name):
    assert BY_NAME[name].group == name
    assert BY_NAME[name].default_s > 0


def test_operations_and_seconds_of_attention_give_its_rate(context):
    params = {"backend": "flash", "direction": "forward", "sequence": 4096, "precision": "bf16"}
    answer = done(part(params, {"flop": 4e12}, allocated_peak_bytes=77))
    works, (point,), warned = play(context, "attention", lambda _: answer)
    assert works[0].params["sequences"] == "1024 4096 16384"
    assert works[0].params["backends"] == "flash cudnn efficient math"
    assert (point.metric, point.unit, point.value) == ("attention_rate", "FLOP/s", pytest.approx(4e14))
    assert point.value * point.extra["seconds"] == pytest.approx(point.extra["operations"])
    assert point.extra["operations"] == 4e12
    assert point.extra["allocated_peak_bytes"] == 77
    assert point.extra["correct"] is True
    assert warned == []


def test_full_goes_to_32k_positions(context):
    works, _, _ = play(context, "attention", lambda _: done(), full=True)
    assert works[0].params["sequences"] == "1024 2048 4096 8192 16384 32768"


def test_a_gap_is_told_and_the_rest_are_figures(context):
    params = {"backend": "math", "direction": "forward", "sequence": 32768, "causal": True}
    answer = done(
        part({**params, "sequence": 1024}, {"flop": 1e12}),
        part(params, {}, seconds=(), gap="out_of_memory", needs_bytes=240, free_bytes=140),
    )
    _, points, (warning,) = play(context, "attention", lambda _: answer)
    assert len(points) == 1
    assert warning.code == "benchmark_gap"
    assert warning.params == {
        "benchmark": "attention",
        "setting": "math forward 32768",
        "reason": "out_of_memory",
        "needs_bytes": 240,
        "free_bytes": 140,
    }


@pytest.mark.parametrize("name", ["attention", "conv", "pcie", "allreduce", "loader", "launch"])
@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (UserCodeFailed(message="differs", traceback="", reason="wrong_result"), "wrong_result"),
        (OutOfMemory(message="no room"), "out_of_memory"),
        (Done(trials=(Trial(iteration_s=(), t0_ns=0, t1_ns=1),)), "nothing_measured"),
        (Lost(message="crashed"), "lost"),
    ],
)
def test_a_failure_is_no_number(context, name, result, reason):
    _, points, warned = play(with_others(context, 1), name, lambda _: result)
    assert points == []
    failed = [w for w in warned if w.code == "benchmark_failed"]
    assert {(w.params["benchmark"], w.params["reason"]) for w in failed} == {(name, reason)}


def test_convolutions_in_bursts_have_the_clock_that_was_measured_in_band(context):
    params = {"shape": "3x3-64-64-56", "direction": "forward", "channels_last": True, "precision": "bf16"}
    found = part({**params, "phase": "bursts"}, {"flop": 7e12}, loaded_share=0.25, clock_mhz=1980.0)
    own = Conditions(duration_s=0.8, samples=2, sm_clock_mhz=1200.0, gpu_utilisation=0.2, power_w=300.0)
    _, points, _ = play(context, "conv", lambda _: done(found, own=own))
    # 132 SMs · 4096 operations a clock · 1.98 GHz
    assert points[0].extra["peak_at_clock"] == pytest.approx(132 * 4096 * 1.98e9)
    assert points[0].extra["mean_power_w"] == 300.0
    assert points[0].conditions.duration_s == pytest.approx(0.2)
    assert points[0].extra["held_back"] != "host"  # the card was idle in the pauses, not for want of launches
    assert points[0].flags == ()


def test_convolutions_are_measured_in_half_precision_and_tf32(context):
    params = {"shape": "3x3-64-64-56", "direction": "backward", "channels_last": True, "precision": "bf16"}
    works, points, _ = play(context, "conv", lambda _: done(part(params, {"flop": 2e11})))
    assert [w.params["precision"] for w in works] == ["bf16", "tf32"]
    assert works[0].params["shapes"].split()[0] == "3x3-64-64-56"
    assert (points[0].metric, points[0].value) == ("conv_rate", pytest.approx(2e13))


def test_a_link_read_only_once_counts_for_all_copies(context):
    slow = Conditions(duration_s=15.0, samples=30, pcie_generation=3.0, pcie_width=8.0)
    params = {"direction": "host_to_device", "pinned": True, "bytes": 1 << 20}
    answer = done(part(params, {"bytes": 2.0**20}), whole=slow)
    readings = {"pcie_generation_max": Reading(value=5, unit=""), "pcie_width_max": Reading(value=16, unit="")}
    card = replace(context.card, readings={**context.card.readings, **readings})
    _, (point,), _ = play(replace(context, card=card), "pcie", lambda _: answer)
    assert (point.conditions.pcie_generation, point.conditions.pcie_width) == (3.0, 8.0)
    assert Flag.LINK_BELOW_MAX in point.flags
    assert point.value * point.extra["seconds"] == pytest.approx(point.extra["bytes"])


def test_the_processor_has_no_links_but_reduces_over_two_threads(lab, context):
    machine = Machine(card=replace(context.card, uuid=CPU_CARD))
    assert BY_NAME["pcie"].unavailable(machine).code == "gpu_only"
    assert needs_two_cards(machine).code == "gpu_only"
    assert BY_NAME["allreduce"].unavailable(machine) is None


def test_one_card_is_not_enough_for_copies_between_cards(context):
    assert needs_two_cards(Machine(card=context.card)).code == "needs_two_cards"
    assert needs_two_cards(Machine(card=context.card, others=(context.card,))) is None
    works, _, (warning,) = play(context, "p2p", lambda _: done())
    assert works == []
    assert (warning.code, warning.params["reason"]) == ("benchmark_unavailable", "needs_two_cards")


def test_the_worker_of_a_copy_between_cards_sees_the_other_card(context):
    both = with_others(context, 3)
    params = {"direction": "to_peer", "bytes": 1 << 20}
    works, points, _ = play(both, "p2p", lambda _: done(part(params, {"bytes": 2.0**20})))
    assert [w.peers for w in works] == [("GPU-other-0",)]
    assert points[0].params["peer"] == both.others[0].title
    assert (points[0].metric, points[0].unit) == ("peer_bandwidth", "B/s")
    works, _, _ = play(both, "allreduce", lambda _: done(part({"bytes": 4}, {"bytes": 4.0})))
    assert works[0].peers == ("GPU-other-0", "GPU-other-1", "GPU-other-2")
    works, _, _ = play(both, "p2p", lambda _: done(part(params, {"bytes": 2.0**20})), full=True)
    assert [w.peers for w in works] == [(f"GPU-other-{n}",) for n in range(3)]


def test_a_copy_that_hangs_is_told_as_such(context):
    hung = Lost(message="no answer within the trial's time", hung=True)
    works, points, warned = play(with_others(context, 1), "p2p", lambda _: hung)
    assert points == []
    assert [w.params["reason"] for w in warned if w.code == "benchmark_failed"] == ["p2p_hangs"]
    assert works[0].budget_s < 30.0


def test_windows_has_no_loader_processes(monkeypatch, context):
    assert needs_fork(Machine(card=context.card)) is None
    monkeypatch.setattr("sys.platform", "win32")
    assert needs_fork(Machine(card=context.card)).code == "needs_fork"


def test_launches_are_times_and_a_graph_tells_its_gain(context):
    modes = {"dispatch": (1000, 1e-3), "enqueue": (100, 4e-4), "back_to_back": (100, 5e-4), "graph": (100, 1e-4)}
    answer = done(
        *(part({"mode": m}, {"calls": float(calls)}, seconds=(s,) * 30) for m, (calls, s) in modes.items())
    )  # fmt: skip
    _, points, _ = play(context, "launch", lambda _: answer)
    told = [(p.metric, p.params["mode"], p.unit, pytest.approx(p.value)) for p in points]
    assert told == [
        ("host_rate", "dispatch", "ops/s", 1e6),
        ("launch_time", "enqueue", "s", 4e-6),
        ("launch_time", "back_to_back", "s", 5e-6),
        ("graph_launch_time", "graph", "s", 1e-6),
    ]
    assert points[3].extra["gain"] == pytest.approx(5.0)
    for point in points[1:]:
        assert point.value * point.extra["calls"] == pytest.approx(point.extra["seconds"])
        assert point.spread.n == 30
