from gputuner.engine.run import TELEMETRY_BACKLOG, Run
from gputuner.model.events import Outcome, PointMeasured, RunFinished, StepProgressed, TelemetrySampled, Warned
from gputuner.model.points import Point


def point_event(seq: int) -> PointMeasured:
    point = Point(id=f"p{seq}", card="c", metric="m", workload="w", params={}, value=1.0, unit="1")
    return PointMeasured(run_id="r", seq=seq, t_ns=seq, point=point)


def test_slow_reader_loses_only_telemetry():
    run = Run("r", None, lambda force: None)
    run.tell(point_event(0))
    for seq in range(1, 1001):
        run.tell(TelemetrySampled(run_id="r", seq=seq, t_ns=seq, samples=()))
        if seq % 100 == 0:
            run.tell(Warned(run_id="r", seq=seq, t_ns=seq, code="w"))
    run.tell(RunFinished(run_id="r", seq=2000, t_ns=1, outcome=Outcome.COMPLETED, exit_code=0))
    events = list(run)
    telemetry = [e for e in events if isinstance(e, TelemetrySampled)]
    assert len(telemetry) == TELEMETRY_BACKLOG
    assert telemetry[-1].seq == 1000
    assert sum(isinstance(e, Warned) for e in events) == 10
    assert isinstance(events[0], PointMeasured)
    assert isinstance(events[-1], RunFinished)


def progressed(seq: int) -> StepProgressed:
    return StepProgressed(
        run_id="r", seq=seq, t_ns=seq, index=1, label="l", phase="measure", done_s=1.0, left_s=None, remaining_s=1.0
    )


def test_slow_reader_sees_only_the_newest_progress():
    run = Run("r", None, lambda force: None)
    for seq in range(1, 100, 3):
        run.tell(progressed(seq))
        run.tell(TelemetrySampled(run_id="r", seq=seq + 1, t_ns=seq, samples=()))
        run.tell(Warned(run_id="r", seq=seq + 2, t_ns=seq, code="w"))
    run.tell(RunFinished(run_id="r", seq=200, t_ns=1, outcome=Outcome.COMPLETED, exit_code=0))
    events = list(run)
    assert [e.seq for e in events if isinstance(e, StepProgressed)] == [100 - 3]  # 1, 4, …, 97
    assert sum(isinstance(e, TelemetrySampled) for e in events) == 33
    assert sum(isinstance(e, Warned) for e in events) == 33


def test_iterator_stays_ended():
    run = Run("r", None, lambda force: None)
    run.tell(RunFinished(run_id="r", seq=1, t_ns=1, outcome=Outcome.FAILED, exit_code=1))
    assert len(list(run)) == 1
    assert list(run) == []


def test_cancel_after_the_end_reaches_nobody():
    asked: list[bool] = []
    run = Run("r", None, asked.append)
    run.cancel()
    run.tell(RunFinished(run_id="r", seq=1, t_ns=1, outcome=Outcome.CANCELLED, exit_code=130))
    run.cancel()
    assert asked == [False]
