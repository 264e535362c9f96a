"""``contend``: several trainings at once, simulated and for real on the processor; what is refused; what is kept."""

import pytest

CARD = "rtx-4090-48g"
TINY = "edsr:batch=1,patch=8"
SIMULATED = ("--simulate", CARD, "--json", "--quiet")
pytestmark = pytest.mark.e2e


def of(document, metric):
    return [point for point in document["points"] if point["metric"] == metric]


@pytest.fixture(scope="module")
def three(gputuner):
    """Three EDSR at once on a simulated card."""
    ended = gputuner("contend", "edsr", "--jobs", "3", *SIMULATED)
    assert ended.code == 0, ended.err
    return ended.document


def test_three_at_once_against_three_baselines(three):
    assert (three["schema"], three["simulated"], three["outcome"]) == ("gputuner.contend/1", True, "completed")
    slowdowns, (gain,) = of(three, "co_run_slowdown"), of(three, "co_run_gain")
    assert [point["params"]["job"] for point in slowdowns] == [1, 2, 3]
    assert all(1.0 < point["ci95"][0] < point["value"] < point["ci95"][1] < 3.1 for point in slowdowns)
    assert gain["value"] == pytest.approx(sum(1 / point["value"] for point in slowdowns), rel=0.01)
    assert gain["extra"]["alone_tuned"] >= 1.0
    assert gain["extra"]["rounds"] >= 3
    assert {point["params"]["phase"] for point in of(three, "train_throughput")} >= {"alone", "together", "alone_after"}
    assert gain["params"]["mix"] == "+".join(["edsr:batch=16"] * 3)


def test_the_claim_about_three_edsr_is_checked(three):
    (claim,) = three["claims"]
    assert claim["low"] < claim["value"] < claim["high"]
    inside = claim["low"] >= 2.8 and claim["high"] <= 3.5
    outside = claim["high"] < 2.8 or claim["low"] > 3.5
    assert claim["holds"] is (True if inside else False if outside else None)


def test_a_stored_session_is_read_in_the_same_tables(gputuner, three):
    told = gputuner("sessions", "show", three["session_path"])
    assert told.code == 0
    assert told.out.count("3 × EDSR (batch 16)") >= 2
    assert "The claim that 3 EDSR trainings at once" in told.out


def test_a_dry_run_names_the_steps_and_touches_nothing(fresh):
    ended = fresh("contend", "edsr", "resnet50", "--dry-run", *SIMULATED)
    assert ended.code == 0, ended.err
    labels = [step["label"] for step in ended.document["steps"]]
    assert labels[:5] == ["contend_alone", "contend_alone", "contend_together", "contend_alone", "contend_alone"]
    assert 30 < ended.document["expected_s"] <= 240
    assert not list(fresh.data_dir.rglob("*.sqlite"))


def test_a_recipe_does_not_run_on_a_simulated_card(gputuner, tmp_path):
    (tmp_path / "mine.py").write_text("def make():\n    raise SystemExit\n")
    ended = gputuner("contend", "mine.py:make", "edsr", "--simulate", CARD, cwd=tmp_path)
    assert ended.code == 2
    assert "Traceback" not in ended.err


@pytest.mark.torch
def test_on_the_processor_two_tiny_trainings_really_run_at_once(gputuner):
    """Cores are what they contend for. No rate is asserted: the machine may do anything else meanwhile."""
    ended = gputuner(
        "contend", TINY, "--jobs", "2", "--fixed-batch", "--gpu", "cpu", "--memory-cap", "2", "--minutes", "0.2",
        "--json", "--quiet",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["simulated"] is False
    rates = of(document, "train_throughput")
    assert "alone" in {point["params"]["phase"] for point in rates}
    assert all(point["value"] > 0 for point in rates)
    together = [point for point in rates if point["params"]["phase"] == "together"]
    assert {point["params"]["job"] for point in together} <= {1, 2}
    slowdowns = of(document, "co_run_slowdown")
    if not slowdowns:  # so busy a machine that the two hardly met
        assert "contend_no_overlap" in {warned["code"] for warned in document["warnings"]}
        return
    assert [point["params"]["job"] for point in slowdowns] == [1, 2]
    for point in slowdowns:
        assert point["extra"]["rate_together"] == pytest.approx(point["extra"]["rate_alone"] / point["value"])
    (gain,) = of(document, "co_run_gain")
    assert gain["value"] == pytest.approx(sum(1 / point["value"] for point in slowdowns), rel=1e-6)
    valid = min(point["value"] for point in slowdowns) >= 0.97 and abs(gain["extra"]["solo_change"]) <= 0.05
    assert gain["extra"]["valid"] is valid
    assert ("implausible" in gain["flags"]) is not valid
    if not valid:
        assert document["advice"] == []
