"""Accumulation keeps the effective batch, and its code treats the rest of an epoch rightly."""

import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.advice.accumulate import accumulate_rule, split
from gputuner.advice.snippets import accumulate


def test_c047_target_64_of_which_24_fit():
    told = split(64, 24)
    assert (told.micro, told.steps) == (16, 4)
    assert (told.other_micro, told.other_steps) == (24, 3)
    assert told.other_change == pytest.approx(0.125)


@given(st.integers(1, 4096), st.integers(1, 4096))
def test_the_effective_batch_is_always_kept(effective, largest):
    told = split(effective, largest)
    assert told.micro * told.steps == effective
    assert told.micro <= largest


def test_nothing_fits():
    with pytest.raises(ValueError, match="not even one"):
        split(64, 0)


def test_needed_where_the_effective_batch_does_not_fit(lab):
    points = (*lab.ladder(), *lab.limits(140, 120, 128))
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=256))
    assert told.params["needed"] is True
    assert (told.params["micro"], told.params["steps"]) == (64, 4)
    assert told.params["rate"] == 950.0


def test_saves_memory_where_a_smaller_batch_is_as_fast(lab):
    points = (*lab.ladder(), *lab.limits(552, 496, 128))
    (told,) = accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=256))
    assert told.params["needed"] is False
    assert (told.params["micro"], told.params["steps"]) == (128, 2)
    saved = told.params["memory_effective_bytes"] - told.params["memory_micro_bytes"]
    assert saved == pytest.approx(128 * 4.5e7, rel=0.01)


def test_nothing_to_say_where_the_fastest_is_large(lab):
    points = (*lab.ladder(), *lab.limits(552, 496, 256))
    assert accumulate_rule(lab.Evidence(card=lab.card(), points=points, effective_batch=256)) == []


class Parameter:
    def __init__(self) -> None:
        self.grad = None


class Counting:
    """A model of one weight whose loss is w·mean(x): its gradient is mean(x)."""

    def __init__(self) -> None:
        self.weight = Parameter()
        self.steps: list[float] = []
        self.scheduled = 0

    def parameters(self):
        return [self.weight]

    def __call__(self, inputs):
        return inputs

    def loss(self, outputs, targets):
        return Loss(self, sum(outputs) / len(outputs))

    def step(self):
        self.steps.append(self.weight.grad)

    def schedule(self):
        self.scheduled += 1

    def zero_grad(self, set_to_none):
        self.weight.grad = None


class Loss:
    def __init__(self, model: Counting, value: float) -> None:
        self.model, self.value = model, value

    def __mul__(self, factor: float) -> "Loss":
        return Loss(self.model, self.value * factor)

    def backward(self) -> None:
        self.model.weight.grad = (self.model.weight.grad or 0.0) + self.value


def test_c048_the_code_itself_weighs_the_rest_by_its_samples():
    """1000 samples, micro batches of 16, 4 steps: 63 micro batches, 15 full windows, a rest of 3 that counts 40."""
    samples = [float(i) for i in range(1000)]
    model = Counting()

    def data_loader(dataset, batch_size, shuffle):
        return [(dataset[i : i + batch_size], dataset[i : i + batch_size]) for i in range(0, len(dataset), batch_size)]

    names = {
        "DataLoader": data_loader,
        "dataset": samples,
        "model": model,
        "loss_fn": model.loss,
        "optimizer": types.SimpleNamespace(step=model.step, zero_grad=model.zero_grad),
        "scheduler": types.SimpleNamespace(step=model.schedule),
    }
    exec(accumulate(16, 4), names)
    assert len(model.steps) == 16
    assert model.scheduled == 16
    assert model.steps[0] == pytest.approx(sum(samples[:64]) / 64)
    assert model.steps[-1] == pytest.approx(sum(samples[960:]) / 40)
