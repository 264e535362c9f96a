"""Advice on loading data: which setting, kept processes, and what stands in the way of more.

All from one run's figures: ``loader_demand`` (what the training eats), ``loader_supply`` and ``loader_fed`` of each
setting, ``loader_best`` (the setting the search chose).
"""

from dataclasses import replace

from gputuner.advice import loading_snippets as snippets
from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make, scattered, setting_of
from gputuner.analysis.interleaved import compared_points
from gputuner.analysis.loading import PLENTY, epoch_saving, pooled, starvation
from gputuner.model.advice import Advice, Confidence, Gain
from gputuner.model.change import Change
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

SETTING = ("workers", "prefetch", "pin", "persistent", "decode")
STARVES = 0.05
"""A training that loses more than this while fed is worth a word."""
BUSY, IDLE_SHARE = "workers_cores_busy", 0.3
"""Processes that keep less than this share of a core busy each wait for disk or network."""
BUSY_CORES = 1.3
"""A loader process that keeps more cores than this busy computes with several threads."""
SAVES = 0.005
"""Kept processes are worth a word from this share of an epoch on."""
SURE_LOSS, SURE_GAIN = 0.2, 0.5
"""A loss of this size is no matter of scatter; nor is a gain of that size, where there was one trial of each."""
LIKELY = 0.5
"""That an end to the training's waiting is within reach, where little is lost by it."""


def loading_rule(evidence: Evidence) -> list[Advice]:
    """All that is to be said on loading; what the training still waits for is told once, with its likeliest cause."""
    if not evidence.of("loader_demand"):
        return []
    most = _at_most(evidence)
    found = [*setting_rule(evidence), *persistent_rule(evidence), *threads_in_workers_rule(evidence)]
    causes = [*cores_rule(evidence, most), *room_rule(evidence, most)]
    return [*found, *causes, *(() if causes else starved_rule(evidence, most))]


def _at_most(evidence: Evidence) -> Gain | None:
    """What a loader would gain at most, which the training never waits for; None where it hardly waits."""
    best, demand = evidence.last("loader_best"), evidence.last("loader_demand")
    if best is None or demand is None or starvation(best.value, demand.value) < STARVES:
        return None
    most = demand.value / best.value - 1.0
    return Gain(value=most, unit="fraction", low=0.0, high=most)


def _reach(most: Gain | None) -> float:
    """How likely the most is: the larger the promise, the less. So what was measured stands before it."""
    return LIKELY / (1.0 + most.value) if most else 0.0


def setting_rule(evidence: Evidence) -> list[Advice]:
    """``loading.setting``: another setting feeds the training faster; ``loading.keep``: none is known to; nothing where
    figures that might tell scattered."""
    best = evidence.last("loader_best")
    if best is None:
        return []
    better, usual = _fed(evidence, best), [p for p in evidence.of("loader_fed") if p.extra.get("usual") is True]
    params = _params(evidence, best, better)
    if not usual:
        return [_setting(evidence, best, params, better, None)]
    params |= {f"usual_{name}": usual[0].params[name] for name in SETTING[:4] if name in usual[0].params}
    params |= {"usual_rate": pooled(usual)}
    supplied = [p for p in evidence.of("loader_supply") if p.extra.get("usual") is True]
    if supplied:
        params["usual_supply"] = pooled(supplied)
    same = best.extra.get("usual") is True
    found = compared_points(usual, better or [best])
    known = found.is_faster if found.low is not None else found.value >= SURE_GAIN
    if not same and not known and scattered(*better, *usual):
        return []
    if same or not known:
        kept = _params(evidence, usual[0], usual)
        if not same and found.low is None and found.value > 0:
            kept["single_rate"] = best.value
        return [make("loading.keep", evidence.card.uuid, kept, [best, *usual], weight=0.5)]
    return [_setting(evidence, best, params, [*better, *usual], found.gain)]


def _setting(
    evidence: Evidence,
    best: Point,
    params: dict[str, Scalar],
    points: list[Point],
    found: Gain | None,
) -> Advice:
    change = _change(evidence, best) if found else None
    if "decode" in best.params:
        return make("loading.decode_on_card", evidence.card.uuid, params, [best, *points], gain=found, change=change)
    return make(
        "loading.setting",
        evidence.card.uuid,
        params,
        [best, *points],
        gain=found,
        weight=0.0 if found else 3.0,
        snippet=_loader(evidence, best),
        change=change,
    )


def _change(evidence: Evidence, best: Point) -> Change | None:
    """From the loader of today to the best; None where that is not known."""
    usual = [p for p in evidence.of("loader_fed") if p.extra.get("usual") is True]
    if not usual:
        return None
    base, advised = (
        replace(setting_of(best), loader={name: p.params[name] for name in SETTING if name in p.params})
        for p in (usual[0], best)
    )
    return Change(workload=best.workload, base=base, advised=advised)


def _loader(evidence: Evidence, point: Point) -> str:
    demand = evidence.last("loader_demand")
    told = demand.extra if demand is not None else {}
    return snippets.loader(
        int(point.params["batch"]),
        int(point.params["workers"]),
        prefetch=max(1, int(point.params["prefetch"])),
        pin=point.params["pin"] is True,
        persistent=point.params["persistent"] is True,
        cpu=evidence.card.is_cpu,
        function=told.get("source") == "loader",
        fixed=str(told.get("fixed", "")).split(),
    )


def persistent_rule(evidence: Evidence) -> list[Advice]:
    """``loading.persistent``: processes that live on save their start at each epoch."""
    best, demand = evidence.last("loader_best"), evidence.last("loader_demand")
    if best is None or demand is None or best.params.get("persistent") is not True:
        return []
    usual = [p for p in evidence.of("loader_fed") if p.extra.get("usual") is True]
    if any(p.params.get("persistent") is True for p in usual):
        return []
    kept = _restart(evidence, best, persistent=True)
    anew = _restart(evidence, best, persistent=False)
    batches = demand.extra.get("epoch_batches")
    if kept is None or anew is None or not isinstance(batches, int):
        return []
    epoch_s = batches * int(best.params["batch"]) / best.value
    saved = epoch_saving(anew[1], kept[1], epoch_s)
    if saved < SAVES:
        return []
    params: dict[str, Scalar] = {
        "workload": best.workload, "workers": int(best.params["workers"]), "restart_s": anew[1], "kept_s": kept[1],
        "epoch_s": epoch_s, "saved": saved,
    }  # fmt: skip
    return [
        make(
            "loading.persistent",
            evidence.card.uuid,
            params,
            [anew[0], kept[0]],
            gain=Gain(value=saved / (1.0 - saved), unit="fraction"),
            snippet=_loader(evidence, best),
        )
    ]


def starved_rule(evidence: Evidence, most: Gain | None) -> list[Advice]:
    """``loading.starved``: the training waits whatever the setting; ``loading.waits``: for what the processes wait for
    themselves; ``loading.contended``: both want the same cores.
    """
    best, demand = evidence.last("loader_best"), evidence.last("loader_demand")
    if best is None or demand is None or most is None:
        return []
    alone = _same(evidence, "loader_supply", best)
    fed = _fed(evidence, best)
    params = _params(evidence, best, fed)
    told = [best, demand, *alone, *fed]
    points = [point.id for point in told] if starvation(best.value, demand.value) >= SURE_LOSS else told
    if alone and pooled(alone) >= PLENTY * demand.value:
        threads = demand.extra.get("threads")
        cores = demand.extra.get("cores")
        workers = int(best.params["workers"])
        snippet = None
        if evidence.card.is_cpu and isinstance(threads, int) and isinstance(cores, int) and threads + workers > cores:
            snippet = snippets.training_threads(max(1, cores - max(1, workers)))
            params |= {"threads": threads, "threads_cores": cores, "threads_workers": workers}
        return [
            make(
                "loading.contended", evidence.card.uuid, params, points,
                confidence=Confidence.MODEL, gain=most, snippet=snippet, chance=_reach(most),
            )
        ]  # fmt: skip
    busy = min((_number(p, BUSY) for p in alone if BUSY in p.extra), default=None)
    if busy is not None and busy < IDLE_SHARE * int(best.params["workers"]):
        return [
            make(
                "loading.waits", evidence.card.uuid, {**params, "busy": round(busy, 2)}, points,
                confidence=Confidence.MODEL, gain=most, chance=_reach(most),
            )
        ]  # fmt: skip
    return [
        make(
            "loading.starved", evidence.card.uuid, params, points,
            confidence=Confidence.MODEL, gain=most, chance=_reach(most),
        )
    ]  # fmt: skip


def room_rule(evidence: Evidence, most: Gain | None) -> list[Advice]:
    """``loading.shared_memory``, ``loading.host_memory``: no room for more processes."""
    best, demand = evidence.last("loader_best"), evidence.last("loader_demand")
    if best is None or demand is None:
        return []
    found: list[Advice] = []
    cores, size = demand.extra.get("cores"), demand.extra.get("loader_batch_bytes")
    for reason in ("shared_memory", "host_memory"):
        workers = best.extra.get(f"{reason}_workers")
        if not isinstance(workers, int):
            continue
        params: dict[str, Scalar] = {
            "workload": best.workload, "workers": workers, "batch": best.params["batch"],
            "pin": False, "persistent": False,
        }  # fmt: skip
        for name in ("needs_bytes", "free_bytes", "prefetch"):
            if f"{reason}_{name}" in best.extra:
                params[name] = best.extra[f"{reason}_{name}"]
        prefetch = best.extra.get(f"{reason}_prefetch")
        wanted = 0
        if isinstance(cores, int) and isinstance(size, int) and isinstance(prefetch, int):
            wanted = max(cores, workers) * prefetch * size
            params["wanted_bytes"] = wanted
        code = snippets.shared_memory(wanted)
        if reason == "shared_memory":
            found.append(
                make(
                    "loading.shared_memory", evidence.card.uuid, params, [best], gain=most, weight=1.0, snippet=code,
                    confidence=Confidence.MODEL, chance=_reach(most),
                )
            )  # fmt: skip
        else:
            found.append(
                make(
                    "loading.host_memory", evidence.card.uuid, params, [best], gain=most, weight=1.0,
                    confidence=Confidence.MODEL, chance=_reach(most),
                )
            )  # fmt: skip
    return found


def cores_rule(evidence: Evidence, most: Gain | None) -> list[Advice]:
    """``loading.one_core``: the loader's processes are confined to one core, so that more of them do not help."""
    demand = evidence.last("loader_demand")
    confined = [p for p in evidence.of("loader_supply") if p.extra.get("worker_cores") == 1]
    there = demand.extra.get("cores") if demand else None
    host = evidence.host_number("cores_logical")
    if not confined or demand is None or not isinstance(there, int):
        return []
    own = there == 1
    cores = int(host) if own and host is not None else there
    if cores <= 1:
        return []
    params: dict[str, Scalar] = {"workload": demand.workload, "cores": cores, "everywhere": own}
    rates = {int(p.params["workers"]): p.value for p in confined}
    if len(rates) > 1:
        few, many = min(rates), max(rates)
        params |= {"few": few, "few_rate": rates[few], "many": many, "many_rate": rates[many]}
    snippet = None if own else snippets.all_cores()
    return [
        make(
            "loading.one_core", evidence.card.uuid, params, [demand, *confined], gain=most, weight=6.0, snippet=snippet,
            confidence=Confidence.MODEL, chance=_reach(most),
        )
    ]  # fmt: skip


def threads_in_workers_rule(evidence: Evidence) -> list[Advice]:
    """``loading.threads``: loader processes that compute with several threads each get in each other's way."""
    demand = evidence.last("loader_demand")
    cores = demand.extra.get("cores") if demand else None
    threaded = [
        p
        for p in evidence.of("loader_supply")
        if p.params["workers"] and _number(p, "workers_cores_busy") > BUSY_CORES * int(p.params["workers"])
    ]
    if not threaded or demand is None or not isinstance(cores, int):
        return []
    worst = max(threaded, key=lambda p: _number(p, "workers_cores_busy") / int(p.params["workers"]))
    workers = int(worst.params["workers"])
    params: dict[str, Scalar] = {
        "workload": demand.workload, "workers": workers, "busy": _number(worst, "workers_cores_busy"), "cores": cores,
    }  # fmt: skip
    if "workers_core_wait_fraction" in worst.extra:
        params["waits"] = _number(worst, "workers_core_wait_fraction")
    snippet = snippets.one_thread(int(worst.params["batch"]), max(1, min(cores, workers)))
    return [
        make(
            "loading.threads", evidence.card.uuid, params, threaded,
            confidence=Confidence.MODEL, weight=2.5, snippet=snippet,
        )
    ]  # fmt: skip


def _params(evidence: Evidence, best: Point, fed: list[Point]) -> dict[str, Scalar]:
    """The figures of the chosen setting."""
    rate = pooled(fed) if fed else best.value
    params: dict[str, Scalar] = {"workload": best.workload, "rate": rate, "batch": best.params["batch"]}
    params |= {name: best.params[name] for name in SETTING if name in best.params}
    demand = evidence.last("loader_demand")
    if demand is not None:
        params |= {"demand": demand.value, "lost": starvation(rate, demand.value)}
        cores, today = demand.extra.get("cores"), demand.extra.get("usual_workers")
        if isinstance(cores, int) and isinstance(today, int) and today > cores:
            params["cores_exceeded"] = cores
    alone = _same(evidence, "loader_supply", best)
    if alone:
        params["supply"] = pooled(alone)
    start = next((p.extra["start_s"] for p in alone if "start_s" in p.extra), None)
    if start is not None and best.params["workers"]:
        params["start_s"] = start
    return params


def _fed(evidence: Evidence, best: Point) -> list[Point]:
    return _same(evidence, "loader_fed", best)


def _same(evidence: Evidence, metric: str, best: Point) -> list[Point]:
    """Figures of the same setting."""
    wanted = {name: best.params[name] for name in (*SETTING, "batch") if name in best.params}
    return [p for p in evidence.of(metric, **wanted) if p.params.get("decode") == best.params.get("decode")]


def _restart(evidence: Evidence, best: Point, *, persistent: bool) -> tuple[Point, float] | None:
    """A figure of the chosen setting with processes kept or not, and the seconds of its second epoch's beginning."""
    wanted = {name: best.params[name] for name in ("workers", "prefetch", "pin", "batch")}
    for point in evidence.of("loader_fed", **wanted, persistent=persistent):
        if "restart_s" in point.extra:
            return point, _number(point, "restart_s")
    return None


def _number(point: Point, name: str) -> float:
    value = point.extra.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
