"""The figures that a watched training yields: points of its session, and evidence of advice."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gputuner.analysis.statistics import spread_flags
from gputuner.model.points import Flag, Spread
from gputuner.model.readings import Scalar
from gputuner.model.watched import Observed, TimeSpent, TreeUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A point without its id, card, origin and conditions."""

    metric: str
    workload: str
    params: dict[str, Scalar]
    value: float
    unit: str
    spread: Spread | None = None
    flags: tuple[Flag, ...] = ()
    extra: dict[str, Scalar] = field(default_factory=lambda: {})


def figures(observed: Sequence[Observed], use: TreeUse, spent: TimeSpent) -> tuple[Figure, ...]:
    """Figures of each process that trained, then those of the whole command."""
    found: list[Figure] = []
    for each in observed:
        if each.steps > 0:
            found += _of_process(each)
    name = next((each.program for each in observed if each.steps > 0 and each.program), "")
    for part in spent.parts:
        params: dict[str, Scalar] = {"cause": part.cause.value}
        found.append(Figure(metric="watch_part", workload=name, params=params, value=part.share, unit="fraction"))
    if use.rss_peak_bytes is not None:
        found.append(
            Figure(metric="watch_host_memory", workload=name, params={}, value=float(use.rss_peak_bytes), unit="bytes")
        )
    return tuple(found)


def _of_process(each: Observed) -> list[Figure]:
    params = _params(each)
    found: list[Figure] = []

    def add(metric: str, value: float | None, unit: str, spread: Spread | None = None, **extra: Scalar | None) -> None:
        if value is None:
            return
        flags = spread_flags(each.step_series_s, spread) if spread is not None and each.step_series_s else ()
        known: dict[str, Scalar] = {key: told for key, told in extra.items() if told is not None}
        found.append(
            Figure(
                metric=metric,
                workload=each.program,
                params=params,
                value=value,
                unit=unit,
                spread=spread,
                flags=flags,
                extra=known,
            )
        )

    if each.step_s is not None:
        add("watch_step_time", each.step_s.median, "s", each.step_s, steps=each.steps, accumulated=each.accumulated)
    add("watch_rate", each.rate_per_s, "samples/s", samples=each.samples, batches=each.batches)
    if each.training_s > 0:
        if each.batches:
            hidden, first = each.hidden_s / each.training_s, each.waited_first_s / each.training_s
            add("watch_waiting", each.waited_s / each.training_s, "fraction", hidden=hidden, first=first)
        covered = each.covered_s or each.training_s
        add("watch_overhead", each.own_s / covered, "fraction")
    add("watch_behind", each.behind, "fraction")
    add(
        "watch_memory_peak",
        float(each.reserved_peak_bytes) if each.reserved_peak_bytes is not None else None,
        "bytes",
        allocated_bytes=each.allocated_peak_bytes,
        split_bytes=each.split_bytes,
        retries=each.retries,
        total_bytes=each.memory_total_bytes,
    )
    if each.scaled and each.steps:
        add("watch_skipped", each.skipped_steps / (each.steps + each.skipped_steps), "fraction")
    return found


def _params(each: Observed) -> dict[str, Scalar]:
    params: dict[str, Scalar] = {"pid": each.pid}
    if each.rank is not None:
        params["rank"] = each.rank
    if each.batch_size is not None:
        params["batch"] = each.batch_size
    if each.autocast is not None:
        params["autocast"] = each.autocast
    return params
