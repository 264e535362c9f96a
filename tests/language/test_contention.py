"""Jobs, mixes, ways, tables and the claim in words."""

from dataclasses import replace

import pytest

from gputuner.analysis.contention_claim import Claim
from gputuner.language import contention, contention_models, contention_tables, steps
from gputuner.language.advice import advice_action, advice_title, advice_why
from gputuner.language.contention_words import ADVICE, CAUSES, MODES, STEPS
from gputuner.language.words import set_language
from gputuner.model.advice import Advice, Confidence
from gputuner.model.points import Conditions, Point, Spread


def test_a_mix_counts_what_is_alike():
    label = "edsr:batch=16+edsr:batch=16+resnet50:batch=32,precision=fp32"
    assert contention.mix(label) == "2 × EDSR (batch 16) + ResNet-50 (batch 32, FP32)"
    assert contention.mix("train.py:make:batch=4+train.py") == "train.py:make (batch 4) + train.py"


def test_a_job_by_its_figures():
    params = {"batch": 16, "precision": "bf16", "mix": "a+b", "mode": "mps", "job": 1, "jobs": 2, "phase": "together"}
    assert contention.job("edsr", params) == "EDSR, batch 16, BF16"


@pytest.mark.parametrize("label", sorted(STEPS))
def test_a_step_of_several_jobs_is_told_without_its_label(label):
    """As the plan names it before anything is known of its jobs, and as it runs."""
    for params in ({}, {"jobs": 2, "probe": "dram", "dial": 0.5}):
        told = steps.step(label.partition(":")[0], params)
        assert "_" not in told
        assert ":plain" not in told
        assert not told.startswith("contend")


@pytest.mark.parametrize(("name", "words"), [*MODES.items(), *CAUSES.items()])
def test_every_way_and_cause_has_a_name(name, words):
    assert words in (contention.mode(name), contention.cause(name))


@pytest.mark.parametrize(
    ("value", "holds", "words"),
    [(1.67, False, "does not hold"), (3.0, True, "It holds"), (2.8, None, "do not settle it")],
)
def test_the_claim_with_its_interval_and_verdict(value, holds, words):
    claim = Claim(mode="processes", value=value, low=value - 0.02, high=value + 0.02, evidence=("a",), valid=True)
    told = contention.claim(claim)
    assert claim.holds is holds
    assert f"{value:.2f} × ({value - 0.02:.2f} … {value + 0.02:.2f})" in told
    assert words in told
    assert "2.8 to 3.5" in told


PARAMS = {
    "mix": "edsr:batch=16+edsr:batch=16", "mode": "mps", "jobs": 2, "workload": "edsr", "together": 1.7412,
    "slowdown": 1.15, "alone_tuned": 1.2, "tuned_batch": 64, "energy_ratio": 0.7, "batch": 16, "worst": "bert:batch=4",
    "worst_gain": 1.0, "pairs": 3, "usual": 1.5, "others": 2.0, "shares": "30,70",
    "tuned_session": "s1", "cores": 8, "threads": 4,
}  # fmt: skip


@pytest.mark.parametrize("rule", sorted({key.split(":")[0] for key in ADVICE}))
@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_every_advice_fills_its_sentences(rule, language):
    entry = Advice(id=rule, card="c", params=PARAMS, evidence=("p",), confidence=Confidence.MEASURED)
    set_language(language)
    try:
        told = [advice_title(entry), advice_action(entry), advice_why(entry)]
    finally:
        set_language("en")
    assert all(told)
    assert not any("—" in text or "{" in text or "edsr:batch" in text for text in told)


def figure(metric, workload, value, **more):
    extra = more.pop("extra", {})
    spread = Spread(n=40, median=value, iqr=0.0, ci95_low=0.99 * value, ci95_high=1.01 * value)
    conditions = Conditions(duration_s=6.0, samples=12, power_w=300.0, sm_clock_mhz=1980.0)
    unit = "samples/s" if metric == "train_throughput" else ""
    return Point(
        id=f"{metric}{value}", card="c", metric=metric, workload=workload, params=more, value=value, unit=unit,
        extra=extra, spread=spread, conditions=conditions,
    )  # fmt: skip


def test_the_tables_of_a_mix():
    label = "edsr:batch=16+bert:batch=4"
    common = {"mix": label, "mode": "processes", "jobs": 2}
    points = [
        figure("train_throughput", "edsr", 1600.0, batch=16, phase="alone", mode="processes"),
        figure("train_throughput", "edsr", 1584.0, batch=16, phase="alone_after", mode="processes"),
        figure("co_run_slowdown", "edsr", 1.5, **common, job=1, extra={"step_p95_over_median": 1.25}),
        figure(
            "co_run_slowdown",
            "bert",
            2.5,
            **common,
            job=2,
            extra={"step_p95_over_median": 1.1, "iterations_per_window": 4},
        ),
        figure("co_run_gain", label, 1.07, **common, extra={"alone_tuned": 1.3, "fairness": 0.94, "rounds": 3}),
    ]
    (alone,) = contention_tables.alone_table(points).rows
    assert alone[:4] == ("EDSR, batch 16", "1592 samples/s", "2", "1.0 %")
    first, second = contention_tables.together_table(points).rows
    assert first[:2] == ("EDSR (batch 16) + BERT-large (batch 4)", "time slicing between processes")
    assert second[:2] == ("", "")
    assert "1.50 × (1.48 … 1.52)" in first
    assert "2. BERT-large (batch 4)" in second
    assert "1.25 ×" in first
    assert "1.1 × (means of 4 steps)" in second, "what hides single slow steps is told"
    (gain,) = contention_tables.gain_table(points).rows
    assert {"1.00 ×", "1.30 ×", "1.07 × (1.06 … 1.08)", "0.94", "3", "300 W"} <= set(gain)


def test_what_was_not_measured_is_no_zero():
    label = "a.py+b.py"
    (gain,) = contention_tables.gain_table([figure("co_run_gain", label, 1.0, mix=label, mode="mps", jobs=2)]).rows
    assert "0.00 ×" not in gain


def test_on_the_processor_nobody_speaks_of_a_card():
    """Its cores work for several processes at once, and it has no SMs."""
    common = {"mix": "bert+edsr", "mode": "processes", "jobs": 2}
    figures = [
        figure("co_run_slowdown", "bert", 1.5, **common, job=1),
        figure("co_run_gain", "bert+edsr", 1.1, **common),
    ]
    figures += [figure("co_run_cause", "bert", 1.0, **common, job=1, cause="host")]

    def told(card):
        points = [replace(point, card=card) for point in figures]
        tables = [contention_tables.gain_table(points), contention_tables.cause_table(points)]
        cells = [cell for table in tables for row in (table.headers, *table.rows) for cell in row]
        advice = Advice(
            id="contend.together", card=card, params=PARAMS | common, evidence=("p",), confidence=Confidence.MEASURED
        )
        return " ".join([*cells, *map(steps.point_title, points), advice_action(advice), advice_why(advice)])

    assert told("GPU-1").count("time slicing between processes") >= 4
    assert "SM clock" in told("GPU-1")
    for words in ("time slicing", "SM"):
        assert words not in told("cpu")
    assert told("cpu").count("processes side by side") >= 4


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"allocated_peak_bytes": 2 << 30, "process_peak_bytes": 5 << 30}, "2 GiB"),
        ({"process_peak_bytes": 5 << 30}, "5 GiB for all"),
        ({}, "not per job"),
    ],
)
def test_memory_of_streams_is_never_told_as_a_jobs_own_where_it_is_the_processs(extra, words):
    common = {"mix": "bert+edsr", "mode": "streams", "jobs": 2}
    table = contention_tables.together_table([figure("co_run_slowdown", "bert", 1.5, **common, job=1, extra=extra)])
    assert words in table.rows[0]


def test_what_one_round_leaves_open_is_said_and_of_several_it_is_not():
    common = {"mix": "bert+edsr", "mode": "processes", "jobs": 2}

    def told(rounds):
        points = [
            figure("co_run_slowdown", "bert", 1.5, **common, job=1),
            figure("co_run_gain", "bert+edsr", 1.1, **common, extra={"rounds": rounds}),
        ]
        return contention_models.round_lines(points)

    (line,) = told(1)
    assert line.startswith("One round of BERT-large + EDSR: ")
    assert told(2) == []


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"window_p95_over_median": 1.1, "window_p95_s": 0.2, "iterations_per_window": 4}, "1.1 × (means of 4 steps)"),
        ({"step_p95_over_median": 1.1, "step_p95_s": 0.2, "iterations_per_window": 1}, "1.1 ×"),
    ],
)
def test_means_of_several_steps_are_not_called_steps(extra, words):
    common = {"mix": "bert+edsr", "mode": "processes", "jobs": 2}
    table = contention_tables.together_table([figure("co_run_slowdown", "bert", 1.5, **common, job=1, extra=extra)])
    assert words in table.rows[0]


def test_a_null_check_and_the_job_of_a_figure_are_told_in_words():
    told = steps.settings({"null": True, "job_label": "edsr:batch=16", "mode": "mps"})
    assert told == "null check, EDSR (batch 16), MPS"
    assert "repeat 2" in steps.settings({"null": 2})
