"""Evidence built by hand."""

import types

import pytest

from gputuner.advice.evidence import Evidence
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.points import Conditions, Point, Spread
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Reading, Reason

UUID = "GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"


def card(cpu: bool = False, **readings: float) -> CardInfo:
    return CardInfo(
        uuid=CPU_CARD if cpu else UUID,
        index=0,
        name="CPU" if cpu else "NVIDIA GeForce RTX 4090",
        memory_total_bytes=24 << 30,
        readings={name: Reading(value=value) for name, value in readings.items()},
    )


def conditions(seconds: float = 10.0, limited: dict[str, float] | None = None, **values: float) -> Conditions:
    return Conditions(
        duration_s=seconds,
        samples=20,
        limited_s={Limiter(name): value for name, value in (limited or {}).items()},
        **values,
    )


def point(identity: str, metric: str, value: float, workload: str = "resnet50", **more) -> Point:
    fields = {name: more.pop(name) for name in ("conditions", "flags", "extra", "spread") if name in more}
    return Point(id=identity, card=UUID, metric=metric, workload=workload, params=more, value=value, unit="", **fields)


def rate(identity: str, batch: int, value: float, precision: str = "bf16", channels_last: bool = True, **more) -> Point:
    half = 0.002 * value
    repeats = Spread(n=50, median=value, iqr=half, ci95_low=value - half, ci95_high=value + half)
    more.setdefault("extra", {"allocated_peak_bytes": int(4e8 + 4.5e7 * batch)})
    more.setdefault("phase", "probe")
    return point(
        identity, "train_throughput", value, batch=batch, precision=precision, channels_last=channels_last,
        spread=repeats, **more,
    )  # fmt: skip


def ladder() -> list[Point]:
    return [rate(f"r{b}", b, v) for b, v in ((32, 800.0), (64, 950.0), (128, 1000.0), (256, 1005.0))]


def limits(
    limit: int, safe: int, fastest: int, verified: bool = True, rate: float | None = 990.0, ran: bool | None = None
) -> list[Point]:
    """``verified``: the limit was found; ``ran`` (else as the limit): the safe batch itself was tried."""
    ran = verified if ran is None else ran
    extra = {"margin": 0.1, **({} if rate is None else {"rate": rate})}
    named = {"precision": "bf16", "channels_last": True}
    return [
        point("m", "memory_per_sample", 4.5e7, **named),
        point(
            "l", "batch_limit", limit, verified=verified, extra={"fails": limit + 16, "predicted": limit + 4}, **named
        ),
        point("s", "batch_safe", safe, verified=ran, extra=extra, **named),
        point("f", "batch_fastest", fastest, extra={"rate": 1000.0}, **named),
    ]


def host(**readings) -> Fingerprint:
    known = {
        name: Reading(value=value) if value is not None else Reading(reason=Reason.NOT_SUPPORTED)
        for name, value in readings.items()
    }
    return Fingerprint(host=HostFingerprint(readings=known))


@pytest.fixture
def lab():
    return types.SimpleNamespace(
        UUID=UUID, card=card, conditions=conditions, point=point, rate=rate, ladder=ladder, limits=limits, host=host,
        Evidence=Evidence,
    )  # fmt: skip
