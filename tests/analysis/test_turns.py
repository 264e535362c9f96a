"""Which figure stands for a setting that was measured in turns."""

from gputuner.analysis.turns import middle, with_turns
from gputuner.model.points import Flag, Point


def rate(identity: str, value: float, phase: str = "probe", *, batch: int = 32, flags: tuple[Flag, ...] = ()) -> Point:
    params = {"batch": batch, "precision": "bf16", "channels_last": False, "phase": phase}
    return Point(
        id=identity, card="cpu", metric="train_throughput", workload="resnet50", params=params, value=value,
        unit="samples/s", flags=flags,
    )  # fmt: skip


def turns(*values: float, flags: tuple[Flag, ...] = ()) -> list[Point]:
    return [rate(f"t{at}", value, "turn", flags=flags) for at, value in enumerate(values)]


def test_the_middle_turn_stands_for_the_single_figure():
    other = rate("other", 50.0, batch=16)
    assert [p.id for p in with_turns([rate("single", 9.4), other, *turns(80.0, 30.0, 70.0)])] == ["t2", "other"]


def test_two_turns_or_faulty_ones_leave_the_single_figure():
    single = rate("single", 9.4)
    assert with_turns([single, *turns(80.0, 70.0)]) == [single]
    assert with_turns([single, *turns(80.0, 70.0, 60.0, flags=(Flag.TOO_SLOW,))]) == [single]


def test_checks_of_the_same_batch_stay_what_they_are():
    check = rate("check", 20.0, "limit")
    assert with_turns([check, *turns(80.0, 70.0, 60.0)]) == [check]


def test_of_four_the_lower_middle():
    assert middle(turns(4.0, 1.0, 3.0, 2.0)).value == 2.0
