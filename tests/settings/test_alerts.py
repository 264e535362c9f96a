"""The stored alerts: round trip, hostile files told in a sentence, the last good copy."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gputuner.language.errors import error
from gputuner.model.alerts import DEFAULT_RULES, AlertKind, AlertPlan, AlertRule, default_rule
from gputuner.model.errors import ExitCode, StoreError
from gputuner.settings.alerts import MOST_BYTES, alerts_file, good_file, load, save, watched

PLAN = AlertPlan(
    rules=(
        *DEFAULT_RULES,
        AlertRule(
            name="fan-slow", kind=AlertKind.FAN, threshold=75.0, hold_s=5.0, least_fan=0.4, cards=("GPU-1",), on=False
        ),
        replace(default_rule(AlertKind.XID), name="deadly", xids=(48, 79)),
    ),
    hook=("/usr/bin/env", "notify.sh", "--loud", "ä 火"),
    hook_timeout_s=12.0,
    notify=False,
    notify_runs=False,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return alerts_file(tmp_path / "new" / "preferences.json")


def test_without_a_file_nothing_is_set_and_nothing_is_made(file: Path):
    assert load(file) == AlertPlan()
    assert not file.parent.exists()


def test_what_was_saved_comes_back(file: Path):
    save(file, PLAN)
    assert load(file) == PLAN
    assert load(good_file(file)) == PLAN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"rules": []}',
        '{"version": true}',
        '{"version": 0}',
        '{"version": 1, "rules": {}}',
        '{"version": 1, "rules": [7]}',
        '{"version": 1, "rules": [{"name": "a", "kind": "weather"}]}',
        '{"version": 1, "rules": [{"name": "A b", "kind": "lost"}]}',
        '{"version": 1, "rules": [{"name": "t", "kind": "temperature"}]}',
        '{"version": 1, "rules": [{"name": "t", "kind": "temperature", "threshold": NaN}]}',
        '{"version": 1, "rules": [{"name": "t", "kind": "temperature", "threshold": 1e999}]}',
        '{"version": 1, "rules": [{"name": "t", "kind": "temperature", "threshold": 500}]}',
        '{"version": 1, "rules": [{"name": "t", "kind": "temperature", "threshold": true}]}',
        '{"version": 1, "rules": [{"name": "t", "kind": "lost"}, {"name": "t", "kind": "xid"}]}',
        '{"version": 1, "rules": [{"name": "x", "kind": "xid", "xids": ["79"]}]}',
        '{"version": 1, "rules": [{"name": "x", "kind": "xid", "on": 1}]}',
        '{"version": 1, "hook": "rm -rf /"}',
        '{"version": 1, "hook": [""]}',
        '{"version": 1, "hook": ["a\\u0000b"]}',
        '{"version": 1, "hook": ["\\ud800"]}',
        '{"version": 1, "hook_timeout_s": 1e9}',
        "[" * 100_000,
        "9" * 5000,
        '{"version": 1, "rules": [' + '{"name":"a","kind":"lost"},' * 200 + "0]}",
    ],
)
def test_a_hostile_file_is_one_sentence_and_stays_as_it_is(file: Path, text: str):
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(StoreError) as caught:
        load(file)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert str(file) in error(caught.value)
    assert "\n" not in error(caught.value)
    with pytest.raises(StoreError):
        save(file, PLAN)
    assert file.read_text() == text


def test_one_too_large_is_not_read_whole(file: Path):
    file.parent.mkdir()
    with file.open("wb") as sparse:
        sparse.truncate(MOST_BYTES * 2)
    with pytest.raises(StoreError, match="size"):
        load(file)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5), st.data())
def test_whatever_stands_in_an_entry_is_understood_or_told(file: Path, value: object, data: st.DataObject):
    save_to = file.with_name("fuzzed.json")
    save(file, PLAN)
    entries = json.loads(file.read_text())
    place = data.draw(st.sampled_from([entries, *entries["rules"]]))
    place[data.draw(st.sampled_from(sorted(place)))] = value
    save_to.write_text(json.dumps(entries))
    found, trouble = watched(save_to)
    if trouble is not None:
        assert trouble.code in ("alerts_malformed", "alerts_newer")
        return
    again = save_to.with_name("again.json")
    again.unlink(missing_ok=True)
    save(again, found)
    assert load(again) == found


def test_a_newer_programs_file_is_left_alone(file: Path):
    file.parent.mkdir()
    file.write_text('{"version": 99, "rules": []}')
    with pytest.raises(StoreError) as caught:
        save(file, PLAN)
    assert caught.value.code == "alerts_newer"


def test_whoever_watches_goes_on_by_the_last_good_one(file: Path):
    save(file, PLAN)
    file.write_text("{")
    plan, trouble = watched(file)
    assert plan == PLAN
    assert trouble is not None
    assert trouble.code == "alerts_unreadable"
    good_file(file).write_text("{")
    assert watched(file)[0] == AlertPlan()


def test_a_rule_out_of_its_range_is_not_stored(file: Path):
    with pytest.raises(StoreError) as caught:
        save(file, AlertPlan(rules=(replace(default_rule(AlertKind.TEMPERATURE), threshold=200.0),)))
    assert caught.value.code == "alert_value"
    assert not file.exists()
