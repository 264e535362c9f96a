"""What a run says of sensors and links that are not as they should be, from the card to the advice."""

from collections.abc import Callable

from gputuner.experiments.record import Record
from gputuner.experiments.tune import Tune
from gputuner.language.warnings import warning
from gputuner.model.advice import Advice
from gputuner.model.events import AdviceGiven, Event, Outcome, PointMeasured, RunFinished, Warned
from gputuner.model.points import Flag
from tests.engine.rig import Simulated

Start = Callable[..., Simulated]


def advice(events: list[Event]) -> dict[str, Advice]:
    return {a.id.partition(":")[0]: a for e in events if isinstance(e, AdviceGiven) for a in e.advice}


def questions(events: list[Event]) -> set[str]:
    return {q.id for e in events if isinstance(e, AdviceGiven) for q in e.questions}


def test_c023_a_stuck_temperature_is_noted_once_and_thermal_verdicts_are_withheld(simulated: Start):
    """A card that runs into its thermal limit: told of as such, unless its temperature cannot be believed."""
    warm = ("overheat", {"air_c": 58})
    sound = simulated((0.0, *warm), card="rtx-3080-20g").run(Tune(minutes=3.0))
    frozen = simulated((0.0, *warm), (0.0, "stuck_sensor", {}), card="rtx-3080-20g").run(Tune(minutes=3.0))
    heat = {"limit.thermal", "memory_heat.suspected"}
    assert heat & set(advice(sound))
    assert not heat & set(advice(frozen))
    assert "steady_heat" in questions(sound)
    assert "steady_heat" not in questions(frozen)
    asked = [q.command for e in sound if isinstance(e, AdviceGiven) for q in e.questions]
    assert all(command.split()[2] in ("tune", "batch") for command in asked), asked
    assert not [e for e in sound if isinstance(e, Warned) and e.code == "temperature_stuck"]
    (note,) = [e for e in frozen if isinstance(e, Warned) and e.code == "temperature_stuck"]
    sentence = warning(note.code, note.params)
    assert "nothing is said about heat" in sentence
    assert "RTX 3080" in sentence
    last = frozen[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.COMPLETED


def test_a_recording_of_an_idle_card_suspects_nothing(simulated: Start):
    events = simulated((0.0, "stuck_sensor", {})).run(Record(duration_s=200.0))
    assert not [e for e in events if isinstance(e, Warned)]


def test_a_link_narrower_than_the_cards_own_is_flagged_and_advised(simulated: Start):
    events = simulated((0.0, "narrow_link", {"width": 4})).run(Tune(minutes=2.0))
    told = advice(events)["link.narrow"]
    assert (told.params["width"], told.params["width_max"]) == (4, 16)
    assert told.params["bandwidth_share"] == 0.25
    flagged = [e.point for e in events if isinstance(e, PointMeasured) and Flag.LINK_BELOW_MAX in e.point.flags]
    assert {p.metric for p in flagged} >= {"train_throughput"}


def test_a_link_at_its_maximum_is_not(simulated: Start):
    events = simulated().run(Tune(minutes=2.0))
    assert "link.narrow" not in advice(events)
    points = [e.point for e in events if isinstance(e, PointMeasured)]
    assert not [p for p in points if Flag.LINK_BELOW_MAX in p.flags]
    loads = [p.conditions for p in points if p.metric == "train_throughput" and p.conditions]
    assert {c.pcie_width for c in loads if c.pcie_width is not None} == {16}
    assert sum(c.pcie_width is not None for c in loads) >= len(loads) / 2
