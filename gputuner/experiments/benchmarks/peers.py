"""What the further cards of a figure did meanwhile: a copy or a sum over several cards is as good as the worst of them.

Of several further cards the lowest clock and link and the highest temperature are told, and the flags of any.
"""

from collections.abc import Callable, Iterable, Sequence

from gputuner.analysis.limits import limit_flags, link_below_max
from gputuner.model.points import Flag
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, PeerSeen

WORST: dict[str, tuple[Callable[[Iterable[float]], float], Callable[[PeerSeen], float | None]]] = {
    "peer_sm_clock_mhz": (min, lambda peer: peer.conditions.sm_clock_mhz),
    "peer_memory_clock_mhz": (min, lambda peer: peer.conditions.memory_clock_mhz),
    "peer_core_temperature_max_c": (max, lambda peer: peer.core_temperature_max_c),
    "peer_memory_temperature_end_c": (max, lambda peer: peer.conditions.memory_temperature_end_c),
    "peer_pcie_generation": (min, lambda peer: peer.conditions.pcie_generation),
    "peer_pcie_width": (min, lambda peer: peer.conditions.pcie_width),
}
"""Name in a figure's ``extra`` → which of several cards counts, and what is asked of each."""


def peers_of(done: Done, place: int) -> tuple[PeerSeen, ...]:
    """The further cards during the part at ``place`` of a survey, else during the whole trial."""
    return done.part_peers[place] if place < len(done.part_peers) else done.peers


def peer_flags(peers: Sequence[PeerSeen]) -> tuple[Flag, ...]:
    """Flags that a figure has from its further cards."""
    return tuple(dict.fromkeys(flag for peer in peers for flag in _flags(peer)))


def peer_extra(peers: Sequence[PeerSeen]) -> dict[str, Scalar]:
    """Who the further cards are, how they ran, and which flags come from them; nothing where there are none."""
    if not peers:
        return {}
    extra: dict[str, Scalar] = {
        "peer_cards": ", ".join(f"[{peer.card.index}] {peer.card.title}" for peer in peers),
        "peer_uuids": " ".join(peer.card.uuid for peer in peers),
    }
    for name, (worst, ask) in WORST.items():
        told = [value for value in map(ask, peers) if value is not None]
        if told:
            extra[name] = worst(told)
    if flags := peer_flags(peers):
        extra["peer_flags"] = " ".join(flag.value for flag in flags)
    return extra


def _flags(peer: PeerSeen) -> list[Flag]:
    flags = [*limit_flags(peer.conditions)]
    most = (peer.card.number("pcie_generation_max"), peer.card.number("pcie_width_max"))
    if link_below_max(peer.conditions, generation_max=most[0], width_max=most[1]):
        flags.append(Flag.LINK_BELOW_MAX)
    if peer.shared:
        flags.append(Flag.SHARED)
    if not peer.conditions.samples:
        flags.append(Flag.NO_TELEMETRY)
    return flags
