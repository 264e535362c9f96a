"""Code to paste about loading: the loader itself, processes that keep to one thread, a container's shared memory."""

from math import ceil

GIB = 1 << 30


def loader(
    batch: int, workers: int, *, prefetch: int = 2, pin: bool = False, persistent: bool = False, cpu: bool = False
) -> str:
    """A ``DataLoader`` of that setting; with pinned memory also the copy that makes use of it."""
    lines = [
        "loader = torch.utils.data.DataLoader(",
        "    dataset,",
        f"    batch_size={batch},",
        "    shuffle=True,",
        f"    num_workers={workers},",
    ]
    if workers:
        lines.append(f"    prefetch_factor={prefetch},  # batches that each process has ready")
    if pin and not cpu:
        lines.append("    pin_memory=True,")
    if workers and persistent:
        lines.append("    persistent_workers=True,  # no new processes at each epoch")
    lines.append(")")
    if pin and not cpu:
        lines += [
            "for inputs, targets in loader:",
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
