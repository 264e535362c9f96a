"""Lines of the collector, there and back."""

from hypothesis import given
from hypothesis import strategies as st

from gputuner.model.cards import CardInfo, Origin
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import CardProcesses, Gap, ProcessOnCard, Sample, XidSeen
from gputuner.telemetry.feed import CallCost, HungCall, Tick
from gputuner.telemetry.wire import Health, Hello, Line, Noticed, Ticked, Unusable, decode_line, encode_line

finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.dictionaries(st.sampled_from(Quantity), finite)
missing = st.dictionaries(st.sampled_from(Quantity), st.sampled_from(Reason))


@given(values, missing, st.integers(0, 2**62))
def test_a_tick_comes_back_as_it_was(values: dict[Quantity, float], missing: dict[Quantity, Reason], t_ns: int) -> None:
    process = ProcessOnCard(pid=7, name="python", user="u", command=None, memory_bytes=None, memory_reason=Reason.ERROR)
    tick = Tick(
        t_ns=t_ns,
        samples=(Sample(card="a", t_ns=t_ns, values=values, missing=missing),),
        processes=(CardProcesses(card="a", t_ns=t_ns, processes=(process,), unowned_bytes=0),),
        gaps=(Gap(card=None, t0_ns=0, t1_ns=t_ns, reason=Reason.LOST),),
        xids=(XidSeen(card="a", t_ns=t_ns, xid=79),),
        cards=(CardInfo(uuid="a", index=0, name="A", readings={"power_limit_max_w": Reading(value=450.0, unit="W")}),),
    )
    assert decode_line(encode_line(Ticked(tick=tick))) == Ticked(tick=tick)


def test_every_kind_of_line_comes_back() -> None:
    cost = CallCost(median_s=0.004, worst_s=0.22)
    lines: list[Line] = [
        Hello(pid=1, origin=Origin.MEASURED, cards=8),
        Unusable(code="nvml_library_missing", text="no library", params={"nvml_code": 12}),
        Noticed(code="telemetry_card_lost", t_ns=5, params={"card": "a", "silent_s": 1.5}),
        Health(
            t_ns=9,
            ticks=10,
            missed_ticks=1,
            rejected_values=2,
            cpu_s=0.1,
            age_s=5.0,
            memory_bytes=None,
            interval_s=0.5,
            fast_cost=cost,
            slow_cost=None,
            hung_calls=(HungCall(card="a", tier=Tier.SLOW, function="nvmlDeviceGetFanSpeed_v2"),),
        ),
    ]
    for line in lines:
        assert decode_line(encode_line(line)) == line
        assert encode_line(line).count(b"\n") == 1


@given(st.binary(max_size=200))
def test_what_is_not_a_line_of_ours_is_passed_over(data: bytes) -> None:
    decode_line(data)


def test_a_line_cut_off_by_a_crash_is_passed_over() -> None:
    whole = encode_line(Ticked(tick=Tick(t_ns=1)))
    for cut in range(len(whole) - 1):
        assert decode_line(whole[:cut]) is None
    assert decode_line(b'{"kind":"something new"}') is None
