# pyright: standard
"""What a batch holds, read without running any code of the user's: sizes only, and nothing is kept."""

from __future__ import annotations

DEEPEST = 4
"""Levels of containers that are looked into."""
WIDEST = 32
"""Entries of a container that are looked at."""


class Measure:
    """Reads batches of plain tensors in plain containers; classes of the user's own are opened, never called."""

    def __init__(self, torch) -> None:
        self._plain = (torch.Tensor, torch.nn.Parameter)

    def first_size(self, batch) -> int | None:
        """Samples of the batch: first dimension of the first tensor that has one; None where none is found."""
        if (type(batch) is list or type(batch) is tuple) and batch and type(batch[0]) in self._plain:
            shape = batch[0].shape
            if len(shape) > 0:
                return int(shape[0])
        return self._first(batch, DEEPEST)

    def _first(self, part, depth: int) -> int | None:
        if type(part) in self._plain:
            shape = part.shape
            return int(shape[0]) if len(shape) > 0 else None
        if depth == 0:
            return None
        for entry in entries(part):
            size = self._first(entry, depth - 1)
            if size is not None:
                return size
        return None


def entries(part) -> list:
    """Up to 32 entries of a container, by the built-in class that it derives from, so that no override runs."""
    if issubclass(type(part), tuple):
        return list(tuple.__getitem__(part, slice(WIDEST)))
    if issubclass(type(part), list):
        return list(list.__getitem__(part, slice(WIDEST)))
    if issubclass(type(part), dict):
        return [value for _, value in zip(range(WIDEST), dict.values(part))]  # noqa: B905 — Python 3.8
    if type(part) in (str, bytes, int, float, type(None)):
        return []
    try:
        inside = object.__getattribute__(part, "__dict__")
    except AttributeError:
        return []
    return entries(inside) if type(inside) is dict else []
