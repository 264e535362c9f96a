"""How loads of several processes share a simulated card: in time slices, or side by side (MPS, streams).

Time slices: contexts alternate. A context that runs dry keeps the card for a part of its gaps (``Load.grip``); who
comes while another is at work waits for half of its slice. With slices of 2 ms, a grip of 0.22 and four waits a step
this comes near fifteen pairs of trainings on an H200 (median error 11 %; tests/devices/test_simulated_sharing.py).

Side by side: a resource is served to all that use it in the same moment (processor sharing), what one keeps in the
last cache the other drives out, and kernels wait until blocks of the other leave their SMs. On an H200 under MPS: three
EDSR 1.17-fold, EDSR beside a stream of products 4.4-fold, beside a copy 15.9-fold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gputuner.devices.simulated_load import CACHE_OVER_DRAM, Load, Share, busy_s, iteration_s

Mode = Literal["processes", "mps", "streams"]
SLICE_S = 2e-3
"""The driver's usual time slice."""
CLOCK_STEP_HZ = 15e6
CORES = 16.0
"""Of the simulated host."""
ROUNDS = 24
DAMPING = 0.5
HIDDEN = 0.3
"""Share of a job's slack (its host is behind, the card has time) that hides waiting for the card."""
STREAMED_L2 = 0.5
"""A stream through memory takes this share of the last cache from others."""
YIELDS = 0.3
"""What a job of lower priority still takes from one of higher priority: its blocks that run already are not stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """The way in which the processes on a card share it."""

    mode: Mode = "processes"
    cache_bytes: float = 50e6
    thread_shares: Mapping[str, float] = field(default_factory=lambda: {})
    """Share of the SMs that a load may use (MPS), by its name; without an entry all."""
    priorities: Mapping[str, int] = field(default_factory=lambda: {})
    """Of its stream; the lower the earlier."""


@dataclass(slots=True, kw_only=True)
class _Alone:
    """One load as it would run alone, seconds per iteration."""

    load: Load
    alone: float
    busy: float
    compute: float
    dram: float
    held: float
    """For which it keeps the card from others."""


def shares(
    loads: Mapping[str, Load], clock_hz: float, bandwidth: float, sharing: Sharing | None = None
) -> dict[str, Share]:
    """What each load gets at given clocks (``bandwidth`` in bytes/s); nobody runs faster than alone."""
    alone = {name: _alone(load, clock_hz, bandwidth) for name, load in loads.items()}
    return _granted(alone, _stretches(alone, bandwidth, sharing or Sharing()))


class Divider:
    """``shares`` for one who asks again and again at clocks that move a little: in between, stretches are on a line."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._key: object = None
        self._known: dict[int, dict[str, float]] = {}

    def shares(
        self, loads: Mapping[str, Load], clock_hz: float, bandwidth: float, sharing: Sharing
    ) -> dict[str, Share]:
        """As ``shares``, to a part in thousand."""
        alone = {name: _alone(load, clock_hz, bandwidth) for name, load in loads.items()}
        if len(alone) < 2:
            return _granted(alone, dict.fromkeys(alone, 1.0))
        key = (tuple(loads.items()), bandwidth, sharing)
        if key != self._key:
            self._key, self._known = key, {}
        place, part = divmod(clock_hz / CLOCK_STEP_HZ, 1.0)
        low, high = (self._at(max(1, int(place) + more), loads, bandwidth, sharing) for more in (0, 1))
        return _granted(alone, {name: (1.0 - part) * low[name] + part * high[name] for name in alone})

    def _at(self, place: int, loads: Mapping[str, Load], bandwidth: float, sharing: Sharing) -> dict[str, float]:
        if place not in self._known:
            alone = {name: _alone(load, place * CLOCK_STEP_HZ, bandwidth) for name, load in loads.items()}
            self._known[place] = _stretches(alone, bandwidth, sharing)
        return self._known[place]


def host_in_use(loads: Mapping[str, Load], at: Mapping[str, Share]) -> float:
    """Share (0 … 1) of the host's processor time that the loads use at their rates, as its own counters would show."""
    used = sum(
        loads[name].host_cores * loads[name].host_s * share.iterations_per_s
        for name, share in at.items()
        if name in loads
    )
    return min(1.0, used / CORES)


def _stretches(alone: Mapping[str, _Alone], bandwidth: float, how: Sharing) -> dict[str, float]:
    """Time per iteration of each over that alone."""
    if len(alone) < 2:
        return dict.fromkeys(alone, 1.0)
    times = _sliced(alone) if how.mode == "processes" else _side_by_side(alone, bandwidth, how)
    return {name: times[name] / one.alone for name, one in alone.items()}


def _granted(alone: Mapping[str, _Alone], stretches: Mapping[str, float]) -> dict[str, Share]:
    told: dict[str, Share] = {}
    for name, one in alone.items():
        seconds = one.alone * stretches[name]
        told[name] = Share(
            iterations_per_s=1.0 / seconds,
            busy=one.busy / seconds,
            compute=one.compute / seconds,
            dram=one.dram / seconds,
        )
    return told


def _alone(load: Load, clock_hz: float, bandwidth: float) -> _Alone:
    busy, compute, dram = busy_s(load, clock_hz, bandwidth)
    crowded = load.host_s * max(1.0, load.host_cores / CORES)
    whole = max(iteration_s(load, clock_hz, bandwidth), load.link_s, crowded)
    return _Alone(
        load=load, alone=whole, busy=busy, compute=compute, dram=dram, held=busy + load.grip * max(0.0, whole - busy)
    )


def _host_stretch(alone: Mapping[str, _Alone]) -> float:
    """How much longer the host's work takes: cores asked for over those there are. Who waits for one still asks."""
    asked = sum(
        one.load.host_cores * min(1.0, max(1.0, one.load.host_cores / CORES) * one.load.host_s / one.alone)
        for one in alone.values()
    )
    return max(1.0, asked / CORES)


def _others(name: str, of: Mapping[str, float]) -> float:
    return sum(value for other, value in of.items() if other != name)


# --- in time slices -----------------------------------------------------------------------------------------------


def _sliced(alone: Mapping[str, _Alone]) -> dict[str, float]:
    """Seconds per iteration of each: its share of the card's time, or what it waits for, whichever is longer."""
    times = {name: one.alone for name, one in alone.items()}
    for _ in range(3):
        held = {name: min(1.0, one.held / times[name]) for name, one in alone.items()}
        host = _host_stretch(alone)
        links = {name: min(1.0, one.load.link_s / times[name]) for name, one in alone.items()}
        for name, one in alone.items():
            stretched = max(
                one.busy + one.load.gap_s, host * one.load.host_s, one.load.link_s * (1.0 + _others(name, links))
            )
            waiting = one.load.waits * _wait_s(name, alone, held)
            if not one.load.serial:
                waiting = max(0.0, waiting - HIDDEN * (one.alone - one.busy))
            times[name] = max(one.alone, stretched + waiting)
        granted = _fill({name: one.held / times[name] for name, one in alone.items()})
        for name, one in alone.items():
            times[name] = max(times[name], one.held / granted[name] if one.held > 0 else 0.0)
    return times


def _wait_s(name: str, alone: Mapping[str, _Alone], held: Mapping[str, float]) -> float:
    """Seconds until the card is there for ``name``, and what is taken from it in the midst of its own stretch."""
    one = alone[name]
    own = one.busy / max(1.0, one.load.waits) if one.load.serial else 0.0
    waiting = 0.0
    for other, share in held.items():
        if other == name:
            continue
        ready = min(1.0, share / max(1e-9, 1.0 - min(0.999, held[name])))
        bout = min(SLICE_S, alone[other].busy / max(1.0, alone[other].load.waits))
        waiting += min(1.0, ready) * bout * (0.5 + max(0.0, own / SLICE_S - 1.0))
    return waiting


def _fill(wanted: Mapping[str, float]) -> dict[str, float]:
    """Divide one card's time: nobody gets more than wanted, nobody who wants more gets less than another."""
    granted: dict[str, float] = {}
    left = 1.0
    for count, name in zip(range(len(wanted), 0, -1), sorted(wanted, key=lambda n: wanted[n]), strict=True):
        granted[name] = min(wanted[name], left / count)
        left -= granted[name]
    return granted


# --- side by side -------------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Used:
    """Seconds per iteration for which one load uses each resource, with nothing but its own demand on it."""

    compute: float
    dram: float
    l2: float


def _side_by_side(alone: Mapping[str, _Alone], bandwidth: float, how: Sharing) -> dict[str, float]:
    """Seconds per iteration of each, as the fixed point of who meets whom on which resource."""
    uses = _uses(alone, bandwidth, how)
    times = {name: one.alone for name, one in alone.items()}
    active = dict.fromkeys(alone, (0.0, 0.0, 0.0))
    for _ in range(ROUNDS):
        host = _host_stretch(alone)
        links = {name: min(1.0, one.load.link_s / times[name]) for name, one in alone.items()}
        serial = sum(one.load.host_s / times[name] for name, one in alone.items()) if how.mode == "streams" else 0.0
        for name, one in alone.items():
            use = uses[name]
            met = [_met(name, place, active, alone, how) for place in range(3)]
            parts = (use.compute * met[0], use.dram * met[1], use.l2 * met[2])
            working = max(parts) if one.load.overlapped else parts[0] + max(parts[1], parts[2])
            busy = one.load.fixed_s + working + _blocked_s(name, one, active, alone)
            launching = max(host, serial) * one.load.host_s + (max(0.0, busy - one.busy) if one.load.serial else 0.0)
            longest = max(busy + one.load.gap_s, launching, one.load.link_s * (1.0 + _others(name, links)))
            times[name] = max(one.alone, DAMPING * times[name] + (1.0 - DAMPING) * longest)
            active[name] = tuple(min(1.0, part / times[name]) for part in parts)  # pyright: ignore[reportArgumentType]
    return times


def _uses(alone: Mapping[str, _Alone], bandwidth: float, how: Sharing) -> dict[str, _Used]:
    """Demand on pipes, memory and cache; what others drive out of the cache comes from memory."""
    kept = {
        name: one.load.l2_resident_bytes + STREAMED_L2 * how.cache_bytes * min(1.0, one.dram / one.alone)
        for name, one in alone.items()
    }
    whole = sum(kept.values())
    missed = max(0.0, 1.0 - how.cache_bytes / whole) if whole > 0 else 0.0
    found: dict[str, _Used] = {}
    for name, one in alone.items():
        share = how.thread_shares.get(name, 1.0)
        narrow = max(1.0, one.load.fill / max(share, 0.01))
        found[name] = _Used(
            compute=one.compute * narrow,
            dram=one.dram + missed * one.load.l2_bytes / bandwidth,
            l2=one.load.l2_bytes / (CACHE_OVER_DRAM * bandwidth),
        )
    return found


def _met(
    name: str, place: int, active: Mapping[str, tuple[float, ...]], alone: Mapping[str, _Alone], how: Sharing
) -> float:
    """How many share a resource with ``name`` in the mean, itself included."""
    count = 1.0
    for other, shares_ in active.items():
        if other == name:
            continue
        overlap = 1.0
        if place == 0:
            fills = [min(alone[each].load.fill, how.thread_shares.get(each, 1.0)) for each in (name, other)]
            overlap = max(0.0, sum(fills) - 1.0) / max(min(fills), 1e-6)
        first = how.priorities.get(name, 0) < how.priorities.get(other, 0)
        count += shares_[place] * overlap * (YIELDS if first else 1.0)
    return count


def _blocked_s(name: str, one: _Alone, active: Mapping[str, tuple[float, ...]], alone: Mapping[str, _Alone]) -> float:
    """Seconds for which its kernels wait until blocks of others leave the SMs."""
    return sum(
        one.load.kernels * max(active[other]) * 0.5 * alone[other].load.block_s for other in alone if other != name
    )
