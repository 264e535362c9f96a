"""Several trainings on one card: which steps are taken, what is told, what ends a run, and what is advised."""

from dataclasses import replace

import pytest

from gputuner.analysis.contention_figures import mixes
from gputuner.experiments.contention import Contend
from gputuner.experiments.contention_tuned import TunedRate
from gputuner.language import sentences
from gputuner.model.errors import DoesNotFit, UsageError
from gputuner.model.points import Flag
from gputuner.model.readings import Reading
from gputuner.model.steps import Cancelled, JobFailed, OutOfMemory, Together, Work

GIB = 1 << 30


def saturating(performer, slots: float = 1.8):
    """Up to ``slots`` jobs at once do each as alone; more share what these do."""

    def script(step):
        if not isinstance(step, Together) or len(step.works) < 2:
            return None
        before = performer.card.slowdown
        performer.card.slowdown = max(1.0, len(step.works) / slots)
        try:
            return performer.run(step)
        finally:
            performer.card.slowdown = before

    return script


def run(lab, spec, fake=None, script=None, cpu=False, **changes):
    performer = lab.Performer(fake or lab.h200(), script)
    performer.script = performer.script or saturating(performer)
    context = lab.context_of(performer.card, cpu=cpu, minutes=spec.minutes)
    return performer.perform(spec.plan(replace(context, **changes)))


def at_once(told):
    return [step for step in told.steps if isinstance(step, Together)]


def test_three_at_once_between_solo_with_as_many_processes_alive(lab):
    told = run(lab, Contend(jobs=("resnet50:batch=32",), count=3, fixed_batch=True))
    work = [step for step in told.steps if isinstance(step, Work | Together)]
    assert [len(step.works) if isinstance(step, Together) else 1 for step in work][:5] == [1, 3, 1, 3, 1]
    assert {step.idle for step in work if isinstance(step, Work)} == {2}
    assert all(step.partly for step in at_once(told))
    later = at_once(told)[1:]
    assert later
    assert all(each.fresh for step in later for each in step.works), "further rounds begin in processes of their own"
    phases = [p.params["phase"] for p in told.of("train_throughput") if p.params["phase"] != "together"]
    assert phases[0] == "alone"
    assert phases[-1] == "alone_after"
    assert set(phases[1:-1]) == {"alone_between"}


def test_slowdowns_and_gain_hold_the_truth_and_say_what_they_rest_on(lab):
    told = run(lab, Contend(jobs=("resnet50:batch=32",), count=3, fixed_batch=True))
    (mix,) = mixes(told.points)
    assert mix.label == "+".join(["resnet50:batch=32"] * 3)
    assert mix.gain.params | {"mode": "processes", "jobs": 3, "batch": 32, "precision": "bf16"} == mix.gain.params
    assert mix.gain.workload == mix.label
    assert [p.params["job"] for p in mix.slowdowns] == [1, 2, 3]
    for point, truth in ((mix.gain, 1.8), *((p, 3 / 1.8) for p in mix.slowdowns)):
        assert point.spread.ci95_low < truth < point.spread.ci95_high
        assert point.extra["rounds"] >= 3
        assert point.conditions.power_w == 690.0
    extra = mix.gain.extra
    assert (extra["one_after_other"], extra["tuned_by"], extra["valid"]) == (1.0, "fixed", True)
    assert "alone_tuned" not in extra
    assert extra["fairness"] == pytest.approx(1.0, abs=1e-3)
    assert extra["energy_ratio"] == pytest.approx(1 / 1.8, rel=0.02), "the same power for 1.8 times the work"
    job = mix.slowdowns[0].extra
    assert job["rate_together"] == pytest.approx(job["rate_alone"] * 1.8 / 3, rel=0.02)
    assert job["step_p95_over_median"] == pytest.approx(1.0, abs=0.02)
    assert job["allocated_peak_bytes"] > 0
    assert job["clock_factor"] == pytest.approx(1.0)


def test_it_ends_within_its_minutes(lab):
    assert run(lab, Contend(jobs=("resnet50:batch=256",), count=3)).seconds < 240
    assert run(lab, Contend(jobs=("resnet50:batch=256",), minutes=1.0)).seconds < 75


def test_one_job_goes_up_until_one_more_brings_nothing(lab):
    told = run(lab, Contend(jobs=("resnet50:batch=256",), fixed_batch=True))
    assert [mix.jobs for mix in mixes(told.points)] == [2, 3]
    (advice,) = [entry for entry in told.advised.advice if entry.id == "contend.how_many"]
    assert advice.params["jobs"] == 2, "three do no more"
    assert advice.gain.low < 0.8 < advice.gain.high
    assert advice.change.advised.processes == 2


def test_memory_ends_the_way_up_before_anything_fails(lab):
    told = run(lab, Contend(jobs=("resnet50:batch=256",), fixed_batch=True), lab.h200(capacity_gib=30.0))
    assert told.codes() == ["contend_memory_ends"]
    assert told.warned[0].params["jobs"] == 3
    assert [mix.jobs for mix in mixes(told.points)] == [2]


def test_most_jobs_are_kept_to(lab):
    performer = lab.Performer(lab.h200())
    spec = Contend(jobs=("resnet50:batch=256",), fixed_batch=True, max_jobs=4)
    told = run(lab, spec, script=saturating(performer, 16.0))
    assert max(mix.jobs for mix in mixes(told.points)) == 4


def test_a_mix_that_does_not_fit_is_told_and_nothing_is_said_of_it(lab):
    told = run(lab, Contend(jobs=("resnet50:batch=512", "resnet50:batch=256")), lab.h200(capacity_gib=30.0))
    assert "contend_memory_ends" in told.codes()
    assert mixes(told.points) == []
    assert [q.id for q in told.advised.questions] == ["contend_nothing"]


def test_a_job_that_does_not_fit_alone_is_an_error(lab):
    with pytest.raises(DoesNotFit) as found:
        run(lab, Contend(jobs=("resnet50:batch=4096",)), lab.h200(capacity_gib=8.0))
    assert (found.value.code, found.value.params["batch"]) == ("batch_does_not_fit", 4096)
    assert "at batch 4096" in sentences.error(found.value)


def test_survivors_of_a_job_that_failed_before_the_start_are_a_mix_of_their_own(lab):
    performer = lab.Performer(lab.h200())

    def script(step):
        if not isinstance(step, Together) or len(step.works) < 3:
            return None
        result = performer.run(replace(step, works=step.works[:2]))
        return replace(result, failed=(JobFailed(job=2, result=OutOfMemory(message="no")),))

    told = run(lab, Contend(jobs=("resnet50:batch=32",), count=3, fixed_batch=True), script=script)
    assert {mix.jobs for mix in mixes(told.points)} == {2}
    assert "contend_memory_ends" in told.codes()


def test_of_a_job_that_failed_on_the_way_only_the_time_before_counts(lab):
    performer = lab.Performer(lab.h200(), seed=3)

    def script(step):
        if not isinstance(step, Together):
            return None
        result = performer.run(step)
        middle = (result.trials[0].t0_ns + result.trials[0].t1_ns) // 2
        return replace(
            result, trials=result.trials[:2], failed=(JobFailed(job=2, result=OutOfMemory(message="no"), at_ns=middle),)
        )

    told = run(lab, Contend(jobs=("resnet50:batch=32",), count=3, fixed_batch=True), script=script)
    slowdowns = told.of("co_run_slowdown")
    assert slowdowns
    assert {p.params["jobs"] for p in slowdowns} == {3}
    assert {p.params["job"] for p in slowdowns} == {1, 2}
    assert told.of("co_run_gain") == [], "no gain of a mix that did not run as a whole"
    assert len(at_once(told)) == 1, "it is not tried again"
    whole = told.of("train_throughput", phase="alone")[0].spread.n
    assert slowdowns[0].spread.n <= 0.6 * whole


def test_c065_in_exclusive_mode_nothing_runs_beside_another_and_no_slowdown_is_told(lab):
    card = lab.h200()
    context = lab.context_of(card, minutes=4.0)
    info = replace(context.card, readings={"compute_mode": Reading(value="exclusive_process")})
    told = run(lab, Contend(jobs=("resnet50",), count=3), card, card=info)
    assert told.warned[0].code == "contend_exclusive"
    assert told.warned[0].params["jobs"] == 1
    assert at_once(told) == []
    assert {p.metric for p in told.points} == {"train_throughput"}
    assert [work.idle for work in told.works("contend_alone")] == [0], "an idle process would get no context either"
    (advice,) = told.advised.advice
    assert (advice.id, advice.params["jobs"], advice.evidence) == ("contend.exclusive", 1, ("card:compute_mode",))


def test_in_exclusive_mode_streams_of_one_process_still_run(lab):
    card = lab.h200()
    info = replace(lab.context_of(card).card, readings={"compute_mode": Reading(value="exclusive_process")})
    performer = lab.Performer(card)

    def script(step):
        result = performer.run(step)
        return replace(result, mode="streams") if isinstance(step, Together) else result

    spec = Contend(jobs=("resnet50:batch=256",), count=2, modes=("processes", "streams"), fixed_batch=True)
    told = run(lab, spec, card, script, card=info)
    assert {mix.mode for mix in mixes(told.points)} == {"streams"}
    assert all(step.mode == "streams" and step.idle == 0 for step in at_once(told))


def test_a_mode_that_cannot_be_had_gives_no_figure_of_its_name(lab):
    spec = Contend(jobs=("resnet50:batch=256",), count=2, modes=("mps", "processes"), fixed_batch=True)
    told = run(lab, spec)  # the performer always answers with mode processes
    assert {mix.mode for mix in mixes(told.points)} == {"processes"}
    assert all(p.params["mode"] == "processes" for p in told.of("train_throughput"))


def test_shares_are_measured_beside_none(lab):
    performer = lab.Performer(lab.h200())

    def script(step):
        result = performer.run(step)
        return replace(result, mode=step.mode) if isinstance(step, Together) else result

    spec = Contend(jobs=("resnet50:batch=128", "resnet50:batch=256"), modes=("mps",), thread_percentages=(30, 70),
                   fixed_batch=True)  # fmt: skip
    told = run(lab, spec, script=script)
    assert {mix.shares for mix in mixes(told.points)} == {"", "30,70"}
    assert {step.thread_percentages for step in at_once(told) if len(step.works) > 1} == {(), (30, 70)}
    assert "contend.shares_none" in {entry.id for entry in told.advised.advice}


def serialised(performer):
    """Streams whose trials say that their one Python was in their way."""
    plain = saturating(performer, 1.0)

    def script(step):
        if not isinstance(step, Together):
            return None
        result = replace(plain(step) or performer.run(step), mode=step.mode)
        if step.mode != "streams" or len(step.works) < 2:
            return result
        trials = tuple(replace(each, notes={**each.notes, "host_serialised": True}) for each in result.trials)
        return replace(result, trials=trials)

    return script


@pytest.mark.parametrize(("mode", "verdict"), [("streams", "host_serialised"), ("mps", None)])
def test_streams_that_took_turns_at_their_python_have_that_as_their_cause(lab, mode, verdict):
    performer = lab.Performer(lab.h200())
    told = run(lab, Contend(jobs=("resnet50:batch=32",), count=2, fixed_batch=True, modes=(mode,)),
               script=serialised(performer))  # fmt: skip
    found = told.of("co_run_cause")
    assert {point.extra["verdict"] for point in found} == ({verdict} if verdict else set())
    if verdict:
        assert [(p.params["cause"], p.value) for p in found] == [(verdict, 1.0)] * 2


def test_the_tuned_baseline_is_measured_by_a_climb(lab):
    told = run(lab, Contend(jobs=("resnet50:batch=32",), count=2))
    gain = mixes(told.points)[0].gain
    rates = dict(lab.h200().rates["bf16"])
    best = max(rates.values()) / rates[32]
    assert gain.extra["tuned_by"] == "measured"
    assert gain.extra["alone_tuned"] == pytest.approx(best, rel=0.03)
    assert gain.extra["tuned_batch"] > 32
    (advice,) = [entry for entry in told.advised.advice if entry.id == "contend.how_many"]
    assert advice.gain.value == pytest.approx(1.8 / best - 1, rel=0.1), "against the tuned batch, not against itself"
    assert advice.change.base.batch == gain.extra["tuned_batch"]


def stored(lab, rate: float, **more) -> TunedRate:
    params = {"batch": 512, "precision": "bf16", "channels_last": True, "image": 224, "phase": "probe"}
    return TunedRate(workload="resnet50", params=params, rate=rate, session="20260101-tune-aaaa", **more)


def test_a_stored_session_of_the_same_driver_stands_in_for_the_climb(lab):
    alone = dict(lab.h200().rates["bf16"])[32] * lab.h200().layout_factor
    spec = Contend(jobs=("resnet50:batch=32",), count=2, tuned=(stored(lab, 1.5 * alone),))
    told = run(lab, spec)
    assert [work.params["batch"] for work in told.works("train_probe")] == [512], "its batch, as fast as it is today"
    gain, rates = mixes(told.points)[0].gain, dict(lab.h200().rates["bf16"])
    assert gain.extra["tuned_by"] == "measured"
    assert gain.extra["alone_tuned"] == pytest.approx(rates[512] / rates[32], rel=0.03)
    assert gain.extra["tuned_batch"] == 512


def test_where_the_time_is_short_the_stored_rate_holds_and_is_told_as_such(lab):
    alone = dict(lab.h200().rates["bf16"])[32] * lab.h200().layout_factor
    spec = Contend(jobs=("resnet50:batch=32",), count=2, tuned=(stored(lab, 1.5 * alone),), minutes=0.5)
    told = run(lab, spec)
    assert told.works("train_probe") == []
    gain = mixes(told.points)[0].gain
    assert gain.extra["tuned_by"] == "session 20260101-tune-aaaa"
    assert gain.extra["alone_tuned"] == pytest.approx(1.5, rel=0.02)


def test_a_batch_that_is_too_large_is_tuned_downwards(lab):
    card = replace(lab.h200(), rates={"bf16": [(4, 500.0), (8, 900.0), (16, 1000.0), (32, 800.0), (64, 700.0)]})
    told = run(lab, Contend(jobs=("resnet50:batch=32",), count=2), card)
    gain = mixes(told.points)[0].gain
    assert gain.extra["tuned_batch"] == 16
    assert gain.extra["alone_tuned"] == pytest.approx(1.25, rel=0.03)
    assert min(work.params["batch"] for work in told.works("train_probe")) == 8, "two halvings"


@pytest.mark.parametrize("other", [{"driver": "1.2"}, {"torch": "9.9"}])
def test_one_of_another_driver_or_torch_does_not(lab, other):
    told = run(lab, Contend(jobs=("resnet50:batch=32",), count=2, tuned=(stored(lab, 9e9, **other),)))
    assert mixes(told.points)[0].gain.extra["tuned_by"] == "measured"


def test_cancelled_it_keeps_what_was_measured(lab):
    performer = lab.Performer(lab.h200())
    done = []

    def script(step):
        done.append(step)
        return Cancelled() if len(done) == 3 else performer.run(step)

    told = run(lab, Contend(jobs=("resnet50",), count=2), script=script)
    assert len(told.of("co_run_slowdown")) == 2
    assert told.of("co_run_gain")[0].extra["solo_after_measured"] is False


def test_a_pair_faster_than_alone_is_invalid_and_no_gain(lab):
    performer = lab.Performer(lab.h200())
    told = run(
        lab, Contend(jobs=("resnet50:batch=256",), count=2, fixed_batch=True), script=saturating(performer, 100.0)
    )
    assert mixes(told.points)[0].valid
    card = replace(lab.h200(), slowdown=0.9)
    told = run(lab, Contend(jobs=("resnet50:batch=256",), count=2, fixed_batch=True), card, script=lambda _: None)
    (mix,) = mixes(told.points)
    assert not mix.valid
    assert Flag.IMPLAUSIBLE in mix.gain.flags
    assert told.advised.advice == ()
    assert "contend_again" in {q.id for q in told.advised.questions}


def test_a_null_check_runs_each_job_beside_an_idle_partner(lab):
    told = run(lab, Contend(jobs=("resnet50:batch=32",), null=True))
    assert all(len(step.works) == 1 and step.idle == 1 for step in at_once(told))
    assert all(work.fresh and work.idle_before_s > 0 for step in at_once(told) for work in step.works), "as in a mix"
    assert {work.idle for work in told.works("contend_alone")} == {1}
    slowdowns = told.of("co_run_slowdown", null=True)
    assert len(slowdowns) >= 5
    assert len({p.params["round"] for p in slowdowns}) == len(slowdowns)
    (found,) = told.of("null_difference")
    assert found.params["mode"] == "processes"
    assert found.extra["pairs"] == len(slowdowns)
    assert found.value < 0.02
    assert found.extra["false_difference_rate"] <= 0.4
    assert (told.advised.advice, told.advised.questions) == ((), ())


@pytest.mark.parametrize("slow", [1.0, 1.03])
def test_a_null_check_finds_an_idle_partner_that_slows(lab, slow):
    performer = lab.Performer(lab.h200())

    def script(step):
        result = performer.run(step)
        if not isinstance(step, Together):
            return result
        trials = tuple(replace(each, iteration_s=tuple(slow * s for s in each.iteration_s)) for each in result.trials)
        return replace(result, trials=trials)

    (found,) = run(lab, Contend(jobs=("resnet50:batch=32",), null=True), script=script).of("null_difference")
    if slow > 1.0:
        assert found.value == pytest.approx(0.03, abs=0.01)
        assert found.extra["false_difference_rate"] > 0.8
    else:
        assert found.extra["false_difference_rate"] < 0.4


def test_a_null_check_in_every_mode_asked_for(lab):
    performer = lab.Performer(lab.h200())

    def script(step):
        result = performer.run(step)
        return replace(result, mode=step.mode) if isinstance(step, Together) else result

    told = run(lab, Contend(jobs=("resnet50:batch=32",), null=True, modes=("mps", "processes"), minutes=6.0),
               script=script)  # fmt: skip
    assert [p.params["mode"] for p in told.of("null_difference")] == ["mps", "processes"]
    assert {p.params["mode"] for p in told.of("co_run_slowdown", null=True)} == {"mps", "processes"}


def test_a_null_check_of_a_mode_that_cannot_be_had_tells_nothing_of_it(lab):
    told = run(lab, Contend(jobs=("resnet50:batch=32",), null=True, modes=("mps",)))
    assert [p.params["mode"] for p in told.of("null_difference")] == ["processes"]
    assert [step.mode for step in at_once(told)].count("mps") == 1, "asked for once"


def test_two_commands_are_refused_where_they_cannot_be():
    with pytest.raises(UsageError, match="process"):
        Contend(jobs=(), commands=(("python", "train.py"),), modes=("streams",))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"jobs": ()}, "contend_no_job"),
        ({"jobs": ("edsr", "bert"), "count": 2}, "contend_count_of_mix"),
        ({"count": 1}, "value_out_of_range"),
        ({"max_jobs": 1}, "value_out_of_range"),
        ({"modes": ()}, "contend_mode_unknown"),
        ({"modes": ("threads",)}, "contend_mode_unknown"),
        ({"null": True, "modes": ("processes", "streams")}, "contend_null_streams"),
        ({"jobs": ("edsr", "edsr"), "matrix": True}, "contend_matrix_of_one"),
        ({"thread_percentages": (50,)}, "contend_shares_mode"),
        ({"thread_percentages": (50, 60, 70), "modes": ("mps",), "count": 2}, "contend_shares"),
        ({"thread_percentages": (0, 60), "modes": ("mps",), "count": 2}, "value_out_of_range"),
        ({"priorities": (5,), "modes": ("streams",)}, "value_out_of_range"),
        ({"minutes": 0.0}, "minutes_out_of_range"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, code):
    with pytest.raises(UsageError) as refused:
        Contend(**changes)
    assert refused.value.code == code


def test_a_rehearsal_runs_nothing_of_the_users():
    spec = Contend(jobs=("mine.py:make:batch=2", "edsr"), commands=(("python", "train.py"),))
    assert spec.recipe == "mine.py:make"
    known = spec.rehearsed("resnet50")
    assert (known.jobs, known.commands, known.recipe) == (("resnet50", "edsr", "resnet50"), (), "")


def test_the_command_that_asks_again_names_no_folder():
    spec = Contend(jobs=("/home/alice/mine.py:make:batch=2", "edsr:batch=4"), modes=("mps", "processes"))
    assert spec.command() == "contend mine.py:make:batch=2 edsr:batch=4 --mode mps,processes"


def test_the_command_that_asks_again_asks_the_same():
    spec = Contend(
        jobs=("edsr", "bert"), modes=("streams",), priorities=(-1, 0), fixed_batch=True, causes=True, matrix=True
    )
    assert spec.command() == "contend edsr bert --mode streams --priority high,normal --matrix --fixed-batch"
    assert Contend(jobs=("edsr",), max_jobs=3).command() == "contend edsr --max-jobs 3"
    assert Contend(jobs=("edsr",), count=3, modes=("mps",), thread_percentages=(30,)).command() == (
        "contend edsr --jobs 3 --mode mps --thread-percentage 30"
    )


@pytest.mark.parametrize("more", [{}, {"thread_percentages": (60, 40)}])
def test_where_no_way_that_was_asked_for_can_be_had_the_jobs_run_as_processes(lab, more):
    """As the engine says of them; and what is to be asked next names no way that cannot be had."""
    told = run(lab, Contend(jobs=("resnet50:batch=32",), count=2, modes=("mps",), **more))
    assert {mix.mode for mix in mixes(told.points)} == {"processes"}
    commands = " ".join(question.command for question in told.steps[-1].questions)
    assert "--thread-percentage" not in commands
    assert "--mode mps " not in f"{commands} "


def test_on_a_processor_the_same_plan(lab):
    card = lab.two_cores()
    told = run(lab, Contend(jobs=("resnet50:batch=8",), count=2), card, cpu=True)
    (mix,) = mixes(told.points)
    assert mix.gain.params["image"] == 64
    assert isinstance(told.steps[-1].advice, tuple)
