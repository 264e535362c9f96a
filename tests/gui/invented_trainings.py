"""Invented figures of the questions about a training (loaded by ``conftest.py``)."""

from dataclasses import replace

from gui_invented import batch_events

from gputuner.model.cards import Origin
from gputuner.model.events import AdviceGiven, Event, PointMeasured, RunFinished, RunStarted, TorchFound
from gputuner.model.points import Point, Spread


def point(metric: str, number: float, params: dict, unit: str = "samples/s", half: float = 0.0, **extra) -> Point:
    spread = Spread(n=9, median=number, iqr=half, ci95_low=number - half, ci95_high=number + half) if half else None
    return Point(
        id=f"{metric}-{'-'.join(str(value) for value in params.values())}", card="GPU-4090", metric=metric,
        workload="resnet50", params=params, value=number, unit=unit, origin=Origin.MEASURED, spread=spread, extra=extra,
    )  # fmt: skip


def switch_points() -> list[Point]:
    def rate(number: float, peak: int, **params) -> Point:
        named = {"batch": 64, "phase": "switch", "precision": "bf16", **params}
        return point("train_throughput", number, named, half=1.0, allocated_peak_bytes=peak)

    return [
        rate(700.0, 5 << 30, precision="tf32"),
        rate(1200.0, 3 << 30),
        rate(1800.0, 3 << 30, channels_last=True),
        rate(2000.0, 2 << 30, channels_last=True, compile=True),
        rate(2004.0, 2 << 30, channels_last=True, compile=True, optimizer_kind="fused"),
    ]


def loading_points() -> list[Point]:
    def setting(workers: int, **more) -> dict:
        prefetch = 2 if workers else 0
        return {"batch": 64, "workers": workers, "prefetch": prefetch, "pin": False, "persistent": False, **more}

    points = [point("loader_demand", 1000.0, {"batch": 64, "precision": "bf16"}, half=10.0)]
    for workers, alone, fed in ((0, 200.0, 150.0), (4, 800.0, 700.0), (8, 1500.0, 900.0)):
        params = setting(workers, phase="workers")
        points.append(point("loader_supply", alone, params))
        usual = {"usual": True} if workers == 0 else {}
        points.append(point("loader_fed", fed, params, starvation_fraction=1.0 - fed / 1000.0, **usual))
    pinned = setting(8, pin=True)
    points.append(point("loader_fed", 960.0, {**pinned, "phase": "switch"}, starvation_fraction=0.04))
    points.append(point("loader_fed", 940.0, {**pinned, "phase": "again"}, starvation_fraction=0.06))
    points.append(point("loader_best", 949.9, {"precision": "bf16", **pinned}))
    return points


def numerics_points() -> list[Point]:
    points = []
    for step in range(4):
        params = {"batch": 32, "step": step}
        mean = 3.0 - 0.5 * step
        points.append(point("train_loss_band", mean, params, "1", low=mean - 0.1, high=mean + 0.1, draws=4))
        for precision, draw, off in (("fp32", 0, 0.0), ("fp32", 1, 0.05), ("fp16", 0, 0.4)):
            told = {"scale": 65536.0 / 2**step, "skipped": step == 2} if precision == "fp16" else {}
            of = {**params, "precision": precision, "draw": draw}
            points.append(point("train_loss", mean + off + 0.01, of, "1", smoothed=mean + off, **told))
    verdicts = (("fp32", "reference", 0.0), ("fp16", "apart", 0.4))
    points += [
        point("numerics_verdict", off, {"batch": 32, "precision": precision, "verdict": verdict}, "1")
        for precision, verdict, off in verdicts
    ]
    points += [
        point("activation_peak", peak, {"batch": 32, "precision": precision, "place": place}, "1", order=order,
              overflow=peak > 65504)
        for precision in ("fp32", "fp16")
        for order, (place, peak) in enumerate((("head", 70000.0), ("stem", 99.0)))
    ]  # fmt: skip
    points.append(
        point("autocast_kept", 2.0, {"batch": 32, "precision": "fp16", "operation": "softmax", "kept": "autocast"}, "1")
    )
    return points


POINTS = {"switches": switch_points, "numerics": numerics_points, "loading": loading_points}


def question_events(name: str, origin: Origin) -> list[Event]:
    """The stream of a run of a question."""
    kept: list[Event] = []
    for event in batch_events(origin=origin, run=name):
        match event:
            case RunStarted():
                kept.append(replace(event, experiment=name))
            case PointMeasured() if not any(isinstance(each, PointMeasured) for each in kept):
                kept += [replace(event, point=replace(each, origin=origin)) for each in POINTS[name]()]
            case TorchFound() | AdviceGiven() | RunFinished():
                kept.append(event)
            case _:
                pass
    return [replace(event, seq=number) for number, event in enumerate(kept)]
