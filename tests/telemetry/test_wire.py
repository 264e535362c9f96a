"""Lines of the collector, there and back."""

from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from gputuner.devices.packing import Bundle, Packed, Packing, Read
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import CardProcesses, Gap, ProcessOnCard, Sample, XidSeen
from gputuner.telemetry.feed import CallCost, HungCall, Tick
from gputuner.telemetry.wire import (
    Health,
    Hello,
    Line,
    LineReader,
    LineWriter,
    Noticed,
    PackedTick,
    Ticked,
    Unusable,
)

CORE, FAN = Quantity.CORE_TEMPERATURE_C, Quantity.FAN_FRACTION
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
    assert LineReader().line(LineWriter().line(Ticked(tick=tick))) == Ticked(tick=tick)


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
        written = LineWriter().line(line)
        assert LineReader().line(written) == line
        assert written.count(b"\n") == 1


@given(st.binary(max_size=200))
def test_what_is_not_a_line_of_ours_is_passed_over(data: bytes) -> None:
    LineReader().line(data)


def test_a_line_cut_off_by_a_crash_is_passed_over() -> None:
    whole = LineWriter().line(Ticked(tick=Tick(t_ns=1)))
    for cut in range(len(whole) - 1):
        assert LineReader().line(whole[:cut]) is None
    assert LineReader().line(b'{"kind":"something new"}') is None


def packing(number: int, card: str, tier: Tier = Tier.FAST) -> Packing:
    """One signed number: a temperature, or a speed in percent."""
    quantity, divisor = (CORE, 1) if tier is Tier.FAST else (FAN, 100)
    read = Read(quantity=quantity, divisor=divisor, low=1, high=126)
    return Packing(number=number, card=card, tier=tier, layout="=i", reads=(read,), sentinel=-1, missing={})


def read_all(reader: LineReader, written: bytes) -> list[Line | None]:
    return [reader.line(line) for line in written.splitlines(keepends=True)]


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(1, 126)), min_size=1, max_size=8))
def test_packed_readings_come_back_as_samples_in_order_of_time(read: list[tuple[int, int]]) -> None:
    packed = [Packed(packing(i, f"card-{i}"), t_ns, pack("=i", number)) for i, (t_ns, number) in enumerate(read)]
    written = LineWriter().line(PackedTick(7, packed, None))
    assert written.count(b"\n") == len(read) + 1
    samples = [Sample(card=f"card-{i}", t_ns=t_ns, values={CORE: n}) for i, (t_ns, n) in enumerate(read)]
    expected = Tick(t_ns=7, samples=tuple(sorted(samples, key=lambda sample: sample.t_ns)))
    assert read_all(LineReader(), written)[-1] == Ticked(tick=expected)


def test_a_packing_is_told_once_and_a_new_one_of_the_same_tier_takes_its_place() -> None:
    writer, reader = LineWriter(), LineReader()
    first, second = packing(1, "a"), packing(2, "a")
    lines = [writer.line(PackedTick(t, [Packed(p, t, pack("=i", 40))], None)) for t, p in enumerate((first, first))]
    assert [line.count(b"\n") for line in lines] == [2, 1]
    lines.append(writer.line(PackedTick(2, [Packed(second, 2, pack("=i", 127))], None)))
    told = [line for written in lines for line in read_all(reader, written)]
    ticks = [line.tick for line in told if isinstance(line, Ticked)]
    assert [sample.values for tick in ticks for sample in tick.samples] == [{CORE: 40}, {CORE: 40}, {}]
    assert reader.rejected == 1
    again = lines[1]
    assert reader.line(again) is None, "nobody packs that way any more"
    read_all(reader, writer.line(PackedTick(3, [Packed(packing(3, "a"), 3, pack("=i", 41))], None)))
    assert reader.rejected == 1, "what was rejected before stays counted"


def test_both_tiers_make_one_row_whether_packed_or_not() -> None:
    fast = Packed(packing(1, "a"), 1000, pack("=i", 40))
    slow = Packed(packing(2, "a", Tier.SLOW), 2000, pack("=i", 50))
    table = CardProcesses(card="a", t_ns=2000, processes=())
    row = Sample(card="a", t_ns=1000, values={CORE: 40.0, FAN: 0.5})
    expected = Ticked(tick=Tick(t_ns=1000, samples=(row,), processes=(table,)))
    packed = PackedTick(1000, [fast, slow], Tick(t_ns=1000, processes=(table,)))
    assert read_all(LineReader(), LineWriter().line(packed))[-1] == expected
    plain = Tick(t_ns=1000, samples=(Sample(card="a", t_ns=2000, values={FAN: 0.5}),), processes=(table,))
    assert read_all(LineReader(), LineWriter().line(PackedTick(1000, [fast], plain)))[-1] == expected


def test_packed_readings_cut_off_by_a_crash_or_of_an_unknown_packing_are_passed_over() -> None:
    packed = [Packed(packing(i, f"card-{i}"), i, pack("=i", 40)) for i in range(3)]
    for rest in (None, Tick(t_ns=1, gaps=(Gap(card=None, t0_ns=0, t1_ns=1, reason=Reason.LOST),))):
        *head, last = LineWriter().line(PackedTick(1, packed, rest)).splitlines(keepends=True)
        reader = LineReader()
        for line in head:
            assert reader.line(line) is not None
        for cut in range(len(last)):
            assert reader.line(last[:cut]) is None
        assert reader.line(last) is not None
        assert LineReader().line(last) is None


@given(
    st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 127)), min_size=1, max_size=8, unique_by=lambda r: r[0])
)
def test_a_bundle_comes_back_as_what_its_readings_make_one_by_one(read: list[tuple[int, int]]) -> None:
    read = sorted(read)
    packings = tuple(packing(place, f"card-{place}") for place in range(len(read)))
    alone = [Packed(packings[place], t_ns, pack("=i", number)) for place, (t_ns, number) in enumerate(read)]
    data = pack(f"={len(read) - 1}q", *(t_ns for t_ns, _ in read[1:])) + b"".join(pack("=i", n) for _, n in read)
    together = Packed(Bundle(number=99, packings=packings), read[0][0], data)
    gap = Tick(t_ns=7, gaps=(Gap(card=None, t0_ns=0, t1_ns=7, reason=Reason.LOST),))
    for rest in (None, gap):
        reader = LineReader()
        apart = read_all(LineReader(), LineWriter().line(PackedTick(7, alone, rest)))[-1]
        writer = LineWriter()
        told = [read_all(reader, writer.line(PackedTick(7, [together], rest)))[-1] for _ in range(2)]
        assert told == [apart, apart]
        assert reader.rejected == 2 * sum(number in (0, 127) for _, number in read)


def test_a_bundle_and_packings_of_the_same_cards_are_known_side_by_side() -> None:
    writer, reader = LineWriter(), LineReader()
    a, b = packing(1, "a"), packing(2, "b")
    pair, one = Bundle(number=3, packings=(a, b)), Bundle(number=4, packings=(a,))

    def told(what: Packing | Bundle, data: bytes) -> list[float] | None:
        line = read_all(reader, writer.line(PackedTick(1, [Packed(what, 1, data)], None)))[-1]
        return [s.values[CORE] for s in line.tick.samples] if isinstance(line, Ticked) else None

    assert told(a, pack("=i", 40)) == [40]
    assert told(pair, pack("=qii", 2, 41, 42)) == [41, 42]
    assert told(a, pack("=i", 43)) == [43]
    assert told(one, pack("=i", 44)) == [44]
    assert told(pair, pack("=qii", 2, 41, 42)) is None, "another bundle of one of its cards has taken its place"
    assert told(a, pack("=i", 45)) == [45]
