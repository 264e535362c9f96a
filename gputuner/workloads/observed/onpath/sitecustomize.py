# pyright: basic, reportMissingImports=false
"""Runs as a watched Python starts: waits for the program to import torch, then makes way for the user's own.

Valid in any Python, also those that are too old to be watched. All that a program which never imports torch gets stands
in this one file, which loads no module that Python has not loaded by itself.
"""

import os
import sys

HERE = os.path.dirname(__file__)


class Finder(object):  # noqa: UP004 — Python 2
    """First of the finders: lets the others find torch, and has its loader tell when it has loaded.

    The loader stays the one that would have been: only its ``exec_module`` is replaced on the instance until then.
    """

    busy = False

    def find_spec(self, name, path=None, target=None):
        """None for all but torch; for torch what the next finder says."""
        if name != "torch" or self.busy:
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
            _look_into_torch(error)
        return spec


def _found_by_others(finder, name, path, target):
    for other in list(sys.meta_path):
        find = getattr(other, "find_spec", None)
        if other is finder or find is None:
            continue
        spec = find(name, path, target)
        if spec is not None:
            return spec
    return None


def _tell(loader, finder):
    load = loader.exec_module

    def exec_module(module):
        load(module)
        if getattr(module, "__name__", "") == "torch":
            loader.__dict__.pop("exec_module", None)
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
            _look_into_torch()

    loader.exec_module = exec_module


def _look_into_torch(error=None):
    """Load the hooks; whatever fails in it, the program goes on (``error``: what already did)."""
    try:
        package = type(sys)("_gputuner_observed")
        package.__path__ = [os.path.dirname(HERE)]
        sys.modules.setdefault("_gputuner_observed", package)
        from _gputuner_observed import arrival

        arrival.arrived(error)
    except Exception:
        return


def _await_torch():
    try:
        _put_first()
    except Exception:  # whatever it is, the program that starts here is not to notice
        return


def _put_first():
    sys.path[:] = [entry for entry in sys.path if entry != HERE]
    if sys.version_info < (3, 8) or not os.environ.get("GPUTUNER_WATCH_DIR"):
        return
    if "torch" in sys.modules:
        _look_into_torch()
    else:
        sys.meta_path.insert(0, Finder())


_await_torch()
# Python expects this name to be the user's own sitecustomize, and no module at all where there is none.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
