"""Invented figures of trainings that share a card (loaded by ``conftest.py``)."""

from dataclasses import replace
from itertools import combinations_with_replacement

from gui_invented import batch_events

from gputuner.model.cards import Origin
from gputuner.model.events import AdviceGiven, Event, PointMeasured, RunFinished, RunStarted, TorchFound
from gputuner.model.points import Point, Spread

JOBS = (("resnet50", 16), ("edsr", 8), ("lstm", 256))
SLOW = {
    ("resnet50", "resnet50"): (1.12, 1.12),
    ("resnet50", "edsr"): (1.62, 1.31),
    ("resnet50", "lstm"): (1.05, 1.44),
    ("edsr", "edsr"): (1.92, 1.95),
    ("edsr", "lstm"): (1.18, 2.35),
    ("lstm", "lstm"): (1.71, 1.74),
}
BURDENS = {"resnet50": 0.6, "edsr": 1.1, "lstm": 0.9}
PROBES = ("slices", "sm", "tensor", "dram", "l2", "pcie", "host")


def label(name: str, batch: int) -> str:
    return f"{name}:batch={batch}"


def point(metric: str, workload: str, number: float, params: dict, half: float = 0.0, unit: str = "", **extra) -> Point:
    spread = Spread(n=9, median=number, iqr=half, ci95_low=number - half, ci95_high=number + half) if half else None
    tail = "-".join(str(entry) for entry in params.values())
    return Point(
        id=f"{metric}-{workload}-{tail}", card="GPU-4090", metric=metric, workload=workload, params=params,
        value=number, unit=unit, origin=Origin.MEASURED, spread=spread, extra=extra,
    )  # fmt: skip


def mix_points(jobs: tuple, slow: tuple, mode: str = "processes", tuned: float | None = 1.2, **more) -> list[Point]:
    mix = "+".join(label(*job) for job in jobs)
    common = {"mix": mix, "mode": mode, "jobs": len(jobs), **more}
    found = [
        point(
            "co_run_slowdown", name, number, {"batch": batch, "precision": "bf16", **common, "job": at}, half=0.04,
            solo_change=0.01, clock_factor=0.98, step_median_s=0.03, step_p95_s=0.042, step_p95_over_median=1.4,
            reserved_peak_bytes=3 << 30,
        )
        for at, ((name, batch), number) in enumerate(zip(jobs, slow, strict=True), start=1)
    ]  # fmt: skip
    told = {} if tuned is None else {"alone_tuned": tuned}
    gain = sum(1 / number for number in slow)
    found.append(
        point("co_run_gain", mix, gain, common, half=0.05, one_after_other=1.0, fairness=0.95, valid=True,
              energy_ratio=0.86, power_ratio=1.1, **told)
    )  # fmt: skip
    return found


def pair_points(*, predicted: bool = True) -> list[Point]:
    """All pairs but one, which is predicted."""
    found: list[Point] = []
    for one, other in combinations_with_replacement(JOBS, 2):
        slow = SLOW[one[0], other[0]]
        mix = f"{label(*one)}+{label(*other)}"
        if predicted and (one, other) == (JOBS[0], JOBS[2]):
            for at, ((name, batch), number) in enumerate(zip((one, other), slow, strict=True), start=1):
                for model, off in (("pressure", 1.0), ("equal_sharing", 1.3)):
                    params = {
                        "job_label": label(name, batch),
                        "mix": mix,
                        "mode": "processes",
                        "job": at,
                        "model": model,
                    }
                    found.append(point("co_run_predicted", name, number * off, params))
            continue
        found += mix_points((one, other), slow)
        for at, ((name, batch), number) in enumerate(zip((one, other), slow, strict=True), start=1):
            of = {"batch": batch, "mix": mix, "mode": "processes", "job": at}
            shares = (("time_slicing", 0.7), ("host", 0.2)) if number > 1.15 else (("unknown", 1.0),)
            found += [
                point("co_run_cause", name, share, {**of, "cause": cause}, verdict=shares[0][0], slowdown=number)
                for cause, share in shares
            ]
            told = {"measured": number, "relative_error": 0.03, "held_out": name}
            model = {**of, "job_label": label(name, batch), "model": "pressure"}
            found.append(point("co_run_predicted", name, number * 1.03, model, **told))
    return found


def pressure_points() -> list[Point]:
    found: list[Point] = []
    for name, batch in JOBS:
        for number, probe in enumerate(PROBES):
            for dial in (0.0, 0.25, 0.5, 0.75, 1.0):
                params = {"job_label": label(name, batch), "probe": probe, "dial": dial, "mode": "processes"}
                hurt = 1 + dial * BURDENS[name] * (1.2 if probe == "slices" else 0.14 * number)
                found.append(point("pressure_sensitivity", name, hurt, params, half=0.03))
                found.append(point("pressure_exerted", name, 1 + 0.6 * (hurt - 1), params, half=0.03))
    return found


def contend_points() -> list[Point]:
    edsr = JOBS[1]
    scaling = [entry for jobs in (3,) for entry in mix_points((edsr,) * jobs, (2.4,) * jobs)]
    mps = mix_points((JOBS[0], JOBS[1]), (1.3, 1.22), mode="mps")
    alone = [
        point("train_throughput", name, 400.0, {"batch": batch, "precision": "bf16", "phase": phase}, half=4.0,
              unit="samples/s")
        for name, batch in JOBS for phase in ("alone", "alone_after")
    ]  # fmt: skip
    return [*alone, *pair_points(), *scaling, *mps, *pressure_points()]


def contend_events(origin: Origin = Origin.MEASURED, run: str = "contend") -> list[Event]:
    """The stream of a run of ``contend``."""
    kept: list[Event] = []
    for event in batch_events(origin=origin, run=run):
        match event:
            case RunStarted():
                kept.append(replace(event, experiment="contend", spec={"jobs": ["resnet50"]}))
            case PointMeasured() if not any(isinstance(each, PointMeasured) for each in kept):
                kept += [replace(event, point=replace(each, origin=origin)) for each in contend_points()]
            case TorchFound() | AdviceGiven() | RunFinished():
                kept.append(event)
            case _:
                pass
    return [replace(event, seq=number) for number, event in enumerate(kept)]
