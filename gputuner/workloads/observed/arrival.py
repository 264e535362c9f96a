# pyright: standard
"""Notices that a program has imported torch, without importing it and at no cost where it never does.

Loads no module that Python has not loaded by itself: not even ``__future__``.
"""

import sys

NAME = "torch"


class Finder:
    """First of the finders: lets the others find torch, and has its loader tell when it has loaded.

    The loader stays the one that would have been: only its ``exec_module`` is replaced on the instance until then.
    """

    def __init__(self) -> None:
        self.busy = False

    def find_spec(self, name, path=None, target=None):
        """None for all but torch; for torch what the next finder says."""
        if name != NAME or self.busy:
            return None
        self.busy = True  # a finder may ask the others in its turn
        try:
            spec = _found_by_others(self, name, path, target)
        finally:
            self.busy = False
        try:
            if spec is not None and spec.loader is not None:
                _tell(spec.loader, self)
        except Exception as error:
            _give_up(error)
        return spec


def await_torch() -> None:
    """From now on torch is looked into as soon as it has loaded (at once, if it has)."""
    if NAME in sys.modules:
        _arrived(None)
    else:
        sys.meta_path.insert(0, Finder())


def _found_by_others(finder, name, path, target):
    for other in list(sys.meta_path):
        find = getattr(other, "find_spec", None)
        if other is finder or find is None:
            continue
        spec = find(name, path, target)
        if spec is not None:
            return spec
    return None


def _tell(loader, finder) -> None:
    load = loader.exec_module

    def exec_module(module):
        load(module)
        if getattr(module, "__name__", "") == NAME:
            loader.__dict__.pop("exec_module", None)
            _arrived(finder)

    loader.exec_module = exec_module


def _arrived(finder) -> None:
    try:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        from . import hooks

        hooks.install(sys.modules[NAME])
    except Exception as error:
        _give_up(error)


def _give_up(error: Exception) -> None:
    try:
        from . import record

        record.say_off(error)
    except Exception:
        return
