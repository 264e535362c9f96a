"""The memory line, on an H200's recorded peaks and on exact lines."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.memory import MemoryLine, fit_memory_line, round_down, safe_batch

RECORDED = json.loads((Path(__file__).parents[1] / "data/analysis/resnet50-h200.json").read_text())
GIB = 1 << 30


def peaks(precision: str, *batches: int) -> dict[int, int]:
    return {row[0]: row[1] for row in RECORDED[precision] if row[0] in batches}


def test_two_probes_predict_the_true_limit_under_a_24_gib_cap():
    probes = peaks("bf16", 64, 128)
    line = fit_memory_line(list(probes), list(probes.values()))
    assert line is not None
    truth = RECORDED["limit_at_24_gib"]["batch"]
    assert line.limit(24 * GIB) == pytest.approx(truth, rel=0.02)


def test_reserved_memory_would_understate_the_limit():
    """Why the line goes through allocated memory: through reserved it is a fifth too low."""
    reserved = {row[0]: row[2] for row in RECORDED["bf16"] if row[0] in (64, 128)}
    line = fit_memory_line(list(reserved), list(reserved.values()))
    assert line is not None
    assert line.limit(24 * GIB) < 0.85 * RECORDED["limit_at_24_gib"]["batch"]


@pytest.mark.parametrize(("precision", "per_sample_mib"), [("fp32", 82.7), ("fp16", 42.7), ("bf16", 42.7)])
def test_slope_is_the_recordings(precision, per_sample_mib):
    probes = peaks(precision, 64, 128, 256)
    line = fit_memory_line(list(probes), list(probes.values()))
    assert line is not None
    assert line.per_sample_bytes / (1 << 20) == pytest.approx(per_sample_mib, rel=0.01)
    assert line.is_line
    assert line.at(512) == pytest.approx(peaks(precision, 512)[512], rel=0.01)


def test_small_biased_probes_are_left_out_where_larger_ones_exist():
    line = fit_memory_line([1, 2, 64, 128], [900.0, 910.0, 100.0 + 640.0, 100.0 + 1280.0])
    assert line is not None
    assert (line.fixed_bytes, line.per_sample_bytes) == (pytest.approx(100.0), pytest.approx(10.0))


def test_one_batch_is_no_line():
    assert fit_memory_line([8, 8], [100.0, 101.0]) is None


def test_a_kink_is_not_a_line():
    line = fit_memory_line([32, 64, 128, 256], [320.0, 640.0, 1280.0, 1900.0])
    assert line is not None
    assert not line.is_line


def test_memory_that_does_not_grow_has_no_limit():
    line = MemoryLine(fixed_bytes=100.0, per_sample_bytes=0.0, residual=0.0, probes=2, largest=2)
    with pytest.raises(ValueError, match="grow"):
        line.limit(1e9)


@pytest.mark.parametrize(
    ("peaks_mib", "limit", "tells"),
    [
        ({1: 20.2, 2: 24.4}, 482, False),  # a busy minute: 10 KiB a sample were taken for 4.2 MiB
        ({2: 21.0, 8: 25.0}, 3046, False),
        ({2: 21.0, 8: 25.0}, 30, True),  # not far
        ({2: 3000.0, 8: 9000.0}, 3046, True),  # 1000 MiB a sample beside 1000 fixed
    ],
)
def test_samples_that_do_not_stand_out_of_the_fixed_part_make_no_line_to_draw_on(peaks_mib, limit, tells):
    line = fit_memory_line(list(peaks_mib), [peak * 2**20 for peak in peaks_mib.values()])
    assert line is not None
    assert line.is_line
    assert line.tells(limit) is tells


def test_nothing_fits_is_zero():
    assert MemoryLine(fixed_bytes=2e9, per_sample_bytes=1e6, residual=0.0, probes=2, largest=2).limit(1e9) == 0


@given(
    st.floats(1e6, 1e9),
    st.floats(1e4, 1e8),
    st.lists(st.integers(1, 4096), min_size=2, max_size=6, unique=True),
)
def test_an_exact_line_is_found_and_its_limit_runs_and_one_more_does_not(fixed, slope, batches):
    line = fit_memory_line(batches, [fixed + slope * b for b in batches])
    assert line is not None
    assert line.per_sample_bytes == pytest.approx(slope, rel=1e-3)
    capacity = fixed + slope * 1000.5
    limit = line.limit(capacity)
    assert abs(limit - 1000) <= 1
    assert line.at(limit) <= capacity < line.at(limit + 1)


def test_safe_is_below_the_limit_by_the_margin_and_round():
    assert safe_batch(560, multiple=8) == 504
    assert safe_batch(5) == 4
    assert safe_batch(1) == 1
    assert safe_batch(0) == 0
    assert round_down(567, 8) == 560
    assert round_down(5, 8) == 5
