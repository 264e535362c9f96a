"""The tables of a numerical check."""

from gputuner.language import numerics
from gputuner.model.points import Flag, Point


def point(metric, value, extra=None, flags=(), **params):
    return Point(
        id=f"{metric}-{value}-{params}", card="GPU-1", metric=metric, workload="resnet50", value=value, unit="1",
        params={"batch": 4, **params}, extra=extra or {}, flags=flags,
    )  # fmt: skip


BAND = [
    point("train_loss_band", 2.0 - s / 100, {"low": 1.9 - s / 100, "high": 2.1 - s / 100}, step=s)
    for s in range(1, 101)
]
BF16 = [point("train_loss", 2.0, {"smoothed": 1.5}, precision="bf16", draw=0, step=s) for s in range(1, 101)]
FP16 = [point("train_loss", 2.0, {"smoothed": 1.25}, precision="fp16", draw=0, step=s) for s in range(1, 31)]


def test_the_curves_stand_side_by_side_at_a_few_steps_and_end_where_they_end():
    table = numerics.losses([*BAND, *BF16, *FP16])
    assert table.headers == ("step", "FP32 band", "BF16", "FP16")
    assert [row[0] for row in table.rows] == ["1", "15", "29", "43", "58", "72", "86", "100"]
    assert table.rows[0] == ("1", "1.89 … 2.09", "1.5", "1.25")
    assert table.rows[-1] == ("100", "0.9 … 1.1", "1.5", "—")


def test_without_a_band_the_fp32_run_stands_there_itself():
    table = numerics.losses([point("train_loss", 2.0, {"smoothed": 1.75}, precision="fp32", draw=0, step=1), *BF16])
    assert table.headers == ("step", "FP32", "BF16")
    assert table.rows[0] == ("1", "1.75", "1.5")


def test_a_verdict_says_what_it_rests_on():
    collapsed = {"steps": 40, "why": "scaler", "first_bad_step": 11, "scaler": "collapsed", "skipped_steps": 30,
                 "scale_last": 0.5}  # fmt: skip
    kept = {"steps": 200, "end_loss": 1.5, "fp32_end_loss": 1.48, "tolerance": 0.05043, "step_s": 0.02,
            "seen_share": 0.02543, **{f"fp32_end_{i}": 1.5 for i in range(1, 5)},
            **{f"twin_end_{i}": 1.5 for i in range(1, 4)}}  # fmt: skip
    table = numerics.verdicts(
        [
            point("numerics_verdict", 0.02, kept, (Flag.EMULATED,), precision="bf16", verdict="kept"),
            point("numerics_verdict", 0.0, collapsed, precision="fp16", verdict="diverged"),
        ]
    )
    ours, theirs = (dict(zip(table.headers, row, strict=True)) for row in table.rows)
    assert (ours["verdict"], ours["FP32"], ours["time per step"]) == (
        "trains as FP32: harm above about 2.5 % of the fall would have been seen (from 3 FP32 runs)", "1.48 ± 0.05",
        "20 ms",
    )  # fmt: skip
    assert "emulated" in ours["remarks"]
    assert theirs["verdict"] == "diverged: the gradient scale collapsed, from step 11 on"
    assert theirs["gradient scaler"] == "collapsed; 30 of 40 steps skipped, scale 0.5 at the end"


def test_no_difference_is_told_with_what_could_hide_and_harm_with_where_it_is():
    """Never "trains as FP32" where a harm of a fifth of the fall could hide."""
    unseen = point("numerics_verdict", 0.0, {"seen_share": 0.2}, precision="bf16", verdict="unseen")
    assert numerics.verdict(unseen) == "no difference seen: harm above about 20 % of the fall would have been seen"
    early = point("numerics_verdict", 0.0, {"why": "early", "seen_share": 0.2}, precision="bf16", verdict="apart")
    assert numerics.verdict(early) == "worse than FP32: it falls more slowly than FP32 from the same start"


def test_the_same_operation_in_two_formats_is_one_row():
    both = [
        point("autocast_kept", 24, {"where": "layers.0"}, precision=name, operation="softmax", kept="autocast")
        for name in ("bf16", "fp16")
    ]
    (row,) = numerics.operations(both).rows
    assert row == ("softmax", "by autocast", "BF16, FP16", "24", "layers.0")


def test_a_trap_that_every_format_met_is_one_line():
    both = [
        point("numerics_trap", 1, {"where": "mine.Mine"}, precision=name, trap="custom_function", name="Mine")
        for name in ("bf16", "fp16")
    ]
    assert numerics.traps(both) == ["custom Function without custom_fwd: Mine (mine.Mine)"]


def test_the_largest_activations_come_first():
    peaks = [point("activation_peak", size, precision="fp16", place=f"layer {size}") for size in (3.0, 70000.0, 12.0)]
    assert [row[0] for row in numerics.activations(peaks).rows] == ["layer 70000.0", "layer 12.0", "layer 3.0"]


def test_nothing_measured_gives_no_rows():
    for table in (numerics.losses([]), numerics.verdicts([]), numerics.operations([]), numerics.activations([])):
        assert table.rows == ()
