"""Sentences out of codes and values."""

import pytest

from gputuner.language import sentences
from gputuner.language.filling import fill
from gputuner.model.advice import Advice, Confidence, Gain, Question
from gputuner.model.errors import CardBusy, DeviceError, UsageError
from gputuner.model.findings import Finding, Level
from gputuner.model.points import Point


def advice(rule: str, **params: float | int | str | bool) -> Advice:
    return Advice(id=rule, card="c", params=params, evidence=("p",), confidence=Confidence.MEASURED)


def test_a_field_is_written_in_its_unit():
    assert fill("{free:bytes} of {share:fraction}", {"free": 2**31, "share": 0.25}) == "2 GiB of 25 %"


def test_a_missing_field_is_a_dash():
    assert fill("{free:bytes} left", {}) == "— left"


def test_values_are_not_read_as_fields():
    assert fill("{path} is gone", {"path": "/a/{b}:{0}"}) == "/a/{b}:{0} is gone"


def test_error_from_its_code_and_values():
    error = CardBusy("card_busy", "busy", card="RTX 3090", processes="python (pid 7)")
    assert sentences.error(error).startswith("RTX 3090 is in use by python (pid 7);")
    assert sentences.error("card_busy", {"card": "A", "processes": "b"}).startswith("A is in use by b;")


def test_an_unknown_code_falls_back_to_the_english_text():
    assert sentences.error(DeviceError("brand_new", "something new happened")) == "something new happened"
    assert sentences.error("brand_new") == "brand_new"
    assert sentences.warning("brand_new", {"n": 3}) == "brand new: n 3"
    assert sentences.finding(Finding(code="brand_new", level=Level.NOTE)) == "brand new"
    assert sentences.step("brand_new", {}) == "brand new"
    assert sentences.metric("brand_new") == "brand new"
    assert sentences.advice_title(advice("brand.new", n=3)) == "brand.new"
    assert sentences.question(Question(id="brand_new", card="c", command="x")) == "brand_new"


def test_the_error_text_serves_as_message_where_none_is_given():
    error = DeviceError("cuda_unavailable", "no CUDA-capable device is detected")
    assert "no CUDA-capable device is detected" in sentences.error(error)
    assert "because" in sentences.error(UsageError("usage", "because"))


def test_warning_names_workload_precision_and_reason():
    said = sentences.warning(
        "precision_skipped", {"precision": "bf16", "workload": "resnet50", "reason": "unsupported"}
    )
    assert said == "BF16 was left out for ResNet-50: this torch or chip cannot."
    said = sentences.warning("stage_skipped", {"stage": "precision_tf32", "needed_s": 9.0, "left_s": 2.0})
    assert said == "Left out, the time is short: TF32 (9 s needed, 2 s left). More time takes it in."


def test_the_state_of_a_feed_may_be_an_error_code():
    assert sentences.warning("nvml_library_missing", {}).startswith("The NVIDIA driver is not installed")
    assert sentences.finding(Finding(code="nvml_timeout", level=Level.BLOCKING)).startswith("The NVIDIA driver did not")


def test_step_and_point_are_told_with_their_settings():
    params = {"batch": 64, "precision": "bf16", "channels_last": True, "image": 224}
    assert sentences.step("train_probe", params) == "training step: batch 64, BF16, channels-last, 224 px"
    assert sentences.step("matmul_burst", {"precision": "fp16", "n": 8192}) == (
        "matrix multiplication from cold: FP16, 8192 × 8192"
    )
    assert sentences.step("copy", {"bytes": 2**28}) == "memory copy: 256 MiB"
    point = Point(
        id="p",
        card="c",
        metric="matmul_rate",
        workload="matmul",
        value=1.0,
        unit="FLOP/s",
        params={"precision": "tf32", "phase": "burst"},
    )
    assert sentences.point_title(point) == "matrix multiplication, TF32, from cold"


def test_advice_in_three_sentences():
    entry = advice(
        "precision.best",
        workload="resnet50",
        precision="bf16",
        baseline="fp32",
        keep=False,
        batch=64,
        rate=865.0,
        baseline_rate=402.0,
        memory_change=-0.38,
    )
    assert sentences.advice_title(entry) == "Train in BF16"
    assert sentences.advice_action(entry) == "Train ResNet-50 in BF16 instead of FP32."
    assert sentences.advice_why(entry) == (
        "At batch 64: 865 samples/s in BF16, 402 samples/s in FP32. Peak memory changes by -38 %."
    )


@pytest.mark.parametrize(
    ("rule", "params", "title"),
    [
        ("precision.best", {"keep": True, "precision": "fp32"}, "Stay with FP32"),
        ("batch.fastest", {"still_rising": True, "batch": 256}, "Batch size 256 or more"),
        ("batch.fastest", {"still_rising": False, "batch": 64}, "Batch size 64"),
        ("batch.safe_limit", {"verified": True, "safe": 500}, "Largest safe batch: 500"),
        ("batch.safe_limit", {"verified": False, "safe": 500}, "Largest safe batch: about 500"),
        (
            "batch.fastest",
            {"still_rising": True, "batch": 512, "beyond": 256, "within": 128},
            "Batch size 512, or 128 without tuning anew",
        ),
        ("batch.fastest", {"still_rising": True, "batch": 512, "beyond": 8}, "Batch size 512 or more"),
        (
            "batch.safe_limit",
            {"verified": True, "slower": True, "safe": 500, "fastest": 64},
            "Fits up to 500, but slower there: stay at 64",
        ),
        ("limit.power", {"little": True, "at_maximum": True}, "The power limit costs little"),
        ("limit.power", {"at_maximum": True}, "Limited by power"),
        ("layout.channels_last", {"use": True}, "Channels-last layout"),
        ("layout.channels_last", {"use": False}, "No channels-last layout"),
        ("batch.accumulate", {"needed": True, "micro": 32, "steps": 8}, "Gradient accumulation: 32 × 8"),
        ("batch.accumulate", {"needed": False, "micro": 32, "steps": 8}, "Gradient accumulation saves memory: 32 × 8"),
        ("limit.thermal", {"hardware": False}, "Limited by heat"),
        ("limit.thermal", {"hardware": True}, "Too hot: the hardware slows the card down"),
        ("jobs.one_or_two", {"jobs": 2}, "Two trainings at once"),
        ("jobs.one_or_two", {"jobs": 1}, "One training at a time"),
    ],
)
def test_the_verdict_chooses_the_words(rule, params, title):
    assert sentences.advice_title(advice(rule, **params)) == title


def test_a_reason_whose_figure_was_not_measured_is_left_out():
    entry = advice("limit.thermal", share=0.3, workload="matmul", core_c=83.0)
    assert sentences.advice_why(entry) == (
        "Heat held the clock back 30 % of the time (matmul). The core was at 83 °C."
    ).replace("(matmul)", "(matrix multiplication)")


def test_what_was_not_tried_is_said():
    entry = advice("batch.safe_limit", verified=False, safe=496, ran=552, memory_fails=568, untried=496, margin=0.1)
    assert sentences.advice_why(entry) == (
        "552 ran. 568 did not fit. 496 leaves a margin of 10 % for evaluation, longer samples and others on the card. "
        "496 itself was not tried."
    )
    entry = advice(
        "batch.safe_limit", verified=True, safe=496, ran=552, memory_fails=700, untried_from=552, untried_to=700
    )
    assert sentences.advice_why(entry) == "552 ran. 700 did not fit. Nothing between 552 and 700 was tried."


def test_a_batch_is_not_compared_with_itself():
    entry = advice(
        "batch.fastest",
        batch=64,
        rate=865.0,
        reference_batch=64,
        reference_rate=865.0,
        largest_measured=64,
        largest_rate=865.0,
    )
    assert sentences.advice_why(entry) == "64 gives 865 samples/s, within 1.5 % of the best rate measured."


def test_a_batch_that_is_the_start_and_the_largest_is_told_once():
    rates = {"reference_batch": 128, "reference_rate": 800.0, "largest_measured": 128, "largest_rate": 800.0}
    told = sentences.advice_why(advice("batch.fastest", batch=64, rate=865.0, **rates))
    assert told.count("800") == 1


def test_gain_with_its_interval():
    assert sentences.gain(Gain(value=0.23, unit="fraction", low=0.18, high=0.27)) == "+23 % (+18 % … +27 %)"
    assert sentences.gain(Gain(value=0.23, unit="fraction")) == "about +23 % (too few repeats for an interval)"
    assert sentences.gain(Gain(value=120.0, unit="W", low=100.0, high=140.0)) == "120 (100 … 140) W"
    assert sentences.gain(None) == "not estimated"


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.0, 6.41, "at most +641 %, perhaps nothing"),
        (0.004, 0.14, "at most +14 %, perhaps nothing"),
        (-0.02, 0.07, "at most +7 %, perhaps a loss"),
        (0.01, 0.14, "+14 % (+1 % … +14 %)"),
        (-0.09, -0.03, "+14 % (-9 % … -3 %)"),
    ],
)
def test_a_gain_that_may_be_none_promises_nothing(low, high, told):
    entry = Gain(value=0.14, unit="fraction", low=low, high=high)
    assert sentences.gain(entry) == told
    assert sentences.gain_is_open(entry) is told.startswith("at most")


def test_question_asks_to_repeat_what_was_not_valid():
    again = Question(id="sharing", card="c", command="x", params={"repeat": True})
    assert "do not hold" in sentences.question(again)
    assert "has not been measured" in sentences.question(Question(id="sharing", card="c", command="x"))


def test_a_stop_for_safety_names_the_further_card_that_called_for_it():
    own = sentences.error("safety_core_hot", {"trigger": "core_hot", "value": 2.0, "limit": 3.0})
    further = sentences.error(
        "safety_core_hot", {"value": 2.0, "limit": 3.0, "card": "H200 SXM 141GB", "card_index": 1}
    )
    assert own.endswith("look at the cooling.")
    assert further == f"{own} It was the card [1] H200 SXM 141GB, which worked together with the run's own."


def test_a_vram_test_tells_its_blocks_and_passes_by_name():
    params = {"block_bytes": 2**30, "keep_bytes": 0, "heat": "cold", "hold_s": 2.0, "most_bytes": 0}
    assert sentences.step("health_memory_cold", params).startswith("VRAM test, cold: blocks of 1 GiB, ")
    assert "hold" not in sentences.step("health_memory_cold", params)
    assert sentences.settings({"pass": "address", "heat": "hot", "stage": 3}) == "address in address, hot, stage 3"
    burn = sentences.step("health_burn", {"precisions": "bf16 fp32", "n": 4096})
    assert burn == "the same product again and again: 4096 × 4096"


@pytest.mark.parametrize(("count", "said"), [(1, "1 place failed"), (3, "3 places failed")])
def test_a_sentence_of_a_table_takes_the_form_of_its_count(count, said):
    entry = advice("health.vram", errors=count, failed=2, passes=8, repeated=count)
    why = sentences.advice_why(entry)
    assert said in why
    assert f"{count} wrong word{'s were' if count > 1 else ' was'} seen in 2 of 8 passes" in why
