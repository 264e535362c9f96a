"""Event streams for the tests of sessions: hand-made ones and a hypothesis strategy for arbitrary ones."""

from dataclasses import replace
from math import isclose
from pathlib import Path

from hypothesis import strategies as st

from gputuner.model.advice import Advice, Confidence, Gain, Question
from gputuner.model.cards import CardInfo, CardState, Origin
from gputuner.model.events import (
    AdviceGiven,
    ClockKind,
    Event,
    Outcome,
    PointMeasured,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TelemetrySampled,
    Warned,
    WorkerExited,
)
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.points import Flag, Point, Spread
from gputuner.model.quantities import QUANTITIES, Quantity
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import CardProcesses, Gap, ProcessOnCard, Sample, XidSeen
from gputuner.sessions.writer import SessionWriter

S = 1_000_000_000
RUN = "20261130-142233-tune-a1b2"
CARDS = ("GPU-aaaa", "GPU-bbbb")


def card(uuid: str = CARDS[0], index: int = 0, **more: object) -> CardInfo:
    return replace(
        CardInfo(
            uuid=uuid,
            index=index,
            name="NVIDIA GeForce RTX 4090",
            memory_total_bytes=24 * 2**30,
            readings={
                "power_limit_max_w": Reading(value=600.0, unit="W"),
                "bar1_total_bytes": Reading(unit="bytes", reason=Reason.NOT_SUPPORTED),
            },
        ),
        **more,
    )


def started(
    seq: int = 0, t_ns: int = 0, origin: Origin = Origin.MEASURED, run_id: str = RUN, **more: object
) -> RunStarted:
    return replace(
        RunStarted(
            run_id=run_id,
            seq=seq,
            t_ns=t_ns,
            experiment="tune",
            spec={"minutes": 5.0, "quick": True},
            fingerprint=Fingerprint(host=HostFingerprint(readings={"os": Reading(value="Linux")}), sampling_hz=2.0),
            cards=(card(origin=origin), card(CARDS[1], 1, origin=origin)),
            clock=ClockKind.WALL,
            origin=origin,
            unix_s=1_796_000_000.0,
            version="0.1.0",
        ),
        **more,
    )


def finished(seq: int, t_ns: int, outcome: Outcome = Outcome.COMPLETED) -> RunFinished:
    return RunFinished(run_id=RUN, seq=seq, t_ns=t_ns, outcome=outcome, exit_code=0)


def tick(seq: int, t_ns: int, *samples: Sample, **more: object) -> TelemetrySampled:
    return replace(TelemetrySampled(run_id=RUN, seq=seq, t_ns=t_ns, samples=samples), **more)


def sample(t_ns: int, values: dict[Quantity, float], uuid: str = CARDS[0], missing: dict | None = None) -> Sample:
    return Sample(card=uuid, t_ns=t_ns, values=values, missing=missing or {})


def point(name: str = "p1", value: float = 1.5e14) -> Point:
    return Point(
        id=name,
        card=CARDS[0],
        metric="matmul_rate",
        workload="matmul",
        params={"precision": "bf16", "n": 8192},
        value=value,
        unit="FLOP/s",
        spread=Spread(n=30, median=value, iqr=value / 100, ci95_low=value * 0.99, ci95_high=value * 1.01),
        flags=(Flag.THROTTLED_POWER,),
    )


def advice(name: str = "batch.fastest", rank: float = 1.0) -> Advice:
    return Advice(
        id=name,
        card=CARDS[0],
        params={"batch": 64},
        evidence=("p1",),
        confidence=Confidence.MEASURED,
        gain=Gain(value=0.2, unit="fraction", low=0.1, high=0.3),
        rank=rank,
    )


def run(seconds: int = 10, hz: int = 2, origin: Origin = Origin.MEASURED) -> list[Event]:
    """A small run with a bit of everything."""
    question = Question(id="power.sweep", card=CARDS[0], command="gputuner --cli tune")
    events: list[Event] = [
        started(origin=origin),
        StepStarted(
            run_id=RUN, seq=1, t_ns=1, index=1, total=2, label="matmul", params={}, expected_s=3, remaining_s=9
        ),
    ]
    for n in range(seconds * hz):
        t_ns = n * S // hz
        values = {
            Quantity.CORE_TEMPERATURE_C: 40.0 + n,
            Quantity.POWER_AVERAGE_W: 100.125 + n,
            Quantity.ENERGY_J: 50.0 * n,
        }
        missing = {Quantity.MEMORY_TEMPERATURE_C: Reason.NOT_SUPPORTED}
        events.append(tick(2 + n, t_ns, *(sample(t_ns, values, uuid, missing) for uuid in CARDS)))
    seq, t_ns = 2 + seconds * hz, seconds * S
    process = ProcessOnCard(pid=42, name="python", user="me", command="python train.py", memory_bytes=2**30)
    return [
        *events,
        tick(
            seq,
            t_ns,
            processes=(CardProcesses(card=CARDS[0], t_ns=t_ns, processes=(process,)),),
            gaps=(Gap(card=CARDS[1], t0_ns=t_ns - S, t1_ns=t_ns, reason=Reason.LOST),),
            xids=(XidSeen(card=CARDS[1], t_ns=t_ns, xid=79),),
            cards=(card(CARDS[1], 1, state=CardState.LOST, origin=origin),),
        ),
        PointMeasured(run_id=RUN, seq=seq + 1, t_ns=t_ns, point=point()),
        Warned(run_id=RUN, seq=seq + 2, t_ns=t_ns, code="no_telemetry", params={"card": "x"}),
        AdviceGiven(
            run_id=RUN, seq=seq + 3, t_ns=t_ns, advice=(advice(), advice("precision.best", 2.0)), questions=(question,)
        ),
        finished(seq + 4, t_ns),
    ]


def _sample_equal(a: Sample, b: Sample) -> bool:
    return (
        (a.card, a.t_ns, a.missing) == (b.card, b.t_ns, b.missing)
        and a.values.keys() == b.values.keys()
        and all(
            isclose(v, b.values[q], rel_tol=1e-12, abs_tol=QUANTITIES[q].resolution * 0.500001)
            for q, v in a.values.items()
        )
    )


def equal(a: Event, b: Event) -> bool:
    """Equal, floats of samples within half their quantity's resolution."""
    if not (isinstance(a, TelemetrySampled) and isinstance(b, TelemetrySampled)):
        return a == b
    return (
        replace(a, samples=()) == replace(b, samples=())
        and len(a.samples) == len(b.samples)
        and all(_sample_equal(x, y) for x, y in zip(a.samples, b.samples, strict=True))
    )


def same_stream(a: list[Event], b: list[Event]) -> bool:
    return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))


_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_floats = st.floats(allow_nan=False, allow_infinity=False)
_times = st.integers(-(2**40), 2**40) | st.integers(0, 2**62)
_reasons = st.sampled_from(Reason)
_quantities = st.sampled_from(Quantity)
_uuids = st.sampled_from(("GPU-a", "GPU-b", "cpu"))
_scalars = st.booleans() | st.integers(-(2**53), 2**53) | _floats | _words
_params = st.dictionaries(_words, _scalars, max_size=3)
_value = st.floats(-1e12, 1e12) | st.integers(0, 10**6).map(float) | _floats.filter(lambda x: abs(x) < 1e300)
_samples = st.builds(
    Sample,
    card=_uuids,
    t_ns=_times,
    values=st.dictionaries(_quantities, _value, max_size=8),
    missing=st.dictionaries(_quantities, _reasons, max_size=4),
)
_processes = st.builds(
    ProcessOnCard,
    pid=st.integers(0, 2**31),
    name=st.none() | _words,
    user=st.none() | _words,
    command=st.none() | _words,
    memory_bytes=st.none() | st.integers(0, 2**40),
)
_tables = st.builds(
    CardProcesses,
    card=_uuids,
    t_ns=_times,
    processes=st.lists(_processes, max_size=2).map(tuple),
    reason=st.none() | _reasons,
)
_gaps = st.builds(Gap, card=st.none() | _uuids, t0_ns=_times, t1_ns=_times, reason=_reasons)
_xids = st.builds(XidSeen, card=_uuids, t_ns=_times, xid=st.integers(0, 200))
_cards = st.builds(CardInfo, uuid=_uuids, index=st.integers(0, 8), name=_words, state=st.sampled_from(CardState))


def _tuples(of: st.SearchStrategy, most: int = 2) -> st.SearchStrategy:
    return st.lists(of, max_size=most).map(tuple)


_head = {"run_id": st.just(RUN), "seq": st.just(0), "t_ns": _times}
_events = st.one_of(
    st.builds(
        TelemetrySampled,
        **_head,
        samples=_tuples(_samples, 4),
        processes=_tuples(_tables),
        gaps=_tuples(_gaps),
        xids=_tuples(_xids),
        cards=_tuples(_cards),
    ),
    st.builds(PointMeasured, **_head, point=st.builds(point, _words, _floats.filter(lambda x: abs(x) < 1e300))),
    st.builds(Warned, **_head, code=_words, params=_params),
    st.builds(WorkerExited, **_head, worker=_words, why=_words, exit_code=st.none() | st.integers(-64, 255)),
    st.builds(StepFinished, **_head, index=st.integers(1, 99), label=_words, result=_words, message=_words),
    st.builds(AdviceGiven, **_head, advice=st.just((advice(),)), questions=st.just(())),
)


def streams() -> st.SearchStrategy[list[Event]]:
    """A start, then up to 30 arbitrary events at arbitrary times (also backwards), numbered with gaps."""

    def number(parts: tuple[list[Event], list[int]]) -> list[Event]:
        events, steps = parts
        seq, out = 0, [started(cards=())]
        for event, step in zip(events, steps, strict=False):
            seq += step
            out.append(replace(event, seq=seq))
        return out

    return st.tuples(st.lists(_events, max_size=30), st.lists(st.integers(1, 5), min_size=30, max_size=30)).map(number)


def store(folder: Path, events: list[Event], run_id: str = RUN) -> Path:
    """A closed session file with these events."""
    writer = SessionWriter.create(folder, run_id)
    for event in events:
        writer.write(event)
    writer.close()
    return writer.path
