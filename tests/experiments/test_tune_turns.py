"""Comparisons in turns: on a machine that drifts and scatters they tell the true ratio, on a calm one nothing."""

from dataclasses import replace

import pytest

from gputuner.advice.rules import undecided
from gputuner.experiments.tune import Tune
from gputuner.experiments.tune_turns import MOST_ROUNDS
from gputuner.model.points import Flag

BF16_FASTER, LAYOUT_FASTER = 1.5, 1.35
"""True ratios of BF16 to FP32, and of channels-last to contiguous, on the fake processor."""


def restless(lab, noise: float = 0.08):
    """Two cores on which BF16 pays, the pace wanders by a third within a minute and steps scatter."""
    cores = lab.two_cores()
    rates = {**cores.rates, "bf16": [(b, BF16_FASTER * r) for b, r in cores.rates["fp32"]]}
    return replace(
        cores,
        rates=rates,
        noise=noise,
        layout_factor=LAYOUT_FASTER,
        pace=lambda now_s: 1.0 + 0.33 * (now_s % 60.0) / 60.0,
    )


def run(lab, card, *, seed: int = 1, minutes: float = 5.0):
    context = lab.context_of(card, cpu=True, minutes=minutes)
    return lab.Performer(card, seed=seed).perform(Tune(minutes=minutes).plan(context))


def test_a_calm_machine_needs_no_turns(lab):
    told = run(lab, lab.two_cores())
    assert not told.works("train_turn")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_a_restless_machine_the_true_ratios_are_told(lab, seed):
    told = run(lab, restless(lab), seed=seed)
    assert told.seconds <= 300
    assert all(Flag.NOT_STEADY in p.flags or Flag.SPREAD in p.flags for p in told.of("train_throughput", phase="probe"))
    by_id = {advice.id: advice for advice in told.advised.advice}
    precision, layout = by_id["precision.best"], by_id["layout.channels_last"]
    assert precision.params["turns"] >= 3
    assert precision.params["precision"] == "bf16"
    assert precision.gain.low < BF16_FASTER - 1.0 < precision.gain.high
    assert precision.gain.value == pytest.approx(BF16_FASTER - 1.0, abs=0.2)
    assert "scattered" not in precision.params
    assert layout.gain.low < LAYOUT_FASTER - 1.0 < layout.gain.high
    assert layout.gain.value == pytest.approx(LAYOUT_FASTER - 1.0, abs=0.2)


def test_turns_go_forth_and_back_and_forth(lab):
    told = run(lab, restless(lab))
    turns = told.of("train_throughput", phase="turn")
    rounds = sorted({p.params["round"] for p in turns})
    assert rounds == list(range(1, len(rounds) + 1))
    assert 3 <= len(rounds) <= MOST_ROUNDS
    names = ("batch", "precision", "channels_last")
    order = [[tuple(map(p.params.get, names)) for p in turns if p.params["round"] == at] for at in rounds]
    assert len(set(order[0])) == len(order[0]) >= 3
    assert all(order[at] == order[0][:: -1 if at % 2 else 1] for at in range(len(order)))


def test_what_turns_leave_open_stays_a_question(lab):
    """The same true rate, only scatter: no format is advised because of it."""
    card = restless(lab, noise=0.3)
    card = replace(
        card, rates={**card.rates, "bf16": [(b, 1.02 * r) for b, r in card.rates["fp32"]]}, layout_factor=1.0
    )
    told = run(lab, card)
    assert not [a for a in told.advised.advice if a.id in ("precision.best", "layout.channels_last") and a.gain]


def test_without_time_turns_are_left_out_and_told(lab):
    told = run(lab, restless(lab), minutes=1.5)
    assert told.seconds <= 90
    assert not told.works("train_turn")
    assert "turns" in {w.params["stage"] for w in told.warned if w.code == "stage_skipped"}


def test_undecided_names_what_scatter_kept_from_being_advised(lab):
    from gputuner.experiments.advised import evidence_of
    from gputuner.experiments.course import Course

    told = run(lab, restless(lab))
    card = restless(lab)
    course = Course(lab.context_of(card, cpu=True), 0.0)
    course.points.extend(p for p in told.points if p.params.get("phase") == "probe")
    changes = undecided(evidence_of(course))
    assert ("fp32", "bf16") in {(c.base.precision, c.advised.precision) for c in changes}
    assert all(c.base != c.advised for c in changes)


def test_turns_in_which_the_worker_gave_up_on_the_size_leave_the_single_figures(lab):
    """A machine that became busy: one sample was measured, too slowly. Only its probe stands for the batch."""
    card = restless(lab)

    class Busy(lab.Performer):
        def trial(self, work, slowdown):
            return self.given_up(work) if work.label == "train_turn" else super().trial(work, slowdown)

    told = Busy(card).perform(Tune(minutes=5.0).plan(lab.context_of(card, cpu=True)))
    assert told.of("train_throughput", phase="turn")
    assert told.advised is not None
    assert not [advice for advice in told.advised.advice if "turns" in advice.params]
    assert told.of("batch_fastest")
