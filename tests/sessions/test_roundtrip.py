"""The stored session is the stream; replay is the stream."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from gputuner.model.advice import Advice, Confidence
from gputuner.model.events import AdviceGiven, Event, PointMeasured, TelemetrySampled
from gputuner.model.points import Flag
from gputuner.model.quantities import QUANTITIES, Quantity
from gputuner.model.readings import Reason
from gputuner.sessions.reader import PAGE, SessionReader
from gputuner.sessions.writer import SessionWriter

from .streams import CARDS, RUN, S, point, run, same_stream, sample, started, store, streams, tick


@settings(max_examples=60, deadline=None)
@given(streams())
def test_any_stream_comes_back_as_it_was(events: list[Event]) -> None:
    with tempfile.TemporaryDirectory() as folder, SessionReader(store(Path(folder), events)) as reader:
        assert same_stream(list(reader.events()), events)


def test_a_whole_run_comes_back_exactly(tmp_path: Path) -> None:
    # every value of run() is a multiple of its resolution, so not even rounding may show
    events = run()
    with SessionReader(store(tmp_path, events)) as reader:
        assert list(reader.events()) == events


def test_nvml_milliwatts_come_back_as_the_same_float(tmp_path: Path) -> None:
    values = [milliwatts / 1000 for milliwatts in range(450_000, 450_500)]
    events = [started(), *(tick(n + 1, n, sample(n, {Quantity.POWER_AVERAGE_W: v})) for n, v in enumerate(values))]
    with SessionReader(store(tmp_path, events)) as reader:
        back = [e.samples[0].values[Quantity.POWER_AVERAGE_W] for e in reader.events({"telemetry_sampled"})]
    assert back == values


def test_not_due_missing_and_zero_stay_apart(tmp_path: Path) -> None:
    asleep = {Quantity.FAN_RPM: Reason.ASLEEP, Quantity.PSTATE: Reason.NOT_SUPPORTED}
    stream = [
        tick(1, 1, sample(1, {Quantity.FAN_RPM: 0.0})),
        tick(2, 2, sample(2, {}, missing=asleep)),
        tick(3, 3, sample(3, {})),
        tick(4, 4, sample(4, {}, missing=dict(reversed(asleep.items())))),
    ]
    with SessionReader(store(tmp_path, [started(), *stream])) as reader:
        assert list(reader.events({"telemetry_sampled"})) == stream


def test_a_nonsense_value_does_not_stop_the_run(tmp_path: Path) -> None:
    wild = {Quantity.POWER_AVERAGE_W: 1e300, Quantity.MEMORY_USED_BYTES: -1e25, Quantity.LIMIT_BITS: 1e30}
    with SessionReader(store(tmp_path, [started(), tick(1, 1, sample(1, wild))])) as reader:
        (event,) = reader.events({"telemetry_sampled"})
    assert isinstance(event, TelemetrySampled)
    assert event.samples[0].values == pytest.approx(wild, rel=1e-12)


def test_every_quantity_has_a_column(tmp_path: Path) -> None:
    values = {quantity: 3 * info.resolution for quantity, info in QUANTITIES.items()}
    with SessionReader(store(tmp_path, [started(), tick(1, 1, sample(1, values))])) as reader:
        (event,) = reader.events({"telemetry_sampled"})
    assert isinstance(event, TelemetrySampled)
    assert event.samples[0].values == pytest.approx(values, rel=1e-12)


def test_kinds_and_place_narrow_the_stream_without_changing_its_order(tmp_path: Path) -> None:
    events = run(seconds=2 * PAGE, hz=1)
    with SessionReader(store(tmp_path, events)) as reader:
        assert [e.seq for e in reader.events()] == [e.seq for e in events]
        kinds = {"warned", "telemetry_sampled"}
        assert [e.seq for e in reader.events(kinds)] == [e.seq for e in events if e.kind in kinds]
        assert list(reader.events({"run_finished"})) == events[-1:]
        assert [e.seq for e in reader.events(after_seq=PAGE)] == [e.seq for e in events if e.seq > PAGE]


def test_a_stored_figure_above_what_its_card_can_do_is_flagged_when_it_is_shown(tmp_path: Path) -> None:
    """The stream stays as it was written; the figures of a version that did not look are judged when they are read."""
    good, faulty = point("good"), replace(point("faulty"), extra={"fraction_of_peak_at_clock": 1.4})
    told = [PointMeasured(run_id=RUN, seq=n, t_ns=n, point=each) for n, each in ((1, good), (2, faulty))]
    with SessionReader(store(tmp_path, [started(), *told])) as reader:
        assert [Flag.IMPLAUSIBLE in each.flags for each in reader.points()] == [False, True]
        assert list(reader.events({"point_measured"})) == told


def test_views_of_a_session(tmp_path: Path) -> None:
    events = run()
    with SessionReader(store(tmp_path, events)) as reader:
        advices, questions = reader.advice()
        assert [a.id for a in advices] == ["precision.best", "batch.fastest"]
        assert [q.command for q in questions] == ["gputuner --cli tune"]
        assert [p.id for p in reader.points()] == ["p1"]
        assert [w.code for w in reader.warnings()] == ["no_telemetry"]
        assert [c.state.value for c in reader.cards()] == ["ready", "lost"]
        assert [(g.card, g.t1_ns - g.t0_ns) for g in reader.gaps()] == [(CARDS[1], S)]
        assert [x.xid for x in reader.xids()] == [79]


def test_seq_must_grow(tmp_path: Path) -> None:
    writer = SessionWriter.create(tmp_path, RUN)
    writer.write(started(seq=5))
    with pytest.raises(Exception, match="came after 5") as caught:
        writer.write(replace(tick(5, 1)))
    assert caught.value.code == "store_out_of_order"
    writer.write(tick(6, 1))
    writer.close()
    with SessionReader(writer.path) as reader:
        assert [e.seq for e in reader.events()] == [5, 6]


def test_a_session_of_old_tells_no_more_where_a_recipe_lies(tmp_path: Path) -> None:
    old = replace(started(), spec={"recipe": "/home/alice/mine.py:make", "folder": "/home/alice", "minutes": 4.0})
    with SessionReader(store(tmp_path, [old])) as reader:
        (event,) = reader.events({"run_started"})
        assert event.spec == reader.started.spec == {"recipe": "mine.py:make", "minutes": 4.0}


def test_a_rule_may_say_several_things_and_is_heard_anew_as_a_whole(tmp_path: Path) -> None:
    def advice(n: int, rank: float) -> Advice:
        return Advice(
            id="switches.memory", card="c", params={"n": n}, evidence=("p",), confidence=Confidence.MEASURED, rank=rank
        )

    def given(seq: int, *told: Advice) -> AdviceGiven:
        return AdviceGiven(run_id=RUN, seq=seq, t_ns=seq, advice=told)

    twice = [started(), given(1, advice(1, 2.0), advice(2, 3.0))]
    with SessionReader(store(tmp_path, twice)) as reader:
        assert [entry.params["n"] for entry in reader.advice()[0]] == [2, 1]
    (tmp_path / "again").mkdir()
    with SessionReader(store(tmp_path / "again", [*twice, given(2, advice(3, 1.0))])) as reader:
        assert [entry.params["n"] for entry in reader.advice()[0]] == [3]
