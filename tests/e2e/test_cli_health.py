"""``health`` as a user meets it: on a simulated card, with a certificate, and on the processor for real."""

import hashlib
import json

import pytest

pytestmark = pytest.mark.e2e
CARD = "rtx-3060-12g"


def test_a_card_is_tested_and_certified(gputuner, tmp_path):
    ended = gputuner("health", "--simulate", CARD, "--minutes", "3", "--certificate", str(tmp_path / "c"), "--json")
    document = ended.document
    assert (ended.code, document["schema"], document["simulated"]) == (0, "gputuner.health/1", True)
    assert [entry["verdict"] for entry in document["verdicts"]] == ["pass"]
    told = {point["metric"] for point in document["points"]}
    assert {"vram_errors", "vram_coverage", "burn_errors", "identity_verdict", "health_stage"} <= told
    certificate = json.loads((tmp_path / "c" / f"health-{document['session_id']}.json").read_text(encoding="utf-8"))
    rest = {name: entry for name, entry in certificate.items() if name != "fingerprint"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    assert certificate["fingerprint"] == hashlib.sha256(canonical).hexdigest()
    assert (certificate["verdict"], certificate["as_sold"], certificate["origin"]) == ("pass", True, "simulated")
    page = (tmp_path / "c" / f"health-{document['session_id']}.html").read_text(encoding="utf-8")
    assert certificate["fingerprint"] in page
    assert "simulated" in page
    assert str(tmp_path) not in page + json.dumps(certificate)
    assert "stage of the health test" in ended.err
    assert "wrong words" not in ended.err, "of many sound figures only --verbose tells each"


def test_another_card_than_was_sold_ends_with_9(gputuner):
    ended = gputuner("health", "--simulate", CARD, "--minutes", "2", "--sold-as", "rtx-4090-48g")
    assert ended.code == 9
    assert "may be another card" in ended.out


def test_main_memory_is_tested_where_there_is_no_card(gputuner):
    words = ("health", "--gpu", "cpu", "--memory-cap", "0.2", "--minutes", "0.2", "--json")
    ended = gputuner(*words)
    document = ended.document
    assert ended.code == 0
    assert document["verdicts"][0]["verdict"] == "pass"
    assert "health_main_memory" in {entry["code"] for entry in document["warnings"]}
    wrong = [point for point in document["points"] if point["metric"] == "vram_errors"]
    assert {point["value"] for point in wrong} == {0.0}
    assert {point["params"]["heat"] for point in wrong} == {"cold", "hot"}


def test_a_card_that_the_catalogue_does_not_know_is_refused(gputuner):
    ended = gputuner("health", "--simulate", CARD, "--sold-as", "rtx-9999")
    assert ended.code == 2
    assert "rtx-9999" in ended.err
    assert "Traceback" not in ended.err


def test_a_dry_run_tells_the_stages(gputuner):
    ended = gputuner("health", "--simulate", CARD, "--burn-in", "--minutes", "5", "--dry-run")
    assert ended.code == 0
    assert "VRAM test, hot" in ended.out
    assert "rest between two loads" in ended.out
