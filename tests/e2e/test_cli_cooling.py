"""``cooling`` and ``cooling compare`` as a user meets them, on simulated cards."""

import pytest

pytestmark = pytest.mark.e2e
CARD = "rtx-3090"


def test_a_test_and_another_and_both_compared(gputuner):
    ids: list[str] = []
    for _ in range(2):
        ended = gputuner("cooling", "--simulate", CARD, "--minutes", "6", "--json", "--quiet")
        document = ended.document
        assert (ended.code, document["schema"], document["simulated"]) == (0, "gputuner.cooling/1", True)
        told = {point["metric"]: point for point in document["points"]}
        assert 0.09 < told["thermal_resistance"]["value"] < 0.2
        assert told["thermal_resistance"]["unit"] == "K/W"
        assert document["to_measure"]
        ids.append(document["session_id"])
    ended = gputuner("cooling", "compare", *ids, "--json")
    found = ended.document
    assert (ended.code, found["schema"]) == (0, "gputuner.cooling.compare/1")
    assert found["verdict"] == "not_shown"  # the same simulated card twice
    assert found["ratio"]["ci95"][0] < 1.0 < found["ratio"]["ci95"][1]
    assert "No difference is shown" in gputuner("cooling", "compare", *ids).out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--room", "200", "--simulate", CARD), "200"),
        (("--room", "nan", "--simulate", CARD), "nan"),
        (("--room=-1e400", "--simulate", CARD), "-1e400"),
        (("--cooler", "fridge", "--simulate", CARD), "fridge"),
        (("alexnet", "--simulate", CARD), "alexnet"),
        (("--gpu", "cpu"), "graphics card"),
    ],
)
def test_what_cannot_be_meant_is_refused(gputuner, words, told):
    ended = gputuner("cooling", *words)
    assert ended.code == 2
    assert told in ended.err
    assert "Traceback" not in ended.err


def test_a_dry_run_touches_nothing_and_a_session_that_is_not_there_is_told(gputuner):
    before = gputuner("sessions", "list", "--json").document["sessions"]
    ended = gputuner("cooling", "--simulate", CARD, "--minutes", "3", "--dry-run")
    assert ended.code == 0
    assert "one load" in ended.out
    assert gputuner("sessions", "list", "--json").document["sessions"] == before
    ended = gputuner("cooling", "compare", "nothing", "nobody")
    assert (ended.code, "nothing" in ended.err) == (8, True)


def test_a_load_that_does_not_fit_ends_with_its_code_and_says_what_to_do(gputuner):
    ended = gputuner("cooling", "bert:batch=4000", "--simulate", "rtx-4090-48g", "--json", "--quiet")
    assert (ended.code, ended.document["error"]["code"]) == (5, "cooling_does_not_fit")
    assert "NAME:batch=N" in ended.document["error"]["message"]
