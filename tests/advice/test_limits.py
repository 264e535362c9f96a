"""Power, heat, memory heat, link."""

from dataclasses import replace

import pytest

from gputuner.advice.limits import link_rule, memory_rule, power_rule, slowdown_rule, thermal_rule
from gputuner.advice.questions import questions
from gputuner.cli.results import limit_sentence
from gputuner.language.sentences import advice_action, advice_title, advice_why
from gputuner.model.advice import Confidence
from gputuner.model.cards import CatalogMatch


def load(lab, **more):
    extra = more.pop("extra", {})
    return lab.rate("load", 128, 1000.0, phase="sustained", conditions=lab.conditions(**more), extra=extra)


def test_power_limit_is_told_with_its_share_and_no_promise(lab):
    evidence = lab.Evidence(
        card=lab.card(power_limit_enforced_w=450.0),
        points=(load(lab, limited={"power": 8.0}, power_w=449.0, sm_clock_mhz=2400.0),),
    )
    (told,) = power_rule(evidence)
    assert told.params["share"] == pytest.approx(0.8)
    assert (told.params["power_w"], told.params["limit_w"]) == (449.0, 450.0)
    assert told.gain is None
    assert told.evidence[0] == "load"


def test_a_limit_at_its_maximum_is_not_to_be_raised(lab):
    at = load(lab, limited={"power": 9.9}, power_w=698.0, sm_clock_mhz=1485.0)
    card = lab.card(power_limit_enforced_w=700.0, power_limit_max_w=700.0, sm_clock_max_mhz=1980.0)
    (told,) = power_rule(lab.Evidence(card=card, points=(at,)))
    assert told.params["at_maximum"] is True
    assert told.params["clock_lost"] == pytest.approx(0.25)
    said = advice_action(told) + advice_why(told)
    assert "can be set up to" not in said
    assert "higher power limit" not in said
    lower = lab.card(power_limit_enforced_w=500.0, power_limit_max_w=700.0, sm_clock_max_mhz=1980.0)
    (told,) = power_rule(lab.Evidence(card=lower, points=(at,)))
    assert told.params["raisable"] is True
    assert "The limit can be set up to 700 W." in advice_why(told)


def test_a_limit_that_costs_little_clock_is_no_headline(lab):
    """H200: touched 99 % of the time, 0.8 % of the clock lost."""
    touched = load(lab, limited={"power": 9.9}, power_w=698.0, sm_clock_mhz=1965.0)
    (told,) = power_rule(lab.Evidence(card=lab.card(sm_clock_max_mhz=1980.0), points=(touched,)))
    assert told.params["little"] is True
    assert told.rank < 1.0
    assert advice_title(told) == "The power limit costs little"
    assert "0.8 % below its maximum" in advice_why(told)


def test_the_sentence_on_what_limits_weighs_the_clock_not_the_time(lab):
    card = lab.card(sm_clock_max_mhz=1980.0)
    little = load(lab, limited={"power": 9.9}, sm_clock_mhz=1965.0)
    assert limit_sentence([little], replace(card, uuid=little.card)) == (
        "The power limit was touched 99 % of the time under sustained load but cost only 0.8 % of the clock."
    )
    much = load(lab, limited={"power": 9.9}, sm_clock_mhz=1485.0)
    assert "it ran 25 % below its maximum" in limit_sentence([much], replace(card, uuid=much.card))


def test_the_recommended_training_goes_before_a_kernel_and_a_kernel_before_other_formats(lab):
    limited = lab.conditions(limited={"power": 10.0})
    kernel = lab.point(
        "k", "matmul_rate", 1e14, workload="matmul", phase="sustained", precision="bf16", conditions=limited
    )
    other = lab.rate("o", 128, 300.0, precision="fp32", conditions=limited)
    ours = load(lab, limited={"power": 2.0})
    rates = tuple(lab.ladder())
    (told,) = power_rule(lab.Evidence(card=lab.card(), points=(*rates, kernel, other, ours)))
    assert (told.params["share"], told.params["recommended"]) == (pytest.approx(0.2), True)
    cool = load(lab, limited={"power": 0.01})
    (told,) = power_rule(lab.Evidence(card=lab.card(), points=(*rates, kernel, other, cool)))
    assert (told.params["training"], told.params["recommended"]) == (False, False)
    assert "ResNet-50 as recommended here was not held back." in advice_why(told)
    assert told.rank < 4.0
    (told,) = power_rule(lab.Evidence(card=lab.card(), points=(*rates, other, cool)))
    assert (told.params["precision"], told.params["recommended"]) == ("fp32", False)


def test_a_few_per_cent_of_the_time_are_not_called_nothing(lab):
    limited = lab.conditions(limited={"power": 10.0})
    kernel = lab.point(
        "k", "matmul_rate", 1e14, workload="matmul", phase="sustained", precision="bf16", conditions=limited
    )
    nearly = load(lab, limited={"power": 0.4})
    (told,) = power_rule(lab.Evidence(card=lab.card(), points=(*lab.ladder(), kernel, nearly)))
    assert "ResNet-50 as recommended here was held back 4 % of the time only." in advice_why(told)
    assert "was not held back" not in advice_why(told)


def test_nothing_is_not_said_beside_loads_that_were_held_back(lab):
    """A batch run: 17.3 % of one load in the power limit, the longest one in none."""
    card = lab.card(sm_clock_max_mhz=1980.0)
    free = lab.rate("long", 128, 1000.0, conditions=lab.conditions(20.0, {"power": 0.0}))
    held = lab.rate("short", 64, 900.0, conditions=lab.conditions(10.0, {"power": 1.73}))
    assert limit_sentence([free, held], replace(card, uuid=free.card)) == (
        "Nothing held the clock back in the longest load; in another one it was held back 17.3 % of the time "
        "(power limit)."
    )
    assert limit_sentence([free], replace(card, uuid=free.card)) == "Nothing held the clock back under sustained load."


def test_little_time_in_the_limit_is_no_advice(lab):
    assert power_rule(lab.Evidence(card=lab.card(), points=(load(lab, limited={"power": 0.3}),))) == []


def test_thermal_limit_with_the_rate_it_costs(lab):
    hot = load(lab, limited={"thermal_software": 5.0}, core_temperature_end_c=84.0, extra={"rate_change": -0.2})
    (told,) = thermal_rule(lab.Evidence(card=lab.card(target_c=84.0, slowdown_c=93.0), points=(hot,)))
    assert told.gain.value == pytest.approx(0.25)
    assert told.params["hardware"] is False
    assert memory_rule(lab.Evidence(card=lab.card(target_c=84.0, slowdown_c=93.0), points=(hot,))) == []


def test_memory_heat_with_a_cool_core_takes_the_place_of_the_thermal_advice(lab):
    cool = load(lab, limited={"thermal_software": 3.0}, core_temperature_end_c=62.0)
    evidence = lab.Evidence(card=lab.card(target_c=83.0, slowdown_c=93.0), points=(cool,))
    (told,) = memory_rule(evidence)
    assert told.confidence is Confidence.MODEL
    assert told.params["target_known"] is True
    assert "memory_c" not in told.params
    assert thermal_rule(evidence) == []


def test_link_is_judged_by_the_best_seen_under_load(lab):
    card = lab.card(pcie_generation_max=4, pcie_width_max=16)
    idle = lab.rate("a", 32, 1.0, conditions=lab.conditions(pcie_generation=1.0, pcie_width=16.0))
    busy = lab.rate("b", 64, 1.0, conditions=lab.conditions(pcie_generation=4.0, pcie_width=16.0))
    assert link_rule(lab.Evidence(card=card, points=(idle, busy))) == []
    narrow = lab.rate("c", 64, 1.0, conditions=lab.conditions(pcie_generation=4.0, pcie_width=4.0))
    (told,) = link_rule(lab.Evidence(card=card, points=(narrow,)))
    assert told.params["bandwidth_share"] == pytest.approx(0.25)
    assert link_rule(lab.Evidence(card=card, points=(load(lab),))) == []


def test_c023_no_verdict_on_heat_from_a_temperature_that_never_moves(lab):
    """C-023: frozen at 24 °C while the card draws 300 W."""

    def loads(*temperatures):
        return tuple(
            lab.rate(
                f"l{n}", 128, 1000.0, phase="sustained",
                conditions=lab.conditions(
                    20.0, {"thermal_software": 5.0}, power_w=150.0 + 40.0 * n,
                    core_temperature_start_c=24.0, core_temperature_end_c=temperature,
                ),
            )
            for n, temperature in enumerate(temperatures)
        )  # fmt: skip

    card = lab.card(target_c=83.0, slowdown_c=93.0)
    frozen = lab.Evidence(card=card, points=loads(*[24.0] * 5))
    assert frozen.temperature_stuck
    assert thermal_rule(frozen) == memory_rule(frozen) == []
    assert "steady_heat" not in {q.id for q in questions(frozen)}
    moving = lab.Evidence(card=card, points=loads(24.0, 24.0, 24.0, 24.0, 25.0))
    assert not moving.temperature_stuck
    assert thermal_rule(moving) or memory_rule(moving)
    assert "steady_heat" in {q.id for q in questions(moving)}
    assert not lab.Evidence(card=card, points=loads(24.0, 24.0)).temperature_stuck, "too short to tell"


@pytest.mark.parametrize("limiter", ["thermal_software", "thermal_hardware"])
def test_c027_nobody_is_told_to_turn_up_a_fan_that_is_not_there(lab, limiter):
    """C-027: a laptop or a passive server card."""
    hot = load(lab, limited={limiter: 5.0}, core_temperature_end_c=87.0)
    (told,) = thermal_rule(lab.Evidence(card=lab.card(target_c=84.0, slowdown_c=93.0, fan_count=0), points=(hot,)))
    words = advice_action(told) + advice_why(told)
    assert "let the fan" not in words
    assert "contact, fan" not in words
    with_fan = load(lab, limited={limiter: 5.0}, core_temperature_end_c=87.0, fan_fraction=0.5)
    card = lab.card(target_c=84.0, slowdown_c=93.0, fan_count=2)
    (other,) = thermal_rule(lab.Evidence(card=card, points=(with_fan,)))
    assert "fan" in advice_action(other)


def test_a_passive_board_that_shows_a_fan_at_zero_is_not_told_to_let_it_run_faster(lab):
    """A P40 or V100 shows a fan at 0 % (facts on cooling)."""
    hot = load(lab, limited={"thermal_software": 5.0}, core_temperature_end_c=87.0, fan_fraction=0.0)
    board = CatalogMatch(catalog_id="tesla-p40", name="Tesla P40", passive=True)
    (told,) = thermal_rule(lab.Evidence(card=replace(lab.card(target_c=84.0), catalog=board), points=(hot,)))
    assert "let the fan" not in advice_action(told)


@pytest.mark.parametrize(("seconds", "said"), [(0.4, False), (6.0, True)])
def test_a_slowdown_of_the_hardware_is_not_called_heat_and_less_than_5_percent_is_silence(lab, seconds, said):
    held = load(lab, limited={"hardware_slowdown": seconds}, core_temperature_end_c=45.0)
    evidence = lab.Evidence(card=lab.card(), points=(held,))
    assert thermal_rule(evidence) == []
    assert [advice_title(each) for each in slowdown_rule(evidence)] == ["Slowed down by the card's hardware"] * said
