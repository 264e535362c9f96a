"""Number format and layout."""

import ast

import pytest

from gputuner.advice import snippets
from gputuner.advice.precision import layout_rule, precision_rule
from gputuner.language import sentences
from gputuner.model.points import Flag


def rates(lab, **by_precision: float):
    return tuple(lab.rate(name, 128, value, precision=name) for name, value in by_precision.items())


def test_best_against_what_torch_does_by_itself(lab):
    (told,) = precision_rule(lab.Evidence(card=lab.card(), points=rates(lab, fp32=600, tf32=800, bf16=1200, fp16=1210)))
    assert (told.params["precision"], told.params["baseline"]) == ("bf16", "tf32")
    assert told.gain.value == pytest.approx(0.5)
    assert "autocast" in told.snippet
    assert set(told.evidence) == {"fp32", "tf32", "bf16", "fp16"}


def test_the_trade_is_told_where_fp16_is_faster_and_not_advised(lab):
    (told,) = precision_rule(lab.Evidence(card=lab.card(), points=rates(lab, tf32=840, bf16=1796, fp16=1857)))
    assert told.params["precision"] == "bf16"
    assert told.params["faster"] == "fp16"
    assert told.params["faster_share"] == pytest.approx(0.034, abs=5e-4)
    assert "FP16 runs at 1857 samples/s, 3.4 % faster, but needs loss scaling" in sentences.advice_why(told)
    (told,) = precision_rule(lab.Evidence(card=lab.card(), points=rates(lab, tf32=840, bf16=1796, fp16=1700)))
    assert "faster" not in told.params


def test_c052_half_precision_that_is_slower_is_not_advised(lab):
    """GTX 1080 Ti: 100 steps take 8.96 s in FP32, 16.22 s in FP16."""
    points = (
        lab.rate("a", 32, 3200 / 8.96, precision="fp32", extra={"allocated_peak_bytes": 9100 << 20}),
        lab.rate("b", 32, 3200 / 16.22, precision="fp16", extra={"allocated_peak_bytes": 6400 << 20}),
    )
    (told,) = precision_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.params["precision"] == "fp32"
    assert told.params["keep"] is True
    assert told.gain is None
    assert told.params["rate"] / told.params["baseline_rate"] - 1 == pytest.approx(0.81, abs=0.005)
    assert told.params["memory_change"] == pytest.approx(9100 / 6400 - 1)


def test_formats_are_compared_at_the_same_batch_only(lab):
    points = (lab.rate("a", 64, 100.0, precision="fp32"), lab.rate("b", 128, 200.0, precision="bf16"))
    assert precision_rule(lab.Evidence(card=lab.card(), points=points)) == []


def test_a_format_given_up_as_too_slow_says_keep(lab):
    slow = lab.rate("b", 1, 0.5, precision="bf16", flags=(Flag.TOO_SLOW,))
    points = (lab.rate("a", 8, 20.0, precision="fp32"), lab.rate("c", 16, 22.0, precision="fp32"), slow)
    (told,) = precision_rule(lab.Evidence(card=lab.card(cpu=True), points=points))
    assert (told.params["precision"], told.params["keep"], told.params["baseline"]) == ("fp32", True, "bf16")


@pytest.mark.parametrize(("last", "first", "use"), [(1200.0, 1000.0, True), (900.0, 1000.0, False)])
def test_layout(lab, last, first, use):
    points = (lab.rate("a", 128, last), lab.rate("b", 128, first, channels_last=False))
    (told,) = layout_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.params["use"] is use
    assert (told.gain is not None) is use
    assert (told.snippet is not None) is use


def test_layouts_that_do_not_differ_are_not_worth_a_word(lab):
    points = (lab.rate("a", 128, 1010.0), lab.rate("b", 128, 1000.0, channels_last=False))
    assert layout_rule(lab.Evidence(card=lab.card(), points=points)) == []


@pytest.mark.parametrize("cpu", [True, False])
@pytest.mark.parametrize("name", ["fp32", "tf32", "fp16", "bf16"])
def test_snippets_are_code(name, cpu):
    text = snippets.precision(name, cpu=cpu)
    ast.parse(text)
    assert ("GradScaler" in text) == (name == "fp16")
    assert "torch.cuda.amp" not in text
    assert "half()" not in text
