"""Number format and layout."""

import ast
import math

import pytest

from gputuner.advice import snippets
from gputuner.advice.precision import doubts, layout_rule, precision_rule
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


def turns(lab, setting: dict, values: tuple[float, ...]):
    return [
        lab.rate(f"t{at}{setting}", 32, value, phase="turn", round=at, flags=(Flag.SPREAD,), **setting)
        for at, value in enumerate(values, start=1)
    ]


def test_scattered_figures_do_not_say_that_a_layout_is_slower(lab):
    """A neighbour had the machine while channels-last was measured: 9.4 against 77.5 samples/s, on two busy cores."""
    contiguous = lab.rate("b", 32, 77.5, channels_last=False)
    points = (lab.rate("a", 32, 9.4, flags=(Flag.NOT_STEADY,)), contiguous)
    assert layout_rule(lab.Evidence(card=lab.card(cpu=True), points=points)) == []
    (change,) = doubts(lab.Evidence(card=lab.card(cpu=True), points=points))
    assert (change.base.channels_last, change.advised.channels_last) == (False, True)
    last = turns(lab, {"channels_last": True}, (80.5, 87.5, 44.75))
    first = turns(lab, {"channels_last": False}, (70.0, 70.0, 35.0))  # the third round on a machine half as fast
    (told,) = layout_rule(lab.Evidence(card=lab.card(cpu=True), points=(*points, *last, *first)))
    ratios = (80.5 / 70.0, 87.5 / 70.0, 44.75 / 35.0)
    assert told.params["use"] is True
    assert told.params["turns"] == 3
    assert told.gain.value == pytest.approx(math.prod(ratios) ** (1 / 3) - 1.0)
    assert told.gain.low > 0.0
    assert "scattered" not in told.params
    assert "Compared in turns, 3 rounds" in sentences.advice_why(told)


def test_two_rounds_are_no_turns(lab):
    points = (
        *(
            lab.rate(name, 32, 70.0, precision=name, channels_last=False, flags=(Flag.SPREAD,))
            for name in ("fp32", "bf16")
        ),
        *turns(lab, {"precision": "bf16", "channels_last": False}, (80.0, 81.0)),
        *turns(lab, {"precision": "fp32", "channels_last": False}, (50.0, 50.0)),
    )
    (told,) = precision_rule(lab.Evidence(card=lab.card(cpu=True), points=points))
    assert "turns" not in told.params
    assert told.params["rate"] == 70.0
