"""A stored session in few words."""

import importlib
import pkgutil
from datetime import datetime

import pytest

import gputuner.experiments
from gputuner.gui.session_words import (
    card_words,
    experiment_words,
    outcome_mark,
    outcome_words,
    started_briefly,
    started_words,
)
from gputuner.model.events import Outcome

THIS_YEAR = datetime.now().year


def test_two_runs_of_one_minute_differ(invented):
    one, other = (invented.Summary("r", started_unix_s=datetime(THIS_YEAR, 3, 4, 5, 6, s).timestamp()) for s in (7, 8))
    assert started_words(one) == f"{THIS_YEAR}-03-04 05:06:07"
    assert started_briefly(one) == "03-04 05:06:07"
    assert started_briefly(other) == "03-04 05:06:08"


def test_another_year_is_said(invented):
    last = invented.Summary("r", started_unix_s=datetime(THIS_YEAR - 1, 3, 4, 5, 6, 7).timestamp())
    assert started_briefly(last) == f"{THIS_YEAR - 1}-03-04 05:06"


@pytest.mark.parametrize(
    ("outcome", "running", "mark"),
    [
        (Outcome.COMPLETED, False, ""),
        (Outcome.CANCELLED, False, "■"),
        (Outcome.FAILED, False, "×"),
        (Outcome.STOPPED_FOR_SAFETY, False, "×"),
        (None, False, "×"),
        (None, True, ""),
    ],
)
def test_what_did_not_come_to_its_end_is_marked(invented, outcome, running, mark):
    summary = invented.Summary("r", outcome=outcome, running=running)
    assert outcome_mark(summary) == mark
    assert outcome_words(summary)


def test_cards_are_told_apart_by_what_differs():
    assert card_words(["GeForce RTX 4090 48GB (modded)"]) == "RTX 4090 48GB mod"
    assert card_words(["NVIDIA H200", "NVIDIA H200", "GeForce RTX 3090"]) == "2 × H200, RTX 3090"


def test_every_experiment_has_a_name_for_people():
    """A session's kind is never told by the name that programs use."""
    found = pkgutil.iter_modules(gputuner.experiments.__path__, "gputuner.experiments.")
    kinds = [kind for each in found for kind in vars(importlib.import_module(each.name)).values()]
    own = [kind for kind in kinds if isinstance(kind, type) and kind.__module__.startswith("gputuner.experiments")]
    names = {kind.name for kind in own if isinstance(getattr(kind, "name", None), str)}
    assert {"contend", "cooling", "power", "health", "try"} <= names
    assert [name for name in sorted(names) if experiment_words(name) == name] == []
