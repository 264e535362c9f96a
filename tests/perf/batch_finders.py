"""Batch finders side by side: ours, Lightning's BatchSizeFinder in both modes, accelerate's find_executable_batch_size.

Run from the checkout: ``python tests/perf/batch_finders.py [--cap-gib 24] [--models resnet50,bert,edsr,ragged]``.
Needs a card, pytorch-lightning and accelerate; prints Markdown. A model takes up to ten minutes; ``--stage peers`` and
``--stage ours`` are the halves of its table, each with the true limit. bf16 autocast and AdamW everywhere; the cap is
torch's ``set_per_process_memory_fraction``. Each peer runs in a process of its own and tells its own time, start left
out. The ragged model is searched by the peers with batches as they come, as they would be, and by ours at the stated
longest.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).parent
PEERS = ("lightning-power", "lightning-binsearch", "accelerate")
START, LARGEST = 4096, 1 << 16
STEPS_OF_A_TRIAL, SOAK_STEPS, RATE_S = 3, 200, 2.0


def recipe(name, drawn=False):
    """Model, batch and loss of ``name``, the model on the card; ``drawn``: lengths as they come."""
    from tests.perf import finder_recipes

    made = finder_recipes.drawn() if drawn and name == "ragged" else getattr(finder_recipes, name)()
    return made["model"].cuda().train(), made["batch"], made["loss"]


def cap(gib):
    """Let this process take so much."""
    import torch

    torch.cuda.set_per_process_memory_fraction(gib * 2**30 / torch.cuda.mem_get_info()[1])


class Steps:
    """Training steps of a recipe at any size."""

    def __init__(self, name, drawn=False):
        import torch

        self.torch = torch
        self.model, self.batch, self.loss = recipe(name, drawn)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)

    def run(self, size, steps, fresh=False):
        """So many steps; ``fresh``: each with a batch of its own."""
        made = self.made(size)
        for _ in range(steps):
            self.optimizer.zero_grad(set_to_none=True)
            with self.torch.autocast("cuda", self.torch.bfloat16):
                loss = self.loss(self.model, made)
            loss.backward()
            self.optimizer.step()
            if fresh:
                made = self.made(size)
        self.torch.cuda.synchronize()

    def made(self, size):
        made = self.batch(size)
        return made.cuda() if hasattr(made, "cuda") else tuple(each.cuda() for each in made)

    def fits(self, size, steps=STEPS_OF_A_TRIAL):
        """Whether so many steps run, on an emptied allocator."""
        self.torch.cuda.empty_cache()
        try:
            self.run(size, steps)
        except self.torch.OutOfMemoryError:
            self.optimizer.zero_grad(set_to_none=True)
            return False
        return True

    def rate(self, size, seconds=RATE_S):
        """Samples/s."""
        self.run(size, 3)
        begun, done = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            self.run(size, 2)
            done += 2
        return size * done / (time.perf_counter() - begun)


def true_limit(name, gib):
    """The largest batch that survives three steps, by bisection."""
    cap(gib)
    steps = Steps(name)
    low, high = 1, 2
    while high <= LARGEST and steps.fits(high):
        low, high = high, 2 * high
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        low, high = (middle, high) if steps.fits(middle) else (low, middle)
    return {"batch": low}


def survives(name, gib, size):
    """Whether 200 steps run at ``size``, an evaluation pass in between; the ragged model's batches are as they come."""
    cap(gib)
    steps = Steps(name, drawn=True)
    try:
        steps.run(size, SOAK_STEPS // 2, fresh=name == "ragged")
        steps.model.eval()
        with steps.torch.no_grad(), steps.torch.autocast("cuda", steps.torch.bfloat16):
            steps.loss(steps.model, steps.made(size))
        steps.model.train()
        steps.run(size, SOAK_STEPS // 2, fresh=name == "ragged")
    except steps.torch.OutOfMemoryError:
        return {"survives": False}
    return {"survives": True}


def sweep(name, gib, sizes):
    """Rates at ``sizes``, twice, the second time in reverse."""
    cap(gib)
    steps = Steps(name)
    rates = {size: [] for size in sizes}
    for size in (*sizes, *reversed(sizes)):
        rates[size].append(steps.rate(size))
    return {str(size): sum(each) / len(each) for size, each in rates.items()}


def accelerate(name, gib):
    """accelerate's finder from ``START`` down."""
    from accelerate.utils import find_executable_batch_size

    cap(gib)
    steps, tried = Steps(name, drawn=True), []

    @find_executable_batch_size(starting_batch_size=START)
    def train(batch_size):
        tried.append(batch_size)
        steps.run(batch_size, STEPS_OF_A_TRIAL)
        return batch_size

    begun = time.perf_counter()
    return {"batch": train(), "seconds": time.perf_counter() - begun, "trials": len(tried)}


def lightning(name, gib, mode):
    """Lightning's finder."""
    import pytorch_lightning as pl
    import torch
    from pytorch_lightning.callbacks import BatchSizeFinder
    from torch.utils.data import DataLoader, Dataset

    cap(gib)
    model, batch, loss = recipe(name, drawn=True)

    class Samples(Dataset):
        def __len__(self):
            return 1 << 20

        def __getitem__(self, place):
            return place

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.batch_size, self.tried = model, 2, []

        def train_dataloader(self):
            def collate(places):
                return batch(len(places))

            return DataLoader(Samples(), batch_size=self.batch_size, collate_fn=collate)

        def training_step(self, made, _):
            self.tried.append(self.batch_size)
            return loss(self.model, made)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-4)

    module = Module()
    finder = BatchSizeFinder(mode=mode, steps_per_trial=STEPS_OF_A_TRIAL, init_val=2, max_trials=25)
    quiet = {
        "logger": False,
        "enable_progress_bar": False,
        "enable_checkpointing": False,
        "enable_model_summary": False,
    }
    trainer = pl.Trainer(
        accelerator="gpu", devices=1, precision="bf16-mixed", max_steps=1, callbacks=[finder], **quiet
    )  # fmt: skip
    begun = time.perf_counter()
    trainer.fit(module)
    return {
        "batch": module.batch_size,
        "seconds": time.perf_counter() - begun,
        "trials": len(dict.fromkeys(module.tried)),
    }


def ours(name, gib, limit_only):
    """Our own: seconds from the first trial, and from the command, to the last answer."""
    from gputuner.assembly.setup import open_setup
    from gputuner.experiments.batch import Batch
    from gputuner.model.events import PointMeasured, RunFinished, StepFinished, StepStarted, Warned

    spec = Batch(
        recipe=f"{HERE / 'finder_recipes.py'}:{name}", folder=str(HERE), precision="bf16", limit_only=limit_only,
        minutes=4.0,
    )  # fmt: skip
    told, trials, last_ns, first_ns, begun = {}, 0, 0, 0, time.monotonic_ns()
    data_dir = Path(tempfile.mkdtemp())
    with closing(open_setup(data_dir=data_dir, memory_cap_bytes=int(gib * 2**30))) as setup:
        run = setup.start(spec, (setup.select(None, for_experiment=True)[0],))
        for event in run:
            if isinstance(event, StepStarted | StepFinished | Warned | RunFinished):
                said = {
                    key: getattr(event, key, None)
                    for key in ("label", "params", "result", "message", "code", "error_text")
                }
                print(f"{(event.t_ns - begun) / 1e9:.1f} s {event.kind} {said}", file=sys.stderr, flush=True)
            if isinstance(event, StepStarted):
                trials, first_ns = trials + 1, first_ns or event.t_ns
            if isinstance(event, PointMeasured) and event.point.metric in (
                "batch_limit",
                "batch_safe",
                "batch_fastest",
            ):
                told[event.point.metric[6:]], last_ns = int(event.point.value), event.t_ns
    return {
        **told, "seconds": (last_ns - first_ns) / 1e9, "with_start_s": (last_ns - begun) / 1e9, "trials": trials,
    }  # fmt: skip


def child(*words):
    """What a child of this program says; one that takes over four minutes is ended."""
    command = [sys.executable, __file__, *map(str, words)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=240)
    except subprocess.TimeoutExpired:
        return {"error": "over 240 s"}
    return json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {"error": done.returncode}


def row(*cells):
    """A line of the table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def table(name, gib, stage):
    """All of one model, or one half of it."""
    limit = child("--run", "limit", name, gib)
    print(f"\n**{name}**, capped to {gib:g} GiB: true limit {limit}\n", flush=True)
    print("| finder | answer | seconds | trials | 200 steps |\n|---|---|---|---|---|", flush=True)
    soaked = {}

    def after(size):
        """What 200 steps at ``size`` say, run once."""
        if size is not None and size not in soaked:
            soaked[size] = child("--run", "survives", name, gib, size)
        return soaked.get(size, {})

    for peer in PEERS if stage != "ours" else ():
        found = child("--run", peer, name, gib)
        row(peer, found.get("batch", found), f"{found.get('seconds', 0):.1f}", found.get("trials"),
            after(found.get("batch")))  # fmt: skip
    if stage == "peers":
        return
    for limit_only in (True, False):
        found = child("--run", "ours", name, gib, int(limit_only))
        seconds = f"{found.get('seconds', 0):.1f}, with process starts {found.get('with_start_s', 0):.1f}"
        answers = {key: found.get(key) for key in ("limit", "safe", "fastest", "error") if key in found}
        row("ours, limit alone" if limit_only else "ours", answers, seconds, found.get("trials"),
            after(found.get("safe")))  # fmt: skip
    if "batch" in limit and "fastest" in found:
        _swept(name, gib, limit["batch"], found["fastest"])


def _swept(name, gib, limit, ours):
    """Rates from the limit down, and what ours has of the best."""
    sizes = sorted({max(1, round(limit * 2 ** (-k / 2))) for k in range(9)} | {ours})
    rates = child("--run", "sweep", name, gib, *sizes)
    if "error" in rates:
        print(f"\nrates: {rates}", flush=True)
        return
    best = max(rates, key=lambda size: rates[size])
    print(f"\nrates: {rates}; best {best}; ours {rates[str(ours)] / rates[best]:.4f} of it", flush=True)


def main():
    """One part in a child, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", nargs="+", default=None)
    parser.add_argument("--cap-gib", type=float, default=24.0)
    parser.add_argument("--models", default="resnet50,bert,edsr,ragged")
    parser.add_argument("--stage", choices=("all", "peers", "ours"), default="all")
    options = parser.parse_args()
    if options.run is None:
        for name in options.models.split(","):
            table(name, options.cap_gib, options.stage)
        return
    what, name, gib, *rest = options.run
    parts = {
        "limit": true_limit, "survives": survives, "accelerate": accelerate, "ours": ours, "sweep": sweep,
        "lightning-power": lightning, "lightning-binsearch": lightning,
    }  # fmt: skip
    more = {
        "lightning-power": ("power",), "lightning-binsearch": ("binsearch",), "survives": tuple(map(int, rest)),
        "ours": (rest == ["1"],), "sweep": ([int(size) for size in rest],),
    }.get(what, ())  # fmt: skip
    print(json.dumps(parts[what](name, float(gib), *more)))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1]))
    main()
