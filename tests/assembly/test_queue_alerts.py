"""Alerts that meet jobs of the queue: which are told, what their session holds, and where it begins and ends."""

from pathlib import Path

import pytest

from gputuner.assembly.alerts import AlertBook
from gputuner.assembly.queue_alerts import JobAlerts
from gputuner.model.alerts import AlertKind, AlertPlan, AlertRule
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import AlertCleared, AlertRaised, Outcome, RunFinished, TelemetrySampled, Warned
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample, XidSeen
from gputuner.sessions.library import SessionLibrary
from gputuner.telemetry.feed import Tick

S = 1_000_000_000
CARD = CardInfo(uuid="GPU-1", index=0, name="Card", origin=Origin.SIMULATED)
OTHER = CardInfo(uuid="GPU-2", index=1, name="Card", origin=Origin.SIMULATED)
RULES = (AlertRule(name="hot", kind=AlertKind.TEMPERATURE, threshold=80.0), AlertRule(name="xid", kind=AlertKind.XID))


class Feed:
    """A feed that nobody listens to: ticks are handed over by the test."""

    def processes(self, _card):
        return None


def tick(at_s: float, core_c: float, *xids: int) -> Tick:
    samples = tuple(
        Sample(card=card.uuid, t_ns=round(at_s * S), values={Quantity.CORE_TEMPERATURE_C: core_c})
        for card in (CARD, OTHER)
    )
    seen = tuple(XidSeen(card=CARD.uuid, t_ns=round(at_s * S), xid=number) for number in xids)
    return Tick(t_ns=round(at_s * S), samples=samples, xids=seen)


class Served:
    """Alerts over one served card, the jobs there set by the test."""

    def __init__(self, data_dir: Path) -> None:
        AlertBook(data_dir).save(AlertPlan(rules=RULES))
        self.jobs: tuple[int, ...] = ()
        self.told: list[tuple[str, str]] = []
        self.said: list[str] = []
        self.library = SessionLibrary(data_dir)
        self.alerts = JobAlerts(
            data_dir,
            Feed(),  # pyright: ignore[reportArgumentType]
            [CARD],
            lambda: HostFingerprint(readings={}),
            lambda card: self.jobs if card == CARD.uuid else (9,),
            lambda event, _cards: self.told.append((event.kind, event.rule)),
            self.said.append,
        )

    def sessions(self):
        """Every event of each stored session."""
        return [list(self.library.open(entry.path).events()) for entry in reversed(self.library.entries())]


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path)


def test_a_card_without_a_job_is_nobodys_business_and_stores_nothing(served):
    for second in range(200):
        served.alerts.take(tick(second, 95.0, *([79] if second == 50 else [])))
    served.alerts.close()
    assert (served.told, served.sessions()) == ([], [])


def test_an_alert_is_kept_with_a_minute_of_telemetry_around_it_and_the_jobs_it_met(served):
    served.jobs = (3, 7)
    for second in range(300):
        served.alerts.take(tick(second, 95.0 if 100 <= second < 130 else 60.0))
    served.alerts.close()
    (events,) = served.sessions()
    assert served.told == [("alert_raised", "hot"), ("alert_cleared", "hot")]
    assert [event.rule for event in events if isinstance(event, (AlertRaised, AlertCleared))] == ["hot", "hot"]
    (said,) = [event for event in events if isinstance(event, Warned)]
    assert (said.code, said.params["jobs"]) == ("alert_beside_jobs", "3, 7")
    times = [event.t_ns // S for event in events if isinstance(event, TelemetrySampled)]
    assert (times[0], times[-1]) == (40, 190)
    assert times == list(range(40, 191))
    assert {sample.card for event in events if isinstance(event, TelemetrySampled) for sample in event.samples} == {
        CARD.uuid
    }
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome is Outcome.COMPLETED


def test_a_job_that_comes_to_a_hot_card_is_told_and_each_stretch_has_a_session(served):
    for second in range(10):
        served.alerts.take(tick(second, 95.0))
    served.jobs = (1,)
    served.alerts.take(tick(10, 95.0))
    assert served.told == [("alert_raised", "hot")]
    for second in range(11, 200):
        served.alerts.take(tick(second, 60.0))
    served.alerts.take(tick(200, 60.0, 79))
    served.alerts.close()
    assert served.told == [("alert_raised", "hot"), ("alert_cleared", "hot"), ("alert_raised", "xid")]
    assert len(served.sessions()) == 2


def test_what_ended_a_job_is_told_though_the_job_is_gone(served):
    served.jobs = (1,)
    served.alerts.take(tick(0, 95.0))
    served.jobs = ()
    served.alerts.take(tick(5, 60.0, 79))
    served.alerts.take(tick(36, 60.0, 31))
    assert [rule for kind, rule in served.told if kind == "alert_raised"] == ["hot", "xid"]
    served.alerts.close()


def test_an_alert_that_stands_for_days_fills_no_disk(served):
    served.jobs = (1,)
    for second in range(0, 7200, 4):
        served.alerts.take(tick(second, 95.0))
    served.alerts.close()
    (events,) = served.sessions()
    assert max(event.t_ns for event in events if isinstance(event, TelemetrySampled)) == 600 * S


def test_without_room_for_a_session_it_is_told_all_the_same(served, tmp_path):
    (tmp_path / "sessions").write_text("no folder")
    served.jobs = (1,)
    served.alerts.take(tick(0, 95.0))
    served.alerts.take(tick(1, 95.0, 79))
    served.alerts.close()
    assert [rule for _kind, rule in served.told] == ["hot", "xid"]
    assert len(served.said) == 1
    assert served.said[0].startswith("Alerts are told, but not kept: ")
