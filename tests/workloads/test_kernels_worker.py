"""The worker for our own kernels as a process: how it is started, and what it says where there is no card for it."""

import json
import os
import subprocess
from importlib.util import find_spec

from gputuner.assembly.children import child_command
from gputuner.workloads.launch import kernels_command, worker_environment


def test_it_is_a_child_of_this_program():
    assert kernels_command(["gputuner"], 1 << 30) == [
        "gputuner", "--worker", "--device", "kernels", "--memory-cap-bytes", "1073741824",
    ]  # fmt: skip
    assert kernels_command(["python", "-m", "gputuner"])[-1] == "kernels"


def test_without_library_or_driver_it_says_why_and_ends():
    environment = worker_environment("GPU-none", os.environ)
    with subprocess.Popen(
        kernels_command(child_command()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout
        message = json.loads(process.stdout.readline())
        assert process.wait(timeout=600) == 3
    assert message["kind"] == "unusable"
    if find_spec("cuda") is None:
        assert message["code"] == "extra_missing"
        assert message["params"]["extra"] == "kernels"
    else:
        assert message["code"] in ("extra_missing", "cuda_unavailable")
