"""How the engine starts a worker: command line and environment (the parent's side)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gputuner.model.cards import CPU_CARD

BOOT = """\
import sys
root = sys.argv.pop(1)
sys.path[:] = [entry for entry in sys.path if entry]
import json, types
if sys.version_info < (3, 10):
    found = "%d.%d" % sys.version_info[:2]
    text = "Python %s is older than 3.10" % found
    params = {"python": found, "least": "3.10"}
    print(json.dumps({"kind": "unusable", "code": "python_too_old", "message": text, "params": params}))
    sys.exit(3)
package = types.ModuleType("gputuner")
package.__path__ = [root]
sys.modules["gputuner"] = package
from gputuner.workloads.worker import main
sys.exit(main(sys.argv[1:]))
"""
"""Registers the package in a foreign interpreter without adding to ``sys.path`` (a foreign site-packages there breaks
the user's own numpy); takes out only the current folder, whose files could shadow the standard library."""


def package_root() -> Path:
    """The folder of the package ``gputuner`` (sources, also when frozen)."""
    return Path(__file__).resolve().parent.parent


def worker_command(python: str, device: str, memory_cap_bytes: int | None = None) -> list[str]:
    """The command line of a worker in the interpreter ``python``.

    Args:
        python: any Python ≥ 3.10, normally the user's own with torch ≥ 2.4.
        device: ``cuda`` or ``cpu``.
        memory_cap_bytes: the most memory the trials may take, in bytes; None: what there is.
    """
    command = [python, "-c", BOOT, str(package_root()), "--worker", "--device", device]
    if memory_cap_bytes is not None:
        command += ["--memory-cap-bytes", str(memory_cap_bytes)]
    return command


def kernels_command(child: Sequence[str], memory_cap_bytes: int | None = None) -> list[str]:
    """The command line of a worker for our own kernels.

    Args:
        child: how this program starts a child of itself that is given its arguments.
        memory_cap_bytes: the most memory the trials may take, in bytes; None: what there is.
    """
    command = [*child, "--worker", "--device", "kernels"]
    if memory_cap_bytes is not None:
        command += ["--memory-cap-bytes", str(memory_cap_bytes)]
    return command


MEMORY_PROBE = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "1048576"}
"""glibc: one arena and a fixed mmap threshold, for a worker on ``cpu`` that is asked for memory.

Without them oneDNN crashed under a memory cap in 2 of 12 tries, and freed blocks stayed in the heap, so that the peak
did not follow the batch size. Each tensor is mapped and zeroed anew, which costs a quarter of the processor time of a
training step (docs/measurements/cpu-memory.md); so rates are measured without them, and then without a cap.
"""


def worker_environment(card_uuid: str, base: Mapping[str, str], *, memory_probe: bool = False) -> dict[str, str]:
    """The environment of a worker that sees exactly one card.

    Args:
        card_uuid: UUID of the card as NVML gives it (``GPU-…`` or ``MIG-…``), or ``cpu``.
        base: the environment to start from, normally ``os.environ``.
        memory_probe: it is asked for memory, not for rates (only ``cpu`` makes a difference).
    """
    environment = dict(base)
    environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    if card_uuid == CPU_CARD:
        environment["CUDA_VISIBLE_DEVICES"] = ""
        if memory_probe:
            environment.update(MEMORY_PROBE)
        # Threads that spin at a barrier on cores they share with others made a training step up to 15 times slower.
        environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    else:
        environment["CUDA_VISIBLE_DEVICES"] = card_uuid
    return environment


def command_environment(card_uuid: str, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command of the user's that sees exactly one card, and is otherwise as it was.

    Args:
        card_uuid: as for ``worker_environment``.
        base: the environment that the user has given us.
    """
    seen = "" if card_uuid == CPU_CARD else card_uuid
    return {**base, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": seen}


def with_peers(environment: Mapping[str, str], peers: Sequence[str]) -> dict[str, str]:
    """The environment of a worker that sees further cards (UUIDs) behind its own: its device 0 stays the same."""
    seen = (environment.get("CUDA_VISIBLE_DEVICES", ""), *peers)
    return {**environment, "CUDA_VISIBLE_DEVICES": ",".join(seen)} if peers else dict(environment)
