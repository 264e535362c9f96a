"""What a card did during a window of time, out of its samples."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import pairwise
from statistics import fmean, median

from gputuner.model.points import Conditions
from gputuner.model.quantities import LimitBit, Limiter, Quantity
from gputuner.model.samples import Sample
from gputuner.telemetry.schedule import NS

Column = tuple[list[int], list[float]]
"""Times (ns, rising) and values of one quantity of one card, without what is missing."""

HOLE_S = 2.0
"""Two readings further apart than this and than three usual intervals have a hole between them."""
COVERED = 0.8
"""Share of a window that must be covered by readings before a sum over it is told."""

WITHIN = 0.5
"""Share of a window that the first and the last reading within it must span to stand for all of it."""

ENERGY_WINDOW_S = 5.0
"""From this length on the energy counter tells the mean power of a window."""

LINK_BEFORE_S = 10.0
"""The link is read each 5 s: a shorter window may use a reading this long before its start, if made under load."""
LOADED = 0.5
"""Use of the card near a reading from which on it counts as made under load."""
NEAR_S = 1.0

_COUNTERS = {
    Limiter.POWER: Quantity.LIMITED_POWER_NS,
    Limiter.THERMAL_SOFTWARE: Quantity.LIMITED_THERMAL_SOFTWARE_NS,
    Limiter.THERMAL_HARDWARE: Quantity.LIMITED_THERMAL_HARDWARE_NS,
    Limiter.POWER_BRAKE: Quantity.LIMITED_POWER_BRAKE_NS,
    Limiter.SYNC_BOOST: Quantity.LIMITED_SYNC_BOOST_NS,
}
_BITS = {
    Limiter.POWER: LimitBit.SW_POWER_CAP,
    Limiter.THERMAL_SOFTWARE: LimitBit.SW_THERMAL,
    Limiter.THERMAL_HARDWARE: LimitBit.HW_THERMAL,
    Limiter.POWER_BRAKE: LimitBit.HW_POWER_BRAKE,
    Limiter.SYNC_BOOST: LimitBit.SYNC_BOOST,
    Limiter.USER_CAP: LimitBit.USER_CLOCKS | LimitBit.DISPLAY_CLOCKS,
    Limiter.HARDWARE: LimitBit.HW_SLOWDOWN,
}


def column(samples: Iterable[Sample], quantity: Quantity) -> Column:
    """One quantity out of samples in order of time."""
    times: list[int] = []
    values: list[float] = []
    for sample in samples:
        value = sample.values.get(quantity)
        if value is not None:
            times.append(sample.t_ns)
            values.append(value)
    return times, values


def conditions(samples: Iterable[Sample], t0_ns: int, t1_ns: int) -> Conditions:
    """Conditions in ``[t0_ns, t1_ns]`` from the samples of one card (in order of time; neighbours outside help)."""
    known = list(samples)
    return conditions_of(lambda quantity: column(known, quantity), t0_ns, t1_ns)


def conditions_of(get: Callable[[Quantity], Column], t0_ns: int, t1_ns: int) -> Conditions:
    """Conditions from columns: medians over the window; energy from the counter, else integrated power.

    Power is a mean, not a median: instant readings of a spiky load have a median beside their mean (``mean_power``).

    Time in each limit comes from the card's nanosecond counters where these were read closely enough for the window,
    else from the sampled reason bits (then each bit counts by itself, so that two limits at once both count).
    """
    core = get(Quantity.CORE_TEMPERATURE_C)
    instant = get(Quantity.POWER_INSTANT_W)
    power = instant if instant[0] else get(Quantity.POWER_AVERAGE_W)
    energy = growth(get(Quantity.ENERGY_J), t0_ns, t1_ns)
    if energy is None:
        energy = integral(power, t0_ns, t1_ns)
    limited, sampled = _limited(get, t0_ns, t1_ns)
    use = get(Quantity.GPU_UTILISATION)
    counts = [len(inside(get(q), t0_ns, t1_ns)) for q in (Quantity.SM_CLOCK_MHZ, Quantity.MEMORY_USED_BYTES)]
    return Conditions(
        duration_s=(t1_ns - t0_ns) / NS,
        samples=max(len(inside(core, t0_ns, t1_ns)), len(inside(power, t0_ns, t1_ns)), *counts),
        sm_clock_mhz=middle(get(Quantity.SM_CLOCK_MHZ), t0_ns, t1_ns),
        memory_clock_mhz=middle(get(Quantity.MEMORY_CLOCK_MHZ), t0_ns, t1_ns),
        power_w=mean_power(get, t0_ns, t1_ns),
        energy_j=energy,
        core_temperature_start_c=_near(core, t0_ns),
        core_temperature_end_c=_near(core, t1_ns),
        memory_temperature_end_c=_near(get(Quantity.MEMORY_TEMPERATURE_C), t1_ns),
        fan_fraction=middle(get(Quantity.FAN_FRACTION), t0_ns, t1_ns),
        gpu_utilisation=middle(use, t0_ns, t1_ns),
        pcie_generation=best_link(get(Quantity.PCIE_GENERATION), use, t0_ns, t1_ns),
        pcie_width=best_link(get(Quantity.PCIE_WIDTH), use, t0_ns, t1_ns),
        limited_s=limited,
        limited_from_samples=sampled,
        sm_active=since_the_last(get(Quantity.SM_ACTIVE), t0_ns, t1_ns),
        tensor_active=since_the_last(get(Quantity.TENSOR_ACTIVE), t0_ns, t1_ns),
        dram_active=since_the_last(get(Quantity.DRAM_ACTIVE), t0_ns, t1_ns),
    )


def mean_power(get: Callable[[Quantity], Column], t0_ns: int, t1_ns: int) -> float | None:
    """Mean power over the window in W.

    From the energy counter over the time it covers where the window is at least 5 s long; else the mean over time of
    the instant readings, else of the average ones; where too few lie in the window for that, their plain mean.
    """
    seconds = (t1_ns - t0_ns) / NS
    counted = growth(get(Quantity.ENERGY_J), t0_ns, t1_ns) if seconds >= ENERGY_WINDOW_S else None
    if counted is not None:
        return counted / seconds
    columns = [get(Quantity.POWER_INSTANT_W), get(Quantity.POWER_AVERAGE_W)]
    for readings in columns:
        energy = integral(readings, t0_ns, t1_ns)
        if energy is not None:
            return energy / seconds
    return next((fmean(values) for values in (inside(c, t0_ns, t1_ns) for c in columns) if values), None)


def inside(data: Column, t0_ns: int, t1_ns: int) -> list[float]:
    """Values read within the window."""
    times, values = data
    return values[bisect_left(times, t0_ns) : bisect_right(times, t1_ns)]


def since_the_last(data: Column, t0_ns: int, t1_ns: int) -> float | None:
    """Mean over time of readings that each tell the mean since the one before it, where both lie within the window."""
    times, values = data
    within = range(bisect_left(times, t0_ns) + 1, bisect_right(times, t1_ns))
    whole = sum(times[i] - times[i - 1] for i in within)
    return sum(values[i] * (times[i] - times[i - 1]) for i in within) / whole if whole > 0 else None


def middle(data: Column, t0_ns: int, t1_ns: int) -> float | None:
    """Median within the window."""
    values = inside(data, t0_ns, t1_ns)
    return median(values) if values else None


def best_link(data: Column, use: Column, t0_ns: int, t1_ns: int) -> float | None:
    """The best value within the window, else the last one before it that was read under load (an idle link is slow).

    Zero, which virtual machines tell, is no link.
    """
    seen = inside(data, t0_ns, t1_ns)
    if seen:
        return max(seen) or None
    times, values = data
    last = bisect_left(times, t0_ns) - 1
    if last < 0 or times[last] < t0_ns - LINK_BEFORE_S * NS:
        return None
    busy = inside(use, round(times[last] - NEAR_S * NS), round(times[last] + NEAR_S * NS))
    return values[last] or None if busy and min(busy) >= LOADED else None


def _near(data: Column, t_ns: int) -> float | None:
    """The value read closest to ``t_ns``, if not further away than a hole."""
    times, values = data
    place = bisect_left(times, t_ns)
    near = [i for i in (place - 1, place) if 0 <= i < len(times) and abs(times[i] - t_ns) <= HOLE_S * NS]
    return values[min(near, key=lambda i: abs(times[i] - t_ns))] if near else None


def growth(data: Column, t0_ns: int, t1_ns: int) -> float | None:
    """How much a counter grew in the window, in its own unit.

    Interpolated at both ends, so neighbours must lie closer together than half the window; at the start or end of a
    series the known part is scaled up if it covers enough. None if it cannot be told or the counter was reset.
    """
    times, values = data
    window = t1_ns - t0_ns
    first, last = max(bisect_right(times, t0_ns) - 1, 0), min(bisect_left(times, t1_ns), len(times) - 1)
    if window <= 0 or last <= first:
        return None
    if any(values[i + 1] < values[i] for i in range(first, last)):
        return None
    if max(times[first + 1] - times[first], times[last] - times[last - 1]) > window / 2:
        return None
    start, end = max(times[first], t0_ns), min(times[last], t1_ns)
    if end - start < COVERED * window:
        return None
    return (_at(data, last - 1, end) - _at(data, first, start)) * window / (end - start)


def _at(data: Column, i: int, t_ns: int) -> float:
    """The value at ``t_ns``, on the line through readings ``i`` and ``i + 1``."""
    times, values = data
    return values[i] + (values[i + 1] - values[i]) * (t_ns - times[i]) / (times[i + 1] - times[i])


def _hole_ns(times: list[int]) -> float:
    steps = [b - a for a, b in pairwise(times)]
    return max(HOLE_S * NS, 3 * median(steps)) if steps else HOLE_S * NS


def integral(data: Column, t0_ns: int, t1_ns: int) -> float | None:
    """Integral over the window in the value's unit × s, by trapezoids; holes are filled with the mean of the rest.

    None if readings cover less than ``COVERED`` of the window.
    """
    times = data[0]
    hole_ns = _hole_ns(times)
    first, last = max(bisect_right(times, t0_ns) - 1, 0), min(bisect_left(times, t1_ns), len(times) - 1)
    total, covered = 0.0, 0
    for i in range(first, last):
        start, end = max(times[i], t0_ns), min(times[i + 1], t1_ns)
        if times[i + 1] - times[i] <= hole_ns and end > start:
            total += (_at(data, i, start) + _at(data, i, end)) / 2 * (end - start)
            covered += end - start
    window = t1_ns - t0_ns
    return None if window <= 0 or covered < COVERED * window else total / NS * window / covered


def _limited(get: Callable[[Quantity], Column], t0_ns: int, t1_ns: int) -> tuple[dict[Limiter, float], bool]:
    counted = {limiter: _limited_by_counter(get(quantity), t0_ns, t1_ns) for limiter, quantity in _COUNTERS.items()}
    known = {limiter: grown / NS for limiter, grown in counted.items() if grown is not None}
    sampled = _limited_by_bits(get(Quantity.LIMIT_BITS), t0_ns, t1_ns)
    return {**(sampled or {}), **known}, not known and sampled is not None


def _limited_by_counter(data: Column, t0_ns: int, t1_ns: int) -> float | None:
    """Nanoseconds in a limit, from the readings within the window where these span most of it.

    The load before or after may be limited though this one is not: a reading outside says little of the window.
    """
    times, values = data
    first, last = bisect_left(times, t0_ns), bisect_right(times, t1_ns) - 1
    span = times[last] - times[first] if last > first else 0
    if span <= 0 or span < WITHIN * (t1_ns - t0_ns):
        return growth(data, t0_ns, t1_ns)
    if any(values[i + 1] < values[i] for i in range(first, last)):
        return None
    return (values[last] - values[first]) * (t1_ns - t0_ns) / span


def _limited_by_bits(data: Column, t0_ns: int, t1_ns: int) -> dict[Limiter, float] | None:
    """Seconds in each limit when each reading stands for the time halfway to its neighbours.

    The first and the last reading within the window stand for its ends too; where none lies within, those around it do.
    """
    times, values = data
    hole_ns = _hole_ns(times)
    window = t1_ns - t0_ns
    seconds = dict.fromkeys(_BITS, 0.0)
    covered = 0.0
    within = range(bisect_left(times, t0_ns), bisect_right(times, t1_ns))
    around = range(max(within.start - 1, 0), min(within.stop + 1, len(times)))
    chosen = within or around
    for i in chosen:
        before = min(times[i] - times[i - 1], hole_ns) / 2 if i > 0 else hole_ns / 6
        after = min(times[i + 1] - times[i], hole_ns) / 2 if i + 1 < len(times) else hole_ns / 6
        if within and i == within.start:
            before = min(times[i] - t0_ns, hole_ns / 2)
        if within and i == within.stop - 1:
            after = min(t1_ns - times[i], hole_ns / 2)
        weight = min(times[i] + after, t1_ns) - max(times[i] - before, t0_ns)
        if weight <= 0:
            continue
        covered += weight
        for limiter in _limiters(int(values[i])):
            seconds[limiter] += weight
    if window <= 0 or covered < COVERED * window:
        return None
    return {limiter: time_ns / NS * window / covered for limiter, time_ns in seconds.items()}


def _limiters(bits: int) -> list[Limiter]:
    """All limits of a mask; a hardware slowdown is one of its own only where heat or brake is not named with it."""
    named = bits & (LimitBit.HW_THERMAL | LimitBit.HW_POWER_BRAKE)
    told = bits & ~LimitBit.HW_SLOWDOWN if named else bits
    return [limiter for limiter, mask in _BITS.items() if told & mask]
