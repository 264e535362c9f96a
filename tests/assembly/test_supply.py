"""What stored sessions tell of a card's draw, and what stands in where there are none."""

from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.analysis.supply_draw import DrawSource, Feed
from gputuner.assembly.supply import draws_of
from gputuner.catalog import load
from gputuner.model.cards import CatalogMatch, Origin
from gputuner.model.errors import NoCard, UsageError
from gputuner.model.events import RunFinished
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reading
from tests.sessions import streams

S = 1_000_000_000
LIMITED = replace(streams.card(), readings={"power_limit_enforced_w": Reading(value=450.0, unit="W")})


def session(
    folder: Path,
    run_id: str,
    *levels: tuple[int, float],
    origin: Origin = Origin.MEASURED,
    spike: float = 0,
    used: float | None = None,
):
    """A stored session of 2 Hz: seconds and watts; the instant field reads ``spike`` more. ``used``: utilisation."""
    use = {} if used is None else {Quantity.GPU_UTILISATION: used}
    events = [streams.started(origin=origin, run_id=run_id)]
    n = 0
    for seconds, watts in levels:
        for _ in range(2 * seconds):
            values = {Quantity.POWER_AVERAGE_W: watts, Quantity.POWER_INSTANT_W: watts + spike, **use}
            events.append(streams.tick(n + 1, n * S // 2, streams.sample(n * S // 2, values)))
            n += 1
    ended = RunFinished(run_id=run_id, seq=n + 1, t_ns=n * S // 2, outcome=streams.Outcome.COMPLETED, exit_code=0)
    streams.store(folder, [replace(event, run_id=run_id) for event in (*events, ended)], run_id)


def draw(folder: Path, card=LIMITED, origin: Origin = Origin.MEASURED):
    (found,) = draws_of(folder, [card], origin)
    return found


def test_the_highest_of_its_sessions_counts(tmp_path):
    session(tmp_path, "20261130-100000-tune-aaaa", (10, 40.0), (40, 380.0), (10, 40.0), spike=35.0)
    session(tmp_path, "20261130-110000-cooling-bbbb", (10, 40.0), (90, 401.0))
    found = draw(tmp_path)
    assert found.measured
    assert found.sustained_w == pytest.approx(401.0)
    assert found.peak_w == pytest.approx(415.0), "of whichever session"
    assert found.limit_w == 450.0
    assert found.sessions == 2
    assert found.seen is not None
    assert found.seen.session == "20261130-110000-cooling-bbbb"
    assert found.seen.held_s == pytest.approx(130.0)
    assert not found.short


def test_a_card_that_was_only_seen_at_rest_is_sized_by_its_limit(tmp_path):
    """22 W of 450 W is no work; nor are 27 W of the 70 W of a T4 that keeps its clocks up with nothing in use."""
    session(tmp_path, "20261130-100000-record-aaaa", (60, 22.0))
    found = draw(tmp_path)
    assert (found.source, found.sustained_w, found.measured) == (DrawSource.LIMIT, 450.0, False)
    assert found.rest is not None
    assert (found.rest.sustained_w, found.sessions) == (pytest.approx(22.0), 1)
    small = replace(LIMITED, readings={"power_limit_enforced_w": Reading(value=70.0, unit="W")})
    other = tmp_path / "other"
    session(other, "20261130-110000-record-bbbb", (60, 27.0), used=0.0)
    assert draw(other, small).source is DrawSource.LIMIT
    session(other, "20261130-120000-record-cccc", (60, 27.0), used=0.9)
    assert draw(other, small).sustained_w == pytest.approx(27.0)


def test_recordings_of_an_idle_card_hide_no_load(tmp_path, monkeypatch):
    monkeypatch.setattr("gputuner.assembly.supply.LOOKED_AT", 2)
    session(tmp_path, "20261130-100000-cooling-aaaa", (60, 401.0))
    for hour in range(11, 15):
        session(tmp_path, f"20261130-{hour}0000-record-bbbb", (20, 22.0))
    assert draw(tmp_path).sustained_w == pytest.approx(401.0)


@pytest.mark.parametrize(
    ("catalog_id", "name", "fed"),
    [
        ("h200-sxm", "NVIDIA H200", Feed.MODULE),
        ("h20", "NVIDIA H20", Feed.MODULE),
        ("b200", "NVIDIA B200", Feed.MODULE),
        (None, "NVIDIA A800-SXM4-80GB", Feed.MODULE),
        (None, "NVIDIA GeForce RTX 4090 Laptop GPU", Feed.MODULE),
        ("t4", "Tesla T4", Feed.SLOT),
        ("l4", "NVIDIA L4", Feed.SLOT),
        ("a100-pcie-80g", "NVIDIA A100 80GB PCIe", Feed.SERVER),
        ("rtx-a6000", "NVIDIA RTX A6000", Feed.SERVER),
        ("rtx-4090", "NVIDIA GeForce RTX 4090", Feed.CABLES),
        (None, "NVIDIA GeForce RTX 9999", Feed.CABLES),
    ],
)
def test_by_what_a_card_is_fed(tmp_path, catalog_id, name, fed):
    match = CatalogMatch(catalog_id=catalog_id, name=load().card(catalog_id).name) if catalog_id else None
    assert draw(tmp_path, replace(LIMITED, name=name, catalog=match)).fed is fed


def test_sessions_of_another_origin_or_card_tell_nothing(tmp_path):
    session(tmp_path, "20261130-100000-tune-aaaa", (60, 380.0), origin=Origin.SIMULATED)
    assert draw(tmp_path).source is DrawSource.LIMIT
    assert draw(tmp_path, origin=Origin.SIMULATED).simulated
    other = replace(LIMITED, uuid="GPU-cccc")
    assert draw(tmp_path, other, Origin.SIMULATED).source is DrawSource.LIMIT


def test_a_damaged_session_does_not_hide_the_others(tmp_path):
    session(tmp_path, "20261130-100000-tune-aaaa", (60, 380.0))
    (tmp_path / "sessions" / "20261130-120000-tune-cccc.sqlite").write_bytes(b"no database")
    assert draw(tmp_path).sustained_w == pytest.approx(380.0)


def test_without_sessions_the_limit_then_the_sheet(tmp_path):
    found = draw(tmp_path)
    assert (found.source, found.sustained_w, found.measured) == (DrawSource.LIMIT, 450.0, False)
    match = CatalogMatch(catalog_id="rtx-4090-48g", name="RTX 4090 48G")
    sheet = draw(tmp_path, replace(LIMITED, readings={}, catalog=match))
    assert (sheet.source, sheet.sustained_w) == (DrawSource.SHEET, 450.0)
    with pytest.raises(UsageError) as refused:
        draw(tmp_path, replace(LIMITED, readings={}))
    assert refused.value.code == "supply_unknown_draw"
    with pytest.raises(NoCard) as none:
        draw(tmp_path, replace(LIMITED, uuid="cpu"))
    assert none.value.code == "supply_needs_card"
    assert not (tmp_path / "sessions").exists(), "looking makes nothing"


def test_a_replayed_file_tells_alone(tmp_path):
    session(tmp_path, "20261130-100000-tune-aaaa", (60, 380.0))
    session(tmp_path, "20261130-110000-tune-bbbb", (60, 200.0))
    path = tmp_path / "sessions" / "20261130-110000-tune-bbbb.sqlite"
    (found,) = draws_of(tmp_path, [LIMITED], Origin.REPLAYED, path)
    assert (found.sustained_w, found.sessions) == (pytest.approx(200.0), 1)
