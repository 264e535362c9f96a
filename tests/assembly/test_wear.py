"""The wear of a card over many stored sessions, read back from their files."""

from dataclasses import replace

import pytest

from gputuner.advice.wear import wear_advice
from gputuner.analysis.wear_trend import Basis, Trend
from gputuner.assembly.wear import WearStopped, wear_of, worn_cards
from gputuner.model.cards import Origin
from gputuner.model.quantities import Quantity
from gputuner.sessions.library import SessionLibrary
from tests.analysis.wear_histories import histories
from tests.sessions.worn import UNIX_S, UUID, card, steps, stored

Q = Quantity
DAY_S = 86400.0


def warm(t_s=600, core_c=85.0, **counters):
    values = {Q.CORE_TEMPERATURE_C: core_c, Q.POWER_AVERAGE_W: 250.0}
    return [(10.0 * each, values | {Q(name): value for name, value in counters.items()}) for each in range(t_s // 10)]


def hours_above(found, degrees):
    return next(entry.seconds for entry in found.hours if entry.above_c == degrees)


def test_two_sessions_at_once_tell_an_hour_once(tmp_path):
    stored(tmp_path, "a", warm())
    stored(tmp_path, "b", warm(), unix_s=UNIX_S + 300)
    stored(tmp_path, "c", warm(), unix_s=UNIX_S + DAY_S)
    found = wear_of(SessionLibrary(tmp_path), UUID)
    assert found.observed_s == pytest.approx(900 + 600)
    assert hours_above(found, 80.0) == pytest.approx(1500)
    assert hours_above(found, 90.0) == 0
    assert [round(s.observed_s) for s in found.sessions] == [600, 300, 600]


def test_replays_and_simulated_sessions_are_not_the_cards_own(tmp_path):
    stored(tmp_path, "a", warm())
    stored(tmp_path, "b", warm(), unix_s=UNIX_S + DAY_S, origin=Origin.REPLAYED)
    for n, name in enumerate("cd"):
        stored(tmp_path, name, warm(), unix_s=UNIX_S + n, origin=Origin.SIMULATED)
    library = SessionLibrary(tmp_path)
    assert len(wear_of(library, UUID).sessions) == 1
    simulated = wear_of(library, UUID, origin=Origin.SIMULATED)
    assert simulated.observed_s == pytest.approx(1200)  # each has a clock of its own
    assert wear_of(library, "GPU-none") is None
    assert [each.uuid for each in worn_cards(library)] == [UUID]


def test_what_changed_and_what_was_counted(tmp_path):
    stored(tmp_path, "a", warm(ecc_uncorrected=0.0, remapped_rows=1.0))
    stored(tmp_path, "b", warm(ecc_uncorrected=2.0, remapped_rows=1.0), unix_s=UNIX_S + DAY_S, xids=(79, 31))
    flashed = replace(card(vbios="95.03", power_limit_default_w=450.0), pci_bus_id="00000000:21:00.0")
    stored(tmp_path, "c", warm(ecc_uncorrected=2.0, remapped_rows=3.0), unix_s=UNIX_S + 2 * DAY_S, of=flashed)
    found = wear_of(SessionLibrary(tmp_path), UUID)
    told = {change.name: (change.before, change.after, change.session_id) for change in found.changes}
    assert told == {"vbios": ("95.02", "95.03", "c"), "power_limit_default_w": (300.0, 450.0, "c")}
    assert {c.quantity: c.grown for c in found.counters} == {Q.ECC_UNCORRECTED: 2, Q.REMAPPED_ROWS: 2}
    assert found.xids == {31: 1, 79: 1}
    advice, questions = wear_advice(found)
    assert {entry.id: dict(entry.params) for entry in advice} == {
        "wear.errors": {"uncorrected": 2, "remapped": 2},
        "wear.xid": {"xids": "79"},
    }
    assert [question.id for question in questions] == ["wear_more"]


@pytest.fixture(scope="module")
def aged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aged")
    history = histories(1, 0.15, seed=9, kinds=("blower",))[0]
    own = card(power_limit_default_w=round(history.limit_w))
    traces = history.traces[::2]
    for n, trace in enumerate(traces):
        driver = replace(own, readings=own.readings | {"driver": card(driver="595.1").readings["driver"]})
        late = n > len(traces) // 2
        stored(folder, f"run-{n:02d}", steps(trace), unix_s=float(trace.t_s[0]), of=driver if late else own)
    return folder, len(traces)


def test_an_ageing_cooler_is_told_with_its_interval_and_its_doubts(aged):
    folder, count = aged
    told = []
    found = wear_of(SessionLibrary(folder), UUID, told=lambda done, total: told.append((done, total)))
    assert told == [(n + 1, count) for n in range(count)]
    assert found.drift.verdict is Trend.RISING
    assert found.drift.basis is Basis.IDLE
    assert found.drift.low < 0.13 < found.drift.high
    advice, questions = wear_advice(found)
    assert [entry.id for entry in advice] == ["wear.resistance"]
    assert advice[0].params["changed"] == "driver"
    assert questions == ()


def test_whoever_asked_can_stop_and_nothing_is_left_behind(aged):
    folder, _count = aged
    before = sorted(path.name for path in (folder / "sessions").iterdir())
    done = []
    with pytest.raises(WearStopped):
        wear_of(SessionLibrary(folder), UUID, told=lambda n, _: done.append(n), stop=lambda: len(done) == 3)
    assert done == [1, 2, 3]
    assert sorted(path.name for path in (folder / "sessions").iterdir()) == before
    assert sorted(path.name for path in folder.iterdir()) == ["sessions"]


@pytest.mark.parametrize(("kind", "basis"), [("blower", Basis.IDLE), ("no_rest", Basis.ROOM)])
def test_what_the_card_at_rest_shows_goes_before_what_was_told(tmp_path, kind, basis):
    history = histories(1, 0.0, seed=9, kinds=(kind,))[0]
    own = card(power_limit_default_w=round(history.limit_w))
    for n, trace in enumerate(history.traces[:8]):
        stored(tmp_path, f"run-{n}", steps(trace), unix_s=float(trace.t_s[0]), of=own, spec={"room_c": 20.0})
    found = wear_of(SessionLibrary(tmp_path), UUID)
    assert {point.basis for point in found.steady} == {basis}
    assert ({point.air_c for point in found.steady} == {20.0}) is (basis is Basis.ROOM)
