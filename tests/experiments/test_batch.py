"""Batch: limit, safe and fastest of one training, by the card's own line and rates."""

import shlex
from dataclasses import replace

import pytest

from gputuner.advice.evidence import RATE_PHASES
from gputuner.experiments.batch import Batch
from gputuner.experiments.loading import Loading
from gputuner.experiments.numerics import Numerics
from gputuner.experiments.subject import BUILT_IN
from gputuner.experiments.switches import Switching
from gputuner.model.errors import DeviceError, DoesNotFit, UsageError, UserCodeError
from gputuner.model.steps import Lost, OutOfMemory, Total, UserCodeFailed, Work

RECIPE = {"recipe": "folder/mine.py:make", "folder": "/home/someone"}


def played(lab, spec, card=None, *, minutes=4.0, script=None, **changes):
    card = card or lab.h200()
    return lab.Performer(card, script).perform(spec.plan(lab.context_of(card, minutes=minutes, **changes)))


def true_limit(card, precision):
    fixed, per_sample = card.memory[precision]
    return (card.usable * card.capacity - fixed) / per_sample


def test_the_limit_alone_takes_a_few_checks_and_is_right(lab):
    card = lab.h200(capacity_gib=24.0)
    told = played(lab, Batch(limit_only=True), card)
    (limit,) = told.of("batch_limit")
    assert limit.params["verified"] is True
    assert limit.value <= true_limit(card, "bf16") < limit.extra["fails"]
    assert limit.value == pytest.approx(true_limit(card, "bf16"), rel=0.03)
    (safe,) = told.of("batch_safe")
    assert safe.value <= 0.9 * limit.value
    assert safe.params["verified"] is True
    assert not told.of("batch_fastest")
    assert not told.works("train_probe")
    assert len(told.points) <= 10


def test_all_three_answers_are_told_apart_for_a_recipe(lab):
    card = lab.h200(capacity_gib=24.0)
    told = played(lab, Batch(**RECIPE), card)
    fastest, safe, limit = (told.of(f"batch_{name}")[0] for name in ("fastest", "safe", "limit"))
    assert fastest.value < safe.value < limit.value <= true_limit(card, fastest.params["precision"])
    rates = {p.params["batch"]: p.value for p in told.of("train_throughput", precision=fastest.params["precision"])}
    assert rates[fastest.value] >= 0.98 * max(rates.values())
    assert {p.workload for p in told.points} == {"mine.py:make"}


def test_the_batch_with_the_least_energy_is_told_with_its_joules(lab):
    """The card draws 690 W at every batch: the least energy is at the best rate."""
    card = lab.h200(capacity_gib=48.0)
    told = played(lab, Batch(precision="bf16"), card)
    (thrifty,) = told.of("batch_least_energy")
    measured = {int(p.params["batch"]): p for p in told.of("train_throughput", phase="energy")}
    assert len(measured) == thrifty.extra["measured"] >= 2
    assert all(p.extra["joules_per_unit"] == pytest.approx(690.0 / p.value, rel=0.01) for p in measured.values())
    least = min(p.extra["joules_per_unit"] for p in measured.values())
    assert thrifty.extra["joules_per_sample"] <= 1.015 * least
    assert max(measured) <= told.of("batch_safe")[0].value


def test_no_energy_reported_is_no_answer(lab):
    class Silent(lab.Performer):
        def run(self, step):
            result = super().run(step)
            conditions = getattr(result, "conditions", None)
            return result if conditions is None else replace(result, conditions=replace(conditions, energy_j=None))

    card = lab.h200(capacity_gib=48.0)
    told = Silent(card).perform(Batch(precision="bf16").plan(lab.context_of(card, minutes=4.0)))
    assert not told.of("batch_least_energy")
    assert len(told.of("train_throughput", phase="energy")) == 1


@pytest.mark.parametrize("limit_only", [False, True])
@pytest.mark.parametrize("largest", [48, 200])
def test_no_batch_beyond_the_owners_largest_is_tried_or_advised(lab, limit_only, largest):
    told = played(lab, Batch(**RECIPE, largest_batch=largest, limit_only=limit_only))
    tried = [int(s.params["batch"]) for s in told.steps if isinstance(s, Work)]
    assert max(tried) <= largest
    (limit,), (safe,) = told.of("batch_limit"), told.of("batch_safe")
    assert (limit.value, safe.value, limit.extra["asked_most"]) == (largest, largest, largest)
    assert limit.params["verified"] is True
    advised = {entry.id: entry.params for entry in told.advised.advice}
    assert advised["batch.safe_limit"]["asked_most"] == largest
    if not limit_only:
        assert advised["batch.fastest"]["batch"] <= largest
        assert advised["batch.fastest"]["still_rising"] is False


def test_an_owners_largest_that_does_not_fit_changes_nothing(lab):
    free, asked = (played(lab, Batch(**RECIPE, largest_batch=n)).of("batch_limit")[0] for n in (0, 1 << 18))
    assert (asked.value, "asked_most" in asked.extra) == (free.value, False)


@pytest.mark.parametrize("per_sample", [10.0 * 2**10, 2.0**20])
def test_no_limit_is_drawn_from_samples_that_hardly_show(lab, per_sample):
    """10 KiB or 1 MiB a sample beside 6 GiB of weights, and little time: small sizes say nothing of thousands."""
    card = lab.h200(capacity_gib=24.0)
    card.memory = dict.fromkeys(card.memory, (6.0 * 2**30, per_sample))
    told = played(lab, Batch(**RECIPE, precision="bf16", limit_only=True), card, minutes=0.25)
    assert 4 * max(p.params["batch"] for p in told.of("train_throughput")) < 18432
    assert not told.of("batch_limit")
    assert not told.of("batch_safe")
    assert not told.of("memory_per_sample")
    assert "limit_untold" in told.codes(), "why nothing is told is said"
    assert [entry.id for entry in told.advised.advice if entry.id.startswith("batch.")] == []
    assert "batch_limit" in [question.id for question in told.advised.questions]


def test_that_a_slow_machine_has_time_for_two_probes_alone_is_said(lab):
    """Two sizes ran, and the next does not fit into the time: the reason stands where the answer would."""
    card = lab.h200(capacity_gib=24.0)
    card.memory = dict.fromkeys(card.memory, (6.0 * 2**30, 2.0**20))
    told = played(lab, Batch(**RECIPE, precision="bf16", limit_only=True), card, minutes=0.1)
    assert len(told.of("train_throughput")) == 2
    assert not told.of("batch_limit")
    (why,) = [each.params for each in told.warned if each.code == "limit_untold"]
    assert why == {"workload": "mine.py:make", "largest": 8}


def test_no_figure_says_where_the_users_files_lie(lab):
    told = played(lab, Batch(**RECIPE))
    assert all(w.params["folder"] == "/home/someone" for w in told.works("train_probe"))
    assert not any("/home" in str(p.params) + str(p.extra) or "folder" in p.params for p in told.points)


def test_a_recipe_starts_small_and_its_layouts_are_compared_only_for_images(lab):
    told = played(lab, Batch(**RECIPE))
    assert told.works("train_memory")[0].params["batch"] == 2
    assert {p.params["channels_last"] for p in told.of("train_throughput")} == {False}
    images = played(lab, Batch(**RECIPE, images=True))
    assert {p.params["channels_last"] for p in images.of("train_throughput")} == {False, True}


def test_a_training_that_nobody_knows_is_looked_at_fourfold_apart_and_measured_where_it_is_fast(lab):
    told = played(lab, Batch(**RECIPE, precision="bf16"))
    looks = [work.params["batch"] for work in told.works("train_memory")]
    assert looks == [2 * 4**step for step in range(len(looks))]
    measured = {p.params["batch"]: p.value for p in told.of("train_throughput") if p.params["phase"] in RATE_PHASES}
    assert min(measured) > looks[-1] // 16
    (fastest,) = told.of("batch_fastest")
    assert measured[int(fastest.value)] >= 0.985 * max(measured.values())
    assert all(rate < 0.985 * max(measured.values()) for batch, rate in measured.items() if batch < fastest.value)


@pytest.mark.parametrize("failures", [1, 2, 1000])
def test_rates_of_looks_are_never_recommended_where_the_measurement_fails(lab, failures):
    """One failure: half of that batch is measured. For good: limit and safe batch are told, no fastest one."""
    left = [failures]

    def script(step):
        if isinstance(step, Work) and step.label == "train_probe" and left[0] > 0:
            left[0] -= 1
            return OutOfMemory(message="CUDA out of memory", free_bytes=1 << 30)
        return None

    told = played(lab, Batch(**RECIPE, precision="bf16"), script=script)
    fastest = told.of("batch_fastest")
    looked = {p.params["batch"]: p.value for p in told.of("train_throughput", phase="memory")}
    assert looked
    assert bool(fastest) is (failures == 1)
    assert told.of("batch_limit")
    assert told.of("batch_safe")[0].extra.get("rate") not in looked.values()
    if not fastest:
        assert told.advised is not None
        assert "batch.fastest" not in {entry.id for entry in told.advised.advice}


def test_what_the_recipe_sets_otherwise_is_told_once(lab):
    class Telling(lab.Performer):
        def trial(self, work, slowdown):
            sets = "tf32_matmul cudnn_benchmark" if work.params["precision"] == "fp32" else "cudnn_benchmark"
            return replace(super().trial(work, slowdown), notes={"recipe_sets": sets})

    card = lab.h200()
    told = Telling(card).perform(Batch(**RECIPE).plan(lab.context_of(card, minutes=4.0)))
    sets = [warned.params["settings"] for warned in told.warned if warned.code == "recipe_sets"]
    assert sets == ["cudnn_benchmark", "tf32_matmul"]
    assert "recipe_sets" not in played(lab, Batch(**RECIPE)).codes()


def test_one_format_can_be_asked_for(lab):
    told = played(lab, Batch(precision="fp16"))
    assert {p.params["precision"] for p in told.of("train_throughput")} == {"fp16"}


def test_questions_name_the_command_that_was_run(lab):
    told = played(lab, Batch(**RECIPE), minutes=0.5)
    assert told.advised is not None
    commands = [question.command for question in told.advised.questions]
    assert commands
    assert all("batch --recipe folder/mine.py:make" in command for command in commands)


TRACEBACK = """Traceback (most recent call last):
  File "/usr/lib/gputuner/workloads/worker.py", line 77, in _guarded
    self._outbox.send(self._trial(message))
  File "/usr/lib/gputuner/workloads/bodies/recipe.py", line 70, in load
    return _checked(make(), reference)
  File "/home/someone/folder/mine.py", line 3, in make
    raise ValueError("not mounted")
ValueError: not mounted
"""


@pytest.mark.parametrize("limit_only", [False, True])
def test_the_users_error_ends_it_with_the_users_frames(lab, limit_only):
    broken = UserCodeFailed(message="not mounted", traceback=TRACEBACK, reason="user_code")
    with pytest.raises(UserCodeError) as ended:
        played(lab, Batch(**RECIPE, limit_only=limit_only), script=lambda step: broken)
    assert ended.value.params["workload"] == "mine.py:make"
    own = "\n".join(TRACEBACK.splitlines()[-3:])
    assert ended.value.params["where"] == own.replace("/home/someone/folder/", "")


@pytest.mark.parametrize("limit_only", [False, True])
def test_nothing_fits(lab, limit_only):
    full = OutOfMemory(message="CUDA out of memory", free_bytes=1 << 20)
    with pytest.raises(DoesNotFit):
        played(lab, Batch(**RECIPE, limit_only=limit_only), script=lambda step: full)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"workload": "alexnet"}, "workload_unknown"),
        ({"recipe": "mine.py"}, "recipe_malformed"),
        ({"recipe": ":make"}, "recipe_malformed"),
        ({"precision": "fp12"}, "precision_unknown"),
        ({"minutes": 0.0}, "minutes_out_of_range"),
        ({"effective_batch": -1}, "value_out_of_range"),
    ],
)
def test_what_makes_no_sense_is_refused(options, code):
    with pytest.raises(UsageError) as refused:
        Batch(**options)
    assert refused.value.code == code


@pytest.mark.parametrize("cpu", [False, True])
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_training_has_a_spec(name, cpu):
    subject = Batch(workload=name).subject(cpu=cpu)
    spec = subject.make(3, "bf16", subject.images)
    assert spec.workload == subject.name == name
    assert spec.params()["batch"] == 3
    assert ("channels_last" in spec.params()) == subject.images


def test_only_the_size_that_will_be_recommended_is_soaked(lab):
    told = played(lab, Batch(limit_only=True), lab.h200(capacity_gib=24.0))
    works = [step for step in told.steps if isinstance(step, Work)]
    assert {work.label for work in works if work.soak} == {"train_safe"}


@pytest.mark.parametrize("limit_only", [False, True])
def test_a_process_that_was_killed_once_is_repeated(lab, limit_only):
    killed = []

    def script(step):
        if isinstance(step, Work) and not killed:
            killed.append(step)
            return Lost(message="SIGKILL", killed=True)
        return None

    told = played(lab, Batch(**RECIPE, limit_only=limit_only), script=script)
    first, second = [step for step in told.steps if isinstance(step, Work)][:2]
    assert (second.params, second.fresh) == (first.params, True)
    assert told.codes().count("worker_lost") == 1
    assert told.of("batch_limit")


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (Batch(**RECIPE), UserCodeError),
        (Batch(), DeviceError),
        (Switching(**RECIPE), UserCodeError),
        (Loading(), DeviceError),
        (Loading(**RECIPE, batch=8), UserCodeError),
        (Numerics(), DeviceError),
        (Numerics(**RECIPE), UserCodeError),
    ],
)
@pytest.mark.parametrize("killed", [False, True])
def test_a_process_that_is_lost_before_anything_was_measured_is_an_error(lab, spec, error, killed):
    with pytest.raises(error) as ended:
        played(lab, spec, script=lambda step: Lost(message="exit code 3", killed=killed))
    assert ended.value.code == "training_lost"


def test_the_time_left_begins_with_the_budget_on_the_processor(lab):
    card = lab.two_cores()
    told = lab.Performer(card).perform(Batch(**RECIPE).plan(lab.context_of(card, cpu=True, minutes=0.5)))
    assert [step.expected_s for step in told.steps if isinstance(step, Total)] == [30.0]


@pytest.mark.parametrize(
    ("notes", "code"), [({"loss_finite": False}, "loss_not_finite"), ({"half_weights": "fp16"}, "half_weights")]
)
def test_no_format_is_advised_where_its_figures_mean_nothing(lab, notes, code):
    class Noted(lab.Performer):
        def trial(self, work, slowdown):
            made = super().trial(work, slowdown)
            return replace(made, notes={**made.notes, **notes})

    card = lab.h200()
    told = Noted(card).perform(Batch(**RECIPE).plan(lab.context_of(card, minutes=4.0)))
    warned = [each.params["precision"] for each in told.warned if each.code == code]
    assert warned
    assert len(warned) == len(set(warned)), "each is told once"
    assert told.advised is not None
    assert "precision.best" not in {entry.id for entry in told.advised.advice}
    assert "precision.best" in {entry.id for entry in played(lab, Batch(**RECIPE)).advised.advice}


def test_a_path_with_spaces_is_quoted_in_commands():
    spec = {"recipe": "my folder/my recipe.py:make", "folder": "/home/someone"}
    for question in (Batch(**spec), Switching(**spec), Numerics(**spec)):
        assert shlex.split(question.command())[1:3] == ["--recipe", "my folder/my recipe.py:make"]
