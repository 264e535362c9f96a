"""Four scripts, each held back by something else, under the hooks and the collector: which cause is named. Markdown.

``python -m tests.perf.watch_causes [--seconds 20] [--python PATH] [--gpu SEL]`` runs the scripts of
tests/workloads/observed/scripts in turn, on the first card where there is one, and prints for each what was named, the
shares, and the signs they rest on. Where others took most of the time on this machine, the training's own largest share
counts. Exit code 1 where a wrong cause was named.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[1] / "workloads/observed/scripts"
RIGHT = {
    "data_starved": {"data"},
    "launch_bound": {"host_launch"},
    "compute_bound": {"compute"},
    "memory_heavy": {"memory_capacity", "memory_bandwidth"},
}


def main() -> None:
    """Run the four and print a table."""
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=20.0)
    options.add_argument("--python", default=sys.executable)
    options.add_argument("--gpu", default="")
    asked = options.parse_args()
    wrong = 0
    print("| script | named | right | shares | signs |\n|---|---|---|---|---|")
    for name, right in RIGHT.items():
        told = _watched(name, asked.seconds, asked.python, asked.gpu)
        own = next((part["cause"] for part in told["parts"] if part["cause"] not in ("shared", "unknown")), "")
        wrong += told["cause"] not in right and own not in right
        sure = "" if told["sure"] else " (likely)"
        mark = "yes" if told["cause"] in right else f"behind others: {own}" if own in right else "**no**"
        shares = ", ".join(f"{part['cause']} {part['share']:.0%}" for part in told["parts"])
        signs = ", ".join(f"{sign['name']} {sign['value']:.3g}" for sign in told["signs"])
        print(f"| {name} | {told['cause']}{sure} | {mark} | {shares} | {signs} |", flush=True)
    raise SystemExit(1 if wrong else 0)


def _watched(name: str, seconds: float, python: str, gpu: str) -> dict[str, Any]:
    """``where_time_went`` of the document that ``watch --json`` prints for one script."""
    with tempfile.TemporaryDirectory() as folder:
        where = ["--gpu", gpu] if gpu else []
        command = [
            sys.executable,
            "-m",
            "gputuner",
            "--cli",
            "watch",
            "--json",
            "--data-dir",
            folder,
            *where,
            "--",
            python,
        ]
        told = subprocess.run(
            [*command, str(SCRIPTS / f"{name}.py"), str(seconds)],
            env=dict(os.environ),
            capture_output=True,
            text=True,
            check=False,
        )
        if told.returncode:
            raise SystemExit(f"{name}: exit code {told.returncode}\n{told.stderr[-2000:]}")
        return json.loads(told.stdout)["where_time_went"]


if __name__ == "__main__":
    main()
