"""Which stored sweeps a total is shared by: of one load where there is one, and only of the card as it stands now."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gputuner.analysis.total_power import CardRange, common_unit
from gputuner.assembly.total_power import curve_of, ranges_of
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.control import CardControl, Setting, SettingState
from gputuner.model.events import PointMeasured, RunFinished, TorchFound
from gputuner.model.fingerprint import TorchFingerprint
from gputuner.model.points import Conditions, Point
from gputuner.model.readings import Reading
from tests.sessions import streams

FIRST, SECOND = streams.CARDS
CAPS = (200.0, 250.0, 300.0, 400.0)
STATE = SettingState(setting=Setting.POWER_LIMIT, now=(400.0,), default=(400.0,), low=150.0, high=450.0)
CONTROLS = [CardControl(uuid=uuid, index=i, name="RTX 4090", states=(STATE,)) for i, uuid in enumerate((FIRST, SECOND))]


def as_of(uuid: str, driver: str = "580.1", vbios: str = "95.2") -> CardInfo:
    return replace(streams.card(uuid), readings={"driver": Reading(value=driver), "vbios": Reading(value=vbios)})


def points_of(uuid: str, rate: Callable[[float], float], workload: str = "resnet50", **params: object) -> list[Point]:
    """Two visits of each limit, 0.4 % apart."""
    return [
        Point(
            id=f"{workload}-{cap:g}-{visit}",
            card=uuid,
            metric="power_rate",
            workload=workload,
            params={"cap_w": cap, "visit": visit, **params},
            value=rate(cap) * (1.0 + 0.002 * (2 * visit - 3)),
            unit="samples/s",
            conditions=Conditions(duration_s=8.0, samples=16, power_w=cap),
        )
        for visit in (1, 2)
        for cap in CAPS
    ]


def sweep(folder: Path, hour: int, card: CardInfo, points: list[Point], torch: str = "2.9") -> str:
    """A stored sweep; its id."""
    run_id = f"20261130-{hour:02d}0000-power-aaaa"
    begun = streams.started(run_id=run_id, experiment="power", cards=(card,), unix_s=1_796_000_000.0 + 3600 * hour)
    found = TorchFound(run_id=run_id, seq=1, t_ns=1, torch=TorchFingerprint(python="3.12", version=torch))
    told = [PointMeasured(run_id=run_id, seq=n, t_ns=n, point=point) for n, point in enumerate(points, start=2)]
    ended = RunFinished(run_id=run_id, seq=len(told) + 2, t_ns=99, outcome=streams.Outcome.COMPLETED, exit_code=0)
    streams.store(folder, [begun, found, *told, ended], run_id)
    return run_id


def shares(folder: Path, *now: CardInfo) -> tuple[tuple[CardRange, ...], list[tuple[str, str, str, str]]]:
    found = ranges_of(CONTROLS, folder, Origin.MEASURED, lambda: now)
    return found.ranges, [(old.card, old.what, old.then, old.now) for old in found.outdated]


def workloads(ranges: tuple[CardRange, ...]) -> list[str]:
    return [each.curve.workload if each.curve else "" for each in ranges]


def test_sweeps_of_one_load_are_preferred_to_newer_ones_of_others(tmp_path: Path) -> None:
    sweep(tmp_path, 10, as_of(FIRST), points_of(FIRST, lambda cap: cap, batch=64))
    sweep(tmp_path, 11, as_of(SECOND), points_of(SECOND, lambda cap: 2 * cap, batch=128))
    ranges, _ = shares(tmp_path, as_of(FIRST), as_of(SECOND))
    assert common_unit(ranges) == "samples/s", "a sample is one whatever the batch"
    sweep(tmp_path, 12, as_of(FIRST), points_of(FIRST, lambda cap: cap, "gpt2"))
    ranges, _ = shares(tmp_path, as_of(FIRST), as_of(SECOND))
    assert workloads(ranges) == ["resnet50", "resnet50"]
    curves = [each.curve for each in ranges]
    assert [curve.best for curve in curves if curve] == pytest.approx([400, 800], rel=0.001)


def test_sweeps_of_other_loads_or_samples_do_not_add_up(tmp_path: Path) -> None:
    sweep(tmp_path, 10, as_of(FIRST), points_of(FIRST, lambda cap: cap, image=224))
    sweep(tmp_path, 11, as_of(SECOND), points_of(SECOND, lambda cap: cap, image=384))
    ranges, _ = shares(tmp_path, as_of(FIRST), as_of(SECOND))
    assert workloads(ranges) == ["resnet50", "resnet50"]
    assert common_unit(ranges) == "", "a sample of 384 pixels is more work"


@pytest.mark.parametrize(
    ("what", "changed", "then", "now"),
    [("driver", {"driver": "590.2"}, "580.1", "590.2"), ("vbios", {"vbios": "96.0"}, "95.2", "96.0")],
)
def test_a_sweep_of_another_driver_or_vbios_is_not_used(tmp_path, what, changed, then, now) -> None:
    for hour, uuid in ((10, FIRST), (11, SECOND)):
        sweep(tmp_path, hour, as_of(uuid), points_of(uuid, lambda cap: cap))
    ranges, outdated = shares(tmp_path, as_of(FIRST), as_of(SECOND, **changed))
    assert workloads(ranges) == ["resnet50", ""]
    assert outdated == [(SECOND, what, then, now)]
    sweep(tmp_path, 12, as_of(SECOND, **changed), points_of(SECOND, lambda cap: cap))
    ranges, outdated = shares(tmp_path, as_of(FIRST), as_of(SECOND, **changed))
    assert (workloads(ranges), outdated) == (["resnet50", "resnet50"], []), "measured again"


def test_a_sweep_with_an_older_torch_than_the_card_ran_last_is_not_used(tmp_path: Path) -> None:
    sweep(tmp_path, 10, as_of(FIRST), points_of(FIRST, lambda cap: cap), torch="2.8")
    sweep(tmp_path, 11, as_of(FIRST), points_of(FIRST, lambda cap: cap)[:1], torch="2.9")  # cut short: no curve
    ranges, outdated = shares(tmp_path, as_of(FIRST), as_of(SECOND))
    assert workloads(ranges) == ["", ""]
    assert outdated == [(FIRST, "torch", "2.8", "2.9")]


def test_cards_are_only_asked_where_there_is_a_sweep(tmp_path: Path) -> None:
    def never() -> tuple[CardInfo, ...]:
        raise AssertionError("asked")

    found = ranges_of(CONTROLS, tmp_path, Origin.MEASURED, never)
    assert [(each.low_w, each.high_w, each.curve) for each in found.ranges] == [(150.0, 400.0, None)] * 2


def test_what_chance_does_to_two_cards_is_independent() -> None:
    """Else their errors would cancel in a gain."""
    card = as_of(FIRST)
    first, second = (curve_of(points_of(FIRST, lambda cap: cap), card, "s", seed) for seed in (0, 1))
    assert first is not None
    assert second is not None
    assert first.draws is not None
    assert second.draws is not None
    ends = np.corrcoef(first.draws[:, -1], second.draws[:, -1])[0, 1]
    assert abs(ends) < 0.2, "of 400 pairs: within 4 standard errors of none"
