"""Offscreen Qt, and the invented cards and ports as one fixture (test modules cannot import each other here)."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

_SPEC = importlib.util.spec_from_file_location("gui_invented", Path(__file__).with_name("invented.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
_INVENTED = importlib.util.module_from_spec(_SPEC)
sys.modules["gui_invented"] = _INVENTED
_SPEC.loader.exec_module(_INVENTED)


@pytest.fixture(scope="session")
def invented() -> ModuleType:
    return _INVENTED


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    from gputuner.language.words import set_language

    set_language("en")
    yield
    set_language("en")
