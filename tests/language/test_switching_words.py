"""What advice and warnings on switches say."""

import pytest

from gputuner.language.advice import advice_action, advice_title, advice_why
from gputuner.language.steps import settings
from gputuner.language.warnings import warning
from gputuner.model.advice import Advice, Confidence

GIB = 1 << 30


def told(rule, **params):
    entry = Advice(id=rule, card="c", params=params, evidence=("p",), confidence=Confidence.MEASURED)
    return advice_title(entry), advice_action(entry), advice_why(entry)


def test_the_setting_is_told_with_its_base_and_without_what_was_not_measured():
    title, action, why = told(
        "switches.best", workload="resnet50", batch=128, precision="bf16", channels_last=True, compile=True,
        rate=1500.0, base_precision="tf32", base_channels_last=False, base_rate=900.0, memory_change=-0.48,
    )  # fmt: skip
    assert title == "Train with BF16, channels-last, compiled"
    assert action == "Train ResNet-50 with BF16, channels-last, compiled instead of TF32."
    assert "At batch 128: 1500 samples/s with BF16, channels-last, compiled, 900 samples/s with TF32." in why
    assert "-48 %" in why
    assert "emulated" not in why
    assert "–" not in why


def test_c052_fp32_stays_and_why():
    title, _, why = told(
        "switches.best", workload="resnet50", batch=32, precision="fp32", channels_last=False, rate=357.0, keep=True,
        next_precision="fp16", next_channels_last=False, next_rate=197.0, chip="GTX 1080 Ti",
    )  # fmt: skip
    assert title == "Stay with FP32"
    assert "Next comes FP16 with 197 samples/s." in why
    assert "GTX 1080 Ti has no tensor cores" in why


def test_c052_half_precision_as_a_saver_of_memory_with_its_cost():
    title, action, why = told(
        "switches.memory", workload="resnet50", batch=32, precision="fp16", channels_last=False, cost=0.81,
        peak_bytes=6.25 * GIB, chosen_peak_bytes=8.89 * GIB, memory_change=-0.297, room=51, chosen_room=36,
    )  # fmt: skip
    assert title == "FP16 saves memory, not time"
    assert "+81 %" in action
    assert "6.25 GiB instead of 8.89 GiB" in why
    assert "about 51 samples instead of 36" in why


def test_c053_emulated_bf16_with_its_speed():
    _, _, why = told(
        "switches.best", workload="bert", batch=8, precision="fp16", channels_last=False, rate=22.0,
        base_precision="fp32", base_channels_last=False, base_rate=4.1, emulated_rate=1.9,
    )  # fmt: skip
    assert "BF16 is emulated on this chip and gives 1.9 samples/s" in why


def test_c055_padding_is_worth_a_test():
    title, action, why = told(
        "switches.pad", workload="mine.py:make", module="head (Linear)", precision="fp16", size=33708, padded=33712,
        time_s=0.04, padded_s=0.005,
    )  # fmt: skip
    assert title == "33708 is no multiple of 8"
    assert action == "Worth a test: pad 33708 of head (Linear) to 33712."
    assert "40 ms with 33708 and 5 ms with 33712" in why


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"precision": "fp16", "channels_last": False, "sdpa": "flash"}, "FP16, flash attention"),
        ({"precision": "bf16", "cuda_graph": True, "optimizer_kind": "fused"}, "BF16, CUDA graph, fused optimizer"),
        ({"precision": "fp32", "checkpointing": True, "expandable_segments": True},
         "FP32, gradient checkpointing, expandable segments"),
        ({"precision": "fp32", "checkpointing": False}, "FP32"),
    ],
)  # fmt: skip
def test_settings_in_one_line(params, words):
    assert settings(params) == words


def test_what_is_left_out_says_which_setting_and_why():
    params = {"workload": "gpt", "precision": "bf16", "channels_last": False, "compile": True}
    assert warning("switch_unavailable", {**params, "reason": "torch.compile failed: no g++"}) == (
        "BF16, compiled was left out for GPT-2: torch.compile failed: no g++."
    )
    assert "does not fit in memory" in warning("switch_unavailable", {**params, "reason": "out_of_memory"})
    skipped = warning("stage_skipped", {"stage": "switch_compile", "needed_s": 40.0, "left_s": 12.0})
    assert "torch.compile" in skipped
