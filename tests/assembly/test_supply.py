"""What stored sessions tell of a card's draw, and what stands in where there are none."""

from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.analysis.supply_draw import DrawSource
from gputuner.assembly.supply import draws_of
from gputuner.model.cards import CatalogMatch, Origin
from gputuner.model.errors import NoCard, UsageError
from gputuner.model.events import RunFinished
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reading
from tests.sessions import streams

S = 1_000_000_000
LIMITED = replace(streams.card(), readings={"power_limit_enforced_w": Reading(value=450.0, unit="W")})


def session(folder: Path, run_id: str, *levels: tuple[int, float], origin: Origin = Origin.MEASURED, spike: float = 0):
    """A stored session of 2 Hz: seconds and watts; the instant field reads ``spike`` more."""
    events = [streams.started(origin=origin, run_id=run_id)]
    n = 0
    for seconds, watts in levels:
        for _ in range(2 * seconds):
            values = {Quantity.POWER_AVERAGE_W: watts, Quantity.POWER_INSTANT_W: watts + spike}
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
