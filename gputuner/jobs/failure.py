"""What the last lines of a job's log say of its failure. Standard library only."""

from pathlib import Path

TAIL_BYTES = 4096
TAIL_LINES = 20
OUT_OF_MEMORY = (
    "CUDA out of memory",
    "OutOfMemoryError",
    "CUDA error: out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "RESOURCE_EXHAUSTED",
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "std::bad_alloc",
    "MemoryError",
)
"""Words of torch, CUDA's libraries, JAX, TensorFlow and Python for an allocation that failed."""


def log_tail(path: Path, most_bytes: int = TAIL_BYTES, most_lines: int | None = TAIL_LINES) -> str:
    """The last lines of a log, with control signs left out; empty where there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - most_bytes))
            raw = file.read(min(size, most_bytes))
    except OSError:
        return ""
    lines = raw.decode("utf-8", errors="replace").replace("\r\n", "\n").split("\n")
    kept = [line.rpartition("\r")[2] if not line.endswith("\r") else line.rstrip("\r") for line in lines]
    if size > most_bytes and len(kept) > 1:
        kept = kept[1:]  # begins in the middle of a line
    text = "\n".join("".join(sign for sign in line if sign.isprintable() or sign == "\t") for line in kept)
    return text if most_lines is None else "\n".join(text.strip("\n").split("\n")[-most_lines:])


def out_of_memory(tail: str) -> bool:
    """Whether these lines tell of memory that could not be had."""
    return any(words in tail for words in OUT_OF_MEMORY)
