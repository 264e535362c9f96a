# pyright: basic, reportMissingImports=false
"""Runs as a watched Python starts: leaves word that torch is to be looked into, then makes way for the user's own.

Valid in any Python, also those that are too old to be watched. Names no module of the standard library that is not
loaded anyway, for most programs never import torch.
"""

import os
import sys


def _leave_word():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here or not entry]
    if sys.version_info < (3, 8) or not os.environ.get("GPUTUNER_WATCH_DIR") or "_gputuner_observed" in sys.modules:
        return
    package = type(sys)("_gputuner_observed")
    package.__path__ = [os.path.dirname(here)]
    sys.modules["_gputuner_observed"] = package
    from _gputuner_observed import arrival

    arrival.await_torch()


def _try():
    try:
        _leave_word()
    except Exception:  # whatever it is, the program that starts here is not to notice
        return


_try()
# Python expects this name to be the user's own sitecustomize, and no module at all where there is none.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
