import itertools

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError  # noqa: E402
from gputuner.workloads.bodies.transfer import DIRECTIONS, Route, Transfer  # noqa: E402
from gputuner.workloads.bodies.transfer_peers import Pair, PeerTransfer  # noqa: E402

pytestmark = pytest.mark.torch


def test_each_size_and_direction_is_a_part_with_the_bytes_that_cross(pace):
    survey = Transfer(CpuDevice(None), seed=1, sizes="1000 65536", memory="pageable")
    parts = list(survey.parts(pace(0.1)))
    told = [(p.params["bytes"], p.params["direction"], p.params["pinned"]) for p in parts]
    assert told == list(itertools.product((1000, 65536), ("host_to_device", "device_to_host"), (False,)))
    assert [p.work["bytes"] for p in parts] == [1000, 1000, 65536, 65536]
    assert all(p.relative_error == 0.0 and len(p.iteration_s) >= 3 for p in parts)


def test_both_directions_at_once_move_twice_the_bytes_and_only_from_pinned_memory(pace, monkeypatch):
    monkeypatch.setattr(
        "gputuner.workloads.bodies.transfer.Route", lambda device, size, pinned, seed: Route(device, size, False, seed)
    )
    parts = list(Transfer(CpuDevice(None), seed=1, sizes="4096").parts(pace(0.1)))
    told = [(p.params["pinned"], p.params["direction"], p.work["bytes"]) for p in parts]
    assert told == [
        (True, "host_to_device", 4096),
        (True, "device_to_host", 4096),
        (True, "both", 8192),
        (False, "host_to_device", 4096),
        (False, "device_to_host", 4096),
    ]


def test_a_processor_has_no_pinned_memory(pace):
    parts = list(Transfer(CpuDevice(None), seed=1, sizes="4096", memory="pinned").parts(pace(0.1)))
    assert [p.notes["gap"] for p in parts] == ["unsupported"] * 3


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_only_a_copy_after_clearing_passes_the_check(direction):
    route = Route(CpuDevice(None), 4096, False, 3)
    copy = route.copies(direction)
    copy()
    route.clear(direction)
    with pytest.raises(WrongResultError):
        route.check(direction)
    copy()
    route.check(direction)


@pytest.mark.parametrize(("direction", "target"), [("host_to_device", "_card_target"), ("both", "_host_target")])
def test_one_wrong_byte_is_found(direction, target):
    route = Route(CpuDevice(None), 4096, False, 3)
    route.copies(direction)()
    getattr(route, target)[4095] ^= 1
    with pytest.raises(WrongResultError, match=r"^1 of 4096 bytes"):
        route.check(direction)


def test_it_stops_when_asked(pace):
    survey = Transfer(CpuDevice(None), seed=1, sizes="4096 8192", memory="pageable")
    assert len(list(survey.parts(pace(0.1, stop_after=3)))) == 3


@pytest.mark.parametrize(("direction", "arrived"), [("to_peer", (1,)), ("from_peer", (0,)), ("both", (0, 1))])
def test_between_two_places_each_direction_has_its_own_target(direction, arrived):
    pair = Pair(512, 5, ("cpu", "cpu"))
    copy = pair.copies(direction)
    with pytest.raises(WrongResultError):
        pair.check(direction)
    copy()
    pair.check(direction)
    assert tuple(end for end in range(2) if bool(pair._targets[end].any())) == arrived
    pair.clear()
    with pytest.raises(WrongResultError):
        pair.check(direction)


def test_the_two_ends_hold_different_bytes():
    pair = Pair(512, 5, ("cpu", "cpu"))
    assert not torch.equal(pair._sources[0], pair._sources[1])


def test_one_card_has_no_peer():
    with pytest.raises(UnsupportedError):
        PeerTransfer(CpuDevice(None), seed=1, sizes="4096")
