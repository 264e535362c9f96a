"""Calls that hang: from the deadline on, told once, by tier, until they come back."""

from gputuner.model.quantities import Tier
from gputuner.telemetry.crew import Job
from gputuner.telemetry.feed import FeedState, FeedStatus, HungCall, Notice
from gputuner.telemetry.hangs import Hangs

S = 1_000_000_000


def job(kind: str, card: str, asked_s: float | None = 0.0) -> Job[object]:
    made: Job[object] = Job(kind, card, lambda _t_ns: None, lambda _value: None)
    made.asked_ns = None if asked_s is None else round(asked_s * S)
    return made


class Source:
    """Knows for each reading the function that it is in."""

    def __init__(self) -> None:
        self.function: str | None = "nvmlDeviceGetFanSpeed_v2"

    def asking(self, _card: str, _tier: Tier) -> str | None:
        return self.function


def test_a_call_hangs_from_its_deadline_on_and_is_told_once() -> None:
    told: list[Notice] = []
    hangs, slow = Hangs(5.0, object(), told.append), job(Tier.SLOW, "a", asked_s=2.0)
    assert not hangs.look([slow], 7 * S)
    assert hangs.look([slow], 7 * S + 1)
    assert not hangs.look([slow], 100 * S)
    assert [(n.code, n.t_ns, n.params) for n in told] == [
        ("telemetry_call_hung", 7 * S + 1, {"card": "a", "call": "slow"}),
    ]
    assert hangs.calls() == (HungCall(card="a", tier=Tier.SLOW),)


def test_a_call_that_has_come_back_is_news_and_may_hang_again() -> None:
    told: list[Notice] = []
    hangs, slow = Hangs(5.0, object(), told.append), job(Tier.SLOW, "a")
    hangs.look([slow], 6 * S)
    slow.asked_ns = None
    assert hangs.look([slow], 7 * S)
    assert not hangs
    assert hangs.calls() == ()
    slow.asked_ns = 10 * S
    assert hangs.look([slow], 16 * S)
    assert len(told) == 2


def test_the_function_is_the_one_that_it_was_in_at_the_deadline() -> None:
    told: list[Notice] = []
    source = Source()
    hangs, slow = Hangs(5.0, source, told.append), job(Tier.SLOW, "a")
    hangs.look([slow], 6 * S)
    source.function = None
    hangs.look([slow], 7 * S)
    assert hangs.calls() == (HungCall(card="a", tier=Tier.SLOW, function="nvmlDeviceGetFanSpeed_v2"),)
    assert told[0].params["function"] == "nvmlDeviceGetFanSpeed_v2"


def test_both_tiers_count_and_a_scan_is_told_but_is_no_card_s() -> None:
    told: list[Notice] = []
    hangs = Hangs(5.0, Source(), told.append)
    jobs = [job(Tier.SLOW, "a"), job("scan", ""), job(Tier.FAST, "a"), job(Tier.SLOW, "b"), job(Tier.FAST, "c", None)]
    hangs.look(jobs, 6 * S)
    status = FeedStatus(state=FeedState.OK, hung_calls=hangs.calls())
    assert [(call.card, call.tier) for call in status.hung_calls] == [
        ("a", Tier.FAST),
        ("a", Tier.SLOW),
        ("b", Tier.SLOW),
    ]
    assert status.hung_cards == ("a", "b")
    assert status.hangs("b", Tier.FAST) is None
    assert status.hangs("b", Tier.SLOW) is not None
    assert [n.params for n in told if not n.params["card"]] == [{"card": "", "call": "scan"}]
