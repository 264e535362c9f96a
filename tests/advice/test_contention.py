"""What is advised of jobs at once: how many, which together, in which way."""

from dataclasses import replace

import pytest

from gputuner.advice.contention import contention_questions, contention_rules, is_contention
from gputuner.advice.rules import advise
from gputuner.language.advice import advice_why
from gputuner.model.cards import CardInfo
from gputuner.model.points import Flag, Spread
from gputuner.model.readings import Reading

A, B, C = "edsr:batch=16", "resnet50:batch=32", "bert:batch=4"


def mix(lab, labels, gain, slowdowns=None, mode="processes", half=0.01, valid=True, shares="", **extra):
    """The figures of a mix; ``tuned`` None: not known."""
    label, n = "+".join(labels), len(labels)
    told = {"mix": label, "mode": mode, "jobs": n, **({"shares": shares} if shares else {})}
    flags = () if valid else (Flag.IMPLAUSIBLE,)
    spread = Spread(n=60, median=gain, iqr=0.0, ci95_low=gain * (1 - half), ci95_high=gain * (1 + half))
    alike = {"batch": 16, "precision": "bf16", "channels_last": True} if len(set(labels)) == 1 else {}
    points = [
        lab.point(f"g {mode} {shares} {label}", "co_run_gain", gain, label, spread=spread, flags=flags,
                  extra={"valid": valid, **extra}, **told, **alike)
    ]  # fmt: skip
    for number, name in enumerate(labels, 1):
        slowdown = slowdowns[number - 1] if slowdowns else n / gain
        more = {"priority": -1 if shares.split(",")[number - 1] == "high" else 0} if "high" in shares else {}
        points.append(
            lab.point(f"s{number} {mode} {shares} {label}", "co_run_slowdown", slowdown, name.partition(":")[0],
                      flags=flags, extra=more, job=number, batch=16, precision="bf16", channels_last=True, **told)
        )  # fmt: skip
    return points


def told(lab, points, command="contend edsr", card=None):
    return advise(lab.Evidence(card=card or lab.card(), points=tuple(points), command=command))


def ids(advice):
    return [entry.id for entry in advice]


@pytest.mark.parametrize(("apart", "advised"), [(0.0, True), (0.02, True), (0.08, False)])
def test_a_tuned_rate_that_is_not_sure_carries_no_advice(lab, apart, advised):
    advice, _ = told(lab, mix(lab, [A, B], 1.30, alone_tuned=1.23, alone_tuned_apart=apart))
    assert ("contend.together" in ids(advice)) == advised
    if advised:
        (entry,) = [entry for entry in advice if entry.id == "contend.together"]
        assert entry.gain.low == pytest.approx(1.30 / 1.23 * (1 - (0.01**2 + apart**2) ** 0.5) - 1, abs=1e-9)


def test_the_fewest_that_do_about_the_most(lab):
    points = [
        *mix(lab, [A] * 2, 1.74, alone_tuned=1.2, tuned_batch=64),
        *mix(lab, [A] * 3, 1.80, alone_tuned=1.2, tuned_batch=64),
        *mix(lab, [A] * 4, 1.795, alone_tuned=1.2, tuned_batch=64),
    ]
    advice, _ = told(lab, points)
    (many,) = [entry for entry in advice if entry.id == "contend.how_many"]
    assert many.params["jobs"] == 3, "two do 3 % less, four do no more"
    assert many.gain.value == pytest.approx(1.80 / 1.2 - 1)
    assert many.gain.low == pytest.approx(1.80 * 0.99 / 1.2 - 1)
    assert (many.change.base.batch, many.change.base.processes, many.change.advised.processes) == (64, 1, 3)
    assert set(many.evidence) == {point.id for point in points if point.params["jobs"] == 3}


def test_launch_bound_jobs_gain_nothing_over_one_at_its_tuned_batch(lab):
    """Two ResNet-50 at batch 16 gain 1.97 together, but one at batch 32 does 2.8 times the rate alone."""
    advice, _ = told(lab, mix(lab, [B] * 2, 1.97, alone_tuned=2.8, tuned_batch=32))
    assert set(ids(advice)) == {"contend.one", "contend.fixed_batch"}
    fixed = next(entry for entry in advice if entry.id == "contend.fixed_batch")
    assert fixed.gain.value == pytest.approx(0.97)
    assert fixed.rank < 20, "only for those whose batch is fixed"


def restless(points, *flags):
    return [replace(point, flags=(*point.flags, *flags)) for point in points]


def test_advice_on_figures_that_scattered_says_so_and_ranks_behind(lab):
    points = mix(lab, [A, B], 1.4, tuned_by="fixed")
    (firm,), _ = told(lab, points)
    (loose,), _ = told(lab, restless(points, Flag.SPREAD))
    assert "scattered" not in firm.params
    assert loose.params["scattered"] is True
    assert loose.rank == pytest.approx(firm.rank / 2)
    assert loose.evidence == firm.evidence


def test_a_gain_without_interval_on_figures_that_scattered_is_a_question(lab):
    points = [replace(point, spread=None) for point in mix(lab, [A, B], 1.4, tuned_by="fixed")]
    advice, questions = told(lab, restless(points, Flag.NOT_STEADY))
    assert advice == ()
    assert "scattered" in {entry.id for entry in questions}
    assert ids(told(lab, points)[0]) == ["contend.together"]


def test_where_the_owner_fixed_the_batch_that_baseline_is_left_out(lab):
    advice, _ = told(lab, mix(lab, [B] * 2, 1.97, tuned_by="fixed"))
    assert ids(advice) == ["contend.how_many"]
    assert advice[0].gain.value == pytest.approx(0.97)


def test_without_the_tuned_baseline_sharing_is_no_advice_but_a_question(lab):
    advice, questions = told(lab, mix(lab, [A, B], 1.5))
    assert advice == ()
    assert "contend_tuned" in {entry.id for entry in questions}


def test_a_gain_that_may_be_none_is_not_advised(lab):
    advice, _ = told(lab, mix(lab, [A, B], 1.06, half=0.1, tuned_by="fixed"))
    assert ids(advice) == ["contend.apart"]


def test_an_invalid_mix_gives_no_advice_and_is_asked_for_again(lab):
    advice, questions = told(lab, mix(lab, [A, B], 2.2, valid=False, tuned_by="fixed"))
    assert advice == ()
    (again,) = questions
    assert again.id == "contend_again"
    assert again.command.startswith("gputuner --cli contend edsr --minutes 10")


def test_of_a_matrix_the_best_pair_and_the_worst(lab):
    points = [
        *mix(lab, [A, A], 1.7, alone_tuned=1.2),
        *mix(lab, [A, B], 1.5, alone_tuned=1.0),
        *mix(lab, [B, B], 1.0, alone_tuned=1.3),
    ]
    advice, _ = told(lab, points, command=f"contend {A} {B} --matrix")
    (pairs,) = advice
    assert (pairs.id, pairs.params["mix"], pairs.params["worst"]) == ("contend.pairs", f"{A}+{B}", f"{B}+{B}")
    assert pairs.gain.value == pytest.approx(0.5)


def test_one_mix_in_three_ways_is_no_matrix(lab):
    points = [mix(lab, [A, B], 1.3, mode=mode, alone_tuned=1.0) for mode in ("processes", "mps", "streams")]
    advice, _ = told(lab, [point for each in points for point in each])
    assert ids(advice) == ["contend.together"]


def test_no_pair_is_advised_where_none_pays(lab):
    points = [mix(lab, pair, 1.02, alone_tuned=1.1) for pair in ([A, A], [A, B], [B, B])]
    advice, _ = told(lab, [point for each in points for point in each])
    assert ids(advice) == ["contend.no_pair"]


def test_no_way_of_sharing_is_advised_for_jobs_that_do_not_go_together(lab):
    """MPS does more than time slicing, and less than one after the other at the best batch."""
    points = [*mix(lab, [A, B], 0.9, alone_tuned=1.4), *mix(lab, [A, B], 1.3, mode="mps", alone_tuned=1.4)]
    assert ids(told(lab, points)[0]) == ["contend.apart"]


def test_a_better_way_of_sharing(lab):
    """Recorded on an H200: three EDSR gain 1.80 by time slicing and 2.6 under MPS."""
    points = [*mix(lab, [A] * 3, 1.8, tuned_by="fixed"), *mix(lab, [A] * 3, 2.6, mode="mps", tuned_by="fixed")]
    advice, questions = told(lab, points)
    way = next(entry for entry in advice if entry.id == "contend.mode")
    assert way.gain.value == pytest.approx(2.6 / 1.8 - 1)
    assert way.risk, "one fault takes all down"
    assert "contend_modes" not in {entry.id for entry in questions}
    many = next(entry for entry in advice if entry.id == "contend.how_many")
    assert many.params["mode"] == "mps"


def test_a_priority_that_helps(lab):
    plain = mix(lab, [A, B], 1.2, slowdowns=(1.8, 1.6), mode="streams", tuned_by="fixed")
    high = mix(lab, [A, B], 1.15, slowdowns=(1.2, 2.0), mode="streams", shares="high,normal", tuned_by="fixed")
    advice, _ = told(lab, [*plain, *high])
    entry = next(each for each in advice if each.id == "contend.priority")
    assert (entry.params["slowdown"], entry.params["usual"], entry.params["others"]) == (1.2, 1.8, 2.0)
    same = mix(lab, [A, B], 1.2, slowdowns=(1.79, 1.6), mode="streams", shares="high,normal", tuned_by="fixed")
    assert "contend.priority_idle" in ids(told(lab, [*plain, *same])[0])


def test_shares_of_the_threads_that_help_and_that_do_not(lab):
    plain = mix(lab, [A, B], 1.2, mode="mps", tuned_by="fixed")
    good = mix(lab, [A, B], 1.5, mode="mps", shares="30,70", tuned_by="fixed")
    assert "contend.shares" in ids(told(lab, [*plain, *good])[0])
    bad = mix(lab, [A, B], 1.1, mode="mps", shares="30,70", tuned_by="fixed")
    assert "contend.shares_none" in ids(told(lab, [*plain, *bad])[0])


def test_c063_jobs_that_wait_for_the_processor_are_given_their_share_of_it(lab):
    """The step rises from 1.3 to 3.5 s with a second run: cores are oversubscribed, the card is less busy."""
    cause = lab.point(
        "c1", "co_run_cause", 1.0, "resnet50", extra={"verdict": "host", "slowdown": 3.5 / 1.3}, cause="host",
        mix=f"{B}+{B}", mode="processes", job=1,
    )  # fmt: skip
    advice, _ = told(lab, [*mix(lab, [B] * 2, 0.74, tuned_by="fixed"), cause])
    host = next(entry for entry in advice if entry.id == "contend.host")
    assert host.params["slowdown"] == pytest.approx(2.69, abs=0.01)
    assert host.params["jobs"] == 2
    assert host.evidence == ("c1",)
    assert advice[0] is host, "before anything about the card"


def test_c065_exclusive_mode_is_told_and_not_changed(lab):
    card = lab.card()
    card = CardInfo(
        uuid=card.uuid, index=0, name=card.name, readings={"compute_mode": Reading(value="exclusive_process")}
    )
    rate = lab.rate("r", 32, 800.0, phase="alone", mode="processes")
    advice, _ = told(lab, [rate], card=card)
    assert ids(advice) == ["contend.exclusive"]
    assert advice[0].params["jobs"] == 1


def test_it_is_known_by_its_figures_alone(lab):
    points = tuple(mix(lab, [A, B], 1.5, tuned_by="fixed"))
    evidence = lab.Evidence(card=lab.card(), points=points)
    assert is_contention(evidence)
    assert not is_contention(lab.Evidence(card=lab.card(), points=(lab.point("g", "co_run_gain", 1.0, jobs=2),)))
    assert any(f"contend {A} {B}" in each.command for each in contention_questions(evidence))
    same = lab.Evidence(card=lab.card(), points=tuple(mix(lab, [A] * 3, 1.5, tuned_by="fixed")))
    assert any(f"contend {A} --jobs 3" in each.command for each in contention_questions(same))


def test_a_question_fits_the_number_of_jobs_and_repeats_no_option(lab):
    points = mix(lab, [A, B, C], 1.3, mode="streams", alone_tuned=1.0)
    _, asked = told(lab, points, command=f"contend {A} {B} {C} --mode streams")
    commands = {entry.id: entry.command for entry in asked}
    assert "--priority high,normal,normal" in commands["contend_priority"]
    refused = mix(lab, [A, B], 1.3, alone_tuned=1.0)
    _, asked = told(lab, refused, command=f"contend {A} {B} --mode mps,processes --causes")
    assert {entry.id for entry in asked} == set(), "what was asked and could not be had is not asked again"


def test_nothing_but_a_null_check_gives_neither_advice_nor_question(lab):
    points = [lab.point("n", "null_difference", 0.01, A, extra={"pairs": 5})]
    assert told(lab, points) == ((), ())


def test_figures_of_another_card_are_left_alone(lab):
    points = tuple(mix(lab, [A, B], 1.5, tuned_by="fixed"))
    other = CardInfo(uuid="GPU-other", index=1, name="another")
    assert contention_rules(lab.Evidence(card=other, points=points)) == []


@pytest.mark.parametrize(("mps", "chosen"), [(1.31, "streams"), (1.5, "mps")])
def test_of_ways_that_do_about_as_much_none_is_advised_in_which_one_fault_ends_all(lab, mps, chosen):
    ways = [("processes", 1.0), ("mps", mps), ("streams", 1.3)]
    points = [point for mode, gain in ways for point in mix(lab, [A, B], gain, mode=mode, tuned_by="fixed")]
    found, _ = told(lab, points)
    named = {entry.id: entry for entry in found}
    for rule in ("contend.together", "contend.mode"):
        assert named[rule].params["mode"] == chosen


@pytest.mark.parametrize("labels", [[A, B], [A, A]])
def test_whatever_advises_mps_says_how_it_is_switched_on_and_what_a_fault_does(lab, labels):
    for mode, expected in (("mps", True), ("streams", False)):
        found, _ = told(lab, mix(lab, labels, 1.8, mode=mode, tuned_by="fixed"))
        (entry,) = [each for each in found if each.id in {"contend.together", "contend.how_many"}]
        why = advice_why(entry)
        assert ("nvidia-cuda-mps-control -d" in why) is expected
        assert ("ends all jobs" in why) is expected
