"""The VRAM test and the compute burn on a simulated card, with the faults that were planted in it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_faults import Fault
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.vram_patterns import ROW_BYTES, TRAFFIC
from gputuner.workloads.simulated_costs.cost import Cost, Setting
from gputuner.workloads.simulated_costs.matmul import matmul

MIB = 1 << 20
PASSES = ("address", "inversions", "checkerboard", "inversions", "random", "retention")
LEAST_BLOCK = 16 * MIB
"""What is too small for a block is taken in halves, down to this."""
RATE_BLOCKS = 12
"""Of so many blocks at most the read rate is told: simulated blocks are alike."""
TEST_SHARE = 0.94
"""Of the copy's bandwidth that the passes reach."""


def vram(card: SimulatedCard, params: Mapping[str, Scalar]) -> Sequence[Setting]:
    """One cycle of passes, and the read rate of some blocks."""
    block, keep, most = (int(params[name]) for name in ("block_bytes", "keep_bytes", "most_bytes"))
    heat = str(params["heat"])
    room = card.free_bytes - keep
    covered = max(LEAST_BLOCK, min(room, most or room) // LEAST_BLOCK * LEAST_BLOCK)
    blocks = max(1, covered // block)
    faults = [fault for fault in card.faults_now("bad_memory") if _mode(fault) != "hot" or heat == "hot"]
    found: list[Setting] = []
    for name in PASSES:
        cost = _cost(card, float(TRAFFIC[name] * covered), covered, hot=heat == "hot")
        told = _told(name, faults, covered)
        notes: dict[str, Scalar] = {**told, "checked_bytes": covered, "held_s": 0.0, "covered_bytes": covered}
        found.append(Setting(params={"pass": name, "cycle": 0, "heat": heat}, cost=replace(cost, notes=notes)))
    for number in range(0, blocks, max(1, -(-blocks // RATE_BLOCKS))):
        cost = _cost(card, float(block) / _fraction(faults, number * block, block), covered, hot=False)
        cost = replace(cost, work={"bytes": float(block)})
        found.append(Setting(params={"pass": "rate", "offset_bytes": number * block, "bytes": block}, cost=cost))
    return found


def _mode(fault: Fault) -> str:
    return str(fault.params.get("mode", "stuck"))


def _cost(card: SimulatedCard, traffic: float, covered: int, *, hot: bool) -> Cost:
    top_hz = card.model.clock_max_mhz * 1e6
    moved = traffic / TEST_SHARE
    load = Load(
        compute_cycles=(0.9 if hot else 0.25) * moved / card.physics.bandwidth * top_hz,
        dram_bytes=moved,
        fixed_s=1e-4,
        host_s=1e-4,
        activity=0.8 if hot else 0.28,
        tensor=hot,
    )
    return Cost(
        load=load, work={"bytes": traffic}, allocated_bytes=covered, reserved_bytes=covered, noise=0.003,
        notes={"kernel": "simulated"},
    )  # fmt: skip


def _fraction(faults: Sequence[Fault], offset: int, size: int) -> float:
    for fault in faults:
        at = int(fault.number("offset_mib", 0.0) * MIB)
        if _mode(fault) == "slow" and offset <= at < offset + size:
            return fault.number("fraction", 0.5)
    return 1.0


def _told(name: str, faults: Sequence[Fault], covered: int) -> dict[str, Scalar]:
    """What the pass finds: a stuck bit in every pass, shared cells wherever words tell their place."""
    for fault in faults:
        mode = _mode(fault)
        if mode == "alias" and name != "checkerboard":
            return _shared(int(fault.number("capacity_mib", 24 * 1024) * MIB), covered)
        if mode in ("stuck", "hot") and (mode == "stuck" or name == "retention"):
            return _stuck(int(fault.number("offset_mib", 100.0) * MIB), int(fault.number("bit", 5)), covered)
    return {"errors": 0}


def _stuck(offset: int, bit: int, covered: int) -> dict[str, Scalar]:
    if offset >= covered:
        return {"errors": 0}
    row = offset // ROW_BYTES * ROW_BYTES
    return _notes(1, 1, f"{row:x}+{ROW_BYTES:x}", up=1 << bit, examples=f"{offset:x}:{0:016x}:{1 << bit:016x}")


def _shared(capacity: int, covered: int) -> dict[str, Scalar]:
    beyond = covered - capacity
    if beyond <= 0:
        return {"errors": 0}
    rows = beyond // ROW_BYTES
    span = f"{0:x}+{beyond:x}"
    return _notes(rows, rows, span, aliased=rows, aliases=f"{0:x}<{capacity:x}+{beyond:x}")


def _notes(
    errors: int, rows: int, spans: str, *, up: int = 0, aliased: int = 0, aliases: str = "", examples: str = ""
) -> dict[str, Scalar]:
    return {
        "errors": errors, "bad_rows": rows, "unseen_rows": 0, "transient": 0, "stale": 0, "aliased": aliased,
        "bits_up": f"{up:016x}", "bits_down": f"{0:016x}", "spans": spans, "aliases": aliases, "examples": examples,
    }  # fmt: skip


def burn(card: SimulatedCard, params: Mapping[str, Scalar]) -> Sequence[Setting]:
    """Products in each format."""
    wrong = bool(card.faults_now("wrong_product"))
    found: list[Setting] = []
    for name in str(params["precisions"]).split():
        cost = matmul(card, {"n": params["n"], "precision": name})
        notes: dict[str, Scalar] = {"errors": int(wrong), "wrong_numbers": int(wrong), "products": 1000}
        found.append(Setting(params={"precision": name, "n": int(params["n"])}, cost=replace(cost, notes=notes)))
    return found
