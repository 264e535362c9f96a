"""Activations against the range of FP16: users' case C-056."""

import json
from pathlib import Path

import numpy as np

from gputuner.analysis.trajectory_range import FP16_MAX, Peak, first_overflow, nearest

CASE = json.loads((Path(__file__).parents[1] / "data/cases/c056_amp_overflow_trace.json").read_text())


def peaks(name):
    """The case as recorded in ``name``: sizes in full range, or whether FP16 held them."""
    if name == "wide":
        return [Peak(place=m["name"], value=m["absmax"]) for m in CASE["modules"] if "absmax" in m]
    return [Peak(place=m["name"], value=m.get("absmax", 0.0), finite="fp16" not in m) for m in CASE["modules"]]


def test_the_limit_is_that_of_the_format():
    assert float(np.finfo(np.float16).max) == FP16_MAX == CASE["limit"]


def test_c056_the_first_module_that_overflows_is_named_from_either_trace():
    assert first_overflow(peaks("wide")).place == CASE["expect_first"]
    assert first_overflow(peaks("fp16")).place == CASE["expect_first"]


def test_what_stays_in_fp32_may_be_large():
    assert first_overflow([Peak(place="loss", value=1e6, half=False)]) is None
    assert nearest([Peak(place="loss", value=1e6, half=False)]) is None


def test_a_peak_within_a_factor_of_four_of_the_limit_is_near():
    assert nearest([Peak(place="a", value=20000.0), Peak(place="b", value=30000.0)]).place == "b"
    assert nearest([Peak(place="a", value=16000.0)]) is None
    assert nearest([]) is None
