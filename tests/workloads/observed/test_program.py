"""Real programs with our hooks in their environment: what is seen, and that nothing else changes."""

import json
import os
from pathlib import Path

import pytest

from tests.workloads.observed.program import Ended, run

pytestmark = pytest.mark.torch

TRAINING = """
import gc, os, random, sys, weakref
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
data = TensorDataset(torch.randn(96, 8), torch.randint(0, 2, (96,)))
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
seen = []
for batch in DataLoader(data, batch_size=48):  # a look at the data before it begins
    break
for epoch in range(4):
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2, prefetch_factor=3)
    for index, batch in enumerate(loader):
        seen.append(weakref.ref(batch[0]))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(batch[0]), batch[1])
        (loss / 2).backward()
        if index % 2:
            optimizer.step()
            optimizer.zero_grad()
    with torch.no_grad():
        for batch in DataLoader(data, batch_size=32):
            model(batch[0])
    print(epoch, f"{loss.item():.6f}", random.random() if epoch < 0 else torch.rand(1).item())
del batch, loss
gc.collect()
print(sum(ref() is not None for ref in seen), "kept")
print("sitecustomize" in sys.modules, [entry for entry in sys.path if "onpath" in entry])
"""


def test_a_training_is_seen_and_computes_the_same(tmp_path: Path):
    plain = run(TRAINING, tmp_path, hooks=False)
    told = run(TRAINING, tmp_path)
    assert (told.code, told.out, told.err) == (plain.code, plain.out, plain.err) == (0, plain.out, "")
    assert "0 kept" in told.out
    assert "False []" in told.out
    (seen,) = told.observed
    assert (seen.steps, seen.program, seen.ended, seen.off) == (24, "program.py", True, None)
    assert (seen.device, seen.optimizer, seen.autocast, seen.parameter_dtype) == ("cpu", "AdamW", "bfloat16", "float32")
    assert seen.parameters == 8 * 16 + 16 + 16 * 2 + 2
    assert seen.batch_size == 8
    assert seen.accumulated == pytest.approx(2)
    assert seen.evaluation_batches == 9  # of the last epoch's evaluation no step followed
    loader = seen.loaders[0]
    assert (loader.num_workers, loader.batch_size, loader.prefetch_factor, loader.pin_memory) == (2, 8, 3, False)
    timed = sum(json.loads(line).get("steps", 0) for line in told.lines)
    assert timed == 20  # neither the first, nor the three after an evaluation
    assert seen.operations_per_step is not None
    assert seen.operations_per_step > 2 * 5


RANKS = """
import os
import torch
from torch.utils.data import DataLoader, TensorDataset

def train(rank, start):
    os.environ["RANK"] = str(rank)
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    data = TensorDataset(torch.ones(24, 3))
    for (values,) in DataLoader(data, batch_size=4, num_workers=1, multiprocessing_context=start):
        (values @ weight).sum().backward()
        optimizer.step()

if __name__ == "__main__":
    train(0, "spawn")
    for rank in (1, 2):
        pid = os.fork()
        if pid == 0:
            train(rank, "fork")
            raise SystemExit
        os.waitpid(pid, 0)
"""


def test_each_training_process_writes_its_own_and_loader_workers_none(tmp_path: Path):
    told = run(RANKS, tmp_path)
    assert (told.code, told.err) == (0, "")
    assert sorted((seen.rank, seen.steps, seen.ended) for seen in told.observed) == [(n, 6, True) for n in range(3)]


QUIET = "import json, sys; print(json.dumps([sorted(sys.modules), sys.path]))"


def test_a_program_without_torch_has_the_same_modules_and_path_and_writes_nothing(tmp_path: Path):
    plain, told = run(QUIET, tmp_path, hooks=False), run(QUIET, tmp_path)
    assert (told.code, told.out, told.err, told.lines) == (0, plain.out, "", ())


@pytest.mark.parametrize("body", ["print('mine')", "raise ValueError('mine')", "import no_such_module"])
def test_the_users_own_sitecustomize_runs_as_it_would(tmp_path: Path, body: str):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text(body, encoding="utf-8")
    program = "import sys; print(getattr(sys.modules.get('sitecustomize'), '__file__', None))"
    environment = {"PYTHONPATH": str(own)}
    plain = run(program, tmp_path, environment=environment, hooks=False)
    told = run(program, tmp_path, environment=environment)
    assert (told.code, told.out, told.err) == (plain.code, plain.out, plain.err)
    assert plain.out or plain.err


STEPS = """
import resource, sys, time
import torch
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
if "full" in sys.argv:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
for _ in range(5):
    weight.sum().backward()
    optimizer.step()
if "fail" in sys.argv:
    next(iter(torch.utils.data.DataLoader([1, 2], collate_fn=lambda samples: 1 / 0)))
print(weight.tolist())
"""


def test_a_full_disk_switches_us_off_and_the_program_goes_on(tmp_path: Path):
    told = run(STEPS, tmp_path, "full")
    assert (told.code, told.err, told.lines) == (0, "", ())


def test_a_folder_that_is_gone_is_no_matter(tmp_path: Path):
    gone = "import torch, os, shutil\nshutil.rmtree(os.environ['GPUTUNER_WATCH_DIR'])\n"
    told = run(STEPS.replace("import torch\n", gone), tmp_path)
    assert (told.code, told.err, told.lines) == (0, "", ())


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Path]:
    """How a training that fails has ended, and the folder of its records."""
    folder = tmp_path_factory.mktemp("failed")
    return run(STEPS, folder, "fail"), folder / "records"


def test_an_error_of_the_users_comes_through_as_it_is(failed: tuple[Ended, Path]):
    told, _records = failed
    assert told.code == 1
    assert told.err.rstrip().endswith("ZeroDivisionError: division by zero")
    (seen,) = told.observed
    assert (seen.steps, seen.off) == (5, None)


def test_nobody_else_can_read_the_records(failed: tuple[Ended, Path]):
    (file,) = failed[1].glob("*.jsonl")
    assert os.stat(file).st_mode & 0o077 == 0


FAKES = {
    "broken": ("raise ImportError('libcudart.so not found')", "ImportError: libcudart.so not found"),
    "foreign": ("__version__ = '0'", ""),
}


@pytest.mark.parametrize("name", FAKES)
def test_a_torch_that_fails_or_is_none_fails_or_runs_as_it_would(tmp_path: Path, name: str):
    body, error = FAKES[name]
    (tmp_path / "torch.py").write_text(body, encoding="utf-8")
    told = run("import torch; print('went on')", tmp_path)
    assert told.err.rstrip().endswith(error)
    assert (told.code, told.out) == ((1, "") if error else (0, "went on\n"))
    assert [seen.off is not None for seen in told.observed] == ([] if error else [True])


SCALED = """
import torch
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for index in range(12):
    loss = (weight * (float("inf") if index in (3, 4) else 1.0)).sum()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print(scaler.get_scale())
"""


def test_steps_that_a_scaler_skips_are_counted(tmp_path: Path):
    told = run(SCALED, tmp_path)
    assert (told.code, told.out) == (0, "1.0\n"), told.err
    (seen,) = told.observed
    assert (seen.skipped_steps, seen.scaled, seen.steps) == (2, True, 10)


COMPILED = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

@torch.compile(backend="eager", fullgraph=True)
def forward(values):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return model(values).square().mean()

@torch.compile(backend="eager")
def update():
    optimizer.step()

for _ in range(4):
    optimizer.zero_grad()
    forward(torch.ones(2, 4)).backward()
    update()
for _ in range(3):
    forward(torch.ones(2, 4)).backward()
    optimizer.step()
print(model.weight.sum().item(), torch._dynamo.utils.counters["stats"]["unique_graphs"])
print(dict(torch._dynamo.utils.counters["graph_break"]))
"""


def test_a_compiled_training_has_the_same_graphs(tmp_path: Path):
    plain = run(COMPILED, tmp_path, hooks=False, warn="ignore")
    told = run(COMPILED, tmp_path, warn="ignore")
    assert plain.code == 0, plain.err
    assert (told.code, told.out) == (0, plain.out)
    assert any(seen.compiled for seen in told.observed)


ENDS = """
import os, sys, torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
if sys.argv[1] == "exit":
    train(150)
    os._exit(7)
if sys.argv[1] == "exec":
    train(150)
    try:
        os.execv("nowhere", ["nowhere"])
    except FileNotFoundError:
        train(50)
    os.execvp(sys.executable, [sys.executable, "-c", "print('another')"])
import multiprocessing
context = multiprocessing.get_context("fork")
children = [context.Process(target=train, args=(60,)) for _ in range(2)]
for child in children: child.start()
for child in children: child.join()
sys.exit(sum(child.exitcode for child in children))
"""


@pytest.mark.parametrize(
    ("how", "code", "steps", "ended"),
    [("exit", 7, [150], [True]), ("exec", 0, [200], [False]), ("fork", 0, [60, 60], [True, True])],
)
def test_steps_before_an_end_that_python_does_not_see_are_written(
    tmp_path: Path, how: str, code: int, steps: list[int], ended: list[bool]
):
    told = run(ENDS, tmp_path, how, warn="ignore")
    assert (told.code, told.err) == (code, "")
    assert [each.steps for each in told.observed] == steps
    assert [each.ended for each in told.observed] == ended
    assert {each.optimizer for each in told.observed} == {"SGD"}


def test_waiting_of_an_inference_is_seen(tmp_path: Path):
    code = """
import time, torch
class Slow(torch.utils.data.Dataset):
    def __len__(self): return 20
    def __getitem__(self, index):
        time.sleep(0.01)
        return torch.ones(2)
with torch.inference_mode():
    for batch in torch.utils.data.DataLoader(Slow(), 4): pass
"""
    (seen,) = run(code, tmp_path).observed
    assert (seen.steps, seen.ended) == (0, True)
    assert seen.unstepped_s >= 0.2
