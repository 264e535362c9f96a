"""An epoch counted, against a plain loop over its samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.advice.batch import fastest_rule, safe_rule
from gputuner.advice.data_set import DataSet, Epoch


def test_c048_1000_samples_in_micro_batches_of_16_and_windows_of_4():
    epoch = Epoch(samples=1000, micro=16, steps=4)
    assert (epoch.micro_batches, epoch.last_micro, epoch.full_windows, epoch.rest, epoch.updates) == (63, 8, 15, 3, 16)


@pytest.mark.parametrize(("batch", "steps"), [(8, 13), (2, 50)])
def test_c050_an_epoch_of_100_samples(batch, steps):
    assert Epoch(samples=100, micro=batch).updates == steps


@given(st.integers(1, 3000), st.integers(1, 40), st.integers(1, 8))
def test_an_epoch_is_what_a_loop_makes_of_it(samples, micro, steps):
    batches = [min(micro, samples - at) for at in range(0, samples, micro)]
    windows = [batches[at : at + steps] for at in range(0, len(batches), steps)]
    epoch = Epoch(samples=samples, micro=micro, steps=steps)
    full = [window for window in windows if sum(window) == micro * steps]
    assert (epoch.micro_batches, epoch.last_micro) == (len(batches), batches[-1])
    assert (epoch.full_windows, epoch.updates) == (len(full), len(windows))
    assert epoch.rest == sum(len(window) for window in windows if sum(window) < micro * steps)


@pytest.mark.parametrize(
    ("samples", "batch", "lonely"), [(1001, 10, True), (1001, 100, True), (1001, 143, False), (1000, 3, True)]
)
def test_c039_sizes_that_leave_one_sample(samples, batch, lonely):
    assert DataSet(samples=samples, batch_norm=True).lonely(batch) is lonely
    assert DataSet(samples=samples, batch_norm=False).lonely(batch) is False


@pytest.mark.parametrize(("batch", "lonely"), [(10, True), (100, True), (143, False)])
def test_c039_the_advice_for_a_size_says_so_and_its_code_drops_the_sample(lab, batch, lonely):
    own = {"data_set_samples": 1001, "batch_norm": True}
    points = [lab.rate("a", batch - 5, 500.0, extra=own), lab.rate("b", batch, 1000.0, extra=own)]
    points += lab.limits(2 * batch, batch, batch)
    evidence = lab.Evidence(card=lab.card(), points=tuple(points), effective_batch=256)
    (fastest,), (safe,) = fastest_rule(evidence), safe_rule(evidence)
    assert fastest.params["batch"] == batch
    for told in (fastest, safe):
        assert ("remainder_one" in told.params) is lonely
    assert ("drop_last=True" in fastest.snippet) is lonely


def test_c050_the_advice_lists_steps_of_the_size_in_force(lab):
    own = {"data_set_samples": 100}
    points = [lab.rate("a", 1, 500.0, extra=own), lab.rate("b", 2, 1000.0, extra=own), *lab.limits(3, 2, 2)]
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=tuple(points)))
    assert (told.params["batch"], told.params["data_set"], told.params["epoch_steps"]) == (2, 100, 50)
    plain = [lab.rate("a", 1, 500.0), lab.rate("b", 2, 1000.0), *lab.limits(3, 2, 2)]
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=tuple(plain)))
    assert "epoch_steps" not in told.params


def test_c045_both_peaks_are_told_where_the_first_step_takes_far_more(lab):
    """10240 MiB; batch 8 takes 9849 MiB in its first step, 5016 in those after: 391 are left."""
    mib = 1 << 20
    peaks = {"first_peak_bytes": 9849 * mib, "allocated_peak_bytes": 5016 * mib, "capacity_bytes": 10240 * mib}
    peaks["autotune"] = True
    points = [lab.rate("a", 4, 90.0), lab.rate("b", 8, 100.0, extra=peaks), *lab.limits(9, 8, 8)]
    (told,) = safe_rule(lab.Evidence(card=lab.card(), points=tuple(points)))
    named = ("peak_batch", "first_peak_bytes", "later_peak_bytes", "headroom_bytes")
    assert [told.params[name] for name in named] == [8, 9849 * mib, 5016 * mib, 391 * mib]
    level = {**peaks, "first_peak_bytes": 5010 * mib}
    points[1] = lab.rate("b", 8, 100.0, extra=level)
    (told,) = safe_rule(lab.Evidence(card=lab.card(), points=tuple(points)))
    assert "first_peak_bytes" not in told.params
    points[1] = lab.rate("b", 8, 100.0, extra={**peaks, "autotune": False})
    (told,) = safe_rule(lab.Evidence(card=lab.card(), points=tuple(points)))
    assert "first_peak_bytes" not in told.params, "not of the autotuner"


def test_c040_the_length_that_was_tried_is_told(lab):
    points = [
        lab.rate("a", 16, 90.0),
        lab.rate("b", 32, 100.0, extra={"sample_shape": "1900"}),
        *lab.limits(45, 40, 32),
    ]
    (told,) = safe_rule(lab.Evidence(card=lab.card(), points=tuple(points)))
    assert told.params["sample_shape"] == "1900"


@pytest.mark.parametrize("name", ["data_set_limit", "size_most"])
def test_c037_what_limits_is_named(lab, name):
    """The whole data set of 60000 runs: no word of a prediction, nor of a size that fails."""
    limit, safe = lab.limits(60000, 60000, 16384)[1:3]
    whole = lab.point("l", "batch_limit", 60000, verified=True, precision="bf16", channels_last=True,
                      extra={name: 60000, "predicted": 6_280_000})  # fmt: skip
    (told,) = safe_rule(lab.Evidence(card=lab.card(), points=(whole, safe)))
    assert told.params[name] == told.params["ran"] == told.params["safe"] == 60000
    assert not {"predicted_limit", "rough_limit", "memory_fails"} & set(told.params)
    (told,) = safe_rule(lab.Evidence(card=lab.card(), points=(limit, safe)))
    assert name not in told.params
