"""What differs between the machines of two sessions."""

from dataclasses import replace

from gputuner.analysis.likeness import Weight, unlike
from gputuner.model.cards import CardInfo, CatalogMatch, Origin
from gputuner.model.events import ClockKind, RunStarted
from gputuner.model.fingerprint import CardFingerprint, Fingerprint, HostFingerprint, TorchFingerprint
from gputuner.model.readings import Reading


def started(uuid="a1", name="RTX 4090", driver="550.1", load=0.1, origin=Origin.MEASURED, catalog_id="rtx-4090"):
    card = CardInfo(
        uuid=f"GPU-{uuid}", index=0, name=name, origin=origin, catalog=CatalogMatch(catalog_id=catalog_id, name=name)
    )
    host = HostFingerprint(readings={"load_1m": Reading(value=load), "governor": Reading(value="performance")})
    cards = (CardFingerprint(uuid_hash=uuid, name=name, readings={"driver": Reading(value=driver)}),)
    return RunStarted(
        run_id="r", seq=0, t_ns=0, experiment="bench", spec={}, fingerprint=Fingerprint(host=host, cards=cards),
        cards=(card,), clock=ClockKind.WALL, origin=origin, unix_s=0.0, version="0.1.0",
    )  # fmt: skip


def told(*runs, **more):
    return [(each.name, each.weight) for each in unlike(*runs, **more)]


def test_the_same_machine_differs_in_nothing_but_what_passes():
    assert told(started(), started(load=3.0)) == []


def test_another_driver_explains():
    assert told(started(), started(driver="580.2")) == [("driver", Weight.EXPLAINS)]


def test_another_card_voids_and_its_readings_are_not_told_one_by_one():
    assert told(started(), started(uuid="b2", driver="580.2")) == [("card", Weight.VOIDS)]


def test_measured_against_simulated_voids():
    assert ("origin", Weight.VOIDS) in told(started(), started(origin=Origin.SIMULATED))


def test_simulated_boards_are_made_anew_and_only_their_kind_counts():
    first, second = (started(uuid=uuid, origin=Origin.SIMULATED) for uuid in ("a1", "b2"))
    assert told(first, second) == []
    other = started(uuid="c3", name="RTX 3090", origin=Origin.SIMULATED, catalog_id="rtx-3090")
    assert told(first, other) == [("card", Weight.VOIDS)]


def test_another_torch_explains():
    torch = TorchFingerprint(python="3.11", version="2.10", cuda="12.8")
    newer = replace(torch, version="2.11", cuda="13.0")
    assert told(started(), started(), torch=(torch, newer)) == [
        ("torch", Weight.EXPLAINS), ("cuda", Weight.EXPLAINS),
    ]  # fmt: skip
    assert told(started(), started(), torch=(None, newer)) == []


def test_another_gputuner_explains():
    assert told(started(), replace(started(), version="0.2.0")) == [("gputuner", Weight.EXPLAINS)]
