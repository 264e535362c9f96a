"""Measured mixes as the queue reads them: of this card, of plain processes, valid, the newest."""

from gputuner.analysis.placement_pairs import measured_pairs
from gputuner.model.points import Flag, Point


def mix(label, *slowdowns, card="GPU-0", mode="processes", flags=(), **params):
    shared = {"mix": label, "mode": mode, "jobs": len(slowdowns), **params}
    points = [
        Point(
            id=f"{label}{place}{mode}{card}{value}", card=card, metric="co_run_slowdown",
            workload=label.split("+")[place - 1], params={**shared, "job": place}, value=value, unit="1", flags=flags,
        )
        for place, value in enumerate(slowdowns, 1)
    ]  # fmt: skip
    gain = Point(
        id=f"{label}{mode}{card}g{slowdowns[0]}", card=card, metric="co_run_gain", workload=label, params=shared,
        value=1.5, unit="1", flags=flags,
    )  # fmt: skip
    return [*points, gain]


def test_both_sides_of_a_pair_and_a_job_beside_itself():
    pairs = measured_pairs([*mix("bert+edsr", 1.3, 1.8), *mix("edsr+edsr", 1.15, 1.16)], "GPU-0")
    assert pairs.worst(["edsr", "bert"]) == 1.8
    assert pairs.worst(["edsr", "edsr"]) == 1.16
    assert pairs.worst(["bert", "bert"]) is None


def test_other_cards_modes_shares_null_checks_and_invalid_figures_tell_nothing():
    points = [
        *mix("a+b", 1.1, 1.1, card="GPU-1"),
        *mix("a+b", 1.1, 1.1, mode="mps"),
        *mix("a+c", 0.9, 1.0, flags=(Flag.IMPLAUSIBLE,)),
        *mix("a+d", 1.1, 1.1, shares="60,40", mode="processes"),
        *mix("a+e", 1.0, 1.0, null=True),
    ]
    assert measured_pairs(points, "GPU-0").mixes == {}
    assert measured_pairs(points, "GPU-1").worst(["a", "b"]) == 1.1


def test_other_ways_of_sharing_tell_of_themselves_and_larger_mixes_as_they_stand():
    points = [*mix("a+b", 1.2, 1.5, mode="mps"), *mix("a+b+b", 2.2, 2.5, 2.6)]
    assert measured_pairs(points, "GPU-0", "mps").mixes == {("a", "b"): {"a": 1.2, "b": 1.5}}
    assert measured_pairs(points, "GPU-0").mixes == {("a", "b", "b"): {"a": 2.2, "b": 2.6}}


def test_a_figure_of_no_job_of_its_mix_is_left_out():
    points = mix("a+b", 1.2, 1.5)
    points[0].params["job"] = 7
    assert measured_pairs(points, "GPU-0").mixes == {}, "of half a pair nothing is told"


def test_the_newest_figure_of_a_mix_holds_also_in_the_other_order():
    pairs = measured_pairs([*mix("a+b", 1.2, 1.3), *mix("b+a", 1.6, 1.5)], "GPU-0")
    assert pairs.worst(["a", "b"]) == 1.6


def test_faster_than_alone_counts_as_not_slowed():
    assert measured_pairs(mix("a+b", 0.99, 0.98), "GPU-0").worst(["a", "b"]) == 1.0
