"""An advice on a recipe is tried for real, on the processor; the session does not say where the recipe lies."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.model.advice import Advice, Confidence, Gain
from gputuner.model.cards import CPU_CARD
from gputuner.model.change import Change, TrainingSetting
from gputuner.model.events import AdviceGiven
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.writer import SessionWriter

pytestmark = [pytest.mark.e2e, pytest.mark.torch]

RECIPE = """
import torch
from torch import nn


def make():
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))

    def batch(n):
        return torch.randn(n, 256), torch.randint(10, (n,))

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    return {"model": model, "batch": batch, "loss": loss}
"""
NAME, PLANTED = "private_recipe.py:make", "20260101-000000-batch-aaaa"
HERE = ("--gpu", "cpu", "--memory-cap", "2", "--quiet", "--json")


def with_advice(source: Path) -> None:
    """A session like ``source`` that advises batch 256 over batch 4: many times the rate on any processor."""
    change = Change(
        workload=NAME,
        base=TrainingSetting(batch=4, precision="fp32"),
        advised=TrainingSetting(batch=256, precision="fp32"),
    )
    advice = Advice(
        id="batch.fastest", card=CPU_CARD, params={"workload": NAME, "precision": "fp32", "batch": 256, "rate": 1e4},
        evidence=("planted",), confidence=Confidence.MEASURED, gain=Gain(value=0.1, unit="fraction", low=0.0, high=0.2),
        change=change,
    )  # fmt: skip
    writer = SessionWriter.create(source.parents[1], PLANTED)
    with SessionReader(source) as reader:
        for event in reader.events():
            told = replace(event, run_id=PLANTED)
            writer.write(replace(told, advice=(advice,)) if isinstance(told, AdviceGiven) else told)
    writer.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alices_secret_folder")
    (folder / "private_recipe.py").write_text(RECIPE)
    return folder


@pytest.fixture(scope="module")
def session(gputuner, folder):
    """A stored batch run of the recipe, named by its whole path."""
    ended = gputuner(
        "batch", "--recipe", f"{folder}/private_recipe.py:make", "--limit-only", "--precision", "fp32", "--minutes",
        "0.3", *HERE, cwd=folder,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    path = Path(ended.document["session_path"])
    with_advice(path)
    return path


def test_a_session_does_not_say_where_the_recipe_lies(gputuner, session, folder, tmp_path):
    with SessionReader(session) as reader:
        assert reader.started.spec["recipe"] == NAME
        assert "folder" not in reader.started.spec
    with sqlite3.connect(session) as stored:
        assert not [row for row in stored.execute("SELECT json FROM events") if folder.name in row[0]]
    target = tmp_path / "out.json"
    assert gputuner("sessions", "export", session.stem, "--format", "json", "--out", str(target)).code == 0
    assert folder.name not in target.read_text()


def test_not_even_an_error_of_the_recipe_says_where_it_lies(gputuner, folder):
    broken = (
        "import sys\n\ndef make():\n    print(__file__, file=sys.stderr)\n    raise ValueError('none in ' + __file__)\n"
    )
    (folder / "broken.py").write_text(broken)
    ended = gputuner("batch", "--recipe", f"{folder}/broken.py:make", "--minutes", "0.3", *HERE, cwd=folder)
    assert ended.code == 6
    assert "none in broken.py" in ended.err
    with sqlite3.connect(ended.document["session_path"]) as stored:
        assert not [row for row in stored.execute("SELECT json FROM events") if folder.name in row[0]]


def test_an_advice_on_a_recipe_is_tried_from_its_folder(gputuner, session, folder):
    ended = gputuner("advise", PLANTED, "--try", "batch.fastest", "--minutes", "0.5", *HERE, cwd=folder)
    assert ended.code == 0, ended.err
    told = ended.document["tried"]
    assert (told["session"], told["same_card"], told["same_recipe"], told["counts"]) == (PLANTED, True, True, True)
    assert told["realised"]["value"] > 0.2, "batch 256 is far faster than batch 4"
    assert told["predicted"] == {"value": 0.1, "low": 0.0, "high": 0.2}
    assert {p["params"]["side"] for p in ended.document["points"] if p["metric"] == "train_throughput"} == {
        "base", "advised",
    }  # fmt: skip
    record = gputuner("advise", "--record", "--json").document
    (measured,) = [each for each in record["records"] if each["origin"] == "measured"]
    (word,) = measured["confidences"]
    assert (word["tries"], word["open"], word["agreed"]) == (1, 1, None), "up to + 20 % is no promise that could fail"
    if told["realised"]["low"] is None:  # a slow machine: only one process came to an end
        assert (told["verdict"], word["gained"]) == ("unclear", None)
    else:
        assert told["verdict"] in ("more", "unclear", "no_gain", "up_to")
        assert word["gained"]["hits"] == int(told["realised"]["low"] > 0)


def test_a_recipe_that_changed_since_is_told_and_not_counted(gputuner, session, folder):
    path = folder / "private_recipe.py"
    path.write_text(RECIPE + "\n# something else\n")
    ended = gputuner("advise", PLANTED, "--try", "batch.fastest", "--minutes", "0.3", *HERE, cwd=folder)
    path.write_text(RECIPE)
    assert ended.code == 0, ended.err
    assert "try_recipe_changed" in [each["code"] for each in ended.document["warnings"]]
    assert ended.document["tried"]["counts"] is False


def test_from_elsewhere_the_recipe_is_asked_for(gputuner, session, folder, tmp_path):
    ended = gputuner("advise", PLANTED, "--try", "batch.fastest", *HERE, cwd=tmp_path)
    assert ended.code == 2
    assert "--recipe FILE.py:function" in ended.err
    ended = gputuner(
        "advise", PLANTED, "--try", "batch.fastest", "--recipe", f"{folder}/private_recipe.py:make", "--dry-run",
        "--gpu", "cpu", cwd=tmp_path,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert json.dumps(folder.name) not in ended.out
