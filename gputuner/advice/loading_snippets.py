"""Code to paste about loading: the loader itself, processes that keep to one thread, a container's shared memory."""

from collections.abc import Sequence
from math import ceil

GIB = 1 << 30


KEPT = "    # collate_fn, drop_last and a sampler (instead of shuffle) as you have them"
"""What advice on a loader does not touch, and a new call of ``DataLoader`` would lose."""


def loader(
    batch: int,
    workers: int,
    *,
    prefetch: int = 2,
    pin: bool = False,
    persistent: bool = False,
    cpu: bool = False,
    function: bool = False,
    fixed: Sequence[str] = (),
) -> str:
    """A ``DataLoader`` of that setting; with pinned memory also the copy that makes use of it.

    ``function``: the recipe has a function that makes its loader. It is called, so that its sampler, its collate
    function and all else stay. ``fixed``: parameters that it does not take.
    """
    options = {"batch_size": f"batch_size={batch},", "num_workers": f"num_workers={workers},"}
    if workers:
        options["prefetch_factor"] = f"prefetch_factor={prefetch},  # batches that each process has ready"
    if pin and not cpu:
        options["pin_memory"] = "pin_memory=True,"
    if workers and persistent:
        options["persistent_workers"] = "persistent_workers=True,  # no new processes at each epoch"
    asked = [f"    {line}" for name, line in options.items() if name not in fixed]
    if function:
        lines = [
            "batches = loader(  # the recipe's function; or set these in its DataLoader(…) and leave the rest",
            *asked,
        ]
    else:
        lines = ["loader = torch.utils.data.DataLoader(", "    dataset,", "    shuffle=True,", KEPT, *asked]
    lines.append(")")
    if pin and not cpu:
        lines += [
            f"for inputs, targets in {'batches' if function else 'loader'}:",
            '    inputs, targets = inputs.to("cuda", non_blocking=True), targets.to("cuda", non_blocking=True)',
        ]
    return "\n".join(lines)


def one_thread(batch: int, workers: int) -> str:
    """Loader processes that compute with one thread each, OpenCV's included."""
    return "\n".join(
        [
            "def one_thread(worker):",
            "    torch.set_num_threads(1)",
            "    try:",
            "        import cv2",
            "        cv2.setNumThreads(0)  # OpenCV takes all cores in every process otherwise",
            "    except ImportError:",
            "        pass",
            "",
            "loader = torch.utils.data.DataLoader(",
            "    dataset,",
            f"    batch_size={batch},",
            "    shuffle=True,",
            KEPT,
            f"    num_workers={workers},",
            "    worker_init_fn=one_thread,",
            ")  # libraries that read OMP_NUM_THREADS: export OMP_NUM_THREADS=1 before the training starts",
        ]
    )


def all_cores() -> str:
    """Loader processes that may run on every core again, whatever a library confined them to."""
    return "\n".join(
        [
            "import os",
            "",
            "cores = os.sched_getaffinity(0)  # at the very top of the script, before other imports",
            "",
            "def on_all_cores(worker):",
            "    os.sched_setaffinity(0, cores)",
            "",
            "# torch.utils.data.DataLoader(…, worker_init_fn=on_all_cores)",
        ]
    )


def shared_memory(needs_bytes: int) -> str:
    """A container with enough shared memory, and what helps where it cannot be had."""
    gib = max(1, ceil(1.25 * needs_bytes / GIB))
    return "\n".join(
        [
            f"docker run --shm-size={gib}g …  # or --ipc=host; in Kubernetes an emptyDir of medium Memory at /dev/shm",
            "df -h /dev/shm  # what there is now",
        ]
    )


def training_threads(count: int) -> str:
    """Threads of the training on a processor, so that cores are left for loader processes."""
    return f"torch.set_num_threads({count})  # in the training; the loader's processes take the other cores"
