"""What a failing test has left open is ended with it: processes, pipes and files would fail a later test instead.

The traceback of a failure keeps alive what its frames hold, and pytest lets go of it when the next test begins. A
process that still runs then, or a file that nobody closed, is a warning there, and warnings are errors.
"""

import gc
import subprocess
import sys
import warnings
from collections.abc import Iterator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tidy up after a test that failed."""
    before = item.session.testsfailed
    try:
        return (yield)
    finally:
        if item.session.testsfailed > before:
            let_go()


def let_go() -> None:
    """Forget the last traceback, without a warning for what it held, and end the processes that nobody holds now."""
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
    for process in list(subprocess._active):  # type: ignore[attr-defined]  where a running one goes that is let go of
        process.kill()
        process.wait()
    subprocess._cleanup()  # type: ignore[attr-defined]
