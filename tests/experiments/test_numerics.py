"""The numerical check as a plan: formats against the FP32 band, with runs that are really computed."""

from dataclasses import replace

import numpy as np
import pytest

from gputuner.experiments.numerics import Numerics
from gputuner.language.advice import advice_why
from gputuner.model.cards import Origin
from gputuner.model.errors import DoesNotFit, UsageError, UserCodeError
from gputuner.model.points import Flag
from gputuner.model.steps import Cancelled, Done, Lost, OutOfMemory, Part, Trial, UserCodeFailed
from gputuner.workloads.simulated_numerics import StandIn

RECIPE = {"recipe": "folder/mine.py:make", "folder": "/home/someone"}


class Trainer:
    """Answers runs from the stand-in network; ``change`` alters the notes of each step of a format."""

    def __init__(self, step_s=0.02, change=None, extra=(), notes=None):
        self.step_s, self.change, self.extra = step_s, change, extra
        self.notes = notes or {}
        self.asked = []
        self.now_s = 10.0

    def __call__(self, work):
        params = work.params
        self.asked.append(work)
        run = StandIn(
            precision=params["precision"], draw=params["draw"], batches=params["batches"], twin=params["twin"]
        )
        run = run.run(params["steps"])
        parts, now = [], self.now_s + 1.0
        for place, step in enumerate(run):
            notes = {"loss": step.loss}
            if step.scale is not None:
                notes |= {"scale": step.scale, "skipped": step.skipped}
            if self.change:
                notes = self.change(params["precision"], place, notes)
            if now - self.now_s > work.measure_s:
                break
            parts.append(part({"step": place}, notes, now, self.step_s))
            now += self.step_s
        parts += [
            part(of, told, now, 1e-9, ()) for precision, of, told in self.extra if precision == params["precision"]
        ]
        self.now_s, started = now, self.now_s
        noted = self.notes.get(params["precision"], {})
        trial = Trial(iteration_s=(), t0_ns=int(started * 1e9), t1_ns=int(now * 1e9), parts=tuple(parts), notes=noted)
        return Done(trials=(trial,))


def part(params, notes, at_s, seconds, windows=None):
    windows = (seconds,) if windows is None else windows
    t0_ns = int(at_s * 1e9)
    return Part(params=params, iteration_s=windows, t0_ns=t0_ns, t1_ns=t0_ns + max(1, int(seconds * 1e9)), notes=notes)


def played(lab, spec, trainer, *, minutes=4.0, cpu=False, **changes):
    card = lab.h200()
    context = lab.context_of(card, minutes=minutes, cpu=cpu, **changes)
    return lab.Performer(card, trainer).perform(spec.plan(context))


def verdicts(told):
    return {p.params["precision"]: p.params["verdict"] for p in told.of("numerics_verdict")}


def test_rounding_alone_trains_as_fp32_does(lab):
    told = played(lab, Numerics(), Trainer())
    assert verdicts(told) == {"fp32": "reference", "tf32": "kept", "bf16": "kept", "fp16": "kept"}
    assert told.advised.advice[0].id == "numerics.kept"
    assert told.advised.advice[0].params["precision"] == "bf16"
    assert "bfloat16" in told.advised.advice[0].snippet
    params = told.advised.advice[0].params
    assert (params["seeds"], params["twins"]) == (4, 3)
    assert all(float(f"{params[name]:.2g}") == params[name] for name in ("tolerance", "paired_end_tolerance"))
    assert "few runs (4 FP32 runs with other seeds, 3 of the same start)" in advice_why(told.advised.advice[0])


def test_the_band_is_that_of_several_starts_and_the_formats_share_one(lab):
    trainer = Trainer()
    told = played(lab, Numerics(seeds=5), trainer)
    runs = [(w.params["precision"], w.params["draw"], w.params["twin"]) for w in trainer.asked[1:]]
    formats = [("tf32", 0, 0), ("bf16", 0, 0), ("fp16", 0, 0)]
    assert runs == [("fp32", draw, 0) for draw in range(5)] + [("fp32", 0, 1), ("fp32", 0, 2)] + formats
    assert len({(w.params["steps"], w.params["batches"], w.params["batch"]) for w in trainer.asked[1:]}) == 1
    band = told.of("train_loss_band")
    assert [p.params["step"] for p in band] == sorted(p.params["step"] for p in band)
    assert all(p.extra["low"] < p.value < p.extra["high"] and p.extra["draws"] == 5 for p in band)
    assert 50 < len(told.of("train_loss", precision="bf16")) <= 100


def worse(precision, place, notes):
    return {**notes, "loss": notes["loss"] + 0.3} if precision == "bf16" else notes


def test_a_format_that_ends_higher_is_advised_against_and_another_named(lab):
    told = played(lab, Numerics(), Trainer(change=worse))
    assert verdicts(told)["bf16"] == "apart"
    (against,) = [a for a in told.advised.advice if a.id == "numerics.apart"]
    assert (against.params["precision"], against.params["instead"]) == ("bf16", "fp16")
    (point,) = told.of("numerics_verdict", precision="bf16")
    assert point.value == pytest.approx(0.3, abs=0.05)
    assert point.value > point.extra["tolerance"]
    assert point.extra["same_start"] == pytest.approx(0.3, abs=0.01)


def test_the_verdict_can_be_made_again_from_its_figure(lab):
    """Means of all FP32 runs, the tolerance and the fall stand beside it: the formulas of the docstrings by hand."""
    told = played(lab, Numerics(), Trainer())
    (point,) = told.of("numerics_verdict", precision="bf16")
    extra = point.extra
    ends = np.array([extra[f"fp32_end_{place}"] for place in (1, 2, 3, 4)])
    assert extra["fp32_end_loss"] == pytest.approx(ends.mean())
    assert point.value == pytest.approx(extra["end_loss"] - ends.mean())
    seeds = 3.182446 * ends.std(ddof=1) * 1.25**0.5
    assert extra["tolerance"] == pytest.approx(max(seeds, extra["least"]))
    for name in ("early", "end"):
        twins = np.array([extra[f"twin_{name}_{place}"] for place in (1, 2, 3)])
        assert extra[f"paired_{name}"] == pytest.approx(extra[f"paired_{name}_loss"] - twins.mean())
        own = 6.2053 * twins.std(ddof=1) * (4 / 3) ** 0.5
        assert extra[f"paired_{name}_tolerance"] == pytest.approx(max(own, extra["least"]), rel=1e-3)
    assert extra["twin_end_1"] == pytest.approx(extra["fp32_end_1"])
    assert extra["seen_share"] == pytest.approx(extra["seen"] / extra["fall"])
    assert extra["seen_share"] < 0.05


def slower(precision, place, notes):
    """BF16 stays behind on the way down and is level at the end."""
    return {**notes, "loss": notes["loss"] + 0.3 * (place < 60)} if precision == "bf16" else notes


def test_a_format_that_falls_more_slowly_is_worse_though_its_end_is_that_of_fp32(lab):
    told = played(lab, Numerics(), Trainer(change=slower))
    (point,) = told.of("numerics_verdict", precision="bf16")
    assert (point.params["verdict"], point.extra["why"]) == ("apart", "early")
    assert point.value < point.extra["tolerance"]
    assert [a.params["precision"] for a in told.advised.advice if a.id == "numerics.apart"] == ["bf16"]


def collapsing(precision, place, notes):
    """From step 10 on nothing but overflow: the scale halves without end."""
    if precision != "fp16" or place < 10:
        return notes
    return {"scale": 65536.0 / 2 ** (place - 9), "skipped": True}


def test_c051_a_collapse_of_the_scale_is_a_divergence_with_its_first_step(lab):
    told = played(lab, Numerics(), Trainer(change=collapsing))
    (point,) = told.of("numerics_verdict", precision="fp16")
    assert (point.params["verdict"], point.extra["why"], point.extra["scaler"]) == ("diverged", "scaler", "collapsed")
    assert point.extra["first_bad_step"] == 11  # from 1 on
    assert point.extra["useful_share"] == pytest.approx(10 / point.extra["steps"])
    collapse = next(a for a in told.advised.advice if a.id == "numerics.collapse")
    assert collapse.params["instead"] == "bf16"
    assert max(p.params["step"] for p in told.of("train_loss", precision="fp16")) <= 10


OVERFLOW = [
    ("fp16", {"activation": "block.2.ff.wi"}, {"largest": 1834.0, "finite": True, "half": True, "order": 0}),
    ("fp16", {"activation": "block.2.ff.wo"}, {"largest": 60000.0, "finite": False, "half": True, "order": 1}),
    ("bf16", {"activation": "block.2.ff.wi"}, {"largest": 1834.0, "finite": True, "half": True, "order": 0}),
    ("bf16", {"activation": "block.2.ff.wo"}, {"largest": 66246.4, "finite": True, "half": True, "order": 1}),
]


def test_c056_the_first_module_that_overflows_is_named_with_bf16_as_the_way(lab):
    trainer = Trainer(change=collapsing, extra=OVERFLOW, notes={"fp16": {"first_bad_place": "block.2.ff.wo"}})
    told = played(lab, Numerics(), trainer)
    overflow = next(a for a in told.advised.advice if a.id == "numerics.overflow")
    assert (overflow.params["place"], overflow.params["instead"]) == ("block.2.ff.wo", "bf16")
    assert overflow.params["largest"] == 66246.4
    assert not [a for a in told.advised.advice if a.id == "numerics.collapse"]


def test_c056_without_a_native_bf16_that_module_alone_computes_in_fp32(lab):
    trainer = Trainer(change=collapsing, extra=OVERFLOW, notes={"fp16": {"first_bad_place": "block.2.ff.wo"}})
    told = played(lab, Numerics(precision="fp16"), trainer)
    overflow = next(a for a in told.advised.advice if a.id == "numerics.overflow")
    assert overflow.params["instead"] == "fp32"
    assert 'get_submodule("block.2.ff.wo")' in overflow.snippet
    assert "Last resort" in overflow.snippet


HALF = [("fp32", {"trap": "half_weights", "name": "float16"}, {"count": 12, "where": "encoder.weight"})]
TRAPS = [
    ("bf16", {"trap": "custom_function", "name": "Mine"}, {"count": 1, "where": "mine.Mine"}),
    ("fp16", {"trap": "custom_function", "name": "Mine"}, {"count": 1, "where": "mine.Mine"}),
    ("bf16", {"operation": "softmax", "kept": "autocast"}, {"calls": 24, "elements": 1000, "where": "layers.0"}),
]


def test_traps_become_advice_once_and_operations_are_listed(lab):
    told = played(lab, Numerics(**RECIPE), Trainer(extra=TRAPS))
    ids = [a.id for a in told.advised.advice]
    assert ids.count("numerics.custom_function") == 1
    (kept,) = told.of("autocast_kept")
    assert (kept.params["operation"], kept.value) == ("softmax", 24)
    assert not any("/home" in str(p.params) + str(p.extra) for p in told.points)


def test_weights_in_half_precision_are_no_reference_and_nothing_is_compared_with_them(lab):
    told = played(lab, Numerics(**RECIPE), Trainer(extra=HALF))
    assert verdicts(told) == {"fp32": "undecided"}
    assert told.of("numerics_verdict")[0].extra["why"] == "half"
    assert [a.id for a in told.advised.advice] == ["numerics.half_weights"]


def test_a_training_with_autocast_of_its_own_has_no_fp32_reference(lab):
    own = [("fp32", {"trap": "own_autocast", "name": "float16"}, {"count": 9, "where": "layers.0"})]
    told = played(lab, Numerics(**RECIPE), Trainer(extra=own))
    assert told.of("numerics_verdict")[0].extra["why"] == "autocast"
    assert [a.id for a in told.advised.advice] == ["numerics.own_autocast"]


def test_slow_steps_mean_fewer_of_them_within_the_budget(lab):
    trainer = Trainer(step_s=0.6)
    told = played(lab, Numerics(), trainer)
    steps = {w.params["steps"] for w in trainer.asked[1:]}
    assert len(steps) == 1
    assert 24 <= steps.pop() < 60
    assert trainer.now_s < 250.0
    assert set(verdicts(told).values()) == {"reference", "kept"}


def test_a_machine_that_gets_slower_leaves_every_format_its_share(lab):
    """Steps take twice as long from the second run on: all runs are cut, none is left without a verdict."""

    class Slows(Trainer):
        def __call__(self, work):
            self.step_s = 0.3 if len(self.asked) < 2 else 0.6
            return super().__call__(work)

    trainer = Slows()
    told = played(lab, Numerics(), trainer)
    assert verdicts(told) == {"fp32": "reference", "tf32": "kept", "bf16": "kept", "fp16": "kept"}
    assert {p.extra["steps"] for p in told.of("numerics_verdict")} != {trainer.asked[1].params["steps"]}
    assert trainer.now_s < 250.0


class PerSample(Trainer):
    """Steps take time by the sample."""

    def __call__(self, work):
        self.step_s = 0.1 * work.params["batch"]
        return super().__call__(work)


def test_a_smaller_batch_is_taken_where_steps_take_too_long(lab):
    told = played(lab, Numerics(), PerSample())
    assert {p.params["batch"] for p in told.of("numerics_verdict")} == {4}
    assert set(verdicts(told).values()) == {"reference", "kept"}
    asked = played(lab, Numerics(batch=32), PerSample())
    assert {p.params["batch"] for p in asked.points} <= {32}


def test_no_time_for_a_check_is_said_and_asked_for(lab):
    told = played(lab, Numerics(), Trainer(step_s=9.0), minutes=2.0)
    assert told.codes()[-1] == "stage_skipped"
    assert not told.of("numerics_verdict")
    assert "numerics_short" in [q.id for q in told.advised.questions]
    assert "--numerics --minutes" in told.advised.questions[0].command


def test_a_format_that_is_too_slow_here_stays_undecided(lab):
    class Slow(Trainer):
        def __call__(self, work):
            self.step_s = 5.0 if work.params["precision"] == "fp16" else 0.02
            self.notes = {"fp16": {"ended": "time"}}
            return super().__call__(work)

    told = played(lab, Numerics(), Slow(), cpu=True)
    (point,) = told.of("numerics_verdict", precision="fp16")
    assert (point.params["verdict"], point.extra["why"]) == ("undecided", "slow")
    assert Flag.EMULATED in point.flags


def flat(precision, place, notes):
    return {**notes, "loss": 2.3 + 0.01 * (place % 7)}


def test_a_loss_that_does_not_fall_leaves_it_open_and_asks_for_more_steps(lab):
    told = played(lab, Numerics(), Trainer(change=flat))
    assert set(verdicts(told).values()) == {"reference", "undecided"}
    assert told.advised.advice == ()
    assert "numerics_flat" in [question.id for question in told.advised.questions]


def test_a_format_without_a_single_step_stays_undecided(lab):
    class Never(Trainer):
        def __call__(self, work):
            if work.params["precision"] != "fp16":
                return super().__call__(work)
            trial = Trial(iteration_s=(), t0_ns=int(self.now_s * 1e9), t1_ns=int(self.now_s * 1e9) + 1,
                          notes={"ended": "time", "expected_step_s": 900.0})  # fmt: skip
            return Done(trials=(trial,))

    told = played(lab, Numerics(), Never(), cpu=True)
    (point,) = told.of("numerics_verdict", precision="fp16")
    assert (point.params["verdict"], point.extra["why"], point.extra["steps"]) == ("undecided", "slow", 0)
    assert verdicts(told)["bf16"] == "kept"


def test_a_processor_has_no_tf32_and_says_so(lab):
    trainer = Trainer()
    told = played(lab, Numerics(), trainer, cpu=True)
    assert [(w.code, w.params.get("precision")) for w in told.warned][:2] == [
        ("numerics_absent", "tf32"),
        ("numerics_cpu", None),
    ]
    assert "tf32" not in verdicts(told)


def test_a_smaller_batch_is_taken_where_the_first_does_not_fit(lab):
    class Tight(Trainer):
        def __call__(self, work):
            if work.params["batch"] > 8:
                return OutOfMemory(message="CUDA out of memory")
            return super().__call__(work)

    told = played(lab, Numerics(), Tight())
    assert {p.params["batch"] for p in told.points} == {8}


def test_what_never_fits_or_fails_by_itself_ends_it(lab):
    with pytest.raises(DoesNotFit):
        played(lab, Numerics(), lambda work: OutOfMemory(message="CUDA out of memory"))
    broken = UserCodeFailed(message="not mounted", traceback="")
    with pytest.raises(UserCodeError):
        played(lab, Numerics(**RECIPE), lambda work: broken)
    with pytest.raises(UserCodeError):
        played(lab, Numerics(**RECIPE), Trainer(notes={"fp32": {"ended": "failed", "failed": "shapes differ"}}))


def test_a_format_that_fails_is_told_and_the_others_go_on(lab):
    class Refuses(Trainer):
        def __call__(self, work):
            if work.params["precision"] == "fp16":
                return UserCodeFailed(message="Attempting to unscale FP16 gradients.", traceback="")
            return super().__call__(work)

    told = played(lab, Numerics(), Refuses())
    (failed,) = [w for w in told.warned if w.code == "numerics_failed"]
    assert failed.params == {"precision": "fp16", "message": "Attempting to unscale FP16 gradients."}
    assert verdicts(told) == {"fp32": "reference", "tf32": "kept", "bf16": "kept", "fp16": "undecided"}
    (point,) = told.of("numerics_verdict", precision="fp16")
    assert (point.extra["why"], point.extra["steps"]) == ("failed", 0)


def test_every_format_has_its_row_where_an_operation_of_the_users_crashes_or_does_not_fit(lab):
    """An autograd Function of the user's in C++ may end the process; after three in a row nothing more is tried."""
    trainer = Trainer()

    def script(work):
        match work.params["precision"]:
            case "tf32":
                return OutOfMemory(message="CUDA out of memory")
            case "bf16" | "fp16":
                return Lost(message="SIGSEGV")
            case _:
                return trainer(work)

    told = played(lab, Numerics(), script)
    assert verdicts(told) == {"fp32": "reference", "tf32": "undecided", "bf16": "undecided", "fp16": "undecided"}
    why = {p.params["precision"]: p.extra.get("why") for p in told.of("numerics_verdict")}
    assert why == {"fp32": None, "tf32": "memory", "bf16": "lost", "fp16": "lost"}


def test_where_the_processes_are_lost_one_after_the_other_the_last_has_its_row_too(lab):
    trainer = Trainer()

    def script(work):
        return trainer(work) if work.params["precision"] == "fp32" else Lost(message="SIGSEGV")

    assert len(verdicts(played(lab, Numerics(), script))) == 4


def test_cancelled_keeps_what_was_measured(lab):
    trainer = Trainer()

    def until(work):
        return Cancelled() if work.params["precision"] == "bf16" else trainer(work)

    told = played(lab, Numerics(), until)
    assert verdicts(told) == {"fp32": "reference", "tf32": "kept"}


def test_a_simulated_card_says_that_it_trains_a_stand_in(lab):
    context = lab.context_of(lab.h200())
    context = replace(context, card=replace(context.card, origin=Origin.SIMULATED))
    told = lab.Performer(lab.h200(), Trainer()).perform(Numerics().plan(context))
    assert told.codes() == ["numerics_stand_in"]
    assert {(p.origin, p.workload) for p in told.points} == {(Origin.SIMULATED, "stand_in")}


@pytest.mark.parametrize(
    "wrong", [{"seeds": 1}, {"steps": 5000}, {"workload": "alexnet"}, {"precision": "fp12"}, {"precision": "fp32"}]
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError):
        Numerics(**wrong)
