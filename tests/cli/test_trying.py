"""``advise --try`` and ``--record`` over the whole program below them, on simulated cards."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.model.advice import Confidence
from gputuner.model.cards import Origin
from gputuner.model.events import AdviceGiven, PointMeasured, RunStarted
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.writer import SessionWriter
from tests.cli.stored import session_of

FORMAT = "precision.best"


@pytest.fixture
def batch(whole):
    """The session of a batch run on a simulated card."""
    code, out, err = whole("batch", "bert", "--json", "--quiet")
    assert code == 0, err
    return session_of(out)


@pytest.fixture
def tried(whole, batch):
    """The document of one try of its number format."""
    code, out, err = whole("advise", batch.stem, "--try", FORMAT, "--json", "--quiet")
    assert code == 0, err
    return json.loads(out)


def rewritten(source: Path, run_id: str, change) -> str:
    """A session like ``source`` with each event passed through ``change``."""
    writer = SessionWriter.create(source.parents[1], run_id)
    with SessionReader(source) as reader:
        for event in reader.events():
            writer.write(change(replace(event, run_id=run_id)))
    writer.close()
    return run_id


def test_an_advice_is_tried_and_both_gains_are_kept(whole, batch, tried):
    told = tried["tried"]
    assert (tried["schema"], tried["outcome"], tried["simulated"]) == ("gputuner.advise.try/1", "completed", True)
    assert (told["session"], told["advice"], told["confidence"]) == (batch.stem, FORMAT, "measured")
    with SessionReader(batch) as reader:
        advice = next(a for a in reader.advice()[0] if a.id == FORMAT)
    assert told["predicted"]["value"] == advice.gain.value
    assert told["realised"]["low"] < told["realised"]["value"] < told["realised"]["high"]
    assert told["realised"]["value"] == pytest.approx(advice.gain.value, rel=0.05)
    assert told["verdict"] == "as_predicted"
    assert told["counts"] is True
    sides = [p["params"]["side"] for p in tried["points"] if p["metric"] == "train_throughput"]
    assert sides[:4] == ["base", "advised", "advised", "base"]
    with SessionReader(Path(tried["session_path"])) as reader:
        assert reader.started.experiment == "try"
        assert reader.started.spec["session"] == batch.stem


def test_the_result_in_words(whole, batch):
    code, out, err = whole("advise", batch.stem, "--try", FORMAT, "--minutes", "1")
    assert code == 0
    assert f"What {FORMAT} of session {batch.stem} gained" in out
    assert "Realised gain: +" in out
    assert "predicted: +" in out
    assert "As predicted, within the intervals." in out
    assert "All figures are simulated" in out
    assert "Train BERT-large in" in err, "what is tried is said before"


def test_without_a_session_it_is_the_newest_that_is_no_try(whole, batch, tried):
    code, out, _err = whole("advise", "--json")
    assert (code, json.loads(out)["session_id"]) == (0, batch.stem)
    code, out, _err = whole("advise", "--try", FORMAT, "--json", "--quiet")
    assert json.loads(out)["tried"]["session"] == batch.stem


def test_advice_names_the_command_that_tries_it_and_what_came_of_it(whole, batch, tried):
    _code, out, _err = whole("advise", batch.stem)
    folder = batch.parents[1]
    command = f"gputuner --cli advise {batch.stem} --try {FORMAT} --simulate rtx-4090-48g --data-dir {folder}"
    assert f"Try it: {command}" in out
    assert out.count("Tried. Realised gain: +") == 1
    assert "--try batch.safe_limit" not in out
    _code, out, _err = whole("advise", batch.stem, "--json")
    changes = {a["id"]: a["change"] for a in json.loads(out)["advice"]}
    assert changes["batch.safe_limit"] is None
    assert changes[FORMAT]["advised"]["precision"] != changes[FORMAT]["base"]["precision"]


def test_a_try_is_shown_as_what_it_is(whole, tried):
    for command in (("advise",), ("sessions", "show")):
        code, out, _err = whole(*command, tried["session_id"])
        assert code == 0
        assert "As predicted" in out
        assert "No advice" not in out


@pytest.mark.parametrize(
    ("advice", "words"),
    [
        ("batch.safe_limit", ("what fits, not about speed", "gputuner --cli batch bert --minutes 12 --simulate")),
        ("no.such", ("has no advice no.such", FORMAT)),
    ],
)
def test_what_cannot_be_tried_is_told_with_what_can_be_done(whole, batch, advice, words):
    code, _out, err = whole("advise", batch.stem, "--try", advice)
    assert code == 2
    assert all(word in err for word in words)


@pytest.mark.parametrize(("question", "rule"), [("--switches", "switches.best"), ("--loader", "loading.setting")])
def test_switches_and_loaders_are_tried_too(whole, question, rule):
    workload = "resnet50" if question == "--loader" else "bert"
    _code, out, _err = whole("batch", workload, question, "--json", "--quiet")
    session = json.loads(out)
    assert rule in [entry["id"] for entry in session["advice"] if entry["change"]]
    code, out, err = whole("advise", session["session_id"], "--try", rule, "--json", "--quiet")
    assert code == 0, err
    assert json.loads(out)["tried"]["verdict"] == "as_predicted"


def test_advice_about_the_card_is_tried_by_its_owner(whole):
    _code, out, _err = whole("tune", "--quick", "--json", "--quiet", card="rtx-4090-48g")
    session = session_of(out)
    code, _out, err = whole("advise", session.stem, "--try", "limit.power")
    assert code == 2
    assert "something that you do yourself" in err
    assert f"sessions compare {session.stem} NEW" in err


def test_another_card_is_refused_unless_it_is_named(whole, batch):
    code, _out, err = whole("advise", batch.stem, "--try", FORMAT, card="rtx-3090")
    assert code == 2
    assert "RTX 4090" in err
    assert "--gpu" in err
    code, out, err = whole("advise", batch.stem, "--try", FORMAT, "--gpu", "0", "--json", "--quiet", card="rtx-3090")
    document = json.loads(out)
    assert code == 0
    assert document["tried"]["same_card"] is False
    assert document["tried"]["counts"] is False
    assert "try_other_card" in [each["code"] for each in document["warnings"]]


def test_a_real_cards_advice_is_not_tried_on_a_model_nor_the_other_way_round(whole, batch):
    code, _out, err = whole("advise", batch.stem, "--try", FORMAT, card=None)
    assert code == 2
    assert "--simulate rtx-4090-48g" in err

    def measured(event):
        return replace(event, origin=Origin.MEASURED) if isinstance(event, RunStarted) else event

    real = rewritten(batch, "20260101-000000-batch-real", measured)
    code, _out, err = whole("advise", real, "--try", FORMAT)
    assert code == 2
    assert "leave --simulate out" in err


def test_a_dry_run_shows_the_steps_and_starts_nothing(whole, batch):
    code, out, _err = whole("advise", batch.stem, "--try", FORMAT, "--dry-run")
    assert code == 0
    assert "as before: batch" in out
    assert "as advised: batch" in out
    assert len(list(batch.parent.glob("*-try-*"))) == 0


def test_a_session_stored_before_there_were_changes_is_tried_all_the_same(whole, batch):
    def older(event):
        if not isinstance(event, AdviceGiven):
            return event
        return replace(event, advice=tuple(replace(entry, change=None) for entry in event.advice))

    old = rewritten(batch, "20260101-000000-batch-aaaa", older)
    code, out, _err = whole("advise", old, "--try", FORMAT, "--json", "--quiet")
    assert code == 0
    assert json.loads(out)["tried"]["verdict"] == "as_predicted"


def test_no_tries_yet_is_said(whole):
    code, out, _err = whole("advise", "--record", card=None)
    assert code == 0
    assert "No advice has been tried yet" in out
    code, out, _err = whole("advise", "--record", "--json", card=None)
    assert (json.loads(out)["records"], json.loads(out)["tries"]) == ([], [])


def test_the_record_keeps_what_is_simulated_apart_and_leaves_out_what_does_not_count(whole, batch, tried):
    source = Path(tried["session_path"])

    def disappointing(event):
        if isinstance(event, RunStarted):
            return replace(event, origin=Origin.MEASURED)
        if isinstance(event, PointMeasured) and event.point.metric == "advice_gain":
            spread = replace(event.point.spread, median=-0.1, ci95_low=-0.12, ci95_high=-0.08)
            params = {**event.point.params, "session": "20260102-000000-tune-bbbb"}
            return replace(event, point=replace(event.point, value=-0.1, spread=spread, params=params))
        return event

    def elsewhere(event):
        event = disappointing(event)
        if isinstance(event, PointMeasured) and event.point.metric == "advice_gain":
            return replace(event, point=replace(event.point, extra={**event.point.extra, "same_card": False}))
        return event

    rewritten(source, "20260103-000000-try-cccc", disappointing)
    rewritten(source, "20260103-000001-try-dddd", elsewhere)
    code, out, _err = whole("advise", "--record", "--json", card=None)
    by_origin = {each["origin"]: each for each in json.loads(out)["records"]}
    assert code == 0
    (model,), (real,) = by_origin["simulated"]["confidences"], by_origin["measured"]["confidences"]
    assert (model["confidence"], model["tries"], model["agreed"]["hits"], model["gained"]["hits"]) == (
        Confidence.MEASURED.value, 1, 1, 1,
    )  # fmt: skip
    assert (real["tries"], real["agreed"]["hits"], real["gained"]["hits"]) == (1, 0, 0)
    assert real["gained"]["low"] == 0.0
    assert real["gained"]["high"] == pytest.approx(0.793, abs=1e-3)
    assert by_origin["measured"]["not_counted"] == 1
    _code, out, _err = whole("advise", "--record", card=None)
    assert "this says nothing of real cards" in out
    assert "0 of 1 (0 % … 79.3 %)" in out
    assert "1 try is not counted" in out


@pytest.mark.parametrize(
    "words", [("--record", "--try", FORMAT), ("some-session", "--record"), ("--recipe", "mine.py:make")]
)
def test_what_does_not_go_together_is_refused(whole, words):
    code, _out, err = whole("advise", *words, card=None)
    assert code == 2
    assert err


def failing(advice: str, session: str, origin: Origin = Origin.SIMULATED):
    """Changes a try into one of another session whose gain did not come."""

    def change(event):
        if isinstance(event, RunStarted):
            return replace(event, origin=origin)
        if isinstance(event, PointMeasured) and event.point.metric == "advice_gain":
            spread = replace(event.point.spread, median=0.0, ci95_low=-0.002, ci95_high=0.002)
            params = {**event.point.params, "session": session, "advice": advice}
            return replace(event, point=replace(event.point, value=0.0, params=params, spread=spread))
        return event

    return change


def test_a_kind_of_advice_whose_gain_did_not_come_ranks_lower_in_the_next_run(whole, batch, tried):
    """Four tries of the layout that gained nothing, on cards of this origin; on real ones they would say nothing."""
    path = Path(tried["session_path"])
    for number in range(4):
        rewritten(path, f"20260102-00000{number}-try-real", failing(FORMAT, f"r{number}", Origin.MEASURED))
    with SessionReader(batch) as reader:
        before = next(a for a in reader.advice()[0] if a.id == FORMAT)
    assert before.worth > 0
    assert "tries" not in before.params
    for number in range(4):
        rewritten(path, f"20260102-00000{number}-try-fail", failing(FORMAT, f"s{number}"))
    code, out, err = whole("batch", "bert", "--json", "--quiet")
    assert code == 0, err
    with SessionReader(session_of(out)) as reader:
        after = next(a for a in reader.advice()[0] if a.id == FORMAT)
    assert after.gain == before.gain
    assert (after.params["tries_held"], after.params["tries"]) == (1, 5), "the one that came true, and these four"
    assert after.worth == pytest.approx(before.worth * ((1 + 4 * 0.9) / 9) / 0.9)
    _code, out, _err = whole("advise", session_of(out).stem)
    assert "such advice came true in 1 of 5 tries" in out


def test_a_training_names_its_optimizer(whole):
    _code, out, _err = whole("batch", "bert", "--limit-only")
    assert "Optimizer: AdamW, fused" in out
