import itertools

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies import conv as module  # noqa: E402
from gputuner.workloads.bodies.conv import Conv, ConvShape  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError  # noqa: E402

pytestmark = pytest.mark.torch
SHAPES = "3x3-8-16-14 1x1-16-8-7"


def survey(**changed):
    return Conv(CpuDevice(None), **{"seed": 5, "precision": "fp32", "shapes": SHAPES, "batch": 3, **changed})


def test_a_shape_is_read_from_its_name_and_back():
    shape = ConvShape.parse("3x3-64-128-56")
    assert (shape.kernel, shape.channels, shape.filters, shape.image) == (3, 64, 128, 56)
    assert shape.name == "3x3-64-128-56"


@pytest.mark.parametrize("name", ["", "3x1-64-64-56", "3x3-64-64", "3x3-a-64-56"])
def test_other_names_are_refused(name):
    with pytest.raises(UnsupportedError):
        ConvShape.parse(name)


def test_operations_are_counted_by_multiplications():
    # one output number takes channels · 9 products and as many sums; there are filters · image² of them per image
    shape = ConvShape(channels=64, filters=128, kernel=3, image=56)
    assert shape.flop(32, "forward") == 32 * (128 * 56 * 56) * 2 * (64 * 9)
    assert shape.flop(32, "backward") == 2 * shape.flop(32, "forward")


def test_the_least_traffic_is_each_tensor_once():
    shape = ConvShape(channels=64, filters=128, kernel=3, image=56)
    read, made, weight = 32 * 64 * 56 * 56, 32 * 128 * 56 * 56, 128 * 64 * 9
    assert shape.least_bytes(32, "forward", 2) == 2 * (read + weight + made)
    # input, weight and the output's gradient read; gradients of input and weight written
    assert shape.least_bytes(32, "backward", 4) == 4 * (read + weight + made + read + weight)


def test_each_shape_layout_and_direction_is_a_part_with_its_count(pace):
    parts = list(survey().parts(pace(0.2)))
    told = [(p.params["shape"], p.params["channels_last"], p.params["direction"]) for p in parts]
    assert told == list(itertools.product(SHAPES.split(), (True, False), ("forward", "backward")))
    for part in parts:
        flop = 2.0 * 3 * 8 * 16 * (9 * 14 * 14 if part.params["shape"].startswith("3x3") else 49)
        assert part.work["flop"] == flop * (1 if part.params["direction"] == "forward" else 2)
        shape = ConvShape.parse(part.params["shape"])
        assert part.work["bytes"] == shape.least_bytes(3, part.params["direction"], 4)
        assert 0 < part.relative_error < 1e-5
        assert len(part.iteration_s) >= 3


def test_the_layout_is_really_in_memory():
    operands = survey()._operands(ConvShape.parse("3x3-8-16-14"), True)
    assert operands.images.is_contiguous(memory_format=torch.channels_last)
    assert not operands.images.is_contiguous()
    assert survey()._operands(ConvShape.parse("3x3-8-16-14"), False).images.is_contiguous()


def test_half_precision_stays_within_its_rounding(pace):
    parts = list(survey(precision="bf16", shapes="3x3-8-16-14").parts(pace(0.1)))
    assert all(2**-11 < part.relative_error < 2e-2 for part in parts)


@pytest.mark.parametrize(("direction", "wrong"), [("_forward", 0), ("_backward", 0), ("_backward", 1)])
def test_a_wrong_result_or_gradient_is_no_number(pace, monkeypatch, direction, wrong):
    step = getattr(module, direction)

    def spoilt(operands):
        found = list(step(operands))
        found[wrong] = found[wrong] + 0.01 * found[wrong].abs().mean()
        return tuple(found)

    monkeypatch.setattr(module, direction, spoilt)
    with pytest.raises(WrongResultError):
        list(survey().parts(pace(0.1)))


def test_what_does_not_fit_is_a_gap_and_the_rest_goes_on(pace, monkeypatch):
    step = module._forward

    def limited(operands):
        if operands.weight.shape[-1] == 3:
            raise MemoryError
        return step(operands)

    monkeypatch.setattr(module, "_forward", limited)
    parts = list(survey(layouts="channels_last").parts(pace(0.1)))
    assert [p.notes.get("gap") for p in parts] == ["out_of_memory", None, None, None]


def test_it_stops_when_asked(pace):
    assert len(list(survey().parts(pace(0.2, stop_after=3)))) == 3
