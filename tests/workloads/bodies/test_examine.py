import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gputuner.workloads.bodies.build import UnusableError, driver_runs, has_kernels
from gputuner.workloads.bodies.driver import DriverFacts
from gputuner.workloads.bodies.examine import check_card

# Architectures of published wheels: torch 2.6 for CUDA 12.6, torch 2.9 for CUDA 13.0
CUDA_12_6 = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]
CUDA_13_0 = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]


def card(name: str, capability: tuple[int, int], cuda: tuple[int, int]) -> DriverFacts:
    return DriverFacts(cuda=cuda, name=name, capability=capability, sm_count=82, total_bytes=24 << 30, l2_bytes=6 << 20)


@pytest.mark.parametrize(
    ("architectures", "capability", "expected"),
    [
        (CUDA_12_6, (6, 1), True),  # GTX 1080 runs the code of sm_60
        (CUDA_12_6, (7, 0), True),  # V100
        (CUDA_12_6, (8, 9), True),  # RTX 4090 runs the code of sm_86
        (CUDA_12_6, (12, 0), False),  # RTX 5090: neither machine code nor intermediate code
        (CUDA_13_0, (6, 1), False),  # Pascal left the CUDA 13 builds
        (CUDA_13_0, (7, 0), False),  # and so did Volta
        (CUDA_13_0, (7, 5), True),
        (CUDA_13_0, (12, 1), True),
        (["sm_90a"], (9, 0), True),
        (["sm_90a"], (10, 0), False),
        (["sm_100a"], (10, 3), False),
        (["sm_100f"], (10, 3), True),
        (["sm_80"], (7, 5), False),
        (["sm_86"], (8, 0), False),
        (["compute_80"], (9, 0), True),
        (["compute_80"], (7, 5), False),
        ([], (9, 0), True),
    ],
)
def test_which_cards_a_build_serves(architectures, capability, expected):
    assert has_kernels(architectures, capability) is expected


@pytest.mark.parametrize(
    ("driver", "build", "expected"),
    [((12, 4), "12.6", True), ((12, 8), "13.0", False), ((13, 0), "12.6", True), ((11, 8), "11.8", True)],
)
def test_which_builds_a_driver_runs(driver, build, expected):
    assert driver_runs(driver, build) is expected


def test_a_card_without_kernels_is_named_with_what_the_build_has():
    with pytest.raises(UnusableError) as caught:
        check_card(card("NVIDIA GeForce GTX 1080", (6, 1), (13, 0)), "13.0", CUDA_13_0)
    assert caught.value.code == "no_kernels_for_card"
    assert caught.value.params["card"] == "NVIDIA GeForce GTX 1080"
    assert caught.value.params["capability"] == "6.1"
    assert "sm_75" in str(caught.value.params["arch_list"])


def test_a_driver_too_old_is_named_with_both_versions():
    with pytest.raises(UnusableError) as caught:
        check_card(card("NVIDIA GeForce RTX 3090", (8, 6), (12, 2)), "13.0", CUDA_13_0)
    assert caught.value.code == "driver_too_old_for_torch"
    assert caught.value.params == {"torch_cuda": "13.0", "driver_cuda": "12.2"}


def test_a_fitting_card_passes():
    check_card(card("NVIDIA H200", (9, 0), (13, 0)), "13.0", CUDA_13_0)


DRIVER = r"""
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
int cuInit(unsigned f) { (void)f; const char *c = getenv("DRIVER_CODE"); return c ? atoi(c) : 0; }
int cuDriverGetVersion(int *v) { *v = 12080; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int i) { *d = 40 + i; return 0; }
int cuDeviceGetName(char *s, int n, int d) {
    if (d != 40) return 101;
    strncpy(s, "NVIDIA GeForce RTX 3090", n);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *b, int d) { if (d != 40) return 101; *b = 25757220864ULL; return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) {
    if (d != 40) return 101;
    *v = a == 75 ? 8 : a == 76 ? 6 : a == 16 ? 82 : a == 38 ? 6291456 : -1;
    return 0;
}
int cuGetErrorName(int c, const char **s) { *s = c == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OTHER"; return 0; }
"""

ASK = """
import json
from gputuner.workloads.bodies.driver import DriverError, driver_facts
try:
    facts = driver_facts()
    print(json.dumps([facts.cuda, facts.name, facts.capability, facts.sm_count, facts.total_bytes, facts.l2_bytes]))
except DriverError as err:
    print(json.dumps([err.code, str(err)]))
"""


def ask_driver(folder: Path, **environment: str) -> list[object]:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        assert not os.environ.get("CI"), "the fake driver needs a C compiler (gcc)"
        pytest.skip("needs a C compiler: gcc")
    (folder / "driver.c").write_text(DRIVER)
    library = folder / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, folder / "driver.c"], check=True)
    answer = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**os.environ, "LD_LIBRARY_PATH": str(folder), **environment},
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(answer.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="a shared library by LD_LIBRARY_PATH")
def test_the_driver_is_asked_without_torch(tmp_path: Path):
    assert ask_driver(tmp_path) == [[12, 8], "NVIDIA GeForce RTX 3090", [8, 6], 82, 25757220864, 6291456]


@pytest.mark.skipif(sys.platform != "linux", reason="a shared library by LD_LIBRARY_PATH")
def test_a_driver_without_a_card_says_so(tmp_path: Path):
    assert ask_driver(tmp_path, DRIVER_CODE="100") == [100, "CUDA_ERROR_NO_DEVICE"]
