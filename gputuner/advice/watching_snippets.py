"""Code to paste for a training that was watched; names as in ``advice/snippets.py``."""


def fed(workers: int, *, pin: bool) -> str:
    """A DataLoader with processes of its own that live on from epoch to epoch."""
    pinned = ", pin_memory=True" if pin else ""
    return (
        "loader = torch.utils.data.DataLoader(\n"
        "    dataset, batch_size=batch_size, shuffle=True,\n"
        f"    num_workers={workers}, persistent_workers=True{pinned},\n"
        ")"
    )


def fused(optimizer: str) -> str:
    """The same optimizer, with all that it is given, as one kernel for all parameters."""
    return f"optimizer = torch.optim.{optimizer}(..., fused=True)  # ... is what you give it now"


def merged(*, cuda: bool) -> str:
    """Fewer operations: the compiler merges them, and on a card one CUDA graph launches them.

    In place, so that the names in its state stay as in checkpoints.
    """
    return 'model.compile(mode="reduce-overhead")' if cuda else "model.compile()"


def expandable() -> str:
    """Blocks that grow in place, so that sizes which vary do not cut the memory into pieces."""
    return "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True  # before the program starts"


def kept_pages() -> str:
    """glibc keeps freed memory for the next step instead of giving it back to the system."""
    return "export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1  # before the program starts (glibc)"
