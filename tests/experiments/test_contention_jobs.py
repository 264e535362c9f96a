"""How a job is written, and the training that it stands for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.experiments.contention_jobs import BATCHES, known_settings, mix_label, parse_job
from gputuner.experiments.subject import BUILT_IN
from gputuner.model.errors import UsageError
from gputuner.model.steps import split_job, told_job, told_spec


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_name_alone_takes_what_people_start_with(name):
    job = parse_job(name).made("bf16", cpu=False)
    assert (job.name, job.batch, job.precision) == (name, BATCHES[name], "bf16")
    assert job.label == f"{name}:batch={BATCHES[name]}"


def test_settings_are_kept_and_named():
    job = parse_job("edsr:precision=fp32,batch=4,cuda_graph=true").made("bf16", cpu=False)
    assert job.label == "edsr:batch=4,cuda_graph=true,precision=fp32"
    assert job.params() | {"batch": 4, "precision": "fp32", "cuda_graph": True} == job.params()
    assert job.work("contend_alone", 1.0, idle=2).idle == 2


def test_the_same_training_at_another_batch_keeps_its_settings():
    job = parse_job("bert:sequence=64,compile=true").made("bf16", cpu=False)
    other = job.subject.make(32, "bf16", False).params()
    assert (other["batch"], other["sequence"], other["compile"]) == (32, 64, True)


@pytest.mark.parametrize("reference", ["train.py:make", "a/b/train.py:make", "package.module:make"])
def test_a_recipe_is_named_by_its_file_and_function(reference):
    job = parse_job(f"{reference}:batch=3").made("fp32", cpu=True)
    assert job.name == reference.rpartition("/")[2]
    assert job.work("contend_alone", 1.0).params["recipe"] == reference
    assert "recipe" not in job.params(), "figures hold no folders"
    assert job.label == f"{job.name}:batch=3"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "job_malformed"),
        ("nothing", "workload_unknown"),
        ("edsr:", "job_malformed"),
        ("edsr:batch", "job_malformed"),
        ("edsr:batch=", "job_malformed"),
        ("edsr:batch=many", "job_setting_value"),
        ("edsr:batch=0", "value_out_of_range"),
        ("edsr:batch=-3", "job_setting_value"),
        ("edsr:colour=red", "job_setting_unknown"),
        ("edsr:variant=huge", "job_setting_value"),
        ("edsr:compile=1", "job_setting_value"),
        ("edsr:precision=fp8", "precision_unknown"),
        ("edsr:expandable_segments=true", "job_setting_unknown"),
        ("llm:model=70b", "job_setting_value"),
        ("train.py:1make", "recipe_malformed"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(text, code):
    with pytest.raises(UsageError) as refused:
        parse_job(text)
    assert refused.value.code == code


SETTINGS = {
    "batch": st.integers(1, 512),
    "precision": st.sampled_from(["fp32", "fp16", "bf16"]),
    "compile": st.booleans(),
    "optimizer_kind": st.sampled_from(["plain", "foreach", "fused"]),
}


@given(st.sampled_from(sorted(BUILT_IN)), st.fixed_dictionaries({}, optional=SETTINGS))
def test_a_label_is_how_the_job_is_written(name, settings):
    told = ",".join(
        f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items()
    )
    job = parse_job(f"{name}:{told}" if told else name).made("bf16", cpu=False)
    again = parse_job(job.label).made("bf16", cpu=False)
    assert (again.label, again.spec) == (job.label, job.spec)


@given(st.text(max_size=40))
def test_any_text_is_a_job_or_refused(text):
    try:
        parse_job(text)
    except UsageError:
        return
    assert split_job(text.strip())[0]


def test_a_mix_is_named_in_the_order_given():
    jobs = [parse_job(text).made("bf16", cpu=False) for text in ("edsr:batch=2", "bert:batch=1", "edsr:batch=2")]
    assert mix_label(jobs) == "edsr:batch=2+bert:batch=1+edsr:batch=2"


def test_a_session_tells_no_folder_of_a_recipe():
    told = told_spec({"jobs": ["/home/alice/secret/train.py:make:batch=2", "edsr"], "folder": "/home/alice/secret"})
    assert told["jobs"] == ["train.py:make:batch=2", "edsr"]
    assert told_job("C:\\private\\train.py:make", "") == "train.py:make"


def test_what_a_form_can_offer():
    assert known_settings("edsr", own=False)["patch"] is int
    assert "patch" not in known_settings("", own=True)
