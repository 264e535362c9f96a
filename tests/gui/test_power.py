"""A power sweep as a stored session shows it: visits over the setting, and where the answers lie."""

from gputuner.gui.pages.tune_result import RESULTS
from gputuner.gui.results_power import ENERGY, RATE, answer_uprights, listed, setting_text, visit_series
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import LIGHT
from gputuner.model.cards import Origin
from gputuner.model.points import Point

VISITS = ((200.0, 900.0, 0.22), (300.0, 1150.0, 0.26), (450.0, 1180.0, 0.31), (300.0, 1155.0, 0.26))


def point(metric: str, number: float, unit: str, **params: object) -> Point:
    tail = "-".join(str(entry) for entry in params.values())
    return Point(
        id=f"{metric}-{tail}", card="GPU-4090", metric=metric, workload="resnet50", params={"batch": 64, **params},
        value=number, unit=unit, origin=Origin.MEASURED,
    )  # fmt: skip


def sweep(key: str = "cap_w") -> list[Point]:
    found: list[Point] = []
    for number, (setting, rate, joules) in enumerate(VISITS):
        told = {key: setting, "visit": 2 if number == 3 else 1}
        found.append(point("power_rate", rate, "samples/s", **told))
        found.append(point("power_energy", joules, "J/sample", **told))
    knee = Point(
        id="knee", card="GPU-4090", metric="power_knee", workload="resnet50", params={"batch": 64, "loss": 3.0},
        value=300.0, unit="W", origin=Origin.MEASURED, extra={"low95": 290.0, "high95": 310.0},
    )  # fmt: skip
    return [*found, knee, point("power_plateau", 300.0, "W"), point("power_best_energy", 200.0, "W")]


def test_each_visit_is_a_dot_over_its_setting():
    points = sweep()
    (rate,), (energy,) = (visit_series(points, metric, LIGHT.blue) for metric in (RATE, ENERGY))
    assert [(dot.x, dot.y) for dot in rate.dots] == [(setting, value) for setting, value, _joules in VISITS]
    assert [dot.y for dot in energy.dots] == [joules for _setting, _rate, joules in VISITS]
    seen_before = [point("power_rate", 1000.0, "samples/s", cap_w=250.0, visit=0)]
    assert [dot.hollow for dot in visit_series([*points, *seen_before], RATE, LIGHT.blue)[0].dots][-2:] == [False, True]
    null = [point("power_rate", 1000.0, "samples/s", cap_w=450.0, visit=9, null=True)]
    assert visit_series(null, RATE, LIGHT.blue) == [], "equal visits of a check are no curve"


def test_answers_at_one_place_share_a_line_and_the_axis_names_what_was_set():
    assert [(line.x, line.name) for line in answer_uprights(sweep())] == [
        (300.0, "loses little · no change above"), (200.0, "least energy")
    ]  # fmt: skip
    assert setting_text(sweep()) == "power limit, W"
    assert setting_text(sweep("clock_mhz")) == "SM clock, MHz"
    assert [each.metric for each in listed(sweep())][:3] == ["power_knee", "power_plateau", "power_best_energy"]


def test_a_stored_sweep_has_a_picture_of_its_own(qtbot):
    view = RESULTS["power"](LIGHT)
    qtbot.addWidget(view)
    facts = RunFacts(points=[each for each in sweep() if each.metric != "power_energy"])
    view.show_facts(facts, now=True)
    assert view.segments["curves"].isEnabled()
    assert view.pictures.energy.isHidden(), "without an energy reading only the rate is drawn"
    facts = RunFacts(points=sweep())
    view.show_facts(facts, now=True)
    assert not view.pictures.energy.isHidden()
    assert view.table.rows.keys[0] == "knee"
    assert view.table.rows.cells[0][2].text == "290 … 310"
