"""The code to paste runs, and accumulated gradients are those of the whole batch."""

import ast
import copy

import pytest

from gputuner.advice import snippets

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
TOLERANCE = {"fp32": 1e-6, "tf32": 1e-6, "fp16": 2e-3, "bf16": 2e-2}


class Samples(torch.utils.data.Dataset):
    def __init__(self, count: int) -> None:
        random = torch.Generator().manual_seed(1)
        self.inputs = torch.randn(count, 6, generator=random)
        self.targets = torch.randint(0, 3, (count,), generator=random)

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, at):
        return self.inputs[at], self.targets[at]


class Recording(torch.optim.SGD):
    """Keeps the gradients of every step; the weights stay as they are (rate 0), so windows can be compared."""

    def __init__(self, parameters) -> None:
        super().__init__(parameters, lr=0.0)
        self.seen = []

    def step(self, closure=None):
        self.seen.append([p.grad.clone() for group in self.param_groups for p in group["params"]])
        return super().step(closure)


class Ordered(torch.utils.data.DataLoader):
    """The loader without shuffling: the windows are known."""

    def __init__(self, dataset, *, batch_size, shuffle, num_workers=0, drop_last=False) -> None:
        assert shuffle
        super().__init__(dataset, batch_size=batch_size, num_workers=num_workers, drop_last=drop_last)


@pytest.fixture
def execute(monkeypatch):
    """Run a snippet on the CPU among the reader's own names."""
    matmul = torch.get_float32_matmul_precision()
    convolution = torch.backends.cudnn.allow_tf32
    monkeypatch.setattr(torch.utils.data, "DataLoader", Ordered)

    def run(
        code: str,
        count: int = 40,
        max_norm: float = float("inf"),
        norm: bool = False,
        spoilt: int | None = None,
        **more,
    ):
        torch.manual_seed(0)
        middle = torch.nn.BatchNorm1d(8) if norm else torch.nn.Tanh()
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), middle, torch.nn.Linear(8, 3))
        optimizer = Recording(model.parameters())
        dataset = Samples(count)
        if spoilt is not None:
            dataset.inputs[spoilt] = float("inf")
        names = {
            "torch": torch,
            "model": model,
            "dataset": dataset,
            "loader": Ordered(dataset, batch_size=8, shuffle=True),
            "loss_fn": torch.nn.functional.cross_entropy,
            "optimizer": optimizer,
            "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1),
            "max_norm": max_norm,
            **more,
        }
        exec(code.replace('"cuda"', '"cpu"'), names)
        return names

    yield run
    torch.set_float32_matmul_precision(matmul)
    torch.backends.cudnn.allow_tf32 = convolution


def whole_batch(model, inputs, targets, name):
    """Gradients of one step over all samples at once, in the same format."""
    own = copy.deepcopy(model)
    own.zero_grad()
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(name)
    with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
        loss = torch.nn.functional.cross_entropy(own(inputs), targets)
    loss.backward()
    return [p.grad for p in own.parameters()]


@pytest.mark.parametrize("name", PRECISIONS)
@pytest.mark.parametrize("cpu", [True, False])
def test_a_loop_in_each_format_steps_once_a_batch_from_cleared_gradients(execute, name, cpu):
    names = execute(snippets.precision(name, cpu=cpu))
    seen, data = names["optimizer"].seen, names["dataset"]
    assert len(seen) == 5
    for step, gradients in enumerate(seen):
        part = slice(8 * step, 8 * step + 8)
        wanted = whole_batch(names["model"], data.inputs[part], data.targets[part], name)
        for got, want in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(got, want, rtol=TOLERANCE[name], atol=TOLERANCE[name])


@pytest.mark.parametrize("name", PRECISIONS)
@pytest.mark.parametrize(("micro", "steps", "count"), [(8, 4, 96), (8, 4, 75), (4, 2, 5), (16, 4, 1000)])
def test_c048_accumulated_gradients_are_those_of_the_whole_batch(execute, name, micro, steps, count):
    """The last window too: 75 samples are 32 + 32 + 11, of which 8 + 3 in the last."""
    names = execute(snippets.accumulate(micro, steps, name, cpu=False), count=count)
    seen, data, effective = names["optimizer"].seen, names["dataset"], micro * steps
    assert len(seen) == -(-count // effective)
    assert names["scheduler"].last_epoch == len(seen)
    for window, gradients in enumerate(seen):
        part = slice(effective * window, effective * (window + 1))
        wanted = whole_batch(names["model"], data.inputs[part], data.targets[part], name)
        for got, want in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(got, want, rtol=TOLERANCE[name], atol=TOLERANCE[name])
    assert all(p.grad is None for p in names["model"].parameters())


@pytest.mark.parametrize("name", PRECISIONS)
def test_clipping_sees_true_gradients_of_the_whole_window(execute, name):
    names = execute(snippets.accumulate(8, 4, name, cpu=False), count=75, max_norm=0.01)
    for gradients in names["optimizer"].seen:
        norm = torch.sqrt(sum((g.float() ** 2).sum() for g in gradients))
        assert float(norm) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(("name", "updates"), [("fp32", 1000), ("fp16", 50)])
def test_c049_schedule_clipping_and_scaler_act_once_per_optimizer_step(execute, monkeypatch, name, updates):
    """2000 micro batches in windows of two are 1000 steps of the schedule; and in which order it all happens."""
    order = []

    def noted(owner, method, word):
        original = getattr(owner, method)

        def call(*args, **named):
            order.append(word)
            return original(*args, **named)

        monkeypatch.setattr(owner, method, call)

    noted(torch.nn.utils, "clip_grad_norm_", "clip")
    noted(Recording, "step", "optimizer")
    for method in ("unscale_", "update"):
        noted(torch.amp.GradScaler, method, method)
    code = snippets.accumulate(1, 2, name, cpu=True)
    names = execute(
        code.replace("scheduler.step()", "scheduler.step(); order.append('schedule')"), order=order, count=2 * updates
    )
    assert names["scheduler"].last_epoch == updates
    window = {
        "fp32": ["clip", "optimizer", "schedule"],
        "fp16": ["unscale_", "clip", "optimizer", "update", "schedule"],
    }[name]
    assert order == updates * window


def test_c049_a_step_that_the_scaler_skips_moves_no_schedule(execute):
    """The second of five windows overflows; those after it are whole again."""
    names = execute(snippets.accumulate(4, 2, "fp16", cpu=True), count=40, spoilt=9)
    seen, data = names["optimizer"].seen, names["dataset"]
    assert names["scheduler"].last_epoch == len(seen) == 4
    wanted = whole_batch(names["model"], data.inputs[16:24], data.targets[16:24], "fp16")
    for got, want in zip(seen[1], wanted, strict=True):
        torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("samples", "micro", "steps", "updates"), [(1000, 16, 4, 16), (100, 2, 1, 50), (100, 8, 1, 13)]
)
def test_c050_steps_of_an_epoch_are_those_of_the_size_in_force(execute, samples, micro, steps, updates):
    """Found 2 after 8 was tried: 50 steps an epoch, 500 in ten, not 125."""
    names = execute(snippets.accumulate(micro, steps, "fp32", cpu=True), count=samples)
    assert names["steps_per_epoch"] == updates == names["scheduler"].last_epoch


@pytest.mark.parametrize("batch", [10, 100])
def test_c039_a_last_batch_of_one_sample_is_dropped_where_batch_norm_would_fail(execute, batch):
    """1001 rows."""
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        execute(snippets.accumulate(batch, 2, "fp32", cpu=True), count=1001, norm=True)
    names = execute(snippets.accumulate(batch, 2, "fp32", cpu=True, lonely=True), count=1001, norm=True)
    assert names["scheduler"].last_epoch == names["steps_per_epoch"] == 1000 // (2 * batch)
    names = execute(snippets.loader(batch, lonely=True), count=1001)
    assert {len(targets) for _, targets in names["loader"]} == {batch}


def test_with_batch_norm_the_code_says_that_it_is_not_the_same():
    assert "Batch norm sees 8 samples at a time" in snippets.accumulate(8, 4, "fp32", cpu=True)


def test_a_loader_drops_no_sample(execute):
    for code in (snippets.loader(64), snippets.loader(512, effective=256)):
        names = execute(code)
        assert sum(len(targets) for _, targets in names["loader"]) == 40


def test_the_small_ones_run(execute):
    threads = torch.get_num_threads()
    execute(snippets.threads(threads))
    assert torch.get_num_threads() == threads
    execute("inputs = torch.zeros(2, 3, 4, 4)\n" + snippets.channels_last())
    assert ast.parse(snippets.compiled())
    names = execute("batch_size = 8\n" + snippets.workers(1))
    assert names["loader"].num_workers == 1
