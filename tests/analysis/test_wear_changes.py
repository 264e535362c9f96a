"""What changed of a card between sessions, and what its counters grew by."""

from gputuner.analysis.wear_changes import changes, counted
from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reading, Reason


def card(**readings):
    told = {name: Reading(value=value) for name, value in readings.items() if value is not None}
    told |= {name: Reading(reason=Reason.NO_PERMISSION) for name, value in readings.items() if value is None}
    return CardInfo(uuid="GPU-a", index=0, name="a card", readings=told)


def named(*cards, hosts=None):
    hosts = hosts or [None] * len(cards)
    told = [(str(n), float(n), each, host) for n, (each, host) in enumerate(zip(cards, hosts, strict=True))]
    return [(c.name, c.before, c.after, c.session_id) for c in changes(told)]


def test_a_reading_is_held_against_the_last_that_was_read():
    assert named(card(vbios="1"), card(vbios=None), card(vbios="1"), card(vbios="2"), card(vbios="1")) == [
        ("vbios", "1", "2", "3"),
        ("vbios", "2", "1", "4"),
    ]


def test_an_idle_link_is_no_change_but_fewer_lanes_are():
    assert named(card(pcie_generation=1, pcie_width=16), card(pcie_generation=4, pcie_width=8)) == [
        ("pcie_width", 16, 8, "1")
    ]


def test_another_computer_is_told():
    assert named(card(), card(), card(), hosts=["one", None, "other"]) == [("host", "one", "other", "2")]


def test_counters_in_the_order_of_time_and_across_a_restart():
    (found,) = counted({Quantity.ECC_CORRECTED: [(30.0, 2.0), (0.0, 5.0), (10.0, 9.0), (20.0, 9.0), (40.0, 3.0)]})
    assert (found.first, found.last, found.grown) == (5.0, 3.0, 4.0 + 2.0 + 1.0)


def test_what_is_not_read_has_no_row():
    assert counted({Quantity.REMAPPED_ROWS: []}) == ()
