"""Stored sessions with a made-up history of wear."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from gputuner.analysis.wear_trace import WearTrace
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import ClockKind, Outcome, RunFinished, RunStarted, TelemetrySampled
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reading, Scalar
from gputuner.model.samples import Gap, Sample, XidSeen
from gputuner.sessions.writer import SessionWriter

UUID = "GPU-0abc0abc-1111-2222-3333-444455556666"
UNIX_S = 1_796_000_000.0
S = 1_000_000_000
START_NS = 40 * 3600 * S


def card(uuid: str = UUID, **readings: Scalar) -> CardInfo:
    told = {"power_limit_default_w": 300.0, "slowdown_c": 92.0, "driver": "580.95", "vbios": "95.02"} | readings
    return CardInfo(
        uuid=uuid,
        index=0,
        name="NVIDIA GeForce RTX 4090",
        memory_total_bytes=24 * 2**30,
        readings={name: Reading(value=value) for name, value in told.items()},
    )


def stored(
    folder: Path,
    run_id: str,
    samples: Iterable[tuple[float, Mapping[Quantity, float]]],
    *,
    unix_s: float = UNIX_S,
    of: CardInfo | None = None,
    origin: Origin = Origin.MEASURED,
    spec: Mapping[str, Scalar] | None = None,
    gaps: tuple[Gap, ...] = (),
    xids: tuple[int, ...] = (),
) -> Path:
    """A closed session with samples of one card, each with its second since the start."""
    own = of or card()
    writer = SessionWriter.create(folder, run_id)
    writer.write(
        RunStarted(
            run_id=run_id,
            seq=0,
            t_ns=START_NS,
            experiment="record",
            spec=dict(spec or {}),
            fingerprint=Fingerprint(host=HostFingerprint(readings={"cpu": Reading(value="a processor")})),
            cards=(own,),
            clock=ClockKind.WALL,
            origin=origin,
            unix_s=unix_s,
            version="0.1.0",
        )
    )
    seq, t_ns = 0, START_NS
    for seq, (t_s, values) in enumerate(samples, start=1):
        t_ns = START_NS + round(t_s * S)
        one = Sample(card=own.uuid, t_ns=t_ns, values=dict(values))
        seen = tuple(XidSeen(card=own.uuid, t_ns=t_ns, xid=xid) for xid in xids) if seq == 1 else ()
        first = gaps if seq == 1 else ()
        writer.write(TelemetrySampled(run_id=run_id, seq=seq, t_ns=t_ns, samples=(one,), gaps=first, xids=seen))
    writer.write(RunFinished(run_id=run_id, seq=seq + 1, t_ns=t_ns, outcome=Outcome.COMPLETED, exit_code=0))
    return writer.path


def steps(trace: WearTrace) -> Iterable[tuple[float, dict[Quantity, float]]]:
    """A sample in the middle of each step of a trace, to the sensors' own resolution."""
    means = {
        Quantity.CORE_TEMPERATURE_C: np.rint(trace.heat["core"].mean),
        Quantity.POWER_AVERAGE_W: trace.power_w,
        Quantity.FAN_FRACTION: trace.fan,
        Quantity.GPU_UTILISATION: trace.busy,
        Quantity.MEMORY_UTILISATION: trace.traffic,
    }
    for n, t_s in enumerate(trace.t_s):
        values = {quantity: float(each[n]) for quantity, each in means.items() if np.isfinite(each[n])}
        yield float(t_s - trace.t_s[0] + 0.5 * trace.step_s), values
