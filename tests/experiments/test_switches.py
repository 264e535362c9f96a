"""The search over switches: few trials, never far from the grid's best, and nothing told that was not measured."""

from dataclasses import replace

import numpy as np
import pytest

from gputuner.analysis.switches import Setting, by_setting, decide
from gputuner.experiments.switches import Switching
from gputuner.model.advice import Confidence
from gputuner.model.cards import CatalogMatch, Support
from gputuner.model.errors import DoesNotFit, UsageError
from gputuner.model.points import Flag
from gputuner.model.steps import OutOfMemory, UserCodeFailed, Work

UNSUPPORTED = UserCodeFailed(message="no such thing here", traceback="", reason="unsupported")


def card_with(lab, factors=None, **changes):
    """A card whose rates follow ``factors(params)``."""

    class Card(lab.FakeCard):
        def rate(self, params):
            return super().rate({**params, "channels_last": False}) * (factors(params) if factors else 1.0)

    made = lab.h200(24.0)
    return Card(**{**made.__dict__, **changes})


def played(lab, spec=None, card=None, *, minutes=6.0, script=None, **changes):
    card = card or card_with(lab, usual)
    return lab.Performer(card, script).perform(
        (spec or Switching()).plan(lab.context_of(card, minutes=minutes, **changes))
    )


def usual(params):
    """Tensor cores like channels-last, the compiler helps, a fused optimizer a little."""
    factor = 1.2 if params.get("channels_last") and params["precision"] in ("fp16", "bf16") else 1.0
    factor *= 1.15 if params.get("compile") else 1.0
    factor *= 1.04 if params.get("optimizer_kind") == "fused" else 1.0
    return factor * (0.7 if params.get("checkpointing") else 1.0)


def test_the_search_finds_the_best_of_the_grid_with_fewer_trials(lab):
    told = played(lab)
    decided = decide(told.points)
    assert decided.grid == Setting(precision="fp16", channels_last=True, switches=(("compile", True),))
    grid = [s for s in by_setting(told.points) if s.in_grid]
    assert len(grid) <= 11 < 16
    assert told.codes().count("worker_lost") == 0


def test_a_switch_that_gains_is_measured_in_turn_and_told_with_an_interval(lab):
    told = played(lab)
    decided = decide(told.points)
    assert dict(decided.chosen.switches) == {"compile": True, "optimizer_kind": "fused"}
    assert decided.gain.low < decided.gain.value < decided.gain.high
    (answer,) = told.of("switches_gain")
    assert answer.value == pytest.approx(1.0 + decided.gain.value)
    measured = by_setting(told.points)
    assert len(measured[decided.chosen]) >= 2
    assert len(measured[decided.base]) >= 2


def test_all_trials_are_at_one_batch(lab):
    told = played(lab)
    assert len({p.params["batch"] for p in told.of("train_throughput", phase="switch")}) == 1
    asked = played(lab, Switching(batch=24))
    assert {p.params["batch"] for p in asked.of("train_throughput", phase="switch")} == {24}
    assert not asked.of("train_throughput", phase="switch_batch")


@pytest.mark.parametrize("seed", range(12))
def test_the_choice_is_never_3_percent_below_the_best_of_the_grid(lab, seed):
    """Rates as on chips: formats apart by their units, layout and compiler acting more or less on each."""
    random = np.random.default_rng(seed)
    formats = {"fp32": 1.0, "tf32": random.uniform(1.1, 3.0), "bf16": random.uniform(0.9, 4.0)}
    formats["fp16"] = formats["bf16"] * random.uniform(0.97, 1.3)
    layout = {name: random.uniform(0.85, 1.4) for name in formats}
    compiler = {name: random.uniform(0.95, 1.35) for name in formats}
    both = random.uniform(0.9, 1.1)

    def factors(params):
        name, last = params["precision"], bool(params.get("channels_last"))
        found = formats[name] * (layout[name] if last else 1.0)
        if params.get("compile"):
            found *= compiler[name] * (both if last else 1.0)
        return found / base[name]

    card = card_with(lab, factors)
    base = {name: card.rates[name][-1][1] for name in formats}
    base = {name: each / base["fp32"] for name, each in base.items()}
    told = played(lab, card=card, minutes=8.0)
    decided = decide(told.points)
    batch = int(told.of("switches_gain")[0].params["batch"])

    def true(setting):
        return card.rate({**setting.named(), "batch": batch})

    every = [
        Setting(precision=name, channels_last=last, switches=(("compile", True),) if compiled else ())
        for name in formats for last in (False, True) for compiled in (False, True)
    ]  # fmt: skip
    shortlisted = max(true(s) for s in every)
    assert true(decided.grid) >= 0.97 * shortlisted


def test_where_launching_is_the_limit_the_format_that_the_compiler_sets_free_is_found(lab):
    """Eager, autocast costs the host time and FP32 is the fastest; compiled, the tensor cores decide."""
    host = {"fp32": 1000.0, "tf32": 1000.0, "bf16": 930.0, "fp16": 920.0}
    units = {"fp32": 1050.0, "tf32": 1500.0, "bf16": 3000.0, "fp16": 2400.0}

    def rate(params):
        name = params["precision"]
        return min(units[name], host[name] * (4.0 if params.get("compile") else 1.0))

    card = card_with(lab)
    card.rate = rate
    decided = decide(played(lab, card=card).points)
    assert (decided.grid.precision, decided.grid.switches) == ("bf16", (("compile", True),))


def test_where_casts_cost_the_host_half_precision_is_still_compiled(lab):
    """Milliseconds of host and card, eager and compiled: BF16 is at 71 % of FP32 and the fastest once compiled."""
    eager = {"fp32": 3.0, "tf32": 3.0, "bf16": 4.2, "fp16": 4.8}
    compiled = {"fp32": 2.6, "tf32": 1.8, "bf16": 1.4, "fp16": 1.9}
    card = card_with(lab)
    card.rate = lambda params: 8e3 / (compiled if params.get("compile") else eager)[params["precision"]]
    decided = decide(played(lab, card=card).points)
    assert (decided.grid.precision, dict(decided.grid.switches)) == ("bf16", {"compile": True})


@pytest.mark.parametrize("seed", range(12))
def test_the_choice_is_within_3_percent_where_launching_is_the_limit(lab, seed):
    """A step takes what the host or the card takes, whichever is longer; casts cost the host time until compiled."""
    random = np.random.default_rng(100 + seed)
    card_ms = {"fp32": random.uniform(1.5, 3.0), "bf16": random.uniform(0.5, 1.5)}
    card_ms |= {"tf32": card_ms["fp32"] * random.uniform(0.5, 0.9), "fp16": card_ms["bf16"] * random.uniform(0.8, 1.05)}
    casts, scaler, compiled = random.uniform(1.1, 1.6), random.uniform(0.2, 0.6), random.uniform(0.3, 0.6)
    fused = {name: random.uniform(0.75, 0.98) for name in card_ms}

    def rate(params):
        name = params["precision"]
        half, whole = name in ("bf16", "fp16"), bool(params.get("compile"))
        host = 3.0 * (compiled if whole else casts if half else 1.0) + (scaler if name == "fp16" else 0.0)
        layout = 0.95 if params.get("channels_last") else 1.0
        return 8e3 / (max(host, card_ms[name] * (fused[name] if whole else 1.0)) * layout)

    card = card_with(lab)
    card.rate = rate
    decided = decide(played(lab, card=card, minutes=8.0).points)
    best = max(rate({"precision": name, "compile": whole}) for name in card_ms for whole in (False, True))
    assert rate(decided.grid.named()) >= 0.97 * best


def test_the_gain_comes_from_fresh_trials_in_turn(lab):
    told = played(lab, minutes=10.0)
    last = [p for p in told.of("train_throughput", phase="switch") if p.extra.get("confirms")]
    decided = decide(told.points)
    order = [Setting.of(p) for p in last]
    assert order == [decided.chosen, decided.base, decided.base, decided.chosen]
    gains = [p.value for p in last]
    assert 1 + decided.gain.value == pytest.approx((gains[0] * gains[3] / gains[1] / gains[2]) ** 0.5)


def test_a_captured_step_gets_no_line_of_memory(lab):
    class Card(lab.FakeCard):
        def need(self, params):
            return super().need(params) * (0.3 if params.get("cuda_graph") else 1.0)

    card = Card(**lab.h200(24.0).__dict__)
    told = played(lab, Switching(compile=False), card)
    assert told.of("batch_room")
    assert not [p for p in told.of("batch_room") if p.params.get("cuda_graph")]
    savers = [a for a in told.advised.advice if a.id == "switches.memory"]
    assert not [a for a in savers if a.params.get("cuda_graph")]


def test_what_cannot_run_is_told_with_its_reason_and_the_search_goes_on(lab):
    def script(step):
        params = step.params if isinstance(step, Work) else {}
        return UNSUPPORTED if params.get("compile") or params.get("precision") == "bf16" else None

    told = played(lab, script=script)
    assert decide(told.points).chosen.precision == "fp16"
    left_out = [w.params for w in told.warned if w.code == "switch_unavailable"]
    assert {"no such thing here"} == {params["reason"] for params in left_out}
    compiled = [params["precision"] for params in left_out if params.get("compile") is True]
    assert len(compiled) == len(set(compiled)) > 1, "one format's failure does not end it for others"


def test_a_compiler_that_fails_for_one_format_is_tried_for_the_next(lab):
    def script(step):
        params = step.params if isinstance(step, Work) else {}
        return UNSUPPORTED if params.get("compile") and params.get("precision") == "fp16" else None

    measured = by_setting(played(lab, script=script).points)
    assert {s.precision for s in measured if dict(s.switches) == {"compile": True}} >= {"bf16"}


def test_where_fp32_does_not_fit_all_are_compared_at_half_the_batch(lab):
    card = card_with(lab, usual)

    def script(step):
        too_much = isinstance(step, Work) and step.params["precision"] == "fp32" and step.params["batch"] > 8
        return OutOfMemory(message="CUDA out of memory") if too_much else None

    told = played(lab, card=card, script=script)
    assert {p.params["batch"] for p in told.of("train_throughput", phase="switch")} == {8}
    halved = [w.params for w in told.warned if w.code == "switch_batch_halved"]
    assert [params["half"] for params in halved][-1] == 8
    assert {p.params["precision"] for p in told.of("train_throughput", phase="switch")} == {
        "fp32",
        "tf32",
        "fp16",
        "bf16",
    }


def test_nothing_fits(lab):
    full = OutOfMemory(message="CUDA out of memory", free_bytes=1 << 20)
    with pytest.raises(DoesNotFit):
        played(lab, script=lambda step: full)


@pytest.mark.parametrize("minutes", [1.0, 2.0, 4.0])
def test_the_time_is_kept_and_what_is_left_out_is_said_once(lab, minutes):
    told = played(lab, minutes=minutes)
    assert told.seconds <= 60.0 * minutes
    stages = [w.params["stage"] for w in told.warned if w.code == "stage_skipped"]
    assert len(stages) == len(set(stages))
    assert told.advised is not None
    if minutes == 1.0:
        assert "switch_compile" in stages


def test_expandable_segments_get_a_process_of_their_own(lab):
    told = played(lab, Switching(compile=False))
    works = [s for s in told.steps if isinstance(s, Work) and s.params.get("expandable_segments")]
    assert works
    assert all(("PYTORCH_ALLOC_CONF", "expandable_segments:True") in work.environment for work in works)
    others = [s for s in told.steps if isinstance(s, Work) and not s.params.get("expandable_segments")]
    assert not any(work.environment for work in others)


def test_a_failed_capture_is_followed_by_a_fresh_process(lab):
    def script(step):
        return UNSUPPORTED if isinstance(step, Work) and step.params.get("cuda_graph") else None

    told = played(lab, Switching(compile=False), script=script)
    works = [s for s in told.steps if isinstance(s, Work)]
    place = next(i for i, work in enumerate(works) if work.params.get("cuda_graph"))
    assert works[place + 1].fresh
    assert not works[place + 2].fresh


def test_saved_memory_is_measured_and_the_room_it_makes_is_a_prediction(lab):
    class Card(lab.FakeCard):
        def need(self, params):
            fixed, per_sample = self.memory[params["precision"]]
            return fixed + per_sample * params["batch"] * (0.5 if params.get("checkpointing") else 1.0)

    made = lab.h200(24.0)
    card = Card(**made.__dict__)
    told = played(lab, Switching(compile=False), card)
    rooms = {bool(p.params.get("checkpointing")): p for p in told.of("batch_room")}
    fixed, per_sample = card.memory["fp16"]
    assert rooms[True].value == pytest.approx((card.capacity - fixed) / (0.5 * per_sample), rel=0.01)
    assert rooms[True].value > 1.9 * rooms[False].value
    assert all(Flag.EXTRAPOLATED in point.flags for point in rooms.values())
    saver = next(a for a in told.advised.advice if a.id == "switches.memory" and a.params.get("checkpointing"))
    assert saver.params["room"] == rooms[True].value


def turing(lab):
    """C-053: a T4, compute capability 7.5: FP16 on tensor cores, BF16 emulated and slower than FP32."""
    rates = {"fp32": 4.1, "fp16": 22.0, "bf16": 1.9}
    card = lab.h200(16.0)
    card = replace(card, rates={name: [(1, each)] for name, each in rates.items()}, layout_factor=1.0)
    info = replace(
        lab.context_of(card).card, name="Tesla T4", compute_capability="7.5",
        catalog=CatalogMatch(
            catalog_id="t4", name="Tesla T4",
            features={"fp16_tensor": Support.NATIVE, "bf16": Support.EMULATED, "tf32": Support.ABSENT},
        ),
    )  # fmt: skip
    return card, info


def test_c053_emulated_bf16_is_listed_with_its_speed_and_never_advised(lab):
    card, info = turing(lab)
    context = replace(lab.context_of(card, minutes=6.0), card=info)
    told = lab.Performer(card).perform(Switching(compile=False).plan(context))
    assert {p.params["precision"] for p in told.of("train_throughput", phase="switch")} == {"fp32", "fp16", "bf16"}
    bf16 = told.of("train_throughput", phase="switch", precision="bf16", channels_last=False)[0]
    assert Flag.EMULATED in bf16.flags
    best = next(a for a in told.advised.advice if a.id == "switches.best")
    assert best.params["precision"] == "fp16"
    assert best.params["emulated_rate"] == pytest.approx(1.9, rel=0.02)
    assert "GradScaler" in best.snippet


def test_without_time_to_compare_the_chip_is_judged_by_and_it_says_so(lab):
    card, info = turing(lab)

    def script(step):
        first = isinstance(step, Work) and step.params["precision"] in ("fp32", "fp16")
        return None if first else UNSUPPORTED

    context = replace(lab.context_of(replace(card, setup_s=6.0), minutes=0.2), card=info)
    told = lab.Performer(replace(card, setup_s=6.0), script).perform(Switching(compile=False).plan(context))
    (advice,) = [a for a in told.advised.advice if a.id.startswith("switches")]
    assert (advice.id, advice.params["precision"]) == ("switches.by_chip", "fp16")
    assert advice.confidence is Confidence.MODEL


def test_c052_without_tensor_cores_fp32_stays_and_fp16_is_offered_for_memory_with_its_cost(lab):
    """GTX 1080 Ti: 8.96 s and 16.22 s per 100 steps, 9100 and 6400 MiB."""
    mib = float(1 << 20)
    card = lab.h200(11.0)
    card = replace(
        card,
        rates={"fp32": [(1, 32 / 0.0896)], "fp16": [(1, 32 / 0.1622)], "bf16": [(1, 32 / 0.3)]},
        memory={"fp32": (0.0, 9100 * mib / 32), "fp16": (0.0, 6400 * mib / 32), "bf16": (0.0, 6400 * mib / 32)},
        layout_factor=1.0,
        noise=0.0005,
    )
    info = replace(
        lab.context_of(card).card, name="NVIDIA GeForce GTX 1080 Ti", compute_capability="6.1",
        catalog=CatalogMatch(
            catalog_id="gtx-1080-ti", name="GTX 1080 Ti",
            features={"fp16_tensor": Support.ABSENT, "bf16": Support.EMULATED, "tf32": Support.ABSENT},
        ),
    )  # fmt: skip
    context = replace(lab.context_of(card, minutes=6.0), card=info)
    told = lab.Performer(card).perform(Switching(compile=False, batch=32).plan(context))
    by_id = {a.id: a for a in told.advised.advice if a.params["precision"] in ("fp32", "fp16")}
    best = by_id["switches.best"]
    assert best.params["precision"] == "fp32"
    assert best.params["keep"] is True
    assert best.params["chip"] == "NVIDIA GeForce GTX 1080 Ti"
    saver = by_id["switches.memory"]
    assert saver.params["precision"] == "fp16"
    assert saver.params["cost"] == pytest.approx(0.81, abs=0.01)
    assert saver.params["memory_change"] == pytest.approx(6400 / 9100 - 1.0, abs=0.005)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"workload": "alexnet"}, "workload_unknown"), ({"minutes": 0.0}, "minutes_out_of_range"),
     ({"batch": -1}, "value_out_of_range"), ({"recipe": "mine.py"}, "recipe_malformed")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options, code):
    with pytest.raises(UsageError) as refused:
        Switching(**options)
    assert refused.value.code == code
