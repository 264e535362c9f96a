"""What a watched program loads: Python 3.8 grammar, the standard library alone, torch only as it finds it."""

import ast
import os
import sys
from pathlib import Path

import pytest

from gputuner.workloads.observed import environment

HOME = Path(environment.__file__).parent
FILES = sorted(HOME.rglob("*.py"))
STARTS = HOME / "onpath/sitecustomize.py"


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_closure_is_python_3_8_and_imports_the_standard_library_alone(path: Path):
    own = {"_gputuner_observed", "sitecustomize"}
    assert {name for name in imported(path) if name.split(".")[0] not in {*sys.stdlib_module_names, *own}} == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_annotations_are_not_evaluated_by_python_3_8(path: Path):
    text = path.read_text(encoding="utf-8")
    assert path == STARTS or "def " not in text or "from __future__ import annotations" in text


def test_a_python_that_starts_loads_no_module_for_us_that_it_had_not():
    assert imported(STARTS) == {"os", "sys", "_gputuner_observed", "sitecustomize"}


def test_the_folder_on_the_path_holds_one_module():
    assert [path.name for path in (HOME / "onpath").glob("*.py")] == ["sitecustomize.py"]


def test_an_empty_path_stays_empty_behind_ours():
    ours = str(HOME / "onpath")
    for before in ({}, {"PYTHONPATH": ""}):
        assert environment.injected(before, "/records")["PYTHONPATH"] == ours
    told = environment.injected({"PYTHONPATH": "/a" + os.pathsep + "/b", "HOME": "/h"}, "/records")
    assert told["PYTHONPATH"].split(os.pathsep) == [ours, "/a", "/b"]
    assert (told["HOME"], told["GPUTUNER_WATCH_DIR"]) == ("/h", "/records")
