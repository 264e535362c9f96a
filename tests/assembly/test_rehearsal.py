"""A dry run takes the steps, batches and seconds that the run itself would take."""

import pytest

from gputuner.assembly.processor import PROCESSOR, processor_catalog
from gputuner.assembly.rehearsal import rehearse
from gputuner.devices.simulated import SimulatedCards
from gputuner.experiments.contention import Contend
from gputuner.experiments.health import Health
from gputuner.experiments.tune import Tune
from gputuner.model.cards import CPU_CARD, CardInfo, CatalogMatch
from gputuner.workloads.simulated_costs.resnet50 import resnet50

GIB = 1 << 30
CPU = CardInfo(uuid=CPU_CARD, index=0, name="Test processor", memory_total_bytes=24 * GIB)
"""Two of its cores as docs/measurements/cpu-memory.md has them."""


def planned(card: CardInfo, cap_bytes: int | None = None, minutes: float = 5.0):
    return rehearse(Tune(minutes=minutes), card, cap_bytes).steps


def rate(batch: int, native: bool = False, precision: str = "fp32") -> float:
    card = SimulatedCards([PROCESSOR], catalog=processor_catalog(CPU, threads=2, native=native)).models[0]
    cost = resnet50(card, {"batch": batch, "precision": precision, "image": 64, "channels_last": False})
    return batch / card.iteration_s(cost.load)


@pytest.mark.parametrize(("minutes", "burn_in"), [(10.0, False), (120.0, True)])
def test_a_health_test_of_any_length_is_told_by_its_stages(minutes, burn_in, monkeypatch):
    spec = Health(minutes=minutes, burn_in=burn_in)
    lengths: list[float] = []
    whole = Health.plan
    monkeypatch.setattr(Health, "plan", lambda self, context: lengths.append(self.minutes) or whole(self, context))
    steps = rehearse(spec, CardInfo(uuid="GPU-1", index=0, name="Card", memory_total_bytes=12 * GIB), None).steps
    assert max(lengths) <= 2.0, "two hours are not played"
    labels = [step.label for step in steps]
    kinds = {"memory_cold": ["health_memory_cold"], "memory_hot": ["health_memory_hot"], "burn": ["health_burn"]}
    kinds["cycles"] = ["health_burn", "health_rest"]
    between = labels[labels.index("health_memory_cold") : len(labels) - labels[::-1].index("health_counters") - 1]
    assert between == [label for stage in spec.stages for label in kinds[stage.kind]]
    assert sum(step.expected_s for step in steps) == pytest.approx(60.0 * minutes, rel=0.05)


@pytest.mark.parametrize(("batch", "measured"), [(4, 18.0), (8, 24.0), (16, 28.0), (32, 29.0)])
def test_the_played_processor_trains_about_as_two_cores_do(batch, measured):
    assert rate(batch) == pytest.approx(measured, rel=0.25)


def test_its_memory_is_the_measured_line():
    card = SimulatedCards([PROCESSOR], catalog=processor_catalog(CPU, threads=2, native=False)).models[0]
    need = [resnet50(card, {"batch": b, "precision": "fp32", "image": 64}).allocated_bytes for b in (0, 100)]
    assert need[0] == pytest.approx(324.7 * 2**20, rel=0.15)
    assert (need[1] - need[0]) / 100 == pytest.approx(6.90 * 2**20, rel=0.05)


def test_bf16_is_emulated_unless_the_processor_has_it():
    assert rate(32, native=False, precision="bf16") < rate(32) < rate(32, native=True, precision="bf16")


def test_a_dry_run_on_the_processor_keeps_to_its_batches_and_its_memory(monkeypatch):
    monkeypatch.setattr(
        "gputuner.assembly.rehearsal.processor_catalog", lambda card: processor_catalog(card, threads=4, native=False)
    )
    steps = planned(CPU, cap_bytes=4 * GIB)
    labels = [step.label for step in steps]
    assert labels[-1] == "sustained", "the rehearsal comes to its end"
    assert {s.params["batch"] for s in steps if s.label == "train_probe"} <= {4, 8, 16, 32}
    (above,) = [int(s.params["batch"]) for s in steps if s.label == "train_limit_above"]
    assert above == pytest.approx((4 * GIB - 302e6) / 7.08e6, rel=0.05)
    below = next(s for s in steps if s.label == "train_limit_below")
    assert below.expected_s > 20.0, "two steps of hundreds of images take their time"
    assert 120.0 < sum(step.expected_s for step in steps) <= 300.0


def test_the_cap_of_the_processor_bounds_its_batches():
    batches = [int(s.params["batch"]) for s in planned(CPU, cap_bytes=GIB) if "batch" in s.params]
    assert max(batches) * 3.5e6 < GIB


@pytest.mark.parametrize("known", [True, False])
def test_a_real_card_is_rehearsed_to_the_end(known):
    """Its UUID is not the player's; telemetry under another name would end the run for safety."""
    match = CatalogMatch(catalog_id="rtx-4090", name="RTX 4090") if known else None
    card = CardInfo(uuid="GPU-real", index=0, name="Some card", memory_total_bytes=24 * GIB, catalog=match)
    steps = planned(card)
    assert steps[-1].label == "sustained"
    assert steps[-1].expected_s >= 15.0
    assert sum(step.expected_s for step in steps) <= 300.0


def test_of_jobs_at_once_neither_recipe_nor_command_is_run():
    """The file is not there, and the program is none: built-in trainings stand in."""
    spec = Contend(jobs=("missing.py:make", "edsr:batch=2"), commands=(("no-such-program",),), fixed_batch=True)
    told = rehearse(spec, CardInfo(uuid=CPU_CARD, index=0, name="CPU"), 4 << 30)
    labels = [step.label for step in told.steps]
    assert labels[:4] == ["contend_alone", "contend_alone", "contend_together", "contend_alone"]
    assert all(step.expected_s > 0 for step in told.steps)
