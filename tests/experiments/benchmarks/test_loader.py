"""The loader benchmark: a trial for what the training could eat, one for each setting, and what is left out and why."""

from dataclasses import replace

import pytest

from gputuner.assembly.setup import open_setup
from gputuner.experiments.bench import Bench
from gputuner.experiments.loading import Loading
from gputuner.model.errors import GputunerError
from gputuner.model.events import PointMeasured
from gputuner.model.points import Conditions
from gputuner.model.readings import Reading
from gputuner.model.steps import Done, Part, Report, Trial, UserCodeFailed, Warn, Work

DEMAND = 2600.0
BATCH = 64


def done(*parts, **notes):
    trial = Trial(iteration_s=(), t0_ns=0, t1_ns=int(20e9), parts=parts, notes=notes)
    return Done(trials=(trial,), part_conditions=tuple(Conditions(duration_s=1.0, samples=3) for _ in parts))


def part(rate, **params):
    return Part(
        params=params, iteration_s=(BATCH / rate,) * 30, t0_ns=int(10e9), t1_ns=int(11e9),
        work={"samples": float(BATCH)}, relative_error=1e-7,
        notes={"wait_fraction": 0.1} if params.get("phase") == "fed" else {},
    )  # fmt: skip


class Host:
    """A machine that makes 500 samples/s in each process, and hands over no more than it may."""

    def __init__(self, **facts):
        self.facts = {"cores": 8, "decode": "torchvision", "loader_batch_bytes": 38 << 20, **facts}

    def __call__(self, work):
        if work.params["part"] == "demand":
            return done(part(DEMAND, part="demand"), **self.facts)
        rate = 500.0 * max(1, work.params["workers"]) * (1.0 if work.params["pin"] else 0.9)
        rate *= 1.1 if work.params.get("decode") else 1.0
        return done(part(rate, phase="alone"), part(min(DEMAND, 0.9 * rate), phase="fed"))


def play(context, answer, full=False):
    plan, works, points, warned, result = Bench(names=("loader",), full=full).plan(context), [], [], [], None
    while True:
        try:
            step = next(plan) if result is None else plan.send(result)
        except (StopIteration, GputunerError):
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


def settings(works):
    named = ("workers", "prefetch", "pin", "persistent")
    return [tuple(work.params[name] for name in named) for work in works if work.params["part"] == "supply"]


def test_numbers_of_processes_then_the_switches_at_the_fastest(context):
    works, points, warned = play(context, Host())
    assert warned == []
    assert works[0].params["part"] == "demand"
    assert settings(works) == [
        (0, 2, True, False), (1, 2, True, True), (2, 2, True, True), (4, 2, True, True), (8, 2, True, True),
        (8, 4, True, True), (8, 2, True, False), (8, 2, False, True),
    ]  # fmt: skip
    assert [p.metric for p in points] == ["loader_rate"] * 8
    one = points[1]
    assert (one.value, one.unit) == (pytest.approx(500.0), "samples/s")
    assert one.extra["samples"] / one.extra["seconds"] == pytest.approx(one.value)
    assert one.extra["starvation_fraction"] == pytest.approx(1 - 450 / 2600, abs=1e-4)
    assert (one.extra["wait_fraction"], one.extra["consumer_rate"]) == (0.1, pytest.approx(DEMAND))
    assert points[4].extra["starvation_fraction"] == 0.0
    assert (one.extra["correct"], one.extra["checked"]) == (True, "reference")
    assert (one.params["decode"], one.params["batch"]) == ("torchvision", BATCH)


def test_decoding_on_the_card_is_tried_where_it_can_be(context):
    works, points, _ = play(context, Host(torchvision=True, dali=True))
    assert [w.params.get("decode") for w in works[-2:]] == ["torchvision_card", "dali_card"]
    assert points[-1].params["decode"] == "dali_card"
    works, _, _ = play(context, Host(torchvision=True, dali=True, decode="pillow"))
    assert not any("decode" in w.params for w in works)


def test_what_the_machine_has_no_room_for_is_told_with_its_figures(context):
    _, points, warned = play(context, Host(shared_memory_bytes=200 << 20))
    assert [p.params["workers"] for p in points if p.params["prefetch"] in (0, 2)][:3] == [0, 1, 2]
    gaps = [w.params for w in warned if w.code == "benchmark_gap"]
    assert gaps[0] == {
        "benchmark": "loader", "setting": "4 2", "reason": "shared_memory", "needs_bytes": 4 * 2 * (38 << 20),
        "free_bytes": 200 << 20,
    }  # fmt: skip


def test_one_core_of_many_is_told(context):
    host = replace(context.fingerprint.host, readings={"cores_logical": Reading(value=64, unit="")})
    pinned = replace(context, fingerprint=replace(context.fingerprint, host=host))
    _, _, (warning, *_) = play(pinned, Host(cores=1))
    assert (warning.code, warning.params) == ("loader_one_core", {"cores": 1, "host_cores": 64})


def test_a_loader_that_mixes_up_samples_is_no_number(context):
    wrong = UserCodeFailed(message="differs", traceback="", reason="wrong_result")
    _, points, warned = play(context, lambda w: Host()(w) if w.params["part"] == "demand" else wrong)
    assert points == []
    assert {w.params["reason"] for w in warned if w.code == "benchmark_failed"} == {"wrong_result"}


def test_the_benchmark_and_the_question_of_ones_own_loader_agree(tmp_path):
    """On one simulated card and host: the same setting delivers the same to both, and starves as much."""
    setup = open_setup(simulate=("rtx-3090",), data_dir=tmp_path)
    told = {}
    for spec in (Bench(names=("loader",)), Loading(batch=BATCH, minutes=4.0)):
        events = list(setup.start(spec, setup.cards()))
        told[spec.name] = [e.point for e in events if isinstance(e, PointMeasured)]
    setup.close()
    rates = {
        name: {
            (p.params["workers"], p.params["pin"]): p.value
            for p in told[name]
            if p.metric == metric and p.params["prefetch"] in (0, 2)
        }
        for name, metric in (("bench", "loader_rate"), ("loading", "loader_supply"))
    }
    both = {*rates["bench"]} & {*rates["loading"]}
    assert both
    for setting in both:
        assert rates["bench"][setting] == pytest.approx(rates["loading"][setting], rel=0.02)
    pinned = [p for p in told["bench"] if p.params["pin"] and p.params["prefetch"] in (0, 2) and "fed_rate" in p.extra]
    starved = [p.extra["starvation_fraction"] for p in sorted(pinned, key=lambda p: p.params["workers"])]
    assert starved[0] > 0.5
    assert starved[-1] < 0.05
