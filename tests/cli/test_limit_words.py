"""What limits the card: the remark on short loads stands only where no load was long."""

import io

import pytest

from gputuner.cli.options import Options
from gputuner.cli.output import Output
from gputuner.cli.results import show_limit
from gputuner.model.cards import CardInfo
from gputuner.model.points import Conditions, Point

SHORT = "loads of a few seconds"
CARD = CardInfo(uuid="GPU-1", index=0, name="a card")
CPU = CardInfo(uuid="cpu", index=0, name="a processor")


def point(extra: dict[str, float], card: str = "GPU-1") -> Point:
    return Point(
        id="p", card=card, metric="train_throughput", workload="resnet50", params={"phase": "sustained"}, value=35.0,
        unit="samples/s", conditions=Conditions(duration_s=30.0, samples=60), extra=dict(extra),
    )  # fmt: skip


@pytest.mark.parametrize(("extra", "short"), [({"load_s": 30.1}, False), ({}, True)])
def test_a_card_that_reports_no_power_may_still_have_been_loaded_for_long(extra, short):
    out = io.StringIO()
    show_limit(Output.of(Options(), out, io.StringIO()), [point(extra)], CARD)
    assert "What limits you" in out.getvalue()
    assert (SHORT in out.getvalue()) is short


def test_the_processor_is_no_card_that_tells_limits():
    out = io.StringIO()
    show_limit(Output.of(Options(), out, io.StringIO()), [point({}, "cpu")], CPU)
    assert out.getvalue() == ""
    show_limit(Output.of(Options(), out, io.StringIO()), [point({})], CARD)
    assert "does not tell what holds its clock back" in out.getvalue()
