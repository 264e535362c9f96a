"""What figures of several cards tell of the further ones: who, how they ran, and the flags that come from them."""

from dataclasses import replace

import pytest

from gputuner.assembly.setup import open_setup
from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.peers import peer_extra, peer_flags
from gputuner.model.events import Outcome, PointMeasured, RunFinished
from gputuner.model.points import Conditions, Flag
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Reading
from gputuner.model.steps import Done, Part, PeerSeen, Report, Trial, Work

LINKS = {"pcie_generation_max": Reading(value=5, unit=""), "pcie_width_max": Reading(value=16, unit="")}
FREE = Conditions(duration_s=1.0, samples=4, sm_clock_mhz=1980.0, memory_clock_mhz=2619.0)
POWER = replace(FREE, sm_clock_mhz=1400.0, limited_s={Limiter.POWER: 0.051})


@pytest.fixture
def context(lab):
    return lab.context_of(lab.h200(), minutes=60.0)


@pytest.fixture
def peers(context):
    """Two further cards of the same kind, both undisturbed."""
    first, second = (
        replace(context.card, uuid=f"GPU-{n}", index=n, readings={**context.card.readings, **LINKS}) for n in (1, 2)
    )
    return (
        PeerSeen(card=first, conditions=FREE, core_temperature_max_c=51.0),
        PeerSeen(card=second, conditions=FREE, core_temperature_max_c=64.0),
    )


def point_of(context, name, done):
    """The first figure of a benchmark whose trial comes back as ``done``."""
    plan = Bench(names=(name,)).plan(context)
    step = next(plan)
    while not isinstance(step, Report):
        step = plan.send(done if isinstance(step, Work) else Done())
    plan.close()
    return step.points[0]


def part(**params):
    return Part(
        params=params, iteration_s=(0.01,) * 30, t0_ns=10, t1_ns=20, work={"bytes": 2.0**20}, relative_error=0.0
    )  # fmt: skip


def done(*parts, **more):
    trial = Trial(iteration_s=(), t0_ns=0, t1_ns=30, parts=parts)
    return Done(trials=(trial,), conditions=FREE, part_conditions=(FREE,) * len(parts), **more)


def test_the_worst_of_several_cards_is_told(peers):
    slow = replace(peers[0], conditions=POWER)
    assert peer_extra((slow, peers[1])) == {
        "peer_cards": f"[1] {slow.card.title}, [2] {slow.card.title}",
        "peer_uuids": "GPU-1 GPU-2",
        "peer_sm_clock_mhz": 1400.0,
        "peer_memory_clock_mhz": 2619.0,
        "peer_core_temperature_max_c": 64.0,
        "peer_flags": "throttled:power",
    }


@pytest.mark.parametrize(
    ("change", "flags"),
    [
        ({}, ()),
        ({"shared": True}, (Flag.SHARED,)),
        ({"conditions": POWER}, (Flag.THROTTLED_POWER,)),
        ({"conditions": replace(FREE, limited_s={Limiter.THERMAL_SOFTWARE: 0.011})}, (Flag.THROTTLED_THERMAL,)),
        ({"conditions": replace(FREE, limited_s={Limiter.POWER: 0.049})}, ()),
        ({"conditions": replace(FREE, pcie_generation=5.0, pcie_width=8.0)}, (Flag.LINK_BELOW_MAX,)),
        ({"conditions": replace(FREE, pcie_generation=5.0, pcie_width=16.0)}, ()),
        ({"conditions": Conditions(duration_s=1.0)}, (Flag.NO_TELEMETRY,)),
    ],
)
def test_one_disturbed_card_flags_the_figure(peers, change, flags):
    assert peer_flags((peers[0], replace(peers[1], **change))) == flags


@pytest.mark.parametrize(("name", "params"), [("p2p", {"direction": "to_peer"}), ("allreduce", {"ranks": 3})])
def test_a_figure_has_the_flags_of_its_further_cards(context, peers, name, params):
    others = replace(context, others=tuple(peer.card for peer in peers))
    told = part(bytes=1 << 20, **params)
    calm = point_of(others, name, done(told, peers=peers, part_peers=(peers,)))
    used = (peers[0], replace(peers[1], shared=True, conditions=POWER))
    point = point_of(others, name, done(told, peers=peers, part_peers=(used,)))
    assert {Flag.SHARED, Flag.THROTTLED_POWER} <= set(point.flags) - set(calm.flags)
    assert point.extra["peer_flags"] == "throttled:power shared"
    assert (point.extra["peer_sm_clock_mhz"], point.extra["peer_core_temperature_max_c"]) == (1400.0, 64.0)
    assert "peer_flags" not in calm.extra
    assert calm.extra["peer_sm_clock_mhz"] == 1980.0
    assert (point.value, point.conditions) == (calm.value, calm.conditions), "the own card's are its own"


def test_a_part_has_what_its_own_window_saw(context, peers):
    others = replace(context, others=(peers[0].card,))
    gap = replace(part(bytes=1, direction="to_peer"), iteration_s=())
    told = part(bytes=2, direction="to_peer")
    slow, fast = (replace(peers[0], conditions=POWER),), (peers[0],)
    point = point_of(others, "p2p", done(gap, told, peers=slow, part_peers=(slow, fast)))
    assert point.params["bytes"] == 2
    assert point.extra["peer_sm_clock_mhz"] == 1980.0


def test_a_figure_of_one_card_says_nothing_of_others(context):
    point = point_of(context, "pcie", done(part(direction="host_to_device", pinned=True, bytes=1 << 20)))
    assert not [name for name in point.extra if name.startswith("peer")]
    assert peer_extra(()) == {}


@pytest.fixture(scope="module")
def pair_points(tmp_path_factory):
    """Both benchmarks on the first of two simulated cards."""
    setup = open_setup(simulate=("h200-sxm", "h200-sxm"), data_dir=tmp_path_factory.mktemp("data"))
    try:
        own, other = setup.cards()
        events = list(setup.start(Bench(names=("p2p", "allreduce")), (own,)))
    finally:
        setup.close()
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome is Outcome.COMPLETED
    return other, [event.point for event in events if isinstance(event, PointMeasured)]


def test_every_figure_of_two_cards_says_how_the_other_ran(pair_points):
    other, points = pair_points
    assert {point.metric for point in points} == {"peer_bandwidth", "allreduce_busbw"}
    for point in points:
        assert point.extra["peer_uuids"] == other.uuid
        assert point.extra["peer_cards"] == f"[1] {other.title}"
        assert point.extra["peer_sm_clock_mhz"] == pytest.approx(point.conditions.sm_clock_mhz, rel=0.05)
        assert 25.0 < point.extra["peer_core_temperature_max_c"] < 60.0
        assert "peer_flags" not in point.extra, "our own worker is nobody else"
        assert Flag.SHARED not in point.flags
