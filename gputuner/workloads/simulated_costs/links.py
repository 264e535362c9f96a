"""Copies over links and all-reduce of a simulated card. The links carry what published runs reached."""

from collections.abc import Mapping

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.cost import Cost, Setting

LANE_RATE = {1: 0.2e9, 2: 0.4e9, 3: 0.772e9, 4: 1.62e9, 5: 3.52e9, 6: 7.0e9}
"""Bytes/s of one lane by generation: × 16 gives 12.35, 26 and 56.3 GB/s for 3, 4 and 5."""
BOTH_OVER_ONE = 1.86
"""Both directions at once against one (two RTX 3090: 27.1 and 54.2, an RTX 5090 56 and 111 GB/s; hosts reach less)."""
PAGEABLE_RATE = 9e9
"""Bytes/s that the host's own copy allows at most."""
PAGEABLE_SHARE = 0.55
SETUP_S = 8e-6
PEER_SHARE = 0.55
"""Of the link, for copies between cards that go through host memory."""
NVLINK_SHARE = 0.85
REDUCE_SHARE = 0.85


def link_rate(card: SimulatedCard) -> float:
    """Bytes/s of the card's link, one direction."""
    return LANE_RATE.get(card.facts.pcie_gen, LANE_RATE[4]) * card.facts.pcie_lanes


def _setting(
    params: dict[str, Scalar], work: dict[str, float], seconds: float, moved: float, notes: dict[str, Scalar], held: int
) -> Setting:
    """A setting that takes ``seconds`` whatever the card's clocks are, and moves ``moved`` bytes of its memory."""
    load = Load(compute_cycles=0.0, dram_bytes=moved, fixed_s=1e-6, host_s=seconds, activity=0.1, tensor=False)
    cost = Cost(
        load=load, work=work, allocated_bytes=held, reserved_bytes=held, noise=0.004, relative_error=0.0,
        notes={"kernel": "simulated", **notes},
    )  # fmt: skip
    return Setting(params=params, cost=cost)


def transfer(card: SimulatedCard, params: Mapping[str, Scalar]) -> tuple[Setting, ...]:
    """Sizes × directions, pinned and pageable."""
    settings: list[Setting] = []
    for memory in str(params["memory"]).split():
        pinned = memory == "pinned"
        rate = link_rate(card) if pinned else min(PAGEABLE_RATE, PAGEABLE_SHARE * link_rate(card))
        for size in map(int, str(params["sizes"]).split()):
            for direction in ("host_to_device", "device_to_host", "both")[: 3 if pinned else 2]:
                moved = float(size * (2 if direction == "both" else 1))
                seconds = SETUP_S + moved / (rate * (BOTH_OVER_ONE if direction == "both" else 1.0))
                named: dict[str, Scalar] = {"direction": direction, "pinned": pinned, "bytes": size}
                settings.append(_setting(named, {"bytes": moved}, seconds, moved, {}, 2 * size))
    return tuple(settings)


def _peer_rate(card: SimulatedCard) -> float:
    """One direction; the sheet counts both of NVLink's."""
    nvlink = NVLINK_SHARE * card.facts.nvlink_gb_s / 2 * 1e9
    return nvlink if _linked(card) else PEER_SHARE * link_rate(card)


def _linked(card: SimulatedCard) -> bool:
    return card.facts.nvlink != "none" and card.facts.nvlink_gb_s > 0


def peer_transfer(card: SimulatedCard, params: Mapping[str, Scalar]) -> tuple[Setting, ...]:
    """Sizes × directions between two cards of a kind."""
    settings: list[Setting] = []
    for size in map(int, str(params["sizes"]).split()):
        for direction in ("to_peer", "from_peer", "both"):
            moved = float(size * (2 if direction == "both" else 1))
            seconds = 2 * SETUP_S + moved / (_peer_rate(card) * (BOTH_OVER_ONE if direction == "both" else 1.0))
            named: dict[str, Scalar] = {"direction": direction, "bytes": size}
            notes: dict[str, Scalar] = {"peer_access": _linked(card)}
            settings.append(_setting(named, {"bytes": moved}, seconds, moved, notes, 2 * size))
    return tuple(settings)


def allreduce(card: SimulatedCard, params: Mapping[str, Scalar]) -> tuple[Setting, ...]:
    """Sizes over two cards of a kind: bus bandwidth is the link's, less what the protocol takes."""
    settings: list[Setting] = []
    for size in map(int, str(params["sizes"]).split()):
        seconds = 25e-6 + size / (REDUCE_SHARE * _peer_rate(card))
        named: dict[str, Scalar] = {"bytes": size, "library": "nccl", "ranks": 2}
        settings.append(_setting(named, {"bytes": float(size)}, seconds, 3.0 * size, {}, 2 * size))
    return tuple(settings)
