"""The worker runs in foreign interpreters: Python 3.10 grammar, standard library, torch, nothing else of gputuner."""

import ast
import sys
from pathlib import Path

import pytest

import gputuner
from gputuner.workloads.launch import BOOT, package_root, worker_command, worker_environment

ROOT = package_root()
BODIES = sorted((ROOT / "workloads/bodies").glob("*.py"))
LIGHT = [ROOT / "__init__.py", ROOT / "workloads/__init__.py", ROOT / "workloads/worker.py", ROOT / "workloads/wire.py"]
CLOSURE = ("gputuner.workloads.wire", "gputuner.workloads.bodies")


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", LIGHT + BODIES, ids=lambda path: path.name)
def test_closure_is_python_3_10_and_stands_alone(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
    foreign = {
        name
        for name in imported(tree)
        if name.split(".")[0] not in {*sys.stdlib_module_names, "torch"} and not name.startswith(CLOSURE)
    }
    assert foreign == set()


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.name)
def test_only_bodies_know_torch(path: Path):
    assert not {name for name in imported(ast.parse(path.read_text(encoding="utf-8"))) if name.startswith("torch")}


def test_package_file_imports_nothing():
    assert imported(ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))) == set()


def test_boot_is_python_3_10():
    ast.parse(BOOT, feature_version=(3, 10))


def test_root_is_the_package_itself():
    assert Path(gputuner.__file__).resolve().parent == ROOT


def test_command_line_names_interpreter_device_and_cap():
    command = worker_command("/env/bin/python", "cuda", 1 << 30)
    assert command[:2] == ["/env/bin/python", "-c"]
    assert command[3:] == [str(ROOT), "--worker", "--device", "cuda", "--memory-cap-bytes", "1073741824"]
    assert "--memory-cap-bytes" not in worker_command("python", "cpu", None)


def test_a_worker_sees_exactly_one_card():
    environment = worker_environment("GPU-1f2e", {"CUDA_VISIBLE_DEVICES": "0,1", "HOME": "/home/anna"})
    assert environment["CUDA_VISIBLE_DEVICES"] == "GPU-1f2e"
    assert environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert environment["HOME"] == "/home/anna"
    assert "MALLOC_ARENA_MAX" not in environment


def test_the_processor_sees_no_card_and_threads_that_wait():
    environment = worker_environment("cpu", {"OMP_WAIT_POLICY": "ACTIVE"})
    assert environment["CUDA_VISIBLE_DEVICES"] == ""
    assert environment["OMP_WAIT_POLICY"] == "ACTIVE"
    assert worker_environment("cpu", {})["OMP_WAIT_POLICY"] == "PASSIVE"


def test_only_a_memory_probe_on_the_processor_gets_the_slow_allocator():
    probe = worker_environment("cpu", {}, memory_probe=True)
    assert probe["MALLOC_ARENA_MAX"] == "1"
    assert probe["MALLOC_MMAP_THRESHOLD_"] == "1048576"
    for environment in (worker_environment("cpu", {}), worker_environment("GPU-1f2e", {}, memory_probe=True)):
        assert not [name for name in environment if name.startswith("MALLOC_")]
